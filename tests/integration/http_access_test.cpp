// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Access rights of each role.
class HttpAccess : public http_fixture {};

struct access_case {
  const char* method;
  const char* target;
  /// Roles, of p, w, a, r (reader), t (all tenants) and m (metrics), that are allowed.
  const char* roles;
};

constexpr access_case cases[] = {
  {"POST", "/tasks", "pa"},
  {"POST", "/tasks/batch", "pa"},
  {"POST", "/tasks/claim", "wa"},
  {"POST", "/tasks/claim/batch", "wa"},
  {"POST", "/tasks/x/heartbeat", "wa"},
  {"POST", "/tasks/x/progress", "wa"},
  {"POST", "/tasks/x/checkpoint", "wa"},
  {"POST", "/tasks/x/abandon", "wa"},
  {"POST", "/tasks/x/nack", "wa"},
  {"POST", "/tasks/x/result", "wa"},
  {"POST", "/tasks/batch/results", "wa"},
  {"GET", "/tasks", "pwar"},
  {"GET", "/tasks/x", "pwar"},
  {"GET", "/tasks/x/result", "pwar"},
  {"GET", "/tasks/x/explain", "pwar"},
  {"GET", "/tasks/x/events", "pwar"},
  {"POST", "/tasks/x/cancel", "pa"},
  {"POST", "/tasks/x/promote", "pa"},
  {"GET", "/queues/q/keys/k", "par"},
  {"POST", "/queues/q/keys/k/cancel", "pa"},
  {"POST", "/queues/q/keys/k/promote", "pa"},
  {"POST", "/workers/subscriptions", "wa"},
  {"POST", "/workers/subscriptions/x/heartbeat", "wa"},
  {"GET", "/admin/queues", "ar"},
  {"GET", "/admin/queues/q", "ar"},
  {"POST", "/admin/queues/q/pause", "a"},
  {"POST", "/admin/queues/q/resume", "a"},
  {"POST", "/admin/queues/q/purge", "a"},
  {"GET", "/admin/queues/q/settings", "ar"},
  {"PUT", "/admin/queues/q/settings", "a"},
  {"GET", "/admin/queues/q/fairness", "ar"},
  {"GET", "/admin/queues/q/explain", "ar"},
  {"GET", "/autoscale?queue=q", "pwar"},
  {"GET", "/admin/limits", "ar"},
  {"GET", "/admin/limits/l", "ar"},
  {"PUT", "/admin/limits/l", "a"},
  {"DELETE", "/admin/limits/l", "a"},
  {"GET", "/admin/limits/l/keys", "ar"},
  {"POST", "/admin/limits/l/keys/k/close", "a"},
  {"POST", "/admin/limits/l/keys/k/open", "a"},
  {"POST", "/admin/limits/l/close", "a"},
  {"POST", "/admin/limits/l/open", "a"},
  {"GET", "/admin/dead", "ar"},
  {"POST", "/admin/dead/redrive", "a"},
  {"POST", "/admin/dead/purge", "a"},
  {"GET", "/admin/operations", "ar"},
  {"POST", "/admin/operations", "a"},
  {"GET", "/admin/operations/x", "ar"},
  {"POST", "/admin/operations/x/pause", "a"},
  {"POST", "/admin/operations/x/resume", "a"},
  {"POST", "/admin/operations/x/cancel", "a"},
  {"POST", "/admin/tasks/cleanup", "a"},
  {"POST", "/admin/tasks/x/force", "a"},
  {"GET", "/admin/workers", "ar"},
  {"POST", "/admin/workers/w/drain", "a"},
  {"POST", "/admin/workers/w/resume", "a"},
  {"GET", "/admin/shards", "ar"},
  {"GET", "/admin/audit", "ar"},
  {"PUT", "/admin/topics/t", "a"},
  {"GET", "/admin/topics/t", "ar"},
  {"DELETE", "/admin/topics/t", "a"},
  {"GET", "//metrics", "tm"},
  {"GET", "/admin/cluster", ""},
  {"POST", "/admin/cluster/shards/0/move", ""},
  {"POST", "/admin/cluster/shards/0/force-primary", ""},
  {"POST", "/admin/cluster/nodes/c1/drain", ""},
  {"POST", "/admin/cluster/nodes/c1/undrain", ""},
  {"POST", "/admin/cluster/balance", ""},
  {"GET", "/admin/log-level", ""},
  {"PUT", "/admin/log-level", ""},
};

