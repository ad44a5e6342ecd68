// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include <chrono>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// The answer of `/autoscale` for a queue.
class HttpAutoscale : public http_fixture {
protected:
  answer demand(const std::string& more = {}) {
    auto told = get("/autoscale?queue=q" + more);
    EXPECT_EQ(200u, told.status) << told.body;
    return told;
  }

  /// Runs a task of queue q for that time.
  void complete_one(duration ran) {
    enqueue("q");
    auto id = claim("q").text("id");
    advance(ran);
    auto done = post("/tasks/" + id + "/result", R"({"status":"COMPLETED"})");
    EXPECT_EQ(200u, done.status) << done.body;
  }

  std::string why(const std::string& target) {
    auto refused = get(target);
    EXPECT_EQ(400u, refused.status) << target << ' ' << refused.body;
    return refused.text("error");
  }
};

TEST_F(HttpAutoscale, SaysHowManySlotsEndTheTasksInTime) {
  complete_one(20s);
  for (int i = 0; i < 5; ++i)
    enqueue("q");
  claim("q");
  enqueue("q", R"(,"delaySeconds":60)");
  advance(3s);

  auto told = demand();
  EXPECT_EQ("4", told["backlog"]) << "neither the leased task nor the delayed one";
  EXPECT_EQ("20000", told["runTimeMs"]);
  EXPECT_EQ("2", told["wantedSlots"]) << "5 tasks of 20 s within a minute";
  EXPECT_EQ("true", told["exists"]);
  EXPECT_EQ("3000", told["oldestReadyAgeMs"]);
  EXPECT_EQ("4", demand("&within=25s")["wantedSlots"]);
  EXPECT_EQ("5", demand("&within=1s")["wantedSlots"]);
  EXPECT_EQ("1", demand("&within=1d")["wantedSlots"]);
}

TEST_F(HttpAutoscale, AsksForASlotWhileNoRunTimeIsKnown) {
  enqueue("q");
  enqueue("q");

  EXPECT_EQ("null", demand()["runTimeMs"]);
  EXPECT_EQ("1", demand()["wantedSlots"]);
  claim("q");
  EXPECT_EQ("2", demand()["wantedSlots"]);
}

TEST_F(HttpAutoscale, OfAQueueThatIsPausedOrUnknownNothingWaits) {
  EXPECT_EQ("false", demand()["exists"]);
  EXPECT_EQ("0", demand()["wantedSlots"]);
  EXPECT_EQ("0", demand()["oldestReadyAgeMs"]);
  enqueue("q");
  post("/admin/queues/q/pause", "");

  EXPECT_EQ("true", demand()["exists"]);
  EXPECT_EQ("0", demand()["backlog"]);
  EXPECT_EQ("0", demand()["wantedSlots"]);
}

TEST_F(HttpAutoscale, TakesTheNameOfOneQueueAndATime) {
  EXPECT_EQ("invalid queue: 'queue' is required", why("/autoscale"));
  EXPECT_EQ(
    "invalid queue: 'queue' is \"\"; it must be 1 to 128 letters, digits, '.', '_' or '-'",
    why("/autoscale?queue="));
  EXPECT_EQ("'within' is \"0s\"; it must be 1s..1d", why("/autoscale?queue=q&within=0s"));
  EXPECT_EQ("'within' is \"25h\"; it must be 1s..1d", why("/autoscale?queue=q&within=25h"));
}

TEST_F(HttpAutoscale, IsAboutQueuesThatTheTokenNames) {
  enqueue("q");
  use_token("acme:s:w:::mine");
  auto refused = get("/autoscale?queue=q");
  EXPECT_EQ(403u, refused.status);
  EXPECT_EQ(
    R"(command not allowed: the token does not name queue "q")", refused.text("error"));
  EXPECT_EQ("0", get("/autoscale?queue=mine")["backlog"]);

  for (const char* token : {"acme:s:p", "acme:s:w", "acme:s:r"}) {
    use_token(token);
    EXPECT_EQ("1", demand()["backlog"]) << token;
  }
  use_token("umbrella:s:pwa");
  EXPECT_EQ("0", demand()["backlog"]) << "another tenant's queue";
}

} // namespace
} // namespace codeq::test
