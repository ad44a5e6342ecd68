// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

#include <set>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class HttpRoutes : public http_fixture {};

TEST_F(HttpRoutes, EnqueueAnswersTheTaskWithItsPayloadAsText) {
  auto added =
    post("/tasks", R"({"command":"GENERATE","payload":{"jobId": "j-1", "x":1.0},"priority":10})");

  EXPECT_EQ(202u, added.status);
  EXPECT_EQ(R"({"jobId": "j-1", "x":1.0})", added.text("payload"));
  EXPECT_EQ("GENERATE", added.text("command"));
  EXPECT_EQ("9", added["priority"]);
  EXPECT_EQ("PENDING", added.text("status"));
  EXPECT_EQ("PENDING_LIST", added.text("lastKnownLocation"));
  EXPECT_EQ("5", added["maxAttempts"]);
  EXPECT_EQ("acme", added.text("tenantId"));
}

TEST_F(HttpRoutes, AnyJsonValueIsAPayload) {
  for (const char* payload : {"null", "7", "\"text\"", "[1,{\"a\":[]}]", "true"}) {
    auto added = post("/tasks", std::string(R"({"command":"q","payload":)") + payload + "}");

    EXPECT_EQ(202u, added.status) << payload;
    EXPECT_EQ(payload, added.text("payload"));
    EXPECT_EQ(payload, get("/tasks/" + added.text("id")).text("payload"));
  }
}

struct refused_task {
  const char* body;
  const char* error;
};

TEST_F(HttpRoutes, WhatCannotBeEnqueuedIsRefusedInWords) {
  const refused_task cases[] = {
    {"", "invalid body: it is empty; it must be a JSON object"},
    {"[]", "invalid body: it must be an object, not an array"},
    {"{\"command\":\"q\"", "invalid body: it is not JSON: incomplete JSON at byte 14"},
    {R"({"command":"q"})", "invalid body: 'payload' is required"},
    {R"({"command":7,"payload":{}})", "invalid command: 'command' must be a string, not a number"},
    {R"({"command":"q","payload":{},"priority":"high"})",
     "invalid body: 'priority' must be a whole number, not a string"},
    {R"({"payload":{}})", "invalid command: 'command' or 'queue' is required"},
    {R"({"command":"a b","payload":{}})",
     "invalid command: 'command' is \"a b\"; it must be 1 to 128 letters, digits, '.', '_' or '-'"},
    {R"({"command":"q","payload":{},"runAt":"tomorrow"})",
     "invalid 'runAt' (use RFC3339): 'runAt' is \"tomorrow\"; it must be a time such as "
     "\"2026-05-20T10:00:00Z\""},
    {R"({"command":"q","payload":{},"delaySeconds":-1})",
     "invalid 'delaySeconds' (must be >= 0): 'delaySeconds' is -1; it must be 0..315360000"},
    {R"({"command":"q","payload":{},"maxAttempts":1001})",
     "'maxAttempts' is 1001; it must be 1..1000, or 0 for the default"},
  };
  for (const auto& c : cases) {
    auto refused = post("/tasks", c.body);

    EXPECT_EQ(400u, refused.status) << c.body;
    EXPECT_EQ(c.error, refused.text("error")) << c.body;
  }
}