TEST_F(HttpAccess, EveryRouteNeedsAToken) {
  for (const auto& c : cases) {
    use_token("");
    auto missing = call(c.method, c.target, "{}");
    EXPECT_EQ(401u, missing.status) << c.target;
    EXPECT_THAT(missing.text("error"), HasSubstr("missing bearer token: send the header "));
    use_token("wrong");
    EXPECT_EQ(401u, call(c.method, c.target, "{}").status) << c.target;
  }
}

TEST_F(HttpAccess, EveryRouteNeedsARoleThatMay) {
  for (const auto& c : cases) {
    for (char role : {'p', 'w', 'a', 'r', 't', 'm'}) {
      use_token(std::string("acme:s:") + role);
      if (role == 't' && std::string(c.target) != "//metrics")
        continue;
      bool may = std::string(c.roles).find(role) != std::string::npos;
      auto status = call(c.method, c.target, "{}").status;
      EXPECT_EQ(may, status != 403) << c.method << ' ' << c.target << ' ' << role << ' ' << status;
    }
  }
}

TEST_F(HttpAccess, ARefusedRoleIsToldWhichRolesTheRouteTakes) {
  auto why = [&](const char* token, const char* method, const char* target) {
    use_token(token);
    return call(method, target, R"({"level":"info"})").text("error");
  };
  const std::string other = "forbidden: the token's role is another one; this route takes ";
  const std::string one_tenant =
    "forbidden: the token is for tenant acme; this route takes one of all tenants ";

  EXPECT_EQ(other + "worker or admin", why("acme:s:p", "POST", "/tasks/claim"));
  EXPECT_EQ(other + "producer or admin", why("acme:s:w", "POST", "/tasks"));
  EXPECT_EQ(other + "admin", why("acme:s:r", "POST", "/admin/queues/q/pause"));
  EXPECT_EQ(other + "admin", why("acme:s:r", "PUT", "/admin/log-level"));
  EXPECT_EQ(other + "producer, worker, admin or reader", why("acme:s:m", "GET", "/tasks"));
  EXPECT_EQ(one_tenant + "(admin)", why("acme:s:a", "PUT", "/admin/log-level"));
  EXPECT_EQ(one_tenant + "(admin or reader)", why("acme:s:r", "GET", "/admin/log-level"));
  EXPECT_EQ(one_tenant + "(metrics, admin or reader)", why("acme:s:a", "GET", "//metrics"));
}

TEST_F(HttpAccess, WorkersNeedTheScopeOfARoute) {
  const std::pair<const char*, const char*> scopes[] = {
    {"/tasks/claim", "claim"},
    {"/tasks/claim/batch", "claim"},
    {"/tasks/x/heartbeat", "heartbeat"},
    {"/tasks/x/abandon", "abandon"},
    {"/tasks/x/nack", "nack"},
    {"/tasks/x/result", "result"},
    {"/tasks/batch/results", "result"},
    {"/workers/subscriptions", "subscribe"},
  };
  for (const auto& [target, scope] : scopes) {
    use_token("acme:s:w:codeq:other");
    EXPECT_EQ(403u, post(target).status) << target;
    use_token(std::string("acme:s:w:codeq:") + scope);
    EXPECT_NE(403u, post(target).status) << target;
  }
}

TEST_F(HttpAccess, TokensOfSomeQueuesOpenNoOthers) {
  use_token("acme:s:pw:codeq:claim:mine");

  EXPECT_EQ(
    R"(event type not allowed: the token does not name queue "other")",
    post("/tasks/claim", R"({"commands":["other"]})").text("error"));
  EXPECT_EQ(403u, post("/tasks", R"({"command":"other","payload":1})").status);
  EXPECT_EQ(202u, post("/tasks", R"({"command":"mine","payload":1})").status);
  EXPECT_EQ(200u, post("/tasks/claim", "{}").status);
}

