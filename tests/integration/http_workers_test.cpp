// SPDX-License-Identifier: Apache-2.0
#include "http/server/gateway_limits.hpp"
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

constexpr auto unknown_id = "00000000-0000-0001-0000-000000000000";

/// Workers over HTTP get what native ones get.
class HttpWorkers : public http_fixture {
protected:
  answer report(const std::string& id, const std::string& verb, const std::string& body) {
    return post("/tasks/" + id + "/" + verb, body);
  }

  answer complete(const std::string& id, const std::string& more = {}) {
    return report(id, "result", R"({"status":"COMPLETED")" + more + "}");
  }

  /// The number of tasks in a batch that was claimed.
  std::size_t claim_extended(int count) {
    auto claimed = post(
      "/tasks/claim/batch?limit=extended",
      R"({"commands":["q"],"count":)" + std::to_string(count) + "}");
    if (claimed.status != 200)
      return 0;
    last_ = http::json_object::parse(claimed.body)->elements("tasks").size();
    body_ = claimed.body;
    return last_;
  }

  /// So many copies of an element, separated by commas.
  static std::string times(std::size_t count, const std::string& element) {
    auto all = element;
    for (std::size_t i = 1; i < count; ++i)
      all += "," + element;
    return all;
  }

  std::size_t last_ = 0;
  std::string body_;
};

TEST_F(HttpWorkers, ClaimsGetTheHighestPriorityOfAllShards) {
  std::vector<int> priorities;
  for (int i = 0; i < 100; ++i)
    priorities.push_back(i * 37 % 10);
  for (auto priority : priorities)
    enqueue("q", R"(,"priority":)" + std::to_string(priority));
  std::sort(priorities.begin(), priorities.end(), std::greater<>());

  std::vector<int> claimed;
  for (std::size_t i = 0; i < priorities.size(); ++i)
    claimed.push_back(std::stoi(claim("q")["priority"]));

  EXPECT_EQ(claimed, priorities);
  EXPECT_EQ(204u, post("/tasks/claim", R"({"commands":["q"]})").status);
}

TEST_F(HttpWorkers, AClaimOfAReadyTaskAsksItsShardAlone) {
  for (int i = 0; i < 20; ++i) {
    post("/tasks", R"({"queue":"q","payload":1})");
    *claims_attached_ = 0;

    EXPECT_EQ(post("/tasks/claim", R"({"queues":["q"]})").status, 200u);
    EXPECT_EQ(*claims_attached_, 1u);
  }
  EXPECT_EQ(post("/tasks/claim", R"({"queues":["q"]})").status, 204u);
  EXPECT_EQ(*claims_attached_, 1u + shard_count);
}

TEST_F(HttpWorkers, ANewTaskIsShownWithoutAQuestion) {
  *questions_asked_ = 0;

  auto added = post("/tasks", R"({"queue":"q","payload":1,"priority":3,"idempotencyKey":"k"})");

  EXPECT_EQ(added.status, 202u);
  EXPECT_EQ(added.text("status"), "PENDING");
  EXPECT_EQ(added["priority"], "3");
  EXPECT_EQ(added.text("idempotencyKey"), "k");
  EXPECT_EQ(*questions_asked_, 0u);
  EXPECT_EQ(get("/tasks/" + added.text("id")).text("createdAt"), added.text("createdAt"));
  *questions_asked_ = 0;
  EXPECT_EQ(
    post("/tasks", R"({"queue":"q","payload":1,"idempotencyKey":"k"})").text("id"),
    added.text("id"));
  EXPECT_GT(*questions_asked_, 0u) << "a task that was there before";
}

TEST_F(HttpWorkers, AReportOfARecentLeaseNeedsNoQuestion) {
  enqueue("q");
  auto claimed = claim("q");
  *questions_asked_ = 0;

  auto token = R"(,"fencingToken":")" + claimed.text("fencingToken") + "\"";

  EXPECT_EQ(complete(claimed.text("id"), token).status, 200u);
  EXPECT_EQ(*questions_asked_, 0u);
  EXPECT_EQ(complete(claimed.text("id"), token).status, 200u) << "a repeat";
  EXPECT_GT(*questions_asked_, 0u);
}

