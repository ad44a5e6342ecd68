// SPDX-License-Identifier: Apache-2.0
#include "http/server/gateway_limits.hpp"
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Operations on all tasks that match a filter, under virtual time.
class HttpOperations : public http_fixture {
protected:
  HttpOperations() {
    options_.callers_of = [this](const std::string& tenant, const std::string& subject) {
      std::vector<std::shared_ptr<const http::caller>> callers;
      if (revoked_.contains(subject))
        return callers;
      http::caller by{subject, tenant};
      by.is_admin = true;
      callers.push_back(std::make_shared<const http::caller>(std::move(by)));
      return callers;
    };
    restart();
  }

  /// Adds dead tasks and lets time pass, so that they died before what follows.
  std::vector<std::string> add_dead(const std::string& queue, int count) {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i)
      ids.push_back(enqueue(queue, R"(,"maxAttempts":1)"));
    for (int i = 0; i < count; ++i)
      fail_next(queue);
    advance(1s);
    return ids;
  }

  /// Lets the next ready task of the queue fail.
  void fail_next(const std::string& queue) {
    auto task = claim(queue);
    auto path = "/tasks/" + task.text("id") + "/result";
    EXPECT_EQ(200u, post(path, R"({"status":"FAILED","error":"x"})").status);
  }

  /// Starts an operation and returns its id.
  std::string start(const std::string& fields) {
    auto answer = post("/admin/operations", "{" + fields + "}");
    EXPECT_EQ(202u, answer.status) << answer.body;
    return answer.text("id");
  }

  answer show(const std::string& id) { return get("/admin/operations/" + id); }

  std::string done(const std::string& id) {
    auto shown = show(id);
    return shown.text("status") + " " + shown["done"] + "+" + shown["unchanged"];
  }

  /// The number of tasks of the queue in a state.
  std::string count(const std::string& queue, const std::string& state) {
    return get("/admin/queues/" + queue)[state];
  }

  std::set<std::string> revoked_;
};

TEST_F(HttpOperations, RedriveAllThatMatchAndTellTheProgress) {
  add_dead("mail", 5);
  add_dead("other", 1);

  auto id = start(R"("kind":"redrive","queue":"mail","error":"x")");
  run();

  auto shown = show(id);
  EXPECT_EQ("completed 5+0", done(id));
  EXPECT_EQ("5", shown["matched"]);
  EXPECT_THAT(shown["filter"], HasSubstr(R"("queue":"mail")"));
  EXPECT_THAT(shown["events"], AllOf(HasSubstr("start"), HasSubstr("end"), HasSubstr("root")));
  EXPECT_EQ("5", count("mail", "ready"));
  EXPECT_EQ("1", count("other", "dlq"));
  EXPECT_THAT(get("/admin/operations").body, HasSubstr(id));
}

TEST_F(HttpOperations, EnterTheAuditLogOnce) {
  add_dead("mail", 5);

  auto id = start(R"("kind":"redrive","queue":"mail","rate":10)");
  advance(200ms);
  restart();
  advance(5s);

  EXPECT_EQ("completed 5+0", done(id));
  auto audit = get("/admin/audit").body;
  EXPECT_THAT(audit, HasSubstr(R"("changed":5)"));
  EXPECT_THAT(audit, AllOf(HasSubstr("dead redrive"), HasSubstr(R"("subject":"root")")));
}

TEST_F(HttpOperations, TaskThatDiedAgainIsNotRedrivenAgain) {
  add_dead("mail", 20);

  auto id = start(R"("kind":"redrive","queue":"mail","rate":10)");
  for (int i = 0; i < 10; ++i) {
    advance(300ms);
    fail_next("mail");
  }
  advance(20s);

  EXPECT_EQ("completed 20+0", done(id));
  EXPECT_EQ("10", count("mail", "dlq"));
}