TEST_F(HttpRoutes, AWebhookIsRefusedAndNotDropped) {
  auto refused =
    post("/tasks", R"({"command":"q","payload":{},"webhook":"https://example.test/hook"})");

  EXPECT_EQ(400u, refused.status);
  EXPECT_THAT(refused.text("error"), HasSubstr("webhook"));
}

TEST_F(HttpRoutes, NestingBeyondTheLimitIsRefused) {
  auto nested = [](std::size_t depth) {
    return R"({"command":"q","payload":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };

  EXPECT_EQ(202u, post("/tasks", nested(limits::http_json_depth_max - 1)).status);
  EXPECT_EQ(400u, post("/tasks", nested(limits::http_json_depth_max)).status);
}

TEST_F(HttpRoutes, ATaskIsClaimedCompletedAndRead) {
  auto id = enqueue("q");

  auto claimed = claim("q");
  EXPECT_EQ(id, claimed.text("id"));
  EXPECT_EQ("IN_PROGRESS", claimed.text("status"));
  EXPECT_EQ("INPROG_SET", claimed.text("lastKnownLocation"));
  EXPECT_EQ("root", claimed.text("workerId"));
  EXPECT_EQ("1", claimed["attempts"]);
  EXPECT_FALSE(claimed.text("fencingToken").empty());
  EXPECT_FALSE(claimed.text("leaseUntil").empty());

  auto done =
    post("/tasks/" + id + "/result", R"({"status":"COMPLETED","result":{"ok": true, "x":1.50}})");
  EXPECT_EQ(200u, done.status) << done.body;
  EXPECT_EQ(R"({"ok": true, "x":1.50})", done["result"]);
  EXPECT_EQ("COMPLETED", done.text("status"));

  auto read = get("/tasks/" + id + "/result");
  EXPECT_EQ(200u, read.status);
  EXPECT_THAT(read["task"], HasSubstr(R"("status":"COMPLETED")"));
  EXPECT_THAT(read["task"], HasSubstr(R"("lastKnownLocation":"NONE")"));
  EXPECT_THAT(read["result"], HasSubstr(R"("result":{"ok": true, "x":1.50})"));
}

TEST_F(HttpRoutes, TheRepeatOfAReportWithItsTokenGetsTheStoredResult) {
  auto id = enqueue("q");
  auto token = claim("q").text("fencingToken");
  auto body = R"({"status":"COMPLETED","result":{"n":1},"fencingToken":")" + token + "\"}";
  auto other = R"({"status":"COMPLETED","result":{"n":2},"fencingToken":")" + token + "\"}";
  EXPECT_EQ(200u, post("/tasks/" + id + "/result", body).status);

  auto repeated = post("/tasks/" + id + "/result", other);

  EXPECT_EQ(200u, repeated.status);
  EXPECT_EQ(R"({"n":1})", repeated["result"]);
  EXPECT_EQ(409u, post("/tasks/" + id + "/result", R"({"status":"COMPLETED"})").status);
}

TEST_F(HttpRoutes, AFailureSaysWhetherItIsRetried) {
  auto id = enqueue("q", R"(,"maxAttempts":2,"retry":{"kind":"fixed","baseMs":3000})");
  auto failed = R"({"status":"FAILED","error":"no luck"})";
  claim("q");

  auto first = post("/tasks/" + id + "/result", failed);
  EXPECT_EQ("true", first["willRetry"]);
  EXPECT_FALSE(first.text("retryAt").empty());
  EXPECT_EQ(204u, post("/tasks/claim", R"({"commands":["q"]})").status);

  advance(3s);
  EXPECT_EQ("2", claim("q")["attempts"]);
  auto last = post("/tasks/" + id + "/result", failed);
  EXPECT_EQ("false", last["willRetry"]);

  auto dead = get("/tasks/" + id);
  EXPECT_EQ("FAILED", dead.text("status"));
  EXPECT_EQ("DLQ_SET", dead.text("lastKnownLocation"));
  EXPECT_EQ("no luck", dead.text("error"));
  EXPECT_THAT(get("/tasks/" + id + "/result")["result"], HasSubstr(R"("status":"FAILED")"));
}