TEST_F(HttpAccess, FollowUpsOfATokenThatEnqueuesStayInItsQueues) {
  auto id = enqueue("mine");
  use_token("acme:s:pw:::mine");
  claim("mine");
  auto result_with = [](const std::string& queue) {
    return R"("status":"COMPLETED","followUps":[{"queue":"mine","payload":1},{"queue":")" + queue
           + R"(","payload":1}])";
  };
  const std::string why =
    R"(follow-up 1: command not allowed: the token does not name queue "other")";

  auto refused = post("/tasks/" + id + "/result", "{" + result_with("other") + "}");
  auto batch = post(
    "/tasks/batch/results",
    R"({"results":[{"taskId":")" + id + "\"," + result_with("other") + "}]}");

  EXPECT_EQ(403u, refused.status);
  EXPECT_EQ(why, refused.text("error"));
  EXPECT_THAT(batch.body, HasSubstr(R"("httpStatus":403)"));
  EXPECT_EQ("IN_PROGRESS", get("/tasks/" + id).text("status"));
  EXPECT_EQ(200u, post("/tasks/" + id + "/result", "{" + result_with("mine") + "}").status);
}

TEST_F(HttpAccess, FollowUpsOfAWorkerMayBeInAnyQueueOfItsTenant) {
  auto id = enqueue("mine");
  use_token("acme:s:w:::mine");
  claim("mine");

  auto done = post(
    "/tasks/" + id + "/result",
    R"({"status":"COMPLETED","followUps":[{"queue":"other","payload":1}]})");

  EXPECT_EQ(200u, done.status) << done.body;
  use_token("acme:root:pwa");
  claim("other");
}

TEST_F(HttpAccess, TheProcessTellsEverybodyThatItLives) {
  use_token("");

  EXPECT_EQ(200u, get("//healthz").status);
  EXPECT_EQ(200u, get("//readyz").status);
}

TEST_F(HttpAccess, AFullDiskIsNotReady) {
  options_.check_disk = [] { return error{errc::disk_full, "no space"}; };
  restart();

  auto refused = get("//readyz");

  EXPECT_EQ(503u, refused.status);
  EXPECT_EQ("no space", refused.text("error"));
  EXPECT_EQ(200u, get("//healthz").status);
}

TEST_F(HttpAccess, CallsBeyondTheirRateAreRefusedWithATime) {
  options_.limit = [](const http::caller& by, std::string_view operation, std::uint64_t) {
    auto refusal = std::make_unique<http::rate_refusal>();
    *refusal = {by.tenant, std::string(operation), 7};
    return refusal;
  };
  restart();

  auto refused = post("/tasks", R"({"command":"q","payload":1})");

  EXPECT_EQ(429u, refused.status);
  EXPECT_EQ("7", refused.fields["Retry-After"]);
  EXPECT_EQ(
    R"({"error":"rate limit exceeded","scope":"acme","operation":"create","retryAfterSeconds":7})",
    refused.body);
  EXPECT_EQ(200u, get("/tasks").status);
}

TEST_F(HttpAccess, EachItemOfABatchCountsAgainstTheRate) {
  std::map<std::string, std::uint64_t, std::less<>> counted;
  options_.limit = [&](const http::caller&, std::string_view operation, std::uint64_t count) {
    counted[std::string(operation)] += count;
    return std::unique_ptr<http::rate_refusal>();
  };
  restart();

  post("/tasks", R"({"command":"q","payload":1})");
  post(
    "/tasks/batch",
    R"({"tasks":[{"command":"q","payload":1},{"command":"q","payload":1},{"payload":1}]})");
  post("/tasks/claim/batch", R"({"commands":["q"],"count":10})");

  EXPECT_EQ(4u, counted["create"]);
  EXPECT_EQ(10u, counted["claim"]);
}

