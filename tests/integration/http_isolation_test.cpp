// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "http/server/gateway_limits.hpp"
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

/// Two tenants at one gateway; `mallory` is hostile.
class HttpIsolation : public http_fixture {
protected:
  void become_mallory() { use_token("mallory:root:pwa"); }

  void become_acme() { use_token("acme:root:pwa"); }

  pending begin_enqueue() { return send_along("POST", "/tasks", R"({"command":"q","payload":1})"); }

  std::vector<pending> begin_enqueues(std::size_t count) {
    std::vector<pending> all;
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(begin_enqueue());
    run();
    return all;
  }

  /// Responses that clients of the tenant do not read: no further one fits in its share.
  http::answer_share fill_share_of(const std::string& tenant) {
    auto unread = answers_->open(tenant);
    EXPECT_TRUE(unread->resize(limits::http_answers_bytes_max / 2 - answers_->used_by(tenant)));
    return unread;
  }

  /// Adds a task with a payload of that many backslashes, which take four bytes each in a response.
  std::string enqueue_backslashes(std::size_t count, const std::string& more = {}) {
    std::string escaped(2 * count, '\\');
    auto added = post("/tasks", R"({"command":"q","payload":")" + escaped + "\"" + more + "}");
    EXPECT_EQ(202u, added.status) << added.body.substr(0, 200);
    return added.text("id");
  }

  std::size_t answered_of(const std::vector<pending>& all) {
    return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const pending& one) { return one.is_answered(); }));
  }
};

constexpr auto claim_q = R"({"commands":["q"]})";

TEST_F(HttpIsolation, EnqueuesThatAreNeverAnsweredHoldUpNoOtherTenant) {
  *unanswered_tenant_ = "mallory";
  become_mallory();
  auto open = begin_enqueues(2000);
  become_acme();

  auto mine = begin_enqueues(1);

  ASSERT_TRUE(mine.front().is_answered());
  EXPECT_EQ(202u, (*mine.front().answered)->status);
  EXPECT_FALSE(open.front().is_answered());
}

TEST_F(HttpIsolation, AnEnqueueIsAnsweredWithAnErrorAtItsDeadline) {
  *unanswered_tenant_ = "acme";
  auto open = begin_enqueues(1);
  advance(30s - 1ms);
  ASSERT_FALSE(open.front().is_answered());

  advance(1ms);

  ASSERT_TRUE(open.front().is_answered());
  EXPECT_EQ(503u, (*open.front().answered)->status);
  EXPECT_THAT((*open.front().answered)->text("error"), HasSubstr("unknown"));
  *unanswered_tenant_ = "";
  EXPECT_EQ(202u, post("/tasks", R"({"command":"q","payload":1})").status);
}

TEST_F(HttpIsolation, AnEnqueueWhoseClientWentAwayGivesItsPlaceBack) {
  *unanswered_tenant_ = "mallory";
  become_mallory();
  auto open = begin_enqueues(4096);
  auto beyond = begin_enqueues(1);
  ASSERT_TRUE(beyond.front().is_answered());
  for (const auto& one : open)
    go_away(one);

  advance(1s);

  for (const auto& one : open)
    ASSERT_TRUE(one.is_answered());
  *unanswered_tenant_ = "";
  EXPECT_EQ(202u, post("/tasks", R"({"command":"q","payload":1})").status);
}

TEST_F(HttpIsolation, EnqueuesBeyondATenantsBytesAreRefusedAtOnceAndNameTheLimit) {
  auto taken = shares_->force("mallory", limits::enqueue_bytes_default / 2);

  become_mallory();
  auto refused = post("/tasks", R"({"command":"q","payload":1})");
  become_acme();
  auto other = post("/tasks", R"({"command":"q","payload":1})");

  EXPECT_EQ(503u, refused.status);
  EXPECT_THAT(refused.text("error"), HasSubstr("mallory"));
  EXPECT_THAT(refused.text("error"), HasSubstr("enqueue_bytes_max=268435456"));
  EXPECT_EQ("1", refused.fields["Retry-After"]);
  EXPECT_EQ(1u, meter_->counts()["enqueue_bytes_max"]);
  EXPECT_EQ(202u, other.status);
  taken = nullptr;
  become_mallory();
  EXPECT_EQ(202u, post("/tasks", R"({"command":"q","payload":1})").status);
}