TEST_F(HttpRoutes, ResultsThatAreNoneAreRefused) {
  auto id = enqueue("q");
  claim("q");
  const refused_task cases[] = {
    {"x", "invalid request body: it is not JSON: syntax error at byte 0"},
    {R"({"status":7})", "invalid status: 'status' must be a string, not a number"},
    {R"({"status":"DONE"})",
     "invalid status: 'status' is \"DONE\"; it must be one of COMPLETED, FAILED"},
    {R"({"status":"COMPLETED","permanent":1})",
     "invalid request body: 'permanent' must be true or false, not a number"},
    {R"({"status":"FAILED"})", "error required when status=FAILED: 'error' is required"},
    {R"({"status":"COMPLETED","fencingToken":"x"})",
     "invalid fencingToken: 'fencingToken' is \"x\"; it must be the one that the claim answered"},
    {R"({"status":"COMPLETED","artifacts":[{"url":"u"}]})",
     "artifact name is required: 'artifacts[0].name' is required"},
    {R"({"status":"COMPLETED","artifacts":[{"name":"a"}]})",
     "artifact a must have either url or contentBase64"},
    {R"({"status":"COMPLETED","artifacts":[{"name":"a","contentBase64":"!"}]})",
     "artifact a: contentBase64 is not base64"},
  };
  for (const auto& c : cases) {
    auto refused = post("/tasks/" + id + "/result", c.body);

    EXPECT_EQ(400u, refused.status) << c.body;
    EXPECT_EQ(c.error, refused.text("error")) << c.body;
  }
}

TEST_F(HttpRoutes, ArtifactsComeBackWithTheResult) {
  auto id = enqueue("q");
  claim("q");
  auto artifacts = R"([{"name":"a","contentBase64":"aGk="}])";

  post(
    "/tasks/" + id + "/result",
    std::string(R"({"status":"COMPLETED","result":{"n":1},"artifacts":)") + artifacts + "}");

  auto record = get("/tasks/" + id + "/result")["result"];
  EXPECT_THAT(record, HasSubstr(R"("result":{"n":1})"));
  EXPECT_THAT(record, HasSubstr(std::string(R"("artifacts":)") + artifacts));
}

TEST_F(HttpRoutes, LeaseRoutesTellUnknownTasksOthersAndEndedOnesApart) {
  auto id = enqueue("q");
  claim("q");
  for (const char* route : {"heartbeat", "abandon", "nack"}) {
    auto path = [&](const std::string& task) { return "/tasks/" + task + "/" + route; };

    EXPECT_EQ(
      "not-found: tenant \"acme\" has no task \"00000000-0000-0001-0000-000000000000\", or its "
      "retention is over",
      post(path("00000000-0000-0001-0000-000000000000")).text("error"));
    EXPECT_EQ(
      "not-found: \"nonsense\" is not a task id; POST /v1/codeq/tasks answers with one",
      post(path("nonsense")).text("error"));
    use_token("acme:other:w");
    auto refused = post(path(id));
    EXPECT_EQ(403u, refused.status);
    EXPECT_EQ(
      "not-owner: the task is leased to worker \"root\"; the caller is worker \"other\"",
      refused.text("error"));
    use_token("acme:root:pwa");
  }
  post("/tasks/" + id + "/result", R"({"status":"COMPLETED"})");
  for (const char* route : {"heartbeat", "abandon", "nack"}) {
    auto refused = post("/tasks/" + id + "/" + route);
    EXPECT_EQ(409u, refused.status);
    EXPECT_THAT(refused.text("error"), HasSubstr("not-in-progress: the lease of task "));
  }
}

TEST_F(HttpRoutes, AReportOnATaskThatNobodyClaimedSaysWhatTheTaskIs) {
  auto ready = enqueue("q");
  auto later = enqueue("q", R"(,"delaySeconds":60)");
  auto why = [&](const std::string& id, const std::string& verb, const char* body) {
    auto refused = post("/tasks/" + id + "/" + verb, body);
    EXPECT_EQ(409u, refused.status) << refused.body;
    return refused.text("error");
  };
  auto is_ready = "not-in-progress: task \"" + ready
                  + "\" is ready, and nobody holds a lease of it; "
                    "POST /v1/codeq/tasks/claim leases tasks";

  EXPECT_EQ(is_ready, why(ready, "heartbeat", "{}"));
  EXPECT_EQ(is_ready, why(ready, "result", R"({"status":"COMPLETED"})"));
  EXPECT_THAT(
    why(later, "nack", "{}"),
    testing::StartsWith("not-in-progress: task \"" + later + "\" is scheduled until "));
}

