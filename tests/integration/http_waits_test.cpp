// SPDX-License-Identifier: Apache-2.0
#include "http/server/event_stream.hpp"
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

/// Requests that wait, and requests whose client does not.
class HttpWaits : public http_fixture {
protected:
  std::size_t count_tasks() {
    auto listed = get("/tasks?queue=q&limit=1000");
    auto object = http::json_object::parse(listed.body);
    return object ? object->elements("tasks").size() : 0;
  }

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
  // The request waits at no shard any more.
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

TEST_F(HttpWaits, QueuesOfManyWaitingClaimsAreEachShownOnce) {
  std::vector<pending> waiting;
  for (std::size_t i = 0; i <= limits::worker_queues_shown_max; ++i)
    waiting.push_back(begin_claim("q", 30));
  waiting.push_back(begin_claim("r", 30));

  auto shown = get("/admin/workers")["workers"];

  EXPECT_THAT(shown, HasSubstr(R"("queueCount":2,"queues":["q","r"])"));
}

TEST_F(HttpWaits, AClaimOfAllQueuesIsWokenByOneThatAppearsLater) {
  auto waiting = begin("POST", "/tasks/claim", R"({"waitSeconds":10})");
  use_token("umbrella:root:pwa");
  auto theirs = begin("POST", "/tasks/claim", R"({"waitSeconds":10})");
  use_token("acme:root:pwa");
  advance(3s);
  ASSERT_FALSE(waiting.is_answered());

  auto id = enqueue("brand-new");

  ASSERT_TRUE(waiting.is_answered());
  EXPECT_EQ(id, (*waiting.answered)->text("id"));
  EXPECT_FALSE(theirs.is_answered());
  advance(7s);
  EXPECT_EQ(204u, theirs.answered->value_or(answer{}).status);
}

TEST_F(HttpWaits, AClaimOfAllQueuesWhoseClientWentAwayTakesNothing) {
  auto waiting = begin("POST", "/tasks/claim", R"({"waitSeconds":10})");
  go_away(waiting);

  auto id = enqueue("brand-new");

  EXPECT_EQ("ready", get("/tasks/" + id).text("state"));
}

/// Whatever the gateway is doing when it is asked to stop, each client gets a response, and a
/// stored task is never answered with an error.
TEST_F(HttpWaits, AStopAnswersEverythingAtOnce) {
  enqueue("dead", R"(,"maxAttempts":1)");
  auto failed = claim("dead").text("id");
  post("/tasks/" + failed + "/nack", "{}");
  for (int steps = 0; steps < 120; ++steps) {
    std::vector<pending> calls;
    auto begin_one = [&](const char* method, const char* target, const char* body) {
      calls.push_back(send_along(method, target, body));
    };
    begin_one("POST", "/tasks", R"({"command":"q","payload":1})");
    begin_one("POST", "/tasks/claim", R"({"waitSeconds":60,"commands":["none"]})");
    begin_one("POST", "/tasks/claim", R"({"waitSeconds":60})");
    begin_one("GET", ("/tasks/" + failed + "/result?waitSeconds=60").c_str(), "");
    begin_one("POST", "/admin/dead/redrive", R"({"rate":1,"queue":"none"})");
    begin_one("GET", "//readyz", "");
    for (int i = 0; i < steps; ++i)
      step();
    stop_gateway();
    run();
    for (const auto& one : calls)
      EXPECT_TRUE(one.is_answered()) << steps << ' ' << one.call->in.path.back();
    restart();
  }
}

TEST_F(HttpWaits, AnEnqueueThatWasStoredIsNotAnsweredAsAnError) {
  std::size_t stored = 0;
  for (int steps = 0; steps < 60; ++steps) {
    auto call = send_along("POST", "/tasks", R"({"command":"q","payload":1})");
    for (int i = 0; i < steps; ++i)
      step();
    stop_gateway();
    run();
    ASSERT_TRUE(call.is_answered()) << steps;
    restart();
    auto before = std::exchange(stored, count_tasks());
    bool is_stored = stored > before;
    bool is_told = (*call.answered)->status == 202;
    // An enqueue in flight to the shard may be stored although the response is an error.
    EXPECT_TRUE(is_stored || !is_told) << steps;
  }
}

TEST_F(HttpWaits, AStopWhileAResultIsReadDoesNotSayThatItsTaskIsUnknown) {
  auto id = enqueue("q");
  claim("q");
  post("/tasks/" + id + "/result", R"({"status":"COMPLETED"})");
  std::set<unsigned> statuses;
  for (int steps = 0; steps < 100; ++steps) {
    auto call = send_along("GET", "/tasks/" + id + "/result", {});
    for (int i = 0; i < steps; ++i)
      step();
    stop_gateway();
    run();
    ASSERT_TRUE(call.is_answered()) << steps;
    statuses.insert((*call.answered)->status);
    restart();
  }
  EXPECT_EQ((std::set<unsigned>{200, 503}), statuses);
}

TEST_F(HttpWaits, AClaimFindsTheOnlyTaskWhereverItIs) {
  // Consecutive enqueues are spread over the shards.
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

TEST_F(HttpWaits, AClaimOfAllQueuesLeavesRemovedOnesOut) {
  use_token("acme:root:pwa");
  for (std::size_t i = 0; i < limits::http_claim_queues_max; ++i) {
    auto queue = "a" + std::to_string(i);
    enqueue(queue);
    ASSERT_EQ(200u, post("/admin/queues/" + queue + "/purge", "").status);
  }
  // Snapshots remove them.
  advance(20s);
  auto id = enqueue("z");

  EXPECT_EQ(id, post("/tasks/claim", "{}").text("id"));
}

TEST_F(HttpWaits, AClaimOfAllQueuesFindsATaskBehindAnyNumberOfThem) {
  // They stay, since their tasks cannot be claimed yet.
  for (std::size_t i = 0; i < limits::http_claim_queues_max; ++i)
    enqueue("a" + std::to_string(i), R"(,"delaySeconds":3600)");
  auto id = enqueue("z");

  EXPECT_EQ(id, post("/tasks/claim", "{}").text("id"));

  auto waiting = begin("POST", "/tasks/claim", R"({"waitSeconds":10})");
  ASSERT_FALSE(waiting.is_answered());
  auto later = enqueue("zz");
  ASSERT_TRUE(waiting.is_answered());
  EXPECT_EQ(later, (*waiting.answered)->text("id"));
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
  EXPECT_EQ(
    "result not found: task \"" + id + "\" has not ended; GET /v1/codeq/tasks/" + id
      + "/explain says what it waits for",
    get("/tasks/" + id + "/result").text("error"));
  EXPECT_THAT(
    get("/tasks/00000000-0000-0001-0000-000000000000/result?waitSeconds=5").text("error"),
    testing::StartsWith("task not found: tenant "));
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
  EXPECT_THAT((*waiting.answered)->text("error"), testing::StartsWith("result not found: "));
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
  // The same worker's old handler, distinguished by its token alone.
  auto zombie = post(
    "/tasks/" + id + "/result", R"({"status":"COMPLETED","fencingToken":")" + old_token + "\"}");
  EXPECT_EQ(403u, zombie.status);
  EXPECT_EQ(
    "not-owner: 'fencingToken' is \"" + old_token
      + "\"; it must be that of the task's latest claim",
    zombie.text("error"));
}

TEST_F(HttpWaits, TheProgressOfATaskEndsWithItsState) {
  auto id = enqueue("q");
  claim("q");
  auto followed = get("/tasks/" + id + "/progress");
  ASSERT_TRUE(followed.events);
  std::string written;
  followed.events->open(
    [&](const http::live_event& event) { written += event.whole ? *event.whole : "closed"; });
  post("/tasks/" + id + "/progress", R"({"percent":40})");
  EXPECT_THAT(written, HasSubstr(R"("percent":40)"));
  written.clear();

  post("/tasks/" + id + "/result", R"({"status":"FAILED","error":"x","permanent":true})");

  EXPECT_THAT(written, testing::StartsWith("event: end\ndata: {\"at\":\""));
  EXPECT_THAT(written, testing::EndsWith(R"("attempt":1,"state":"dead"})" "\n\nclosed"));
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
    EXPECT_THAT(refused.text("error"), testing::StartsWith("fencingToken is required"));
  }
  EXPECT_EQ(400u, post("/tasks/" + id + "/result", R"({"status":"COMPLETED"})").status);

  EXPECT_EQ(200u, post("/tasks/" + id + "/abandon", R"({"fencingToken":")" + token + "\"}").status);
}

} // namespace
} // namespace codeq::test
