// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

#include <string>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class HttpLimits : public http_fixture {
protected:
  answer put(const std::string& name, const std::string& body) {
    return call("PUT", "/admin/limits/" + name, body);
  }

  /// The fields of a task of a customer of limit `stripe`.
  static std::string of(const std::string& customer) {
    return R"(,"limits":[{"name":"stripe","key":")" + customer + R"("}])";
  }

  std::string state(const std::string& task) { return get("/tasks/" + task).text("state"); }

  /// The status of a claim that may find nothing.
  unsigned try_claim() { return post("/tasks/claim", R"({"commands":["q"]})").status; }

  /// Gives a task back, of which the provider refused the work.
  answer limited(const std::string& task, const std::string& more) {
    return post("/tasks/" + task + "/nack", R"({"limited":true,)" + more + "}");
  }
};

TEST_F(HttpLimits, AreSetShownListedAndDeleted) {
  auto set =
    put("stripe", R"({"concurrency":10,"rate":{"count":100,"perSeconds":1,"burst":20}})");
  ASSERT_EQ(200u, set.status) << set.body;
  EXPECT_EQ("stripe", set.text("name"));
  EXPECT_EQ("acme", set.text("tenantId"));
  EXPECT_EQ("10", set["concurrency"]);
  EXPECT_EQ(R"({"count":100,"perMs":1000,"perSeconds":1,"burst":20})", set["rate"]);
  EXPECT_EQ("true", set["uniform"]);
  put("smtp", R"({"rate":{"count":1,"per":"500ms"}})");

  EXPECT_EQ(R"({"count":1,"perMs":500,"burst":1})", get("/admin/limits/smtp")["rate"]);
  EXPECT_EQ("", get("/admin/limits/smtp")["concurrency"]);
  auto list = get("/admin/limits")["limits"];
  EXPECT_LT(list.find(R"("name":"smtp")"), list.find(R"("name":"stripe")"));

  EXPECT_EQ("10", call("DELETE", "/admin/limits/stripe")["concurrency"]);
  EXPECT_EQ(404u, call("DELETE", "/admin/limits/stripe").status);
  EXPECT_EQ(404u, get("/admin/limits/stripe").status);
  EXPECT_EQ(404u, get("/admin/limits/stripe/keys").status);
  EXPECT_THAT(get("/admin/limits")["limits"], testing::Not(HasSubstr("stripe")));
}