TEST_F(HttpRoutes, AChangeThatIsNotMadeSaysWhy) {
  auto guarded = enqueue("q", R"(,"delaySeconds":60)");
  auto open = enqueue("q", R"(,"delaySeconds":60,"allowPromotion":true)");

  auto refused = post("/tasks/" + guarded + "/promote", "");
  EXPECT_EQ("guarded", refused.text("outcome"));
  EXPECT_EQ(
    "its producer did not set allowPromotion, so its own time stands", refused.text("message"));
  EXPECT_EQ("", post("/tasks/" + open + "/promote", "").text("message"));
  EXPECT_EQ(
    "the task is ready and stays so", post("/tasks/" + open + "/promote", "").text("message"));
}

TEST_F(HttpRoutes, ARefusalNamesWhatIsMeant) {
  auto why = [&](const char* method, const char* target, const char* body) {
    return call(method, target, body).text("error");
  };

  EXPECT_EQ(
    "unknown query parameter 'tenant'; HTTP acts in tenant \"acme\" without tokens",
    why("GET", "/admin/queues?tenant=shop", ""));
  EXPECT_EQ(
    "unknown field 'waitSeconds'; only POST /v1/codeq/tasks/claim waits",
    why("POST", "/tasks/claim/batch", R"({"count":1,"waitSeconds":1})"));
  EXPECT_EQ(
    "unknown query parameter 'status'; "
    "'state' is one of scheduled, gated, ready, leased, completed, dead, cancelled",
    why("GET", "/tasks?status=PENDING", ""));
  EXPECT_THAT(why("POST", "/tasks/x/redrive", "{}"), HasSubstr("/admin/dead/redrive with 'ids'"));
  EXPECT_THAT(why("POST", "/schedules", "{}"), HasSubstr("; PUT /v1/codeq/schedules/NAME"));
  EXPECT_THAT(
    why("PATCH", "/admin/queues/q/settings", "{}"), HasSubstr("; PUT keeps the settings"));
  EXPECT_EQ(404u, get("/admin/queues/none/explain").status);
  EXPECT_THAT(why("GET", "//dashboard", ""), HasSubstr("; the dashboard is at /; "));
}

TEST_F(HttpRoutes, AHeartbeatExtendsByWhatItAsksFor) {
  auto id = enqueue("q", R"(,"leaseSeconds":2)");
  post("/tasks/claim", R"({"commands":["q"],"leaseSeconds":2})");
  EXPECT_EQ(400u, post("/tasks/" + id + "/heartbeat", "").status);

  EXPECT_EQ("true", post("/tasks/" + id + "/heartbeat", R"({"extendSeconds":30})")["ok"]);
  advance(29s);
  EXPECT_EQ("IN_PROGRESS", get("/tasks/" + id).text("status"));
  advance(2s);

  EXPECT_EQ("PENDING", get("/tasks/" + id).text("status"));
  EXPECT_EQ(409u, post("/tasks/" + id + "/heartbeat", R"({"extendSeconds":30})").status);
}

TEST_F(HttpRoutes, AbandonGivesTheAttemptBackAndNackDelays) {
  auto id = enqueue("q");
  claim("q");
  EXPECT_EQ("requeued", post("/tasks/" + id + "/abandon", "").text("status"));
  EXPECT_EQ("1", claim("q")["attempts"]);

  auto nacked = post("/tasks/" + id + "/nack", R"({"delaySeconds":5,"reason":"later"})");

  EXPECT_EQ(
    R"({"delaySeconds":5,"status":"requeued","state":"scheduled","retryAt":")"
      + get("/tasks/" + id).text("eligibleAt") + "\"}",
    nacked.body);
  EXPECT_EQ(204u, post("/tasks/claim", R"({"commands":["q"]})").status);
  advance(5s);
  EXPECT_EQ("2", claim("q")["attempts"]);
}