TEST_F(HttpAccess, ABatchBeyondTheRateIsRefusedAsAWhole) {
  options_.limit = [](const http::caller& by, std::string_view operation, std::uint64_t count) {
    auto refusal = std::make_unique<http::rate_refusal>();
    *refusal = {by.tenant, std::string(operation), 7};
    return count > 1 ? std::move(refusal) : nullptr;
  };
  restart();
  std::string item = R"({"command":"q","payload":1})";

  EXPECT_EQ(
    429u, post("/tasks/batch", "{\"tasks\":[" + item + "," + item + "," + item + "]}").status);
  EXPECT_EQ("[]", get("/tasks")["tasks"]);
  EXPECT_EQ(200u, post("/tasks/batch", "{\"tasks\":[" + item + "]}").status);
  EXPECT_EQ(429u, post("/tasks/claim/batch", R"({"count":10})").status);
}

TEST_F(HttpAccess, TokensOfSomeQueuesSeeNoTasksOfOthers) {
  auto other = enqueue("other");
  auto mine = enqueue("mine");
  use_token("acme:s:w:::mine");

  EXPECT_EQ(200u, get("/tasks/" + mine).status);
  for (const char* what : {"", "/result", "/explain", "/events"})
    EXPECT_EQ(404u, get("/tasks/" + other + what).status) << what;
  EXPECT_EQ(404u, post("/tasks/" + other + "/abandon").status);
  EXPECT_EQ(403u, get("/tasks?queue=other").status);
  auto listed = get("/tasks").body;
  EXPECT_THAT(listed, HasSubstr(mine));
  EXPECT_THAT(listed, Not(HasSubstr(other)));
}

TEST_F(HttpAccess, ASingleUserSetupListensToThisMachineOnly) {
  options_.is_loopback_only = true;
  restart();
  EXPECT_EQ(200u, get("/tasks").status);
  auto from = [&](const std::string& host, const std::string& origin) {
    auto request = begin_as(host, origin);
    return (*request.answered)->status;
  };

  EXPECT_EQ(200u, from("127.0.0.1:8080", "http://localhost:8080"));
  EXPECT_EQ(200u, from("[::1]:8080", ""));
  EXPECT_EQ(403u, from("evil.example", ""));
  EXPECT_EQ(403u, from("127.0.0.1.evil.example", ""));
  EXPECT_EQ(403u, from("localhost", "http://evil.example"));
  EXPECT_EQ(403u, from("localhost", "null"));
}

/// One tenant has tasks in every state; another tries every verb on them.
class HttpTenants : public http_fixture {
protected:
  HttpTenants() {
    leased_ = enqueue("q", R"(,"idempotencyKey":"k")");
    claim("q");
    dead_ = enqueue("q");
    claim("q");
    post("/tasks/" + dead_ + "/result", R"({"status":"FAILED","error":"x","permanent":true})");
    ready_ = enqueue("q");
    use_token("umbrella:root:pwa");
  }

  void expect_unseen(
    const std::string& method, const std::string& target, const std::string& body = "{}") {
    auto refused = call(method, target, body);
    EXPECT_EQ(404u, refused.status) << method << ' ' << target << ' ' << refused.body;
  }

  /// Afterwards the first tenant's view of its tasks must be unchanged.
  ~HttpTenants() override {
    use_token("acme:root:pwa");
    EXPECT_EQ("leased", get("/tasks/" + leased_).text("state"));
    EXPECT_EQ("dead", get("/tasks/" + dead_).text("state"));
    EXPECT_EQ("ready", get("/tasks/" + ready_).text("state"));
  }

  std::string leased_;
  std::string dead_;
  std::string ready_;
};

TEST_F(HttpTenants, CannotReadTasks) {
  for (const auto& id : {leased_, dead_, ready_}) {
    expect_unseen("GET", "/tasks/" + id);
    expect_unseen("GET", "/tasks/" + id + "/result");
    expect_unseen("GET", "/tasks/" + id + "/result?waitSeconds=5");
    expect_unseen("GET", "/tasks/" + id + "/explain");
    expect_unseen("GET", "/tasks/" + id + "/events");
  }
}

TEST_F(HttpTenants, CannotClaimTasks) {
  EXPECT_EQ(204u, post("/tasks/claim", R"({"commands":["q"]})").status);
  EXPECT_EQ(204u, post("/tasks/claim", "{}").status);
  EXPECT_EQ(204u, post("/tasks/claim/batch", R"({"commands":["q"],"count":10})").status);
}

