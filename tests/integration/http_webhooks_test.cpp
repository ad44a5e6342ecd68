// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;
using http::outgoing_answer;
using http::outgoing_request;

/// The gateway with a fake network: a delivery stays here until the test answers it.
class HttpWebhooks : public http_fixture {
protected:
  struct delivery {
    outgoing_request request;
    std::function<void(result<outgoing_answer>)> done;
  };

  HttpWebhooks() {
    options_.webhooks.send = [this](const std::string&, outgoing_request request, auto done) {
      sent_.push_back({std::move(request), std::move(done)});
    };
    options_.webhooks.wall_time = [] { return timestamp{1'700'000'000'000ms}; };
    restart();
  }

  std::string add(const std::string& more = {}) {
    return enqueue("q", R"(,"webhook":"https://hooks.example/x?y=1")" + more);
  }

  /// The deliveries since the last call.
  std::vector<delivery> take_sent() {
    run();
    return std::exchange(sent_, {});
  }

  void answer(const delivery& d, unsigned status) {
    d.done(outgoing_answer{status, {}});
    run();
  }

  void complete() {
    auto id = claim("q").text("id");
    EXPECT_EQ(200u, post("/tasks/" + id + "/result", done_).status);
  }

  std::string done_ = R"({"status":"COMPLETED","result":{"ok":true}})";
  std::vector<delivery> sent_;
};

TEST_F(HttpWebhooks, TheEndOfATaskIsToldOnce) {
  auto id = add();
  EXPECT_TRUE(take_sent().empty());

  complete();

  auto sent = take_sent();
  ASSERT_EQ(1u, sent.size());
  const auto& request = sent.front().request;
  EXPECT_EQ("POST", request.method);
  EXPECT_EQ("hooks.example", request.url.host);
  EXPECT_EQ("/x?y=1", request.url.target);
  EXPECT_TRUE(request.public_only);
  auto body = http::json_object::parse(request.body).value_or(http::json_object());
  EXPECT_EQ(id, body.text("taskId"));
  EXPECT_EQ("q", body.text("eventType"));
  EXPECT_EQ("COMPLETED", body.text("status"));
  EXPECT_EQ(R"({"ok":true})", body.raw("result"));
  EXPECT_EQ("null", body.raw("artifacts"));
  EXPECT_EQ("\"\"", body.raw("error"));
  EXPECT_FALSE(body.text("completedAt").empty());
  answer(sent.front(), 204);
  restart();
  advance(1h);
  EXPECT_TRUE(take_sent().empty());
}

TEST_F(HttpWebhooks, FailuresAndCancellationsAreToldToo) {
  auto failed = add();
  claim("q");
  post("/tasks/" + failed + "/result", R"({"status":"FAILED","error":"broken","permanent":true})");
  auto cancelled = add();
  post("/tasks/" + cancelled + "/cancel");

  auto sent = take_sent();

  ASSERT_EQ(2u, sent.size());
  EXPECT_THAT(sent[0].request.body, HasSubstr(R"("status":"FAILED")"));
  EXPECT_THAT(sent[0].request.body, HasSubstr(R"("error":"broken")"));
  EXPECT_THAT(sent[0].request.body, HasSubstr(R"("result":null)"));
  EXPECT_THAT(sent[1].request.body, HasSubstr(R"("error":"cancelled")"));
}

TEST_F(HttpWebhooks, ARetryOfTheTaskIsNoEnd) {
  auto id = add();
  claim("q");

  post("/tasks/" + id + "/nack", R"({"delaySeconds":1})");

  EXPECT_TRUE(take_sent().empty());
  advance(2s);
  complete();
  EXPECT_EQ(1u, take_sent().size());
}

TEST_F(HttpWebhooks, WhoDoesNotTakeItIsAskedAgainLaterAndLater) {
  add();
  complete();
  std::vector<duration> pauses;
  auto last = duration{0};
  for (auto now = duration{0}; pauses.size() < 6; now += 100ms, advance(100ms)) {
    for (const auto& one : take_sent()) {
      pauses.push_back(now - std::exchange(last, now));
      answer(one, 503);
    }
    ASSERT_LT(now, 5min);
  }

  // A pause is between half and all of 1, 2, 4, ... seconds, plus up to 100 ms until it is noticed.
  auto whole = 1000ms;
  for (std::size_t i = 1; i < pauses.size(); ++i, whole *= 2) {
    EXPECT_GE(pauses[i], whole / 2) << i;
    EXPECT_LE(pauses[i], whole + 100ms) << i;
  }
}

TEST_F(HttpWebhooks, WhatIsOpenIsFoundAgainAfterARestart) {
  auto ended = add();
  complete();
  auto lost = take_sent();
  ASSERT_EQ(1u, lost.size());
  auto waiting = add();

  restart();

  auto again = take_sent();
  ASSERT_EQ(1u, again.size());
  EXPECT_THAT(again.front().request.body, HasSubstr(ended));
  answer(again.front(), 200);
  complete();
  auto later = take_sent();
  ASSERT_EQ(1u, later.size());
  EXPECT_THAT(later.front().request.body, HasSubstr(waiting));
}

TEST_F(HttpWebhooks, ARepeatedEnqueueHasOneWebhook) {
  auto id = add(R"(,"idempotencyKey":"k")");
  EXPECT_EQ(id, add(R"(,"idempotencyKey":"k")"));

  complete();

  EXPECT_EQ(1u, take_sent().size());
}

TEST_F(HttpWebhooks, WhoNeverTakesItIsGivenUpAndListedAsDead) {
  add();
  complete();
  for (int i = 0; i < 200; ++i, advance(15min))
    for (const auto& one : take_sent())
      answer(one, 500);

  EXPECT_TRUE(take_sent().empty());
  restart();
  EXPECT_TRUE(take_sent().empty());
  use_token("codeq.webhooks:root:a");
  EXPECT_THAT(get("/admin/dead?queue=acme").body, HasSubstr("\"dead\""));
}

TEST_F(HttpWebhooks, DeliveriesAreSigned) {
  options_.webhooks.secret = "key";
  restart();
  add();
  complete();

  auto sent = take_sent();

  ASSERT_EQ(1u, sent.size());
  auto wanted =
    http::signature_fields("key", timestamp{1'700'000'000'000ms}, sent.front().request.body);
  EXPECT_EQ(wanted, sent.front().request.fields);
  EXPECT_EQ("X-CodeQ-Timestamp", wanted[1].first);
  EXPECT_EQ("1700000000", wanted[1].second);
}

TEST_F(HttpWebhooks, PrivateAddressesAreRefusedUnlessAllowed) {
  const char* urls[] = {
    "http://127.0.0.1/x",
    "http://10.1.2.3:8080",
    "http://[::1]/",
    "http://[fd00::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://169.254.169.254/latest",
    "ftp://hooks.example/",
    "http://user@hooks.example/",
    "hooks.example",
  };
  auto add_with = [&](const std::string& url) {
    return post("/tasks", R"({"command":"q","payload":1,"webhook":")" + url + "\"}");
  };
  for (const auto* url : urls) {
    auto refused = add_with(url);
    EXPECT_EQ(400u, refused.status) << url;
    EXPECT_THAT(
      refused.text("error"),
      testing::StartsWith("invalid webhook url: 'webhook' is \"" + std::string(url)));
  }
  options_.webhooks.allow_private = true;
  restart();

  EXPECT_EQ(202u, add_with(urls[0]).status);
  complete();
  auto sent = take_sent();
  ASSERT_EQ(1u, sent.size());
  EXPECT_FALSE(sent.front().request.public_only);
}

TEST_F(HttpWebhooks, AFewAreDeliveredAtOnceAndTheRestAfterThem) {
  constexpr std::size_t count = 40;
  for (std::size_t i = 0; i < count; ++i)
    add();
  for (std::size_t i = 0; i < count; ++i)
    complete();

  auto first = take_sent();

  EXPECT_EQ(16u, first.size());
  for (const auto& one : first)
    answer(one, 200);
  auto second = take_sent();
  EXPECT_EQ(16u, second.size());
  for (const auto& one : second)
    answer(one, 200);
  EXPECT_EQ(count - 32, take_sent().size());
}

TEST_F(HttpWebhooks, NobodyElseSeesWhatStandsForThem) {
  auto id = add();

  EXPECT_THAT(get("/admin/queues").body, Not(HasSubstr("webhooks")));
  EXPECT_EQ(id, post("/tasks/claim", "{}").text("id"));
  EXPECT_EQ(204u, post("/tasks/claim", "{}").status);
}

} // namespace
} // namespace codeq::test