TEST_F(HttpRoutes, ANackOfTheLastAttemptGoesToTheDeadLetters) {
  auto id = enqueue("q", R"(,"maxAttempts":1)");
  claim("q");

  EXPECT_EQ(
    R"({"delaySeconds":0,"status":"dlq","state":"dead"})",
    post("/tasks/" + id + "/nack", R"({"delaySeconds":5,"reason":"never"})").body);
}

TEST_F(HttpRoutes, AQueueIsFullOverAllShards) {
  call("PUT", "/admin/queues/q/settings", R"({"maxDepth":5})");
  int taken = 0;
  std::string refusal;
  for (; taken < 9 && refusal.empty(); ++taken)
    refusal = post("/tasks", R"({"queue":"q","payload":1})").text("error");

  EXPECT_EQ(taken, 6) << "the sixth was refused";
  EXPECT_THAT(refusal, HasSubstr("no room for 1 more; max_depth, over all shards, is 5"));
}

TEST_F(HttpRoutes, PartsOfAnAnswerMayBeSentBack) {
  auto put = [this](const std::string& task) {
    return call(
      "PUT", "/schedules/n", R"({"every":"1h","catchUpMs":60000,"task":)" + task + "}");
  };
  EXPECT_EQ(201u, put(R"({"queue":"q","payload":1,"key":"k"})").status);
  auto shown = get("/schedules/n");
  EXPECT_EQ("60000", shown["catchUpMs"]);

  EXPECT_EQ("unchanged", put(shown["task"]).text("result"));

  call("PUT", "/admin/limits/l", R"({"rate":{"count":5,"per":"2s"}})");
  auto rate = get("/admin/limits/l")["rate"];
  EXPECT_THAT(rate, HasSubstr("perSeconds"));
  EXPECT_EQ(200u, call("PUT", "/admin/limits/l", R"({"rate":)" + rate + "}").status);
}

TEST_F(HttpRoutes, PoliciesOfAScheduleAreNames) {
  auto put = [this](const std::string& policies) {
    auto body = R"({"every":"1h",)" + policies + R"("task":{"queue":"q","payload":1}})";
    return call("PUT", "/schedules/p", body);
  };
  EXPECT_THAT(
    put("")["schedule"], HasSubstr(R"("misfire":"latest","catchUpMs":3600000,"overlap":"skip")"));
  put(R"("misfire":"all","overlap":"queue_one",)");
  auto given = get("/schedules/p");
  EXPECT_EQ("all queue_one", given.text("misfire") + " " + given.text("overlap"));
  EXPECT_THAT(
    put(R"("overlap":"no",)").text("error"), HasSubstr("must be one of allow, skip, queue_one, "));
}

TEST_F(HttpRoutes, WhatIsGivenBackAfterACancelIsCancelled) {
  for (const char* route : {"/abandon", "/nack"}) {
    auto path = "/tasks/" + enqueue("q");
    claim("q");
    post(path + "/cancel", "");

    auto back = post(path + route);

    EXPECT_EQ("cancelled", back.text("status")) << route;
    EXPECT_EQ("cancelled", back.text("state")) << route;
    EXPECT_EQ("", back["retryAt"]) << route;
    EXPECT_EQ("cancelled", get(path).text("state")) << route;
  }
}

