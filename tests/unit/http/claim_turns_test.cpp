// SPDX-License-Identifier: Apache-2.0
#include "http/desk/claim_turns.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace codeq::http {
namespace {

/// Steps of claims at shares of 1,200 bytes, of which one tenant gets half.
class ClaimTurns : public testing::Test {
protected:
  struct begun {
    answer_share share;
    std::shared_ptr<std::optional<errc>> outcome = std::make_shared<std::optional<errc>>();

    [[nodiscard]] bool is_waiting() const { return !outcome->has_value(); }

    [[nodiscard]] bool has_started() const { return *outcome == errc::none; }

    [[nodiscard]] bool is_refused() const { return *outcome == errc::overloaded; }
  };

  ClaimTurns() { turns_.connect(shares_); }

  begun begin(const std::string& tenant, std::uint64_t bytes) {
    begun made{shares_->open(tenant)};
    turns_.begin({tenant, made.share, bytes, [to = made.outcome](const result<void>& ok) {
                    *to = ok ? errc::none : ok.error().code;
                  }});
    return made;
  }

  /// The step's tasks have come; their response has that many bytes.
  void end(const std::string& tenant, const begun& step, std::uint64_t bytes) {
    step.share->force(bytes);
    turns_.end(tenant);
  }

  std::shared_ptr<answer_shares> shares_ = std::make_shared<answer_shares>(1200);
  claim_turns turns_;
};

TEST_F(ClaimTurns, AStepWaitsWhileStepsOfItsTenantHoldTheBytes) {
  auto first = begin("mallory", 500);
  auto second = begin("mallory", 500);
  auto other = begin("acme", 300);
  ASSERT_TRUE(first.has_started());
  EXPECT_TRUE(second.is_waiting());
  EXPECT_TRUE(other.has_started());

  end("mallory", first, 100);

  EXPECT_TRUE(second.has_started());
  EXPECT_EQ(600u, shares_->used_by("mallory"));
}

TEST_F(ClaimTurns, AStepIsRefusedWhenUnreadResponsesHoldTheBytes) {
  auto first = begin("mallory", 500);
  auto second = begin("mallory", 500);

  end("mallory", first, 500);

  EXPECT_TRUE(second.is_refused());
  EXPECT_EQ(500u, shares_->used_by("mallory"));
  EXPECT_TRUE(begin("acme", 400).has_started());
}

TEST_F(ClaimTurns, ATenantsStepsStartInOrder) {
  auto first = begin("mallory", 500);
  auto large = begin("mallory", 500);
  auto small = begin("mallory", 1);

  EXPECT_TRUE(small.is_waiting());
  end("mallory", first, 0);
  EXPECT_TRUE(large.has_started());
  EXPECT_TRUE(small.has_started());
}

} // namespace
} // namespace codeq::http