TEST_F(HttpWorkers, AReportOfARecentLeaseThatIsOverIsToldWhatBecameOfIt) {
  auto id = enqueue("q");
  claim("q");
  advance(61s);
  EXPECT_EQ(complete(id).status, 409u) << "it is over";

  // The same worker has it again, and gives no token.
  EXPECT_EQ(claim("q").text("id"), id);
  EXPECT_EQ(complete(id).status, 200u);
}

TEST_F(HttpWorkers, ABatchIsTheHighestPrioritiesOfAllShards) {
  for (int i = 0; i < 40; ++i)
    enqueue("q", R"(,"priority":)" + std::to_string(i % 4));

  auto batch = post("/tasks/claim/batch?limit=extended", R"({"commands":["q"],"count":20})");

  auto tasks = http::json_object::parse(batch.body)->elements("tasks");
  EXPECT_EQ(20u, tasks.size());
  EXPECT_THAT(batch.body, Not(HasSubstr(R"("priority":0)")));
  EXPECT_THAT(batch.body, Not(HasSubstr(R"("priority":1)")));
}

TEST_F(HttpWorkers, AClaimCarriesHeadersGroupAndKey) {
  enqueue("q", R"(,"group":"g","key":"k","headers":{"traceparent":"00-1","a":"b"})");

  auto task = claim("q");

  EXPECT_EQ(R"({"a":"b","traceparent":"00-1"})", task["headers"]);
  EXPECT_EQ("g", task.text("group"));
  EXPECT_EQ("k", task.text("key"));
  EXPECT_EQ("k", task.text("idempotencyKey"));
  EXPECT_EQ("", task["checkpoint"]);
  EXPECT_EQ(R"({"a":"b","traceparent":"00-1"})", get("/tasks/" + task.text("id"))["headers"]);
}

TEST_F(HttpWorkers, TheLatestCheckpointReachesTheNextAttempt) {
  auto id = enqueue("q");
  claim("q");
  EXPECT_EQ(R"({"ok":true})", report(id, "checkpoint", R"({"checkpoint":{"page":7}})").body);
  EXPECT_EQ(200u, report(id, "checkpoint", R"({"checkpoint":{"page":8}})").status);
  restart();
  EXPECT_EQ(200u, report(id, "checkpoint", R"({"checkpoint":{"page":9}})").status);
  report(id, "nack", R"({"delaySeconds":0})");

  EXPECT_EQ(R"({"page":9})", claim("q")["checkpoint"]);

  EXPECT_EQ(200u, report(id, "checkpoint", R"({"checkpoint":null})").status);
  report(id, "nack", R"({"delaySeconds":0})");
  EXPECT_EQ("", claim("q")["checkpoint"]);
}

TEST_F(HttpWorkers, CheckpointsOfOneLeaseAreSavedInTheirOrder) {
  auto id = enqueue("q");
  claim("q");
  std::vector<pending> open;
  for (int i = 0; i < 5; ++i)
    open.push_back(send_along(
      "POST", "/tasks/" + id + "/checkpoint", R"({"checkpoint":)" + std::to_string(i) + "}"));
  run();
  for (const auto& one : open)
    ASSERT_TRUE(one.is_answered() && (*one.answered)->status == 200);
  report(id, "abandon", "");

  EXPECT_EQ("4", claim("q")["checkpoint"]);
}

TEST_F(HttpWorkers, OnlyTheHolderOfTheLeaseSavesAndTells) {
  auto id = enqueue("q", R"(,"leaseSeconds":2)");
  claim("q");
  for (const auto& [verb, body] :
       {std::pair{"checkpoint", R"({"checkpoint":1})"}, {"progress", R"({"percent":1})"}}) {
    EXPECT_EQ(404u, report(unknown_id, verb, body).status);
    use_token("acme:other:w");
    EXPECT_THAT(report(id, verb, body).text("error"), testing::StartsWith("not-owner: "));
    use_token("umbrella:root:w");
    EXPECT_EQ(404u, report(id, verb, body).status);
    use_token("acme:root:w:codeq:claim");
    EXPECT_EQ("missing scope codeq:heartbeat", report(id, verb, body).text("error"));
    use_token("acme:root:pwa");
  }
  complete(id);

  auto is_over = testing::StartsWith("not-in-progress: the lease of task \"" + id + "\" is over");
  EXPECT_THAT(report(id, "checkpoint", R"({"checkpoint":1})").text("error"), is_over);
  EXPECT_THAT(report(id, "progress", R"({"percent":1})").text("error"), is_over);
}