TEST_F(HttpOperations, GoOnAfterARestartWithoutChangingATaskTwice) {
  add_dead("mail", 40);

  auto id = start(R"("kind":"redrive","queue":"mail","rate":10)");
  for (int restarts = 0; restarts < 8; ++restarts) {
    advance(330ms);
    restart();
  }
  EXPECT_EQ("running", show(id).text("status"));
  advance(20s);

  EXPECT_EQ("completed 40+0", done(id));
  EXPECT_EQ("40", count("mail", "ready"));
  EXPECT_THAT(get("/admin/audit").body, HasSubstr(R"("changed":40)"));
}

TEST_F(HttpOperations, KeepTheRate) {
  add_dead("mail", 60);

  auto id = start(R"("kind":"redrive","queue":"mail","rate":10)");
  advance(3s);

  auto changed = std::stoi(show(id)["done"]);
  EXPECT_GE(changed, 27);
  EXPECT_LE(changed, 34);
}

TEST_F(HttpOperations, ArePausedAndResumedAlsoOverARestart) {
  add_dead("mail", 20);
  auto id = start(R"("kind":"redrive","queue":"mail","rate":10)");
  advance(500ms);

  EXPECT_EQ("paused", post("/admin/operations/" + id + "/pause", "").text("status"));
  EXPECT_EQ(409u, post("/admin/operations/" + id + "/pause", "").status);
  auto before = done(id);
  restart();
  advance(10s);
  EXPECT_EQ(before, done(id));
  EXPECT_EQ("running", post("/admin/operations/" + id + "/resume", "").text("status"));
  advance(10s);

  EXPECT_EQ("completed 20+0", done(id));
}

TEST_F(HttpOperations, CancelledOnesStopForGood) {
  add_dead("mail", 20);
  auto id = start(R"("kind":"redrive","queue":"mail","rate":10)");
  advance(500ms);

  EXPECT_EQ("cancelled", post("/admin/operations/" + id + "/cancel", "").text("status"));
  EXPECT_EQ(409u, post("/admin/operations/" + id + "/resume", "").status);
  restart();
  advance(10s);

  EXPECT_EQ("cancelled", show(id).text("status"));
  EXPECT_NE("0", count("mail", "dlq"));
}

TEST_F(HttpOperations, CanaryThatFailsAgainStopsTheRest) {
  add_dead("mail", 150);
  auto id = start(R"("kind":"redrive","queue":"mail","canary":10)");
  advance(2s);
  EXPECT_EQ("2", count("mail", "ready")) << "1 % of 150, rounded up";
  EXPECT_EQ("watching", show(id).text("phase"));

  fail_next("mail");
  restart();
  advance(2s);

  auto shown = show(id);
  EXPECT_EQ("paused", shown.text("status"));
  EXPECT_THAT(shown.text("reason"), HasSubstr("failed again in 1 of 1 runs, more than 10 %"));
  EXPECT_EQ("148", std::to_string(std::stoi(count("mail", "dlq")) - 1));
  post("/admin/operations/" + id + "/resume", "");
  advance(2s);
  EXPECT_EQ("completed 150+0", done(id));
}

TEST_F(HttpOperations, CanaryThatRunsWellLetsTheRestGo) {
  add_dead("mail", 150);
  auto id = start(R"("kind":"redrive","queue":"mail","canary":10)");
  advance(2s);

  for (int i = 0; i < 2; ++i) {
    auto task = claim("mail");
    post("/tasks/" + task.text("id") + "/result", R"({"status":"COMPLETED","result":{}})");
  }
  advance(3s);

  EXPECT_EQ("completed 150+0", done(id));
}

TEST_F(HttpOperations, CancelLiveTasksThatMatch) {
  for (int i = 0; i < 3; ++i)
    enqueue("mail");
  enqueue("mail", R"(,"group":"g","delaySeconds":60)");
  enqueue("other");
  claim("mail");
  advance(1s);

  auto id = start(R"("kind":"cancel","queue":"mail")");
  run();

  EXPECT_EQ("completed 4+0", done(id));
  EXPECT_EQ("0", count("mail", "ready"));
  EXPECT_EQ("0", count("mail", "delayed"));
  EXPECT_EQ("1", count("other", "ready"));
}

