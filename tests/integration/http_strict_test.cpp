// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

#include <chrono>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

/// Undeclared fields are refused, and a declared field means the same on every route.
class HttpStrict : public http_fixture {
protected:
  /// Why the request is refused with 400.
  std::string why(const std::string& method, const std::string& target, const std::string& body) {
    auto refused = call(method, target, body);
    EXPECT_EQ(400u, refused.status) << method << ' ' << target << ' ' << refused.body;
    return refused.text("error");
  }

  std::string why_not_added(const std::string& more) {
    return why("POST", "/tasks", R"({"command":"q","payload":1,)" + more + "}");
  }
};

struct strict_route {
  const char* method;
  const char* target;
  /// Required fields of the body, behind which one more fits; null when the route takes no body.
  const char* body = "";
};

constexpr strict_route routes[] = {
  {"POST", "/tasks", R"("command":"q","payload":1,)"},
  {"POST", "/tasks/batch", R"("tasks":[{"command":"q","payload":1}],)"},
  {"POST", "/tasks/claim"},
  {"POST", "/tasks/claim/batch", R"("count":1,)"},
  {"POST", "/tasks/x/heartbeat"},
  {"POST", "/tasks/x/progress", R"("percent":1,)"},
  {"POST", "/tasks/x/checkpoint", R"("checkpoint":1,)"},
  {"POST", "/tasks/x/abandon"},
  {"POST", "/tasks/x/nack"},
  {"POST", "/tasks/x/result", R"("status":"COMPLETED",)"},
  {"POST", "/tasks/batch/results", R"("results":[{"taskId":"x","status":"COMPLETED"}],)"},
  {"GET", "/tasks", nullptr},
  {"GET", "/tasks/x", nullptr},
  {"GET", "/tasks/x/result", nullptr},
  {"GET", "/tasks/x/explain", nullptr},
  {"GET", "/tasks/x/events", nullptr},
  {"POST", "/tasks/x/cancel"},
  {"POST", "/tasks/x/promote"},
  {"GET", "/queues/q/keys/k", nullptr},
  {"POST", "/queues/q/keys/k/cancel"},
  {"POST", "/queues/q/keys/k/promote"},
  {"GET", "/admin/queues", nullptr},
  {"GET", "/admin/queues/q", nullptr},
  {"POST", "/admin/queues/q/pause"},
  {"POST", "/admin/queues/q/resume"},
  {"POST", "/admin/queues/q/purge"},
  {"GET", "/admin/queues/q/settings", nullptr},
  {"PUT", "/admin/queues/q/settings"},
  {"GET", "/admin/queues/q/fairness", nullptr},
  {"GET", "/admin/queues/q/explain", nullptr},
  {"GET", "/autoscale", nullptr},
  {"GET", "/admin/limits", nullptr},
  {"GET", "/admin/limits/l", nullptr},
  {"PUT", "/admin/limits/l"},
  {"DELETE", "/admin/limits/l"},
  {"GET", "/admin/limits/l/keys", nullptr},
  {"POST", "/admin/limits/l/keys/k/close", R"("seconds":1,)"},
  {"POST", "/admin/limits/l/keys/k/open"},
  {"POST", "/admin/limits/l/close", R"("seconds":1,)"},
  {"POST", "/admin/limits/l/open"},
  {"GET", "/admin/dead", nullptr},
  {"POST", "/admin/dead/redrive"},
  {"POST", "/admin/dead/purge"},
  {"POST", "/admin/tasks/cleanup"},
  {"POST", "/admin/tasks/x/force", R"("how":"revoke",)"},
  {"GET", "/admin/workers", nullptr},
  {"POST", "/admin/workers/w/drain"},
  {"POST", "/admin/workers/w/resume"},
  {"GET", "/admin/shards", nullptr},
  {"GET", "/admin/audit", nullptr},
  {"GET", "/admin/cluster", nullptr},
  {"POST", "/admin/cluster/shards/0/move", R"("to":"c1",)"},
  {"POST", "/admin/cluster/shards/0/force-primary", R"("to":"c1",)"},
  {"POST", "/admin/cluster/nodes/c1/drain"},
  {"POST", "/admin/cluster/nodes/c1/undrain"},
  {"POST", "/admin/cluster/balance"},
  {"GET", "/admin/log-level", nullptr},
  {"PUT", "/admin/log-level", R"("level":"info",)"},
  {"POST", "/workers/subscriptions", R"("callbackUrl":"https://a.example/",)"},
  {"POST", "/workers/subscriptions/x/heartbeat"},
  {"PUT", "/admin/topics/t"},
  {"GET", "/admin/topics/t", nullptr},
  {"GET", "//healthz", nullptr},
  {"GET", "//readyz", nullptr},
  {"GET", "//metrics", nullptr},
  {"GET", "//openapi.json", nullptr},
};

TEST_F(HttpStrict, EveryRouteRefusesAnUnknownQueryParameter) {
  use_token("acme:root:pwat");
  for (const auto& r : routes) {
    auto body = r.body ? "{" + std::string(r.body) + R"("wombat":1})" : "";

    EXPECT_THAT(
      why(r.method, std::string(r.target) + "?wombat=1", body),
      StartsWith("unknown query parameter 'wombat'; "));
  }
}

TEST_F(HttpStrict, EveryRouteRefusesAnUnknownFieldAndWhatIsNoJson) {
  use_token("acme:root:pwat");
  for (const auto& r : routes) {
    if (!r.body)
      continue;
    auto with = [&](const char* more) { return "{" + std::string(r.body) + more + "}"; };

    EXPECT_THAT(
      why(r.method, r.target, with(R"("wombat":1)")), StartsWith("unknown field 'wombat'; "));
    EXPECT_THAT(why(r.method, r.target, "nonsense"), StartsWith("invalid "));
    EXPECT_THAT(
      why(r.method, r.target, "[]"), HasSubstr("body: it must be an object, not an array"));
  }
}

TEST_F(HttpStrict, TheNearestNameIsProposed) {
  EXPECT_EQ(
    "unknown field 'delaySecs'; did you mean 'delaySeconds'?", why_not_added(R"("delaySecs":1)"));
  EXPECT_EQ(
    "unknown field 'max_attempts'; did you mean 'maxAttempts'?",
    why_not_added(R"("max_attempts":1)"));
  EXPECT_EQ(
    "unknown field 'retry.base'; did you mean 'retry.baseMs'?",
    why_not_added(R"("retry":{"base":1})"));
  EXPECT_EQ(
    "unknown query parameter 'limt'; did you mean 'limit'?", why("GET", "/tasks?limt=1", ""));
  EXPECT_EQ(
    "unknown field 'delay_seconds'; did you mean 'delaySeconds'?",
    why("POST", "/tasks/x/nack", R"({"delay_seconds":1})"));
  EXPECT_EQ(
    "unknown field 'artifacts[0].content'; did you mean 'artifacts[0].contentBase64'?",
    why(
      "POST",
      "/tasks/x/result",
      R"({"status":"COMPLETED","artifacts":[{"name":"a","content":"x"}]})"));
}

TEST_F(HttpStrict, ItemsOfABatchAreRefusedOnTheirOwn) {
  auto added = post(
    "/tasks/batch",
    R"({"tasks":[{"command":"q","payload":1,"prio":3},)"
    R"({"command":"q","payload":1}]})");
  auto reported =
    post("/tasks/batch/results", R"({"results":[{"taskId":"x","status":"COMPLETED","reslt":1}]})");

  EXPECT_EQ(200u, added.status);
  EXPECT_THAT(
    added.body,
    HasSubstr(R"([{"error":"unknown field 'prio'; did you mean 'priority'?",)"
              R"("code":"invalid_argument","httpStatus":400},{"task":)"));
  EXPECT_THAT(reported.body, HasSubstr("unknown field 'reslt'; did you mean 'result'?"));
}

TEST_F(HttpStrict, AClaimOfOneQueueNeverTakesFromAnother) {
  enqueue("other");

  EXPECT_EQ(
    "unknown field 'queue'; did you mean 'queues'?",
    why("POST", "/tasks/claim", R"({"queue":"payments"})"));
  EXPECT_EQ(204u, post("/tasks/claim", R"({"queues":["payments"]})").status);
  EXPECT_EQ(200u, post("/tasks/claim", R"({"queues":["other"]})").status);
}

TEST_F(HttpStrict, ADelayDelays) {
  EXPECT_EQ(
    "invalid 'delay': 'delay' must be a duration such as \"90s\", not a number",
    why_not_added(R"("delay":3600)"));

  auto id = enqueue("q", R"(,"delay":"90s")");
  EXPECT_EQ("scheduled", get("/tasks/" + id).text("state"));
  advance(89s);
  EXPECT_EQ(204u, post("/tasks/claim", R"({"commands":["q"]})").status);
  advance(1s);
  EXPECT_EQ(200u, post("/tasks/claim", R"({"commands":["q"]})").status);
}

TEST_F(HttpStrict, AKeyAddsOnce) {
  auto first = enqueue("q", R"(,"key":"dup")");

  EXPECT_EQ(first, enqueue("q", R"(,"key":"dup")"));
  EXPECT_EQ(first, enqueue("q", R"(,"idempotencyKey":"dup")"));
  EXPECT_NE(first, enqueue("q"));
}

TEST_F(HttpStrict, TheHeaderIdempotencyKeyAddsOnce) {
  use_key_header("dup");
  auto first = enqueue("q");

  EXPECT_EQ(first, enqueue("q"));
  EXPECT_EQ(first, enqueue("q", R"(,"key":"dup")"));
  EXPECT_EQ(
    "'Idempotency-Key' is \"dup\"; it must be \"other\" as in the body",
    why_not_added(R"("key":"other")"));
  EXPECT_THAT(
    why("POST", "/tasks/batch", R"({"tasks":[{"command":"q","payload":1}]})"),
    HasSubstr("a batch takes no header 'Idempotency-Key'"));
}

TEST_F(HttpStrict, NumbersOutOfRangeAreRefusedWithTheirLimits) {
  EXPECT_EQ("'priority' is 12; it must be 0..9", why_not_added(R"("priority":12)"));
  EXPECT_EQ(
    "'maxAttempts' is -1; it must be 1..1000, or 0 for the default",
    why_not_added(R"("maxAttempts":-1)"));
  EXPECT_EQ("'limit' must be a whole number, not \"foo\"", why("GET", "/tasks?limit=foo", ""));
  EXPECT_EQ("'limit' is 1001; it must be 1..1000", why("GET", "/tasks?limit=1001", ""));
  EXPECT_EQ(
    "'waitSeconds' must be a whole number, not \"long\"",
    why("GET", "/tasks/x/result?waitSeconds=long", ""));
  EXPECT_EQ(
    "'leaseSeconds' is 43201; it must be 1..43200, or 0 for the default",
    why("POST", "/tasks/claim", R"({"leaseSeconds":43201})"));
  EXPECT_EQ(
    "'extendSeconds' is -1; it must be 1..43200, or 0 for the default",
    why("POST", "/tasks/x/heartbeat", R"({"extendSeconds":-1})"));
  EXPECT_EQ(
    "'maxAttempts' is 0; it must be 1..1000",
    why("PUT", "/admin/queues/q/settings", R"({"maxAttempts":0})"));
  EXPECT_EQ(
    "'state' is \"asleep\"; it must be one of scheduled, gated, ready, leased, completed, dead, "
    "cancelled",
    why("GET", "/tasks?state=asleep", ""));
  EXPECT_EQ(
    "'how' is \"stop\"; it must be one of revoke, complete, fail",
    why("POST", "/admin/tasks/x/force", R"({"how":"stop"})"));
  EXPECT_EQ(
    "'rate' is 1000001; it must be 0..1000000",
    why("POST", "/admin/dead/redrive", R"({"rate":1000001})"));
  EXPECT_EQ(
    "invalid command: 'command' is \"a b\"; it must be 1 to 128 letters, digits, '.', '_' or '-'",
    why("GET", "/admin/queues/a%20b", ""));
}

TEST_F(HttpStrict, AFieldIsGivenOnce) {
  EXPECT_EQ(
    "query parameter 'limit' is given twice", why("GET", "/tasks?limit=1&queue=q&limit=2", ""));
  EXPECT_EQ("field 'priority' is given twice", why_not_added(R"("priority":1,"priority":2)"));
  EXPECT_EQ(
    "field 'retry.baseMs' is given twice", why_not_added(R"("retry":{"baseMs":1,"baseMs":1})"));
}

TEST_F(HttpStrict, PayloadsOfCompletedTasksCannotBeKept) {
  EXPECT_EQ(
    "'keepPayload' is true; it must be false, since this version does not keep payloads of "
    "completed tasks",
    why("PUT", "/admin/queues/q/settings", R"({"keepPayload":true})"));
  EXPECT_EQ(200u, call("PUT", "/admin/queues/q/settings", R"({"keepPayload":false})").status);
}

TEST_F(HttpStrict, LimitOfAQueueHasAKeyOrAHeader) {
  EXPECT_EQ(
    "'limits[0].key' is \"k\"; it must be left out, since 'header' is \"h\"",
    why(
      "PUT",
      "/admin/queues/q/settings",
      R"({"limits":[{"name":"a","key":"k","header":"h"}]})"));
  EXPECT_EQ(
    "'limits[1].name' is \"a\"; it must be another one than 'limits[0].name'",
    why("PUT", "/admin/queues/q/settings", R"({"limits":[{"name":"a"},{"name":"a"}]})"));
  EXPECT_EQ(200u, call("PUT", "/admin/queues/q/settings", R"({"limits":[]})").status);
}

TEST_F(HttpStrict, FairnessHeaderOfAQueueIsSetShownAndTakenAway) {
  EXPECT_THAT(
    why(
      "PUT",
      "/admin/queues/q/settings",
      R"({"fairnessHeader":")" + std::string(257, 'h') + R"("})"),
    HasSubstr("'fairnessHeader'"));
  EXPECT_EQ(
    200u, call("PUT", "/admin/queues/q/settings", R"({"fairnessHeader":"customer"})").status);
  EXPECT_THAT(
    call("PUT", "/admin/queues/q/settings", R"({"maxDepth":9})").body,
    HasSubstr(R"("fairnessHeader":"customer")"))
    << "other changes leave it alone";
  EXPECT_THAT(
    call("PUT", "/admin/queues/q/settings", R"({"fairnessHeader":""})").body,
    HasSubstr(R"("fairnessHeader":"")"));
}

TEST_F(HttpStrict, WeightsOfFairnessKeysAreSetOneByOneAndTakenAway) {
  const std::string settings = "/admin/queues/q/settings";
  EXPECT_THAT(
    why("PUT", settings, R"({"fairnessWeights":[{"fairnessKey":"a","fairnessWeight":1001}]})"),
    HasSubstr("'fairnessWeight"));
  EXPECT_THAT(
    why(
      "PUT",
      settings,
      R"({"fairnessWeights":[{"fairnessKey":"a","fairnessWeight":1},)"
      R"({"fairnessKey":"a","fairnessWeight":2}]})"),
    HasSubstr("'fairnessWeights[1].fairnessKey'"));
  EXPECT_THAT(
    call(
      "PUT", settings, R"({"fairnessWeights":[{"fairnessKey":"a","fairnessWeight":5}]})")
      .body,
    HasSubstr(R"("fairnessWeights":[{"fairnessKey":"a","fairnessWeight":5}])"));
  EXPECT_THAT(
    call("PUT", settings, R"({"fairnessWeights":[{"fairnessWeight":2}]})").body,
    HasSubstr(
      R"([{"fairnessKey":"","fairnessWeight":2},{"fairnessKey":"a","fairnessWeight":5}])"))
    << "those of other keys stay";
  EXPECT_THAT(
    call(
      "PUT", settings, R"({"fairnessWeights":[{"fairnessKey":"a","fairnessWeight":0}]})")
      .body,
    HasSubstr(R"("fairnessWeights":[{"fairnessKey":"","fairnessWeight":2}])"));
}

TEST_F(HttpStrict, NumberOfWeightsIsLimitedAfterTheChange) {
  const std::string settings = "/admin/queues/q/settings";
  auto weight = [](const std::string& key, int is) {
    return R"({"fairnessKey":")" + key + R"(","fairnessWeight":)" + std::to_string(is) + "}";
  };
  auto most = weight("key0", 2);
  for (std::size_t i = 1; i < limits::fairness_weights_max; ++i)
    most += "," + weight("key" + std::to_string(i), 2);
  ASSERT_EQ(200u, call("PUT", settings, R"({"fairnessWeights":[)" + most + "]}").status);

  auto refused = why("PUT", settings, R"({"fairnessWeights":[)" + weight("further", 2) + "]}");
  auto changed = call(
    "PUT",
    settings,
    R"({"fairnessWeights":[)" + weight("further", 2) + "," + weight("key0", 0) + "]}");

  EXPECT_THAT(refused, HasSubstr("the number of fairness_weights"));
  EXPECT_THAT(refused, HasSubstr("101; it must be 0..100"));
  EXPECT_EQ(200u, changed.status);
  EXPECT_THAT(changed.body, HasSubstr(weight("further", 2)));
}

TEST_F(HttpStrict, QuarantineIsWithinItsRange) {
  EXPECT_EQ(
    "'quarantineAfter' is 256; it must be 0..255",
    why("PUT", "/admin/queues/q/settings", R"({"quarantineAfter":256})"));
  EXPECT_EQ(200u, call("PUT", "/admin/queues/q/settings", R"({"quarantineAfter":255})").status);
}

TEST_F(HttpStrict, MaximaOfAQueueAreWithinTheirRange) {
  const std::string settings = "/admin/queues/q/settings";

  EXPECT_EQ(
    "'maxDepth' is 1000000000001; it must be 0..1000000000000",
    why("PUT", settings, R"({"maxDepth":1000000000001})"));
  EXPECT_EQ(
    "'maxLeased' is 1000000000001; it must be 0..1000000000000",
    why("PUT", settings, R"({"maxLeased":1000000000001})"));
  EXPECT_EQ(
    200u, call("PUT", settings, R"({"maxDepth":1000000000000,"maxLeased":1000000000000})").status);
}

TEST_F(HttpStrict, BreakerIsWithinItsRange) {
  auto put = [&](const std::string& breaker) {
    return call("PUT", "/admin/queues/q/settings", R"({"pauseWhenFailing":)" + breaker + "}");
  };

  EXPECT_EQ(
    "'pauseWhenFailing.percent' is 100; it must be 0..99",
    why("PUT", "/admin/queues/q/settings", R"({"pauseWhenFailing":{"percent":100}})"));
  EXPECT_EQ(
    "'pauseWhenFailing.windowMs' is 999; it must be 1000..86400000",
    why("PUT", "/admin/queues/q/settings", R"({"pauseWhenFailing":{"windowMs":999}})"));
  EXPECT_THAT(
    put(R"({"percent":30,"windowMs":5000})").body,
    HasSubstr(R"("pauseWhenFailing":{"percent":30,"windowMs":5000})"));
  EXPECT_THAT(
    put(R"({"percent":40})").body,
    HasSubstr(R"("pauseWhenFailing":{"percent":40,"windowMs":5000})"));
  EXPECT_THAT(
    put(R"({"percent":0})").body,
    HasSubstr(R"("pauseWhenFailing":{"percent":0,"windowMs":60000})"));
}

TEST_F(HttpStrict, SizesOverALimitAreRefusedWithIt) {
  auto text = [](std::size_t bytes) { return "\"" + std::string(bytes, 'x') + "\""; };

  EXPECT_EQ(
    "'idempotencyKey' is 257 bytes; it must be at most 256",
    why_not_added(R"("idempotencyKey":)" + text(257)));
  EXPECT_EQ("'key' is 257 bytes; it must be at most 256", why_not_added(R"("key":)" + text(257)));
  EXPECT_EQ(
    "'payload' is 1048577 bytes; it must be at most 1048576",
    why("POST", "/tasks", R"({"command":"q","payload":)" + text((1u << 20) - 1) + "}"));
  EXPECT_EQ(
    "'error' is 16385 bytes; it must be at most 16384",
    why("POST", "/tasks/x/result", R"({"status":"FAILED","error":)" + text(16385) + "}"));
}

TEST_F(HttpStrict, WhatClientsOfCodeqSendStaysAccepted) {
  EXPECT_EQ("9", post("/tasks", R"({"command":"q","payload":1,"priority":10})")["priority"]);
  EXPECT_EQ("5", get("/tasks/" + enqueue("q", R"(,"maxAttempts":0)"))["maxAttempts"]);
  auto at = enqueue("at", R"(,"runAt":"1971-01-01T00:00:00Z","delaySeconds":1)");
  EXPECT_EQ(
    400u,
    post("/tasks", R"({"command":"at","payload":1,"runAt":"1971-01-01T00:00:00Z","delay":1})")
      .status);
  EXPECT_EQ("1971-01-01T00:00:00.000Z", get("/tasks/" + at).text("eligibleAt"));
  auto id = claim("q").text("id");
  EXPECT_EQ(200u, post("/tasks/" + id + "/heartbeat", R"({"extendSeconds":0})").status);
  EXPECT_EQ(
    200u, post("/tasks/claim", R"({"commands":["q"],"leaseSeconds":0,"waitSeconds":600})").status);
  EXPECT_EQ(
    200u, post("/tasks/" + id + "/result", R"({"status":"COMPLETED","workerId":"w"})").status);
  EXPECT_EQ(200u, get("/tasks/" + id + "/result?waitSeconds=-5").status);
}

TEST_F(HttpStrict, AnswersHaveTheNamesOfBothSides) {
  auto added = post("/tasks", R"({"queue":"q","payload":1})");
  EXPECT_EQ("q", added.text("command"));
  EXPECT_EQ("q", added.text("queue"));
  EXPECT_EQ("PENDING", added.text("status"));
  EXPECT_EQ("ready", added.text("state"));
  auto claimed = claim("q");
  EXPECT_EQ("q", claimed.text("queue"));
  EXPECT_EQ("leased", claimed.text("state"));
  auto path = "/tasks/" + claimed.text("id");
  auto done = post(path + "/result", R"({"status":"COMPLETED"})");
  EXPECT_EQ("COMPLETED", done.text("status"));
  EXPECT_EQ("completed", done.text("state"));
  EXPECT_THAT(get("/tasks")["tasks"], HasSubstr(R"("command":"q","queue":"q")"));
  EXPECT_EQ("q", get(path + "/explain").text("queue"));
  EXPECT_EQ("q", get("/admin/queues/q").text("queue"));
  EXPECT_EQ("q", get("/admin/queues/q/settings").text("queue"));
}

TEST_F(HttpStrict, AFailureThatIsRetriedTellsTheStateOfItsTask) {
  auto id = enqueue("q");
  claim("q");

  auto failed = post("/tasks/" + id + "/result", R"({"status":"FAILED","error":"x"})");

  EXPECT_EQ("FAILED", failed.text("status"));
  EXPECT_EQ("scheduled", failed.text("state"));
  EXPECT_EQ("true", failed["willRetry"]);
}

TEST_F(HttpStrict, AWrongMethodIsToldTheRightOnes) {
  const std::pair<const char*, const char*> paths[] = {
    {"/tasks/claim", "POST"},
    {"/admin/queues/q/settings", "GET, HEAD, PUT"},
    {"/admin/queues/q/pause", "POST"},
    {"//healthz", "GET, HEAD"},
  };
  for (const auto& [target, methods] : paths) {
    auto refused = call("PATCH", target, "");

    EXPECT_EQ(405u, refused.status) << target;
    EXPECT_EQ(methods, refused.fields["Allow"]) << target;
  }
}

TEST_F(HttpStrict, HeadIsAnsweredAsGet) {
  auto id = enqueue("q");

  EXPECT_EQ(200u, call("HEAD", "/tasks/" + id).status);
  EXPECT_EQ(404u, call("HEAD", "/tasks/x").status);
  EXPECT_EQ(405u, call("HEAD", "/admin/queues/q/pause").status);
}

} // namespace
} // namespace codeq::test
