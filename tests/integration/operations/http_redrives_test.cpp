// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

/// Dead tasks that are redriven or purged, with a network that takes every delivery.
class HttpRedrives : public http_fixture {
protected:
  HttpRedrives() {
    options_.webhooks.send = [this](const std::string&, http::outgoing_request request, auto done) {
      told_.push_back(std::move(request.body));
      done(http::outgoing_answer{status_, {}});
    };
    options_.webhooks.wall_time = [] { return timestamp{1'700'000'000'000ms}; };
    restart();
  }

  std::string add_dead(const std::string& queue, const std::string& more = {}) {
    auto id = enqueue(queue, more);
    die(queue);
    return id;
  }

  void die(const std::string& queue) {
    auto id = claim(queue).text("id");
    post("/tasks/" + id + "/result", R"({"status":"FAILED","error":"broken","permanent":true})");
  }

  void complete(const std::string& queue) {
    auto id = claim(queue).text("id");
    EXPECT_EQ(200u, post("/tasks/" + id + "/result", R"({"status":"COMPLETED"})").status);
  }

  /// The statuses that were told since the last call.
  std::vector<std::string> told() {
    run();
    std::vector<std::string> statuses;
    for (const auto& body : std::exchange(told_, {}))
      statuses.push_back(http::json_object::parse(body)->text("status"));
    return statuses;
  }

  static std::string ids_of(const std::string& id) { return R"("ids":[")" + id + R"("])"; }

  using statuses = std::vector<std::string>;

  std::string webhook_ = R"(,"webhook":"https://hooks.example/x")";
  std::vector<std::string> told_;
  /// The status of the answers to deliveries.
  unsigned status_ = 204;
};

TEST_F(HttpRedrives, EachEndOfARedrivenTaskIsTold) {
  auto id = add_dead("q", webhook_);
  EXPECT_EQ(statuses{"FAILED"}, told());

  EXPECT_EQ("1", post("/admin/dead/redrive", "{" + ids_of(id) + "}")["changed"]);
  EXPECT_EQ(statuses(), told());
  die("q");
  EXPECT_EQ(statuses{"FAILED"}, told());
  EXPECT_EQ("1", post("/admin/dead/redrive", R"({"queue":"q"})")["changed"]);
  complete("q");

  EXPECT_EQ(statuses{"COMPLETED"}, told());
}

TEST_F(HttpRedrives, TheEndOfATaskThatAnOperationRedroveIsToldAlsoAfterARestart) {
  add_dead("q", webhook_);
  EXPECT_EQ(statuses{"FAILED"}, told());
  // An operation changes what died before it began.
  advance(1s);

  EXPECT_EQ(202u, post("/admin/operations", R"({"kind":"redrive","queue":"q"})").status);
  advance(5s);
  restart();
  complete("q");

  EXPECT_EQ(statuses{"COMPLETED"}, told());
}

TEST_F(HttpRedrives, NothingIsToldOfARedrivenTaskWithoutAWebhook) {
  auto id = add_dead("q");
  post("/admin/dead/redrive", "{" + ids_of(id) + "}");
  complete("q");

  EXPECT_EQ(statuses(), told());
}

TEST_F(HttpRedrives, ADeliveryNamesTheEndThatItTells) {
  status_ = 503;
  auto id = add_dead("q", webhook_ + R"(,"key":"k")");
  run();
  status_ = 204;
  advance(2s);
  ASSERT_EQ(2u, told_.size());
  EXPECT_EQ(told_[0], told_[1]);
  post("/admin/dead/redrive", "{" + ids_of(id) + "}");
  post("/tasks/" + id + "/cancel");
  run();

  ASSERT_EQ(3u, told_.size());
  auto dead = *http::json_object::parse(told_[1]);
  auto cancelled = *http::json_object::parse(told_[2]);
  EXPECT_EQ("dead", dead.text("state"));
  EXPECT_EQ("cancelled", cancelled.text("state"));
  EXPECT_EQ("k", dead.text("key"));
  EXPECT_EQ(1, dead.integer("attempts"));
  EXPECT_THAT(dead.text("deliveryId"), StartsWith(id + "-"));
  EXPECT_NE(dead.text("deliveryId"), cancelled.text("deliveryId"));
}

TEST_F(HttpRedrives, AQueueThatDoesNotExistIsToldFromOneWithoutDeadTasks) {
  enqueue("q");
  for (const auto* route : {"/admin/dead/redrive", "/admin/dead/purge"}) {
    EXPECT_EQ(R"({"changed":0})", post(route, R"({"queue":"q"})").body);
    EXPECT_EQ(R"({"changed":0,"exists":false})", post(route, R"({"command":"qq"})").body);
    EXPECT_EQ(
      R"({"changed":0,"dryRun":true,"exists":false})",
      post(route, R"({"queue":"qq","dryRun":true})").body);
  }
}

TEST_F(HttpRedrives, IdsAreGivenWithoutAFilter) {
  auto ids = ids_of(add_dead("a"));
  for (const auto* route : {"/admin/dead/redrive", "/admin/dead/purge"})
    for (const auto* more :
         {R"("queue":"b")", R"("limit":0)", R"("rate":1)", R"("all":true)", R"("dryRun":true)"}) {
      auto refused = post(route, "{" + ids + "," + more + "}");

      EXPECT_EQ(400u, refused.status) << route << more;
      EXPECT_THAT(refused.text("error"), HasSubstr("' and 'ids' are both given; give one"));
    }
  EXPECT_EQ("1", post("/admin/dead/purge", "{" + ids + "}")["changed"]);
}

TEST_F(HttpRedrives, ATaskThatIsLeftAloneIsToldWithItsState) {
  auto dead = add_dead("q");
  auto cancelled = enqueue("q");
  post("/tasks/" + cancelled + "/cancel");

  auto all = post("/admin/dead/redrive", R"({"ids":[")" + dead + R"(",")" + cancelled + R"("]})");

  EXPECT_EQ(
    R"([{"id":")" + dead + R"(","outcome":"changed","state":"ready"},{"id":")" + cancelled
      + R"(","outcome":"unchanged","state":"cancelled",)"
        R"("message":"the task is cancelled and stays so"}])",
    all["results"]);
  EXPECT_EQ(
    "the task is cancelled and stays so", post("/tasks/" + cancelled + "/cancel").text("message"));
}

TEST_F(HttpRedrives, APurgeOfAllDeadTasksHasToSaySo) {
  add_dead("a");
  for (const auto* body : {"", "{}", R"({"limit":1})", R"({"all":false})"}) {
    auto refused = post("/admin/dead/purge", body);

    EXPECT_EQ(400u, refused.status) << body;
    EXPECT_THAT(refused.text("error"), StartsWith("no filter is given, ")) << body;
  }
  for (const auto* value : {"null", R"("")"})
    EXPECT_EQ(
      "invalid queue: 'queue' is " + std::string(value) + "; it must be left out, or not empty",
      post("/admin/dead/purge", R"({"error":"x","queue":)" + std::string(value) + "}")
        .text("error"));
  EXPECT_EQ(
    "'all' is given with a filter; give one of them",
    post("/admin/dead/purge", R"({"queue":"a","all":true})").text("error"));
  EXPECT_EQ("1", post("/admin/dead/purge", R"({"dryRun":true})")["changed"]);

  EXPECT_EQ("1", post("/admin/dead/purge", R"({"all":true})")["changed"]);
}

} // namespace
} // namespace codeq::test