TEST_F(HttpOperations, PromoteWaitingTasksThatMatch) {
  enqueue("mail", R"(,"delaySeconds":60,"allowPromotion":true)");
  enqueue("mail", R"(,"delaySeconds":60,"allowPromotion":true)");
  enqueue("mail", R"(,"delaySeconds":60)");
  advance(1s);

  auto id = start(R"("kind":"promote","queue":"mail")");
  run();

  EXPECT_EQ("completed 2+1", done(id)) << "a producer's deferral stands";
  EXPECT_EQ("2", count("mail", "ready"));
}

TEST_F(HttpOperations, PurgeDeadTasksThatMatch) {
  auto ids = add_dead("mail", 3);

  auto id = start(R"("kind":"purge","queue":"mail","limit":2)");
  run();

  EXPECT_EQ("completed 2+0", done(id));
  EXPECT_EQ("1", count("mail", "dlq"));
}

TEST_F(HttpOperations, AllTasksAreCancelledWhenThatIsSaid) {
  enqueue("mail");
  enqueue("other");
  advance(1s);

  auto id = start(R"("kind":"cancel","all":true)");
  run();

  EXPECT_EQ("completed 2+0", done(id));
}

TEST_F(HttpOperations, OfATenantAreUnknownToAnother) {
  add_dead("mail", 20);
  auto id = start(R"("kind":"redrive","rate":1)");

  use_token("evil:root:pwa");

  EXPECT_EQ(404u, show(id).status);
  for (auto verb : {"pause", "resume", "cancel"})
    EXPECT_EQ(404u, post("/admin/operations/" + id + "/" + verb, "").status);
  EXPECT_THAT(get("/admin/operations").body, Not(HasSubstr(id)));
  auto own = start(R"("kind":"redrive")");
  run();
  EXPECT_EQ("completed 0+0", done(own));
  EXPECT_EQ("0", count("mail", "dlq"));
}

TEST_F(HttpOperations, ArePausedWhenTheTokenIsRevoked) {
  add_dead("mail", 20);
  auto id = start(R"("kind":"redrive","rate":10)");
  advance(500ms);

  revoked_.insert("root");
  advance(5s);

  auto shown = show(id);
  EXPECT_EQ("paused", shown.text("status"));
  EXPECT_THAT(shown.text("reason"), HasSubstr("token of root was revoked"));
  EXPECT_LT(std::stoi(shown["done"]), 10);
  use_token("acme:second:pwa");
  post("/admin/operations/" + id + "/resume", "");
  advance(5s);
  EXPECT_EQ("completed 20+0", done(id)) << "with the rights of the user who resumed it";
}

TEST_F(HttpOperations, OfAJwtGoOnWhenATokenOfTheSameSubjectIsRevoked) {
  add_dead("mail", 20);
  use_token("acme:root:pwaj");
  auto id = start(R"("kind":"redrive","rate":10)");
  advance(500ms);

  revoked_.insert("root");
  advance(5s);

  EXPECT_EQ("completed 20+0", done(id));
}

TEST_F(HttpOperations, OneTooManyIsRefusedUntilAnotherEnds) {
  add_dead("mail", 20);
  std::string first;
  for (std::size_t i = 0; i < limits::operations_open_max; ++i) {
    auto id = start(R"("kind":"redrive","rate":1,"queue":"mail")");
    first = first.empty() ? id : first;
  }

  auto refused = post("/admin/operations", R"({"kind":"redrive"})");
  EXPECT_EQ(400u, refused.status);
  EXPECT_THAT(
    refused.body,
    AllOf(HasSubstr("16 operations that are not over"), HasSubstr("operations_open_max=16")));
  restart();
  EXPECT_EQ(400u, post("/admin/operations", R"({"kind":"redrive"})").status);

  post("/admin/operations/" + first + "/cancel", "");
  EXPECT_EQ(202u, post("/admin/operations", R"({"kind":"redrive"})").status);
}