TEST_F(HttpWorkers, ACheckpointOverItsLimitIsRefused) {
  auto id = enqueue("q");
  claim("q");
  auto with = [&](std::size_t bytes) {
    return report(id, "checkpoint", R"({"checkpoint":")" + std::string(bytes - 2, 'x') + "\"}");
  };

  EXPECT_EQ(200u, with(65536).status);
  EXPECT_EQ("'checkpoint' is 65537 bytes; it must be at most 65536", with(65537).text("error"));
  EXPECT_EQ("invalid body: 'checkpoint' is required", report(id, "checkpoint", "{}").text("error"));
}

TEST_F(HttpWorkers, ProgressRestartsItsTimeoutAndExtendsTheLease) {
  auto id = enqueue("q", R"(,"leaseSeconds":60,"progressTimeoutMs":5000)");
  claim("q");
  advance(4s);
  auto told = report(id, "progress", R"({"percent":40,"note":"page 7"})").body;
  EXPECT_TRUE(told.starts_with(R"({"ok":true,"leaseUntil":")")) << told;
  EXPECT_TRUE(told.ends_with(R"(Z","cancelRequested":false})")) << told;
  advance(4s);
  auto shown = get("/tasks/" + id);
  EXPECT_EQ("IN_PROGRESS", shown.text("status"));
  EXPECT_NE(
    std::string::npos, shown.body.find(R"("progress":{"percent":40,"note":"page 7"})"));

  EXPECT_EQ(200u, report(id, "checkpoint", R"({"checkpoint":7})").status);
  advance(4s);

  EXPECT_EQ("IN_PROGRESS", get("/tasks/" + id).text("status"));
  advance(2s);
  EXPECT_THAT(get("/tasks/" + id).text("error"), HasSubstr("progress_timeout"));
  EXPECT_EQ(
    "'percent' is 101; it must be 0..100",
    report(id, "progress", R"({"percent":101})").text("error"));
  EXPECT_EQ(
    "'note' is 1025 bytes; it must be at most 1024",
    report(id, "progress", R"({"percent":1,"note":")" + std::string(1025, 'x') + "\"}")
      .text("error"));
}

TEST_F(HttpWorkers, PayloadsAreShownAsJsonWhenAskedFor) {
  auto body = R"({"command":"q","payload":{"n": [1, "a"]},"key":"k"})";
  auto wanted = R"({"n": [1, "a"]})";

  auto added = post("/tasks?payload=json", body);
  EXPECT_EQ(wanted, added["payload"]);
  auto id = added.text("id");
  EXPECT_EQ(wanted, get("/tasks/" + id + "?payload=json")["payload"]);
  EXPECT_EQ(wanted, get("/queues/q/keys/k?payload=json")["payload"]);
  EXPECT_EQ(wanted, get("/tasks/" + id + "?payload=text").text("payload"));
  EXPECT_EQ(wanted, post("/tasks/claim?payload=json", R"({"queues":["q"]})")["payload"]);
  complete(id);
  EXPECT_THAT(
    get("/tasks/" + id + "/result?payload=json")["task"],
    HasSubstr(std::string(R"("payload":)") + wanted));
  auto batch = post("/tasks/batch?payload=json", R"({"tasks":[{"queue":"q","payload":7}]})");
  EXPECT_THAT(batch.body, HasSubstr(R"("payload":7,)"));
  auto claimed = post("/tasks/claim/batch?payload=json", R"({"queues":["q"],"count":1})");
  EXPECT_THAT(claimed.body, HasSubstr(R"("payload":7,)"));
  EXPECT_EQ(
    "'payload' is \"xml\"; it must be one of text, json",
    get("/tasks/" + id + "?payload=xml").text("error"));
}

