// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/enqueue_shares.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::coordinator {
namespace {

/// Shares of 100 bytes.
class EnqueueShares : public testing::Test {
protected:
  /// Takes ten bytes at a time until refused; returns how often it succeeded.
  std::size_t take_all(const std::string& tenant) {
    std::size_t taken = 0;
    while (auto share = shares_->take(tenant, 10)) {
      held_.push_back(*share);
      ++taken;
    }
    return taken;
  }

  std::shared_ptr<observe::limit_meter> meter_ = std::make_shared<observe::limit_meter>();
  std::shared_ptr<enqueue_shares> shares_ = std::make_shared<enqueue_shares>(100, meter_);
  std::vector<enqueue_share> held_;
};

TEST_F(EnqueueShares, OneTenantLeavesHalfOfTheBytesToOthers) {
  EXPECT_EQ(take_all("mallory"), 5u);
  EXPECT_EQ(take_all("acme"), 3u);
  EXPECT_EQ(shares_->used(), 80u);
}

TEST_F(EnqueueShares, AreTakenOnlyIfMoreBytesRemainForTheirTenant) {
  EXPECT_FALSE(shares_->take("acme", 10, 91));
  EXPECT_EQ(shares_->used(), 0u);

  auto share = shares_->take("acme", 10, 90);

  EXPECT_TRUE(share);
  EXPECT_EQ(shares_->used(), 10u);
}

TEST_F(EnqueueShares, AreGivenBackWithTheLastCopy) {
  take_all("mallory");
  auto copy = held_.front();
  held_.clear();
  EXPECT_EQ(shares_->used(), 10u);

  copy = nullptr;

  EXPECT_EQ(shares_->used(), 0u);
  EXPECT_EQ(take_all("mallory"), 5u);
}

TEST_F(EnqueueShares, RefusalNamesTenantAndLimitAndIsCounted) {
  take_all("mallory");

  auto refused = shares_->take("mallory", 10);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::overloaded);
  EXPECT_EQ(
    refused.error().context,
    "tenant mallory has 50 of 50 bytes of requests that are not durable yet; all tenants share "
    "enqueue_bytes_max=100");
  EXPECT_EQ(meter_->counts()["enqueue_bytes_max"], 2u);
}

TEST_F(EnqueueShares, BytesThatCannotBeRefusedCountToo) {
  auto share = shares_->force("mallory", 90);
  EXPECT_FALSE(shares_->take("mallory", 10));
  EXPECT_TRUE(shares_->take("acme", 10));

  share = nullptr;

  EXPECT_TRUE(shares_->take("mallory", 10));
}

TEST_F(EnqueueShares, MayOutliveTheirOwner) {
  take_all("mallory");
  shares_ = nullptr;

  held_.clear();

  EXPECT_TRUE(held_.empty());
}

} // namespace
} // namespace codeq::coordinator
