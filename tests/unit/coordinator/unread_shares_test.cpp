// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/unread_shares.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace codeq::coordinator {
namespace {

constexpr std::uint64_t mib = 1u << 20;

/// Shares of 10 MiB.
class UnreadShares : public testing::Test {
protected:
  std::shared_ptr<observe::limit_meter> meter_ = std::make_shared<observe::limit_meter>();
  std::shared_ptr<unread_shares> shares_ = std::make_shared<unread_shares>(10 * mib, meter_);
};

TEST_F(UnreadShares, OneTenantLeavesHalfOfTheBytesToOthers) {
  unread_part mallory{shares_, "mallory"};
  EXPECT_TRUE(mallory.keep(5 * mib));
  EXPECT_FALSE(mallory.keep(6 * mib));
  EXPECT_EQ(shares_->used(), 5 * mib) << "a refusal changes nothing";

  unread_part acme{shares_, "acme"};
  EXPECT_TRUE(acme.keep(2 * mib));
}

TEST_F(UnreadShares, AreGivenBackByReadingAndByTheEndOfAConnection) {
  {
    unread_part part{shares_, "acme"};
    ASSERT_TRUE(part.keep(5 * mib));
    ASSERT_TRUE(part.keep(mib));
    EXPECT_EQ(shares_->used(), mib);
  }
  EXPECT_EQ(shares_->used(), 0u);
}

TEST_F(UnreadShares, RefusalNamesTenantAndLimitAndIsCounted) {
  unread_part part{shares_, "mallory"};
  ASSERT_TRUE(part.keep(4 * mib));

  auto refused = part.keep(7 * mib);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::overloaded);
  EXPECT_EQ(
    refused.error().context,
    "the nodes of tenant mallory have not read 4194304 bytes; all tenants share "
    "unread_bytes_max=10485760");
  EXPECT_EQ(meter_->counts()["unread_bytes_max"], 1u);
}

} // namespace
} // namespace codeq::coordinator