TEST_F(HttpWorkers, ACompletionAddsItsFollowUps) {
  auto id = enqueue("q");
  claim("q");

  auto done = complete(
    id,
    R"(,"followUps":[{"queue":"mail","payload":{"to": "ada"},"key":"m","headers":{"a":"b"}},)"
    R"({"command":"later","payload":2,"delay":"1m"}])");

  EXPECT_EQ(200u, done.status) << done.body;
  auto mail = claim("mail");
  EXPECT_EQ(R"({"to": "ada"})", mail.text("payload"));
  EXPECT_EQ(R"({"a":"b"})", mail["headers"]);
  EXPECT_EQ("acme", mail.text("tenantId"));
  EXPECT_EQ("m", mail.text("key"));
  EXPECT_EQ(204u, post("/tasks/claim", R"({"commands":["later"]})").status);
  advance(60s);
  EXPECT_EQ("2", claim("later").text("payload"));
}

TEST_F(HttpWorkers, AResultThatLooksLikeOneWithArtifactsComesBackAsItWas) {
  const std::string result = R"({"codeq:artifacts":[],"result":1})";
  auto id = enqueue("q");
  claim("q");

  auto done = post("/tasks/" + id + "/result", R"({"status":"COMPLETED","result":)" + result + "}");

  EXPECT_EQ(result, done["result"]);
  EXPECT_THAT(get("/tasks/" + id + "/result")["result"], HasSubstr("\"result\":" + result + ","));
}

TEST_F(HttpWorkers, ARepeatedOrLateCompletionAddsNothing) {
  auto id = enqueue("q", R"(,"leaseSeconds":2)");
  auto first = claim("q").text("fencingToken");
  auto with_token = [&](const std::string& token) {
    return complete(
      id, R"(,"fencingToken":")" + token + R"(","followUps":[{"queue":"next","payload":1}])");
  };
  advance(61s);
  auto second = claim("q").text("fencingToken");

  EXPECT_EQ(403u, with_token(first).status);
  EXPECT_EQ(200u, with_token(second).status);
  EXPECT_EQ(200u, with_token(second).status);
  run();

  EXPECT_EQ("1", claim("next").text("payload"));
  EXPECT_EQ(204u, post("/tasks/claim", R"({"commands":["next"]})").status);
}

TEST_F(HttpWorkers, OneInvalidFollowUpRefusesTheCompletionAndTheLeaseStays) {
  auto id = enqueue("q");
  claim("q");
  auto why = [&](const std::string& follow_ups) {
    auto refused = complete(id, R"(,"followUps":[)" + follow_ups + "]");
    EXPECT_EQ(400u, refused.status) << refused.body;
    return refused.text("error");
  };
  const std::string good = R"({"queue":"next","payload":1})";

  EXPECT_EQ(
    "unknown field 'followUps[1].prio'; did you mean 'followUps[1].priority'?",
    why(good + R"(,{"queue":"next","payload":1,"prio":1})"));
  EXPECT_EQ(
    "unknown field 'followUps[0].webhook'; /openapi.json lists the known ones",
    why(R"({"queue":"next","payload":1,"webhook":"https://a.example/"})"));
  EXPECT_EQ(
    "follow-up 1: 'onDuplicate' is \"reject\"; it must be \"existing\" without 'idempotencyKey'",
    why(good + R"(,{"queue":"next","payload":1,"onDuplicate":"reject"})"));
  EXPECT_EQ("'followUps' has 65 elements; it must have 0..64", why(times(65, good)));
  EXPECT_EQ(
    "'followUps' is given with status=FAILED; only a completion adds tasks",
    report(id, "result", R"({"status":"FAILED","error":"x","followUps":[)" + good + "]}")
      .text("error"));
  EXPECT_EQ(
    "'error' is given with status=COMPLETED; only a failure has one",
    report(id, "result", R"({"status":"COMPLETED","error":"x"})").text("error"));
  EXPECT_EQ("IN_PROGRESS", get("/tasks/" + id).text("status"));
  EXPECT_EQ(204u, post("/tasks/claim", R"({"commands":["next"]})").status);
  EXPECT_EQ(200u, complete(id, R"(,"followUps":[)" + times(64, good) + "]").status);
}

TEST_F(HttpWorkers, ABatchOfResultsMayHaveFollowUps) {
  auto id = enqueue("q");
  claim("q");

  auto done = post(
    "/tasks/batch/results",
    R"({"results":[{"taskId":")" + id
      + R"(","status":"COMPLETED","followUps":[{"queue":"next","payload":5}]}]})");

  EXPECT_THAT(done.body, HasSubstr(R"("status":"COMPLETED")"));
  run();
  EXPECT_EQ("5", claim("next").text("payload"));
}

