// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "http/server/gateway_limits.hpp"
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

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
};

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

} // namespace
} // namespace codeq::test