TEST_F(HttpIsolation, AnEnqueueHoldsItsBytesUntilItEnds) {
  *unanswered_tenant_ = "acme";
  auto open = begin_enqueues(1);
  EXPECT_GT(shares_->used(), tuning::enqueue_overhead_bytes);

  advance(30s);
  EXPECT_EQ(shares_->used(), 0u);
  *unanswered_tenant_ = "";
  EXPECT_EQ(202u, post("/tasks", R"({"command":"q","payload":1})").status);

  EXPECT_EQ(shares_->used(), 0u);
}

TEST_F(HttpIsolation, CheckpointsBeyondATenantsBytesAreRefusedAndNameTheLimit) {
  become_mallory();
  auto target = "/tasks/" + enqueue("q") + "/checkpoint";
  claim("q");
  auto taken = shares_->force("mallory", limits::enqueue_bytes_default / 2);

  auto refused = post(target, R"({"checkpoint":7})");

  EXPECT_EQ(503u, refused.status);
  EXPECT_THAT(refused.text("error"), HasSubstr("enqueue_bytes_max=268435456"));
  EXPECT_EQ("1", refused.fields["Retry-After"]);
  EXPECT_EQ(1u, meter_->counts()["enqueue_bytes_max"]);
  taken = nullptr;
  EXPECT_EQ(200u, post(target, R"({"checkpoint":7})").status);
}

TEST_F(HttpIsolation, ACheckpointHoldsItsBytesUntilItIsDurable) {
  auto target = "/tasks/" + enqueue("q") + "/checkpoint";
  claim("q");
  auto saving = send_along("POST", target, R"({"checkpoint":7})");

  std::uint64_t held = 0;
  while (!saving.is_answered() && step())
    held = std::max(held, shares_->used());

  EXPECT_GT(held, tuning::enqueue_overhead_bytes);
  run();
  EXPECT_EQ(shares_->used(), 0u);
}

TEST_F(HttpIsolation, EnqueuesBeyondATenantsPlacesAreRefusedAtOnceAndNameTheLimit) {
  *unanswered_tenant_ = "mallory";
  become_mallory();
  auto open = begin_enqueues(4096);

  auto refused = post("/tasks", R"({"command":"q","payload":1})");

  EXPECT_EQ(503u, refused.status);
  EXPECT_THAT(refused.text("error"), HasSubstr("mallory"));
  EXPECT_THAT(refused.text("error"), HasSubstr("4096"));
  EXPECT_EQ("1", refused.fields["Retry-After"]);
  EXPECT_EQ(1u, meter_->counts()["http_enqueues_open_max"]);
  become_acme();
  EXPECT_EQ(202u, post("/tasks", R"({"command":"q","payload":1})").status);
}

TEST_F(HttpIsolation, AClaimThatWaitsOutlivesTheDeadlineOfRequestsThatDoNot) {
  auto waiting = begin("POST", "/tasks/claim", R"({"commands":["q"],"waitSeconds":50})");

  advance(49s);

  ASSERT_FALSE(waiting.is_answered());
  advance(1s);
  ASSERT_TRUE(waiting.is_answered());
  EXPECT_EQ(204u, (*waiting.answered)->status);
}

TEST_F(HttpIsolation, AClaimIsRefusedBeforeItLeasesWhenItsTenantHasNoBytesForTheAnswer) {
  become_mallory();
  auto task = enqueue("q");
  auto unread = fill_share_of("mallory");

  auto refused = post("/tasks/claim", claim_q);
  auto batch = post("/tasks/claim/batch", R"({"count":10,"commands":["q"]})");

  EXPECT_EQ(503u, refused.status);
  EXPECT_THAT(refused.text("error"), HasSubstr("tenant mallory has 6"));
  EXPECT_THAT(refused.text("error"), HasSubstr("http_answers_bytes_max=134217728"));
  EXPECT_EQ("1", refused.fields["Retry-After"]);
  EXPECT_EQ(503u, batch.status);
  EXPECT_EQ(2u, meter_->counts()["http_answers_bytes_max"]);
  EXPECT_EQ("0", get("/tasks/" + task)["attempts"]);
  become_acme();
  enqueue("q");
  EXPECT_EQ(200u, post("/tasks/claim", claim_q).status);
  unread = nullptr;
  become_mallory();
  EXPECT_EQ(200u, post("/tasks/claim", claim_q).status);
}