TEST_F(HttpTenants, CannotExtendLeases) {
  expect_unseen("POST", "/tasks/" + leased_ + "/heartbeat");
}

TEST_F(HttpTenants, CannotCompleteTasks) {
  expect_unseen("POST", "/tasks/" + leased_ + "/result", R"({"status":"COMPLETED"})");
  auto batch = post(
    "/tasks/batch/results",
    R"({"results":[{"taskId":")" + leased_ + R"(","status":"COMPLETED"}]})");
  EXPECT_THAT(batch.body, HasSubstr("task not found"));
}

TEST_F(HttpTenants, CannotGiveTasksBack) {
  expect_unseen("POST", "/tasks/" + leased_ + "/abandon");
  expect_unseen("POST", "/tasks/" + leased_ + "/nack");
}

TEST_F(HttpTenants, CannotCancelOrPromoteTasks) {
  for (const char* verb : {"cancel", "promote"}) {
    expect_unseen("POST", "/tasks/" + ready_ + "/" + verb);
    expect_unseen("POST", std::string("/queues/q/keys/k/") + verb);
  }
  expect_unseen("GET", "/queues/q/keys/k");
}

TEST_F(HttpTenants, CannotListTasks) {
  EXPECT_EQ("[]", get("/tasks")["tasks"]);
  EXPECT_EQ("[]", get("/tasks?queue=q")["tasks"]);
  EXPECT_EQ("[]", get("/admin/dead")["tasks"]);
  EXPECT_EQ("0", get("/admin/dead/summary")["tasks"]);
}

TEST_F(HttpTenants, CannotCountTasks) {
  EXPECT_EQ("{}", get("/admin/queues").body);
  auto one = get("/admin/queues/q");
  EXPECT_EQ("0", one["ready"]);
  EXPECT_EQ("0", one["inProgress"]);
  EXPECT_EQ("0", one["dlq"]);
  EXPECT_EQ("[]", get("/admin/workers")["workers"]);
}

TEST_F(HttpTenants, CannotCountWhatAllTenantsDo) {
  auto shards = get("/admin/shards").body;
  EXPECT_THAT(shards, HasSubstr(R"({"shard":0,"queues":0})"));
  EXPECT_THAT(shards, Not(HasSubstr("codeq_leases")));
  EXPECT_EQ(403u, get("//metrics").status);

  use_token("acme:root:pwat");
  EXPECT_THAT(get("/admin/shards").body, HasSubstr("codeq_leases"));
  EXPECT_EQ(200u, get("//metrics").status);
}

TEST_F(HttpTenants, TheirHttpWorkersAreMarkedForATokenOfAllTenants) {
  use_token("umbrella:root:pwat");

  EXPECT_THAT(get("/admin/workers").body, HasSubstr(R"("workerId":"root","http":true)"));
}

TEST_F(HttpTenants, CannotForceRedriveOrPurgeTasks) {
  expect_unseen("POST", "/admin/tasks/" + leased_ + "/force", R"({"how":"revoke"})");
  auto ids = R"({"ids":[")" + dead_ + "\"]}";
  EXPECT_EQ("0", post("/admin/dead/redrive", ids)["changed"]);
  EXPECT_EQ("0", post("/admin/dead/purge", ids)["changed"]);
  EXPECT_EQ("0", post("/admin/dead/redrive", R"({"queue":"q"})")["changed"]);
  EXPECT_EQ("0", post("/admin/dead/purge", R"({"all":true})")["changed"]);
  EXPECT_EQ(404u, post("/admin/queues/q/purge", "").status);
}

TEST_F(HttpTenants, CannotPauseOrConfigureQueues) {
  EXPECT_EQ(404u, post("/admin/queues/q/pause", "").status);
  EXPECT_EQ(200u, call("PUT", "/admin/queues/q/settings", R"({"maxAttempts":9})").status);

  use_token("acme:root:pwa");
  EXPECT_EQ("false", get("/admin/queues/q/settings")["paused"]);
  EXPECT_THAT(get("/admin/queues/q/settings").body, Not(HasSubstr("\"maxAttempts\":9")));
}

} // namespace
} // namespace codeq::test
