// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

/// Requests that wait, and what outlives them.
class HttpWaits : public http_fixture {
protected:
  pending begin_claim(const std::string& queue, int seconds) {
    return begin(
      "POST",
      "/tasks/claim",
      R"({"commands":[")" + queue + R"("],"waitSeconds":)" + std::to_string(seconds) + "}");
  }
};

TEST_F(HttpWaits, AWaitingClaimGetsATaskAtTheInstantItIsAdded) {
  auto waiting = begin_claim("q", 10);
  advance(3s);
  ASSERT_FALSE(waiting.is_answered());

  auto id = enqueue("q");

  ASSERT_TRUE(waiting.is_answered());
  EXPECT_EQ(200u, (*waiting.answered)->status);
  EXPECT_EQ(id, (*waiting.answered)->text("id"));
}

TEST_F(HttpWaits, AWaitingClaimEndsEmptyAtItsTime) {
  auto waiting = begin_claim("q", 10);
  advance(9'999ms);
  ASSERT_FALSE(waiting.is_answered());

  advance(1ms);

  ASSERT_TRUE(waiting.is_answered());
  EXPECT_EQ(204u, (*waiting.answered)->status);
  EXPECT_EQ("", (*waiting.answered)->body);
  // Nothing of it waits on at any shard.
  auto id = enqueue("q");
  EXPECT_EQ("ready", get("/tasks/" + id).text("state"));
}

TEST_F(HttpWaits, EveryTaskReachesOneOfManyWaitingClaims) {
  std::vector<pending> waiting;
  for (int i = 0; i < 50; ++i)
    waiting.push_back(begin_claim("q", 30));

  std::set<std::string> added;
  for (int i = 0; i < 50; ++i)
    added.insert(enqueue("q"));

  std::set<std::string> claimed;
  for (const auto& one : waiting) {
    ASSERT_TRUE(one.is_answered());
    claimed.insert((*one.answered)->text("id"));
  }
  EXPECT_EQ(added, claimed);
}

TEST_F(HttpWaits, AClaimFindsTheOnlyTaskWhereverItIs) {
  // Consecutive enqueues go round the shards.
  for (int i = 0; i < 8; ++i) {
    auto id = enqueue("q");

    auto claimed = post("/tasks/claim", R"({"commands":["q"]})");

    EXPECT_EQ(200u, claimed.status);
    EXPECT_EQ(id, claimed.text("id"));
  }
}

TEST_F(HttpWaits, AClaimOfAllQueuesFindsThoseOfItsTenant) {
  auto id = enqueue("any");
  use_token("umbrella:w:pw");
  EXPECT_EQ(204u, post("/tasks/claim", "{}").status);
  use_token("acme:w:pw");

  EXPECT_EQ(id, post("/tasks/claim", "{}").text("id"));
}

TEST_F(HttpWaits, AClientThatWentAwayGetsNoTask) {
  auto waiting = begin_claim("q", 30);

  go_away(waiting);

  EXPECT_TRUE(waiting.is_answered());
  auto id = enqueue("q");
  EXPECT_EQ("ready", get("/tasks/" + id).text("state"));
}

TEST_F(HttpWaits, AResultIsAwaitedAndArrivesWithTheEnd) {
  auto id = enqueue("q");
  EXPECT_EQ("result not found", get("/tasks/" + id + "/result").text("error"));
  EXPECT_EQ(
    "task not found",
    get("/tasks/00000000-0000-0001-0000-000000000000/result?waitSeconds=5").text("error"));
  auto waiting = begin("GET", "/tasks/" + id + "/result?waitSeconds=10");
  claim("q");
  advance(1s);
  ASSERT_FALSE(waiting.is_answered());

  post("/tasks/" + id + "/result", R"({"status":"COMPLETED","result":{"n":1}})");

  ASSERT_TRUE(waiting.is_answered());
  EXPECT_THAT((**waiting.answered)["result"], HasSubstr(R"("result":{"n":1})"));
}

TEST_F(HttpWaits, AnAwaitedResultThatDoesNotComeIs404AtItsTime) {
  auto id = enqueue("q");
  auto waiting = begin("GET", "/tasks/" + id + "/result?waitSeconds=600");
  advance(limits::http_wait_max - 1ms);
  ASSERT_FALSE(waiting.is_answered());

  advance(1ms);

  ASSERT_TRUE(waiting.is_answered());
  EXPECT_EQ(404u, (*waiting.answered)->status);
  EXPECT_EQ("result not found", (*waiting.answered)->text("error"));
}

TEST_F(HttpWaits, LeasesLiveThroughARestart) {
  auto id = enqueue("q");
  auto token = claim("q").text("fencingToken");

  restart();

  EXPECT_EQ("IN_PROGRESS", get("/tasks/" + id).text("status"));
  EXPECT_EQ("true", post("/tasks/" + id + "/heartbeat", R"({"extendSeconds":60})")["ok"]);
  auto done =
    post("/tasks/" + id + "/result", R"({"status":"COMPLETED","fencingToken":")" + token + "\"}");
  EXPECT_EQ(200u, done.status) << done.body;
}

TEST_F(HttpWaits, ALeaseNotExtendedRunsOutAndItsHolderIsRefused) {
  auto id = enqueue("q");
  auto old_token = claim("q").text("fencingToken");
  advance(61s);

  auto again = claim("q");

  EXPECT_EQ(id, again.text("id"));
  EXPECT_NE(old_token, again.text("fencingToken"));
  // The same worker's old handler, told apart by its token alone.
  auto zombie = post(
    "/tasks/" + id + "/result", R"({"status":"COMPLETED","fencingToken":")" + old_token + "\"}");
  EXPECT_EQ(403u, zombie.status);
  EXPECT_EQ("not-owner", zombie.text("error"));
}

class HttpWithTokens : public http_fixture {
protected:
  HttpWithTokens() {
    options_.needs_token = true;
    restart();
  }
};

TEST_F(HttpWithTokens, ReportsWithoutATokenAreRefused) {
  auto id = enqueue("q");
  auto token = claim("q").text("fencingToken");
  for (const char* route : {"heartbeat", "abandon", "nack"}) {
    auto refused = post("/tasks/" + id + "/" + route);
    EXPECT_EQ(400u, refused.status);
    EXPECT_EQ("fencingToken is required", refused.text("error"));
  }
  EXPECT_EQ(400u, post("/tasks/" + id + "/result", R"({"status":"COMPLETED"})").status);

  EXPECT_EQ(200u, post("/tasks/" + id + "/abandon", R"({"fencingToken":")" + token + "\"}").status);
}

} // namespace
} // namespace codeq::test