TEST_F(HttpIsolation, TasksThatGrowInTheAnswerAreDeliveredInPartsAndChargedOnce) {
  constexpr std::size_t count = 24;
  for (std::size_t i = 0; i < count; ++i)
    enqueue_backslashes(260'000, R"(,"maxAttempts":1)");

  std::size_t delivered = 0;
  std::size_t answers = 0;
  for (; delivered < count && answers < count; ++answers) {
    auto part = post("/tasks/claim/batch?limit=extended", R"({"count":64,"commands":["q"]})");
    ASSERT_EQ(200u, part.status);
    EXPECT_LT(part.body.size(), 2 * limits::http_claim_bytes_max);
    for (std::size_t at = 0; (at = part.body.find("\"attempts\":1,", at)) != std::string::npos;
         ++at)
      ++delivered;
  }

  EXPECT_EQ(count, delivered);
  EXPECT_GT(answers, 1u);
  EXPECT_EQ(0u, answers_->used_by("acme"));
}

TEST_F(HttpIsolation, ATaskThatDoesNotFitInTheAnswerIsGivenBackUncharged) {
  become_mallory();
  auto task = enqueue_backslashes(50'000, R"(,"delaySeconds":5,"maxAttempts":1)");
  auto waiting = begin("POST", "/tasks/claim", R"({"commands":["q"],"waitSeconds":50})");
  auto unread = fill_share_of("mallory");

  advance(5s);

  ASSERT_TRUE(waiting.is_answered());
  EXPECT_EQ(503u, (*waiting.answered)->status);
  unread = nullptr;
  EXPECT_EQ("0", get("/tasks/" + task)["attempts"]);
  EXPECT_EQ(200u, post("/tasks/claim", claim_q).status);
}

TEST_F(HttpIsolation, LeasesOfAnAnswerThatWasNotWrittenAreGivenBackUncharged) {
  auto task = enqueue("q", R"(,"maxAttempts":1)");
  auto lost = claim("q");

  lost.on_unwritten();
  run();

  auto again = claim("q");
  EXPECT_EQ(task, again.text("id"));
  EXPECT_EQ("1", again["attempts"]);
}

TEST_F(HttpIsolation, AClaimThatWaitsHoldsNoBytes) {
  auto waiting = begin("POST", "/tasks/claim", R"({"commands":["q"],"waitSeconds":50})");

  ASSERT_FALSE(waiting.is_answered());
  EXPECT_EQ(0u, answers_->used_by("acme"));
}

TEST_F(HttpIsolation, AnEnqueueIsRefusedBeforeItIsStoredWhenItsTenantHasNoBytesForTheAnswer) {
  become_mallory();
  auto unread = fill_share_of("mallory");
  auto task = R"({"command":"q","payload":")" + std::string(20'000, 'x') + "\"}";

  auto one = post("/tasks", task);
  auto batch = post("/tasks/batch", R"({"tasks":[)" + task + "]}");

  EXPECT_EQ(503u, one.status);
  EXPECT_EQ(503u, batch.status);
  EXPECT_THAT(batch.text("error"), HasSubstr("tenant mallory has 6"));
  EXPECT_EQ("0", get("/admin/queues/q")["ready"]);
}

TEST_F(HttpIsolation, ARepeatedEnqueueIsAnsweredWithoutAPayloadThatDoesNotFit) {
  become_mallory();
  enqueue_backslashes(50'000, R"(,"key":"k")");
  auto unread = fill_share_of("mallory");

  auto repeated = post("/tasks", R"({"command":"q","payload":1,"key":"k"})");

  EXPECT_EQ(202u, repeated.status);
  EXPECT_EQ("existing", repeated.text("outcome"));
  EXPECT_EQ("", repeated["payload"]);
}

TEST_F(HttpIsolation, ASmallAnswerIsNeverRefusedForItsBytes) {
  become_mallory();
  enqueue("q");
  auto task = claim("q").text("id");
  auto unread = fill_share_of("mallory");

  EXPECT_EQ(200u, post("/tasks/" + task + "/heartbeat", "{}").status);
  EXPECT_EQ(200u, post("/tasks/" + task + "/result", R"({"status":"COMPLETED"})").status);
}

TEST_F(HttpIsolation, TenantsTakeTurnsAtTheGateway) {
  become_mallory();
  std::vector<pending> flood;
  for (int i = 0; i < 200; ++i)
    flood.push_back(send_along("GET", "/tasks/none", {}));
  become_acme();
  auto mine = send_along("GET", "/tasks/none", {});

  while (!mine.is_answered() && step()) {
  }

  EXPECT_TRUE(mine.is_answered());
  EXPECT_LT(answered_of(flood), 100u);
}

TEST_F(HttpIsolation, TenantsTakeTurnsReadingLists) {
  become_mallory();
  enqueue("q");
  std::vector<pending> flood;
  for (int i = 0; i < 60; ++i)
    flood.push_back(send_along("GET", "/tasks?limit=10", {}));
  // All of them wait for their turns when the first one is answered.
  while (answered_of(flood) == 0 && step()) {
  }
  become_acme();
  auto mine = send_along("GET", "/tasks?limit=10", {});

  while (!mine.is_answered() && step()) {
  }

  ASSERT_TRUE(mine.is_answered());
  EXPECT_EQ(200u, (*mine.answered)->status);
  EXPECT_LT(answered_of(flood), 30u);
  run();
  EXPECT_EQ(60u, answered_of(flood));
}

TEST_F(HttpIsolation, ListsBeyondThoseOfATenantThatMayWaitAreRefusedAndNameTheLimit) {
  *unanswered_tenant_ = "mallory";
  become_mallory();
  // Four lists are read, one by each of the four shards, and 64 wait for each shard.
  std::vector<pending> open;
  for (int i = 0; i < 68; ++i)
    open.push_back(begin("GET", "/tasks?limit=10"));
  EXPECT_EQ(0u, answered_of(open));

  auto refused = get("/tasks?limit=10");

  EXPECT_EQ(503u, refused.status);
  EXPECT_THAT(refused.text("error"), HasSubstr("mallory"));
  EXPECT_THAT(refused.text("error"), HasSubstr("lists_waiting_max=64"));
  EXPECT_EQ("1", refused.fields["Retry-After"]);
  EXPECT_LE(1u, meter_->counts()["lists_waiting_max"]);
}

TEST_F(HttpIsolation, AMalformedRequestFailsAlone) {
  become_acme();
  auto task = enqueue("watched");
  auto poll = begin("GET", "/tasks/" + task + "/result?waitSeconds=20");
  *malformed_tenant_ = "mallory";
  become_mallory();
  auto malformed = send_along("POST", "/tasks", R"({"command":"q","payload":1})");
  become_acme();
  auto mine = begin_enqueues(10);

  ASSERT_TRUE(malformed.is_answered());
  EXPECT_EQ(500u, (*malformed.answered)->status);
  for (const auto& one : mine) {
    ASSERT_TRUE(one.is_answered());
    EXPECT_EQ(202u, (*one.answered)->status);
  }
  EXPECT_FALSE(poll.is_answered());
  auto id = claim("watched").text("id");
  EXPECT_EQ(200u, post("/tasks/" + id + "/result", R"({"status":"COMPLETED"})").status);
  ASSERT_TRUE(poll.is_answered());
  EXPECT_EQ(200u, (*poll.answered)->status);
}

TEST_F(HttpIsolation, EnqueuesAndWatchesOutliveTheGatewaysSession) {
  auto task = enqueue("watched");
  auto poll = begin("GET", "/tasks/" + task + "/result?waitSeconds=20");
  auto stored = begin_enqueue();
  // The gateway takes the request and sends it. The shard gets the enqueue before the end of the
  // session, and its answer is lost.
  step();
  step();
  end_session();
  run();
  EXPECT_FALSE(stored.is_answered());
  EXPECT_FALSE(poll.is_answered());

  advance(100ms);

  ASSERT_TRUE(stored.is_answered());
  EXPECT_EQ(202u, (*stored.answered)->status);
  EXPECT_EQ("1", get("/admin/queues/q")["ready"]) << "not stored again";
  EXPECT_FALSE(poll.is_answered());
  auto id = claim("watched").text("id");
  EXPECT_EQ(200u, post("/tasks/" + id + "/result", R"({"status":"COMPLETED"})").status);
  ASSERT_TRUE(poll.is_answered());
  EXPECT_EQ(200u, (*poll.answered)->status);
}

TEST_F(HttpIsolation, TenantsTakeTurnsReadingPayloads) {
  become_acme();
  auto own = enqueue("q");
  become_mallory();
  auto theirs = enqueue("q");
  std::vector<pending> flood;
  for (int i = 0; i < 500; ++i)
    flood.push_back(send_along("GET", "/tasks/" + theirs, {}));
  // All of them wait for their turns when the first one is answered.
  while (answered_of(flood) == 0 && step()) {
  }
  become_acme();
  auto mine = send_along("GET", "/tasks/" + own, {});

  while (!mine.is_answered() && step()) {
  }

  EXPECT_TRUE(mine.is_answered());
  EXPECT_LT(answered_of(flood), 200u);
}

} // namespace
} // namespace codeq::test