TEST_F(HttpOperations, EndedOnesAreKeptUpToALimitAlsoOverARestart) {
  auto first = start(R"("kind":"redrive")");
  run();
  std::string last;
  for (std::size_t i = 0; i < limits::operations_kept_max; ++i) {
    advance(1ms);
    last = start(R"("kind":"redrive")");
    run();
  }

  EXPECT_EQ(404u, show(first).status) << "the oldest went";
  restart();
  EXPECT_EQ(404u, show(first).status);
  EXPECT_EQ(200u, show(last).status);
}

TEST_F(HttpOperations, FieldThatTheKindDoesNotHaveIsRefused) {
  auto refused = [this](const std::string& fields) {
    auto answer = post("/admin/operations", "{" + fields + "}");
    EXPECT_EQ(400u, answer.status) << fields;
    return answer.text("error");
  };

  EXPECT_THAT(refused(R"("queue":"q")"), HasSubstr("kind"));
  EXPECT_THAT(refused(R"("kind":"forget")"), HasSubstr("redrive, purge, cancel"));
  EXPECT_THAT(refused(R"("kind":"purge","canary":5)"), HasSubstr("'canary' is"));
  EXPECT_THAT(refused(R"("kind":"redrive","canary":101)"), HasSubstr("0..100"));
  EXPECT_THAT(refused(R"("kind":"redrive","rate":1000001)"), HasSubstr("1000000"));
  EXPECT_THAT(refused(R"("kind":"redrive","state":"ready")"), HasSubstr("dead or left out"));
  EXPECT_THAT(refused(R"("kind":"cancel","state":"dead")"), HasSubstr("scheduled, gated, ready"));
  EXPECT_THAT(refused(R"("kind":"promote","state":"ready")"), HasSubstr("scheduled, gated"));
  EXPECT_THAT(refused(R"("kind":"cancel","olderThan":"1h")"), HasSubstr("left out"));
  for (const auto* kind : {"purge", "cancel"}) {
    auto of_kind = R"("kind":")" + std::string(kind) + "\"";
    for (const auto* more : {"", R"(,"limit":5)", R"(,"all":false)"})
      EXPECT_THAT(refused(of_kind + more), HasSubstr("no filter is given")) << kind << more;
    EXPECT_THAT(refused(of_kind + R"(,"queue":"q","all":true)"), HasSubstr("'all' is given with"));
    EXPECT_EQ(
      "invalid queue: 'queue' is null; it must be left out, or not empty",
      refused(of_kind + R"(,"queue":null,"error":"x")"));
  }
  EXPECT_THAT(refused(R"("kind":"purge","state":"dead")"), HasSubstr("no filter is given"));
  EXPECT_THAT(
    refused(R"("kind":"cancel","until":"1970-01-01T00:00:00Z")"),
    HasSubstr(R"('until' is "1970-01-01T00:00:00Z"; it must be after 1970)"));
  EXPECT_THAT(
    refused(R"("kind":"cancel","since":"1970-01-01T00:00:00Z")"), HasSubstr("no filter is given"));
  std::string headers = R"("a0":"")";
  for (int i = 1; i < 17; ++i)
    headers += ",\"a" + std::to_string(i) + "\":\"\"";
  EXPECT_THAT(
    refused(R"("kind":"cancel","headers":{)" + headers + "}"),
    HasSubstr("'headers' is 17 headers; it must be at most 16"));
}

TEST_F(HttpOperations, RecordThatCannotBeStoredBeginsNothing) {
  add_dead("mail", 3);
  *unanswered_tenant_ = "codeq.operations";

  auto open = begin("POST", "/admin/operations", R"({"kind":"redrive"})");
  advance(5s);

  EXPECT_FALSE(open.is_answered());
  EXPECT_EQ("3", count("mail", "dlq")) << "nothing is changed before the record is durable";
}

} // namespace
} // namespace codeq::test