TEST_F(HttpRoutes, BatchesDecideTheirItemsSingly) {
  auto added = post(
    "/tasks/batch",
    R"({"tasks":[{"command":"q","payload":1},{"command":"q"},7,{"command":"q","payload":2}]})");
  EXPECT_EQ(200u, added.status);
  EXPECT_THAT(
    added.body,
    HasSubstr(R"({"error":"invalid body: 'payload' is required","code":"invalid_argument",)"
              R"("httpStatus":400},{"error":"invalid body: it must be an object, not a number",)"
              R"("code":"invalid_argument","httpStatus":400},{"task")"));
  EXPECT_EQ(400u, post("/tasks/batch", R"({"tasks":[]})").status);
  std::string many = "1";
  for (int i = 0; i < 100; ++i)
    many += ",1";
  EXPECT_EQ(
    "batch size exceeds maximum of 100: 'tasks' has 101 elements; it must have 1..100",
    post("/tasks/batch", R"({"tasks":[)" + many + "]}").text("error"));

  auto claimed = post("/tasks/claim/batch", R"({"commands":["q"],"count":10})");
  EXPECT_EQ(200u, claimed.status);
  auto tasks = http::json_object::parse(claimed.body)->elements("tasks");
  ASSERT_EQ(2u, tasks.size());
  EXPECT_EQ(204u, post("/tasks/claim/batch", R"({"commands":["q"],"count":10})").status);
  EXPECT_EQ(400u, post("/tasks/claim/batch", R"({"commands":["q"]})").status);
  EXPECT_EQ(
    "count exceeds maximum of 10: 'count' is 11; it must be 1..10",
    post("/tasks/claim/batch", R"({"commands":["q"],"count":11})").text("error"));

  auto id = http::json_object::parse(tasks[0])->text("id");
  auto done = post(
    "/tasks/batch/results",
    R"({"results":[{"taskId":"nonsense","status":"COMPLETED"},{"taskId":")" + id
      + R"(","status":"COMPLETED"},{"taskId":")" + id + R"(","status":"X"}]})");
  EXPECT_EQ(200u, done.status);
  EXPECT_THAT(done.body, HasSubstr(R"({"taskId":"nonsense","error":"task not found: )"));
  EXPECT_THAT(done.body, HasSubstr(R"(","code":"unknown_task","httpStatus":404})"));
  EXPECT_THAT(done.body, HasSubstr(R"("error":"invalid status: )"));
  EXPECT_THAT(done.body, HasSubstr(R"("status":"COMPLETED")"));
  auto other = http::json_object::parse(tasks[1])->text("id");
  EXPECT_THAT(
    post("/tasks/batch/results", R"({"results":[{"id":")" + other + R"(","status":"COMPLETED"}]})")
      .body,
    testing::StartsWith(R"({"results":[{"taskId":")" + other + R"(","result":{)"));
}

TEST_F(HttpRoutes, SixtyFourClientsWithOneKeyMakeOneTaskPerTenant) {
  std::map<std::string, std::set<std::string>> ids;
  std::vector<std::pair<std::string, pending>> open;
  for (int i = 0; i < 64; ++i) {
    for (std::string tenant : {"acme", "umbrella"}) {
      use_token(tenant + ":client:p");
      auto body = R"({"command":"q","payload":)" + std::to_string(i) + R"(,"idempotencyKey":"k"})";
      open.emplace_back(tenant, send_along("POST", "/tasks", body));
    }
  }
  run();
  for (const auto& [tenant, request] : open) {
    ASSERT_TRUE(request.is_answered());
    EXPECT_EQ(202u, (*request.answered)->status);
    EXPECT_EQ("0", (*request.answered)->text("payload"));
    ids[tenant].insert((*request.answered)->text("id"));
  }

  EXPECT_EQ(1u, ids["acme"].size());
  EXPECT_EQ(1u, ids["umbrella"].size());
  EXPECT_NE(ids["acme"], ids["umbrella"]);
}

TEST_F(HttpRoutes, ListsGoFromTheNewestToTheOldestPageByPage) {
  std::vector<std::string> added;
  for (int i = 0; i < 10; ++i) {
    advance(1ms);
    added.push_back(enqueue("q"));
  }
  enqueue("other");
  std::vector<std::string> listed;
  std::string after;
  for (int page = 0; page < 4; ++page) {
    auto found = get("/tasks?queue=q&limit=3&after=" + after);
    ASSERT_EQ(200u, found.status) << found.body;
    for (auto task : http::json_object::parse(found.body)->elements("tasks"))
      listed.push_back(http::json_object::parse(task)->text("id"));
    after = found.text("after");
  }

  EXPECT_EQ((std::vector<std::string>{added.rbegin(), added.rend()}), listed);
  EXPECT_EQ("", after);
  EXPECT_EQ(400u, get("/tasks?after=x").status);
  EXPECT_EQ(400u, get("/tasks?state=asleep").status);
  EXPECT_EQ("[]", get("/tasks?queue=q&state=dead")["tasks"]);
}

TEST_F(HttpRoutes, KeysNameTasksToTheirProducers) {
  auto id = enqueue("q", R"(,"idempotencyKey":"a/b","delaySeconds":60,"allowPromotion":true)");

  EXPECT_EQ(id, get("/queues/q/keys/a%2Fb").text("id"));
  EXPECT_EQ(404u, get("/queues/q/keys/other").status);
  EXPECT_EQ("changed", post("/queues/q/keys/a%2Fb/promote", "").text("outcome"));
  EXPECT_EQ("ready", get("/tasks/" + id).text("state"));
  EXPECT_EQ("changed", post("/queues/q/keys/a%2Fb/cancel", "").text("outcome"));
  EXPECT_EQ("cancelled", get("/tasks/" + id).text("state"));
  EXPECT_EQ(404u, post("/queues/q/keys/other/cancel", "").status);
}

TEST_F(HttpRoutes, DeadTasksAreListedRedrivenAndPurged) {
  auto kill = [&](const std::string& id) {
    claim("q");
    post("/tasks/" + id + "/result", R"({"status":"FAILED","error":"x","permanent":true})");
  };
  auto first = enqueue("q");
  kill(first);
  auto second = enqueue("q");
  kill(second);
  EXPECT_THAT(get("/admin/dead?queue=q").body, testing::AllOf(HasSubstr(first), HasSubstr(second)));

  auto one = post("/admin/dead/redrive", R"({"ids":[")" + first + R"(","nonsense"]})");
  EXPECT_EQ("1", one["changed"]);
  EXPECT_THAT(one["results"], HasSubstr(R"(\"nonsense\" is not a task id)"));
  EXPECT_EQ("ready", get("/tasks/" + first).text("state"));
  EXPECT_EQ("1", post("/admin/dead/purge", R"({"queue":"q"})")["changed"]);
  EXPECT_EQ(404u, get("/tasks/" + second).status);
}

TEST_F(HttpRoutes, AdminsSeeCountsPauseAndConfigureQueues) {
  enqueue("q", R"(,"priority":3)");
  auto leased = enqueue("q");
  claim("q");
  enqueue("q", R"(,"delaySeconds":60)");

  auto all = get("/admin/queues");
  EXPECT_EQ("1", all["codeq:q:q:acme:delayed"]);
  EXPECT_EQ("1", all["codeq:q:q:acme:inprog"]);
  auto listed = get("/admin/queues?as=list").body;
  EXPECT_TRUE(listed.starts_with(R"({"queues":[{"queue":"q","paused":false,"scheduled":1,)"))
    << listed;
  auto one = get("/admin/queues/q");
  EXPECT_EQ("1", one["ready"]);
  EXPECT_EQ("1", one["inProgress"]);
  EXPECT_EQ("true", one["exists"]);
  EXPECT_EQ("false", get("/admin/queues/none")["exists"]);
  EXPECT_EQ("false", get("/admin/queues/none/settings")["exists"]);
  EXPECT_EQ("1", one["delayed"]);
  EXPECT_EQ("0", one["dlq"]);

  EXPECT_EQ("true", post("/admin/queues/q/pause", "")["paused"]);
  EXPECT_EQ(204u, post("/tasks/claim", R"({"commands":["q"]})").status);
  EXPECT_EQ("false", post("/admin/queues/q/resume", "")["paused"]);
  EXPECT_EQ(200u, claim("q").status);

  auto set = call("PUT", "/admin/queues/q/settings", R"({"maxAttempts":7,"maxDepth":8})");
  EXPECT_THAT(
    set["settings"], testing::AllOf(HasSubstr("\"maxAttempts\":7"), HasSubstr("\"maxDepth\":8")));
  EXPECT_THAT(
    call("PUT", "/admin/queues/q/settings", R"({"maxDepth":9})")["settings"],
    HasSubstr("\"maxDepth\":9"));
  EXPECT_EQ("7", get("/tasks/" + enqueue("q"))["maxAttempts"]);
  EXPECT_EQ("4", post("/admin/queues/q/purge", "")["changed"]);
  EXPECT_EQ(404u, get("/tasks/" + leased).status);
}

TEST_F(HttpRoutes, FairnessKeysTakeTurnsAndAreListed) {
  enqueue("q", R"(,"fairnessKey":"flood")");
  enqueue("q", R"(,"fairnessKey":"flood")");
  auto small = enqueue("q", R"(,"fairnessKey":"small","fairnessWeight":3)");

  auto task = get("/tasks/" + small);
  EXPECT_EQ("small", task.text("fairnessKey"));
  EXPECT_EQ("3", task["fairnessWeight"]);
  auto first = get("/admin/queues/q/fairness?limit=1");
  EXPECT_EQ("true", first["more"]);
  EXPECT_THAT(first["keys"], HasSubstr(R"("fairnessKey":"flood","fairnessWeight":1,"ready":2)"));
  auto second = get("/admin/queues/q/fairness?after=flood");
  EXPECT_EQ("false", second["more"]);
  EXPECT_THAT(second["keys"], HasSubstr(R"("fairnessKey":"small","fairnessWeight":3,"ready":1)"));
  EXPECT_EQ(404u, get("/admin/queues/other/fairness").status);

  EXPECT_THAT(
    post("/tasks", R"({"command":"q","payload":1,"fairnessWeight":1001})")["error"],
    HasSubstr("'fairnessWeight' is 1001; it must be 1..1000"));
}

TEST_F(HttpRoutes, AnAdminEndsTasksByForce) {
  auto id = enqueue("q");
  auto path = "/admin/tasks/" + id + "/force";
  claim("q");

  EXPECT_EQ("changed", post(path, R"({"how":"revoke"})").text("outcome"));
  EXPECT_EQ("ready", get("/tasks/" + id).text("state"));
  EXPECT_EQ("completed", post(path, R"({"how":"complete","result":{"n":1}})").text("state"));
  EXPECT_THAT(get("/tasks/" + id + "/result")["result"], HasSubstr(R"({"n":1})"));
  EXPECT_EQ(400u, post(path, R"({"how":"stop"})").status);
}

TEST_F(HttpRoutes, ATaskExplainsItselfAndTellsItsTimeline) {
  auto id = enqueue("q");
  EXPECT_EQ("no_worker", get("/tasks/" + id + "/explain").text("reason"));
  claim("q");
  EXPECT_EQ("leased", get("/tasks/" + id + "/explain").text("reason"));

  auto events = get("/tasks/" + id + "/events")["events"];

  EXPECT_THAT(events, testing::AllOf(HasSubstr("enqueued"), HasSubstr("granted")));
  EXPECT_THAT(events, HasSubstr(R"("workerId":"root")"));
}

TEST_F(HttpRoutes, CleanUpFindsNothingThatRetentionLeft) {
  EXPECT_EQ("0", post("/admin/tasks/cleanup", "")["deleted"]);
  EXPECT_EQ("7", post("/admin/tasks/cleanup", R"({"limit":7})")["limit"]);
  EXPECT_EQ(
    "invalid 'before' (use RFC3339): 'before' is \"now\"; it must be a time such as "
    "\"2026-05-20T10:00:00Z\"",
    post("/admin/tasks/cleanup", R"({"before":"now"})").text("error"));
}

TEST_F(HttpRoutes, UnknownPathsAndMethodsAreToldApart) {
  EXPECT_EQ(404u, get("/nothing").status);
  EXPECT_EQ(404u, get("//v2/codeq/tasks").status);
  auto refused = call("DELETE", "/tasks");
  EXPECT_EQ(405u, refused.status);
  EXPECT_EQ("POST, GET, HEAD", refused.fields["Allow"]);
}

} // namespace
} // namespace codeq::test
