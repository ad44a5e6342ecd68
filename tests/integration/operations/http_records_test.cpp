// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// The records that the gateway keeps as tasks, when a start cannot read them at first.
class HttpRecords : public http_fixture {
protected:
  HttpRecords() {
    options_.webhooks.send = [this](const std::string&, http::outgoing_request request, auto done) {
      sent_.push_back(request.url.host);
      done(http::outgoing_answer{204, {}});
    };
    options_.webhooks.wall_time = [] { return timestamp{1'700'000'000'000ms}; };
    restart();
  }

  /// Restarts while the shards hang in lists of the tenant; then its reads fail, and once more.
  void restart_without(const std::string& records) {
    *unanswered_tenant_ = records;
    restart();
    end_session();
    advance(1100ms);
    end_session();
    run();
    unanswered_tenant_->clear();
  }

  std::vector<std::string> sent_;
};

TEST_F(HttpRecords, OfOperationsAreReadAgain) {
  for (int i = 0; i < 20; ++i)
    enqueue("mail");
  advance(1s);
  auto id = post("/admin/operations", R"({"kind":"cancel","queue":"mail","rate":10})").text("id");
  advance(500ms);

  restart_without("codeq.operations");

  auto unread = get("/admin/operations/" + id);
  EXPECT_EQ(503u, unread.status);
  EXPECT_THAT(unread.text("error"), HasSubstr("being read"));
  advance(20s);
  auto shown = get("/admin/operations/" + id);
  EXPECT_EQ("completed", shown.text("status"));
  EXPECT_EQ("20", shown["done"]);
}

TEST_F(HttpRecords, OfWebhooksAreReadAgain) {
  auto id = enqueue("mail", R"(,"webhook":"https://hooks.example/")");

  restart_without("codeq.webhooks");
  post("/tasks/" + id + "/cancel");
  run();
  EXPECT_TRUE(sent_.empty());

  advance(3s);
  EXPECT_EQ(std::vector<std::string>{"hooks.example"}, sent_);
}

TEST_F(HttpRecords, ATaskWhoseWebhookIsNotStoredIsAnsweredAsAdded) {
  const std::string task =
    R"({"queue":"mail","payload":1,"webhook":"https://hooks.example/"})";
  const std::string why =
    "its shard did not answer in time; whether the webhook was stored is unknown";
  *unanswered_tenant_ = "codeq.webhooks";
  auto one = begin("POST", "/tasks", task);
  auto batch = begin("POST", "/tasks/batch", R"({"tasks":[)" + task + "]}");
  advance(30s - 1ms);
  ASSERT_FALSE(one.is_answered());

  advance(1ms);

  ASSERT_TRUE(one.is_answered() && batch.is_answered());
  auto added = **one.answered;
  EXPECT_EQ(202u, added.status);
  EXPECT_EQ(why, added.text("webhookError"));
  EXPECT_EQ("created", added.text("outcome"));
  EXPECT_FALSE(added.fields.contains("Retry-After"));
  EXPECT_EQ(200u, (*batch.answered)->status);
  EXPECT_THAT((*batch.answered)->body, HasSubstr("\"created\""));
  EXPECT_THAT((*batch.answered)->body, HasSubstr(why));
}

TEST_F(HttpRecords, ATaskWithAKeyWhoseWebhookIsNotStoredIsToBeSentAgain) {
  const std::string task =
    R"({"queue":"mail","payload":1,"webhook":"https://hooks.example/","key":"k"})";
  *unanswered_tenant_ = "codeq.webhooks";
  auto one = begin("POST", "/tasks", task);
  advance(30s);
  ASSERT_TRUE(one.is_answered());
  const auto refused = **one.answered;
  EXPECT_EQ(503u, refused.status);
  EXPECT_THAT(refused.body, HasSubstr(" was added, but not its webhook: its shard did not answer"));

  unanswered_tenant_->clear();
  auto again = post("/tasks", task);
  EXPECT_EQ("existing", again.text("outcome"));
  EXPECT_EQ("", again.text("webhookError"));
  post("/tasks/" + again.text("id") + "/cancel");
  run();
  EXPECT_EQ(std::vector<std::string>{"hooks.example"}, sent_);
}

TEST_F(HttpRecords, OfSubscriptionsAreReadAgain) {
  auto id = post(
              "/workers/subscriptions",
              R"({"callbackUrl":"https://worker.example/","eventTypes":["mail"]})")
              .text("subscriptionId");
  auto renew = [&] { return post("/workers/subscriptions/" + id + "/heartbeat").status; };
  ASSERT_EQ(200u, renew());

  restart_without("codeq.subscriptions");

  EXPECT_EQ(503u, renew());
  advance(3s);
  EXPECT_EQ(200u, renew());
  enqueue("mail");
  advance(3s);
  EXPECT_EQ("worker.example", sent_.empty() ? "" : sent_.front());
}

} // namespace
} // namespace codeq::test