TEST_F(HttpWorkers, ExtendedBatchesHaveAThousandItems) {
  const std::string task = R"({"queue":"q","payload":1})";
  auto add = [&](const std::string& target, std::size_t count) {
    return post(target, R"({"tasks":[)" + times(count, task) + "]}");
  };
  EXPECT_EQ(400u, add("/tasks/batch", 101).status);
  EXPECT_EQ(
    "batch size exceeds maximum of 1000: 'tasks' has 1001 elements; it must have 1..1000",
    add("/tasks/batch?limit=extended", 1001).text("error"));
  EXPECT_EQ(200u, add("/tasks/batch?limit=extended", 1000).status);
  EXPECT_EQ(
    "'limit' is \"1000\"; it must be extended",
    add("/tasks/batch?limit=1000", 1).text("error"));

  EXPECT_EQ(
    "count exceeds maximum of 1000: 'count' is 1001; it must be 1..1000",
    post("/tasks/claim/batch?limit=extended", R"({"count":1001})").text("error"));
  EXPECT_EQ(700u, claim_extended(700));
  EXPECT_EQ(300u, claim_extended(1000));
  std::string results;
  for (auto one : http::json_object::parse(body_)->elements("tasks"))
    results += (results.empty() ? R"({"taskId":")" : R"(,{"taskId":")")
               + http::json_object::parse(one)->text("id") + R"(","status":"COMPLETED"})";
  EXPECT_EQ(400u, post("/tasks/batch/results", R"({"results":[)" + results + "]}").status);
  auto done = post("/tasks/batch/results?limit=extended", R"({"results":[)" + results + "]}");

  EXPECT_EQ(200u, done.status);
  EXPECT_THAT(done.body, Not(HasSubstr("error")));
  EXPECT_EQ("300", get("/admin/queues/q")["completed"]);
  EXPECT_EQ(0u, claim_extended(1000));
}

TEST_F(HttpWorkers, AnExtendedClaimEndsOnceItsPayloadsAreLarge) {
  constexpr std::size_t payload_bytes = 300'000;
  auto payload = "\"" + std::string(payload_bytes, 'x') + "\"";
  for (std::size_t i = 0; i < 70; ++i)
    post("/tasks", R"({"queue":"q","payload":)" + payload + "}");

  auto first = claim_extended(1000);

  EXPECT_GE(first, limits::http_claim_bytes_max / payload_bytes);
  EXPECT_LT(first, 70u);
  EXPECT_EQ(70u - first, claim_extended(1000));
}

TEST_F(HttpWorkers, TasksOfAnExtendedClaimWhoseClientWentAwayAreGivenBack) {
  post(
    "/tasks/batch?limit=extended",
    R"({"tasks":[)" + times(500, R"({"queue":"q","payload":1})") + "]}");
  std::size_t interrupted = 0;
  for (int steps : {20, 40, 80, 160, 320}) {
    auto open = send_along("POST", "/tasks/claim/batch?limit=extended", R"({"count":500})");
    for (int i = 0; i < steps; ++i)
      step();
    if (open.is_answered())
      break;
    ++interrupted;
    go_away(open);

    EXPECT_EQ("0", get("/admin/queues/q")["inProgress"]) << steps;
    EXPECT_EQ("500", get("/admin/queues/q")["ready"]) << steps;
  }

  EXPECT_GT(interrupted, 1u);
}

} // namespace
} // namespace codeq::test