TEST_F(HttpLimits, AFullQueueIsToldByItsCode) {
  call("PUT", "/admin/queues/q/settings", R"({"maxDepth":1})");
  enqueue("q");
  const std::string task = R"({"queue":"q","payload":1})";

  auto refused = post("/tasks", task);
  EXPECT_EQ(429u, refused.status);
  EXPECT_EQ("queue_full", refused.text("code"));
  EXPECT_EQ("1", refused.fields["Retry-After"]);
  EXPECT_THAT(refused.body, HasSubstr(R"({"error":"queue )"));

  auto batch = post("/tasks/batch", R"({"tasks":[)" + task + "]}");
  EXPECT_EQ(200u, batch.status);
  EXPECT_THAT(batch.body, HasSubstr(R"("code":"queue_full","httpStatus":429})"));
}

TEST_F(HttpLimits, ARefusalThatLastsHasNoCode) {
  EXPECT_EQ("", get("/tasks/nonsense")["code"]);
  EXPECT_EQ("", post("/tasks", R"({"queue":"q"})")["code"]);
}

TEST_F(HttpLimits, WhatCannotBeSetIsRefusedInWords) {
  auto why = [&](const char* body) {
    auto refused = put("stripe", body);
    EXPECT_EQ(400u, refused.status) << body;
    return refused.text("error");
  };

  EXPECT_EQ("'concurrency' or 'rate' is required", why("{}"));
  EXPECT_EQ("'concurrency' is 1000001; it must be 0..1000000", why(R"({"concurrency":1000001})"));
  EXPECT_EQ(
    "invalid body: 'rate.perSeconds' or 'rate.per' or 'rate.perMs' is required",
    why(R"({"rate":{"count":1}})"));
  EXPECT_EQ(
    "'rate.count' is 0; it must be 1..1000000", why(R"({"rate":{"count":0,"perSeconds":1}})"));
  EXPECT_EQ(
    "'rate.burst' is 0; it must be 1..1000000",
    why(R"({"rate":{"count":1,"perSeconds":1,"burst":0}})"));
  EXPECT_EQ(400u, put("a%20b", R"({"concurrency":1})").status);
}

TEST_F(HttpLimits, AreOfATenant) {
  put("stripe", R"({"concurrency":1})");
  use_token("umbrella:root:pwa");

  EXPECT_EQ(404u, get("/admin/limits/stripe").status);
  EXPECT_EQ("[]", get("/admin/limits")["limits"]);
  EXPECT_EQ(
    "limits: tenant \"umbrella\" has no limit \"stripe\"; define it first: codeqctl limit set "
    "stripe (over HTTP: PUT /v1/codeq/admin/limits/NAME)",
    post("/tasks", R"({"command":"q","payload":1)" + of("a") + "}").text("error"));
}

TEST_F(HttpLimits, HoldBackTasksOfOneKey) {
  put("stripe", R"({"concurrency":1})");
  auto first = enqueue("q", of("a"));
  auto second = enqueue("q", of("a"));
  auto other = enqueue("q", of("b"));
  EXPECT_EQ(
    R"([{"name":"stripe","key":"a","cost":1}])", get("/tasks/" + first)["limits"]);

  claim("q");
  claim("q");
  EXPECT_EQ(204u, try_claim());

  EXPECT_EQ("leased", state(first));
  EXPECT_EQ("ready", state(second));
  EXPECT_EQ("leased", state(other));
  auto why = get("/tasks/" + second + "/explain");
  EXPECT_EQ("limited", why.text("reason"));
  EXPECT_EQ("stripe", why.text("limit"));
  EXPECT_EQ("a", why.text("limitKey"));
  EXPECT_EQ("0", why["heldBefore"]);
  EXPECT_EQ("", why["closedUntil"]);
  auto all = get("/admin/queues/q/explain");
  EXPECT_EQ("1", all["backlog"]);
  EXPECT_EQ(R"({"limited":1})", all["waiting"]);
  EXPECT_EQ(R"([{"name":"stripe","held":1}])", all["limits"]);
  EXPECT_THAT(
    all["keys"], testing::StartsWith(R"([{"limit":"stripe","key":"a","leased":1,"held":1)"));
  EXPECT_EQ("[]", all["missingShards"]);
  EXPECT_EQ("1", get("/admin/queues/q")["held"]);
  auto use = get("/admin/limits/stripe");
  EXPECT_EQ("2", use["leased"]);
  EXPECT_EQ("1", use["held"]);
  EXPECT_THAT(
    get("/admin/limits/stripe/keys?limit=1")["keys"],
    HasSubstr(R"({"key":"a","leased":1,"held":1)"));
  EXPECT_EQ("true", get("/admin/limits/stripe/keys?limit=1")["more"]);
  EXPECT_THAT(get("/admin/limits/stripe/keys?after=a")["keys"], HasSubstr(R"("key":"b")"));

  post("/tasks/" + first + "/result", R"({"status":"COMPLETED"})");
  EXPECT_EQ(second, claim("q").text("id"));
}

TEST_F(HttpLimits, ADryRunSaysWhatWouldBeHeld) {
  put("stripe", R"({"concurrency":2})");
  enqueue("q", of("a"));
  enqueue("q", of("a"));
  claim("q");
  claim("q");
  enqueue("q", of("a"));
  enqueue("q", of("b"));

  auto would = call("PUT", "/admin/limits/stripe?dryRun=true", R"({"concurrency":1})");

  EXPECT_EQ("1", would["keysAbove"]);
  EXPECT_EQ(R"({"tasks":1,"keys":1,"whole":true})", would["wouldHold"]);
  EXPECT_EQ("2", get("/admin/limits/stripe")["concurrency"]);
  EXPECT_EQ("1", put("stripe", R"({"concurrency":1})")["keysAbove"]);
}

TEST_F(HttpLimits, ADeletedLimitLetsItsTasksGo) {
  put("stripe", R"({"concurrency":0})");
  auto held = enqueue("q", of("a"));
  EXPECT_EQ(204u, try_claim());

  call("DELETE", "/admin/limits/stripe");

  EXPECT_EQ(held, claim("q").text("id"));
}

TEST_F(HttpLimits, ALimitThatAQueueGivesIsNotDeleted) {
  put("stripe", R"({"concurrency":1})");
  const std::string settings = "/admin/queues/q/settings";
  call("PUT", settings, R"({"limits":[{"name":"stripe"}]})");

  auto refused = call("DELETE", "/admin/limits/stripe");
  EXPECT_EQ(400u, refused.status);
  EXPECT_THAT(
    refused.text("error"), HasSubstr(R"(queues give limit "stripe" to their tasks: "q";)"));
  EXPECT_EQ("true", get("/admin/limits/stripe")["uniform"]);
  enqueue("q");

  call("PUT", settings, R"({"limits":[]})");
  EXPECT_EQ(200u, call("DELETE", "/admin/limits/stripe").status);
  EXPECT_EQ(404u, get("/admin/limits/stripe").status);
}

TEST_F(HttpLimits, ARefusalClosesTheKeyAndIsNotCharged) {
  put("stripe", R"({"concurrency":5})");
  auto task = enqueue("q", of("a"));
  auto next = enqueue("q", of("a"));
  claim("q");

  auto back = limited(task, R"("retryAfterSeconds":30,"reason":"429")");

  EXPECT_EQ(200u, back.status) << back.body;
  EXPECT_EQ("30", back["delaySeconds"]);
  EXPECT_EQ("requeued", back.text("status"));
  EXPECT_EQ("0", get("/tasks/" + task)["attempts"]);
  EXPECT_EQ(204u, try_claim());
  EXPECT_THAT(get("/admin/limits/stripe/keys")["keys"], HasSubstr("closedUntil"));
  auto why = get("/tasks/" + next + "/explain");
  EXPECT_EQ("limited", why.text("reason"));
  EXPECT_EQ(why.text("until"), why.text("closedUntil"));
  EXPECT_THAT(why.text("sentence"), HasSubstr("; the key is closed until "));

  advance(30s);
  EXPECT_EQ(task, claim("q").text("id"));
  EXPECT_EQ(next, claim("q").text("id"));
}

TEST_F(HttpLimits, ARefusalNamesALimitOfTheTask) {
  put("stripe", R"({"concurrency":5})");
  auto task = enqueue("q", of("a"));
  claim("q");
  auto why = [&](const std::string& more) {
    auto refused = limited(task, more);
    EXPECT_EQ(400u, refused.status) << more;
    return refused.text("error");
  };

  EXPECT_EQ(
    R"('limit' is "smtp"; it must be one of the task's: "stripe")",
    why(R"("retryAfterSeconds":1,"limit":"smtp")"));
  EXPECT_EQ(
    R"('key' is "b"; it must be the task's for limit "stripe", "a")",
    why(R"("retryAfterSeconds":1,"key":"b")"));
  EXPECT_EQ("'retryAfterSeconds' is required with 'limited'", why(R"("reason":"429")"));
  EXPECT_THAT(why(R"("delaySeconds":1)"), HasSubstr("'retryAfterSeconds' says how long"));
  EXPECT_EQ(
    "'limit' is given without 'limited'",
    post("/tasks/" + task + "/nack", R"({"limit":"stripe"})").text("error"));
  EXPECT_EQ(200u, limited(task, R"("retryAfter":"2s","limit":"stripe","key":"a")").status);
}

TEST_F(HttpLimits, AnOperatorClosesAndOpensAKey) {
  put("stripe", R"({"concurrency":5})");
  auto task = enqueue("q", of("a/b"));

  auto closed = post("/admin/limits/stripe/keys/a%2Fb/close", R"({"seconds":30})");
  EXPECT_EQ("a/b", closed.text("key"));
  EXPECT_FALSE(closed.text("closedUntil").empty());
  EXPECT_EQ(204u, try_claim());
  auto open = post("/admin/limits/stripe/keys/a%2Fb/open", "");
  EXPECT_EQ("", open.text("closedUntil"));
  EXPECT_GE(open.text("nextStart"), get("/tasks/" + task).text("createdAt"));
  EXPECT_EQ(task, claim("q").text("id"));

  EXPECT_EQ(200u, post("/admin/limits/stripe/close", R"({"for":"1h"})").status);
  auto without_key = enqueue("q", R"(,"limits":[{"name":"stripe"}])");
  EXPECT_EQ(204u, try_claim());
  EXPECT_EQ("", post("/admin/limits/stripe/open", "").text("key"));
  EXPECT_EQ(without_key, claim("q").text("id"));
  EXPECT_EQ(404u, post("/admin/limits/smtp/keys/a/close", R"({"seconds":30})").status);
  EXPECT_EQ(400u, post("/admin/limits/stripe/close", "{}").status);
}

TEST_F(HttpLimits, CostsAreSettled) {
  put("stripe", R"({"rate":{"count":1,"perSeconds":10,"burst":1}})");
  auto task = enqueue("q", of("a"));
  auto next = enqueue("q", of("a"));
  claim("q");

  auto done = post(
    "/tasks/" + task + "/result",
    R"({"status":"COMPLETED","costs":[{"name":"stripe","cost":3}]})");
  EXPECT_EQ(200u, done.status) << done.body;

  advance(20s);
  EXPECT_EQ(204u, try_claim());
  advance(10s);
  EXPECT_EQ(next, claim("q").text("id"));
  auto refused =
    post("/tasks/" + next + "/nack", R"({"costs":[{"name":"stripe","cost":1000001}]})");
  EXPECT_THAT(
    refused.text("error"), HasSubstr("'costs[0].cost' is 1000001; it must be 0..1000000"));
  auto most = post("/tasks/" + next + "/nack", R"({"costs":[{"name":"stripe","cost":1000000}]})");
  EXPECT_EQ(200u, most.status) << most.body;
}

TEST_F(HttpLimits, ASlotIsFreedByEveryEndOfALease) {
  put("stripe", R"({"concurrency":1})");
  const char* ends[] = {"/nack", "/abandon", "/result"};
  for (const char* end : ends) {
    auto task = enqueue("q", of("a"));
    EXPECT_EQ(task, claim("q").text("id")) << end;
    auto body = std::string(end) == "/result" ? R"({"status":"FAILED","error":"x"})" : "{}";
    EXPECT_EQ(200u, post("/tasks/" + task + end, body).status) << end;
    EXPECT_EQ("0", get("/admin/limits/stripe")["leased"]) << end;
    post("/tasks/" + task + "/cancel", "");
  }
}

} // namespace
} // namespace codeq::test
