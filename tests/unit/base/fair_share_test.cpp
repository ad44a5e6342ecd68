// SPDX-License-Identifier: Apache-2.0
#include "base/fair_share.hpp"
#include "base/remote_block.hpp"

#include <gtest/gtest.h>

namespace codeq::base {
namespace {

std::uint64_t take_all(fair_share& share, const std::string& owner) {
  while (share.take(owner)) {
  }
  return share.used_by(owner);
}

TEST(SharedPlaces, AnOwnerLeavesAsManyFreeAsItHas) {
  const shared_places owner{.total = 10, .used = 4, .own = 3};
  EXPECT_TRUE(owner.has_room(3));
  EXPECT_FALSE(owner.has_room(4));
}

TEST(SharedPlaces, AnOwnerWithoutPlacesOfItsOwnMayTakeAll) {
  const shared_places owner{.total = 10, .used = 4};
  EXPECT_TRUE(owner.has_room(6));
  EXPECT_FALSE(owner.has_room(7));
}

TEST(SharedPlaces, WhatIsTakenBeyondAllLeavesNoRoom) {
  const shared_places owner{.total = 10, .used = 11};
  EXPECT_FALSE(owner.has_room());
}

TEST(FairShare, OneOwnerGetsHalf) {
  fair_share share(100);
  EXPECT_EQ(50u, take_all(share, "a"));
}

TEST(FairShare, EachFurtherOwnerFindsHalfOfWhatIsFree) {
  fair_share share(100);
  take_all(share, "a");
  EXPECT_EQ(25u, take_all(share, "b"));
  EXPECT_EQ(13u, take_all(share, "c"));
}

TEST(FairShare, OwnerWithLessThanAnEqualPartTakesPlacesFromTheOneWithMost) {
  fair_share share(100);
  EXPECT_EQ(share.debtor_of("a"), std::nullopt);
  take_all(share, "a");
  take_all(share, "b");

  EXPECT_EQ(share.debtor_of("c"), "a");
  EXPECT_EQ(share.debtor_of("b"), std::nullopt) << "a has no more than one of two halves";
  EXPECT_EQ(share.debtor_of("a"), std::nullopt);
}

TEST(FairShare, TheLastPlaceCanBeTaken) {
  fair_share share(1);
  EXPECT_TRUE(share.take("a"));
  EXPECT_FALSE(share.take("b"));
  share.give_back("a");
  EXPECT_TRUE(share.take("b"));
}

TEST(FairShare, WhatIsForcedCountsAndLeavesNoRoom) {
  fair_share share(2);
  share.force("a", 5);
  EXPECT_FALSE(share.has_room("b"));
  share.give_back("a", 5);
  EXPECT_EQ(0u, share.used());
}

TEST(FairShare, NothingTakenIsNothingGivenBack) {
  fair_share share(2);
  share.force("a", 0);
  share.force("a", 0);
  share.give_back("a", 0);
  share.give_back("a", 0);
  EXPECT_EQ(0u, share.used());
}

TEST(RemoteBlock, IsAnAddressOrTheNetworkOfOne) {
  EXPECT_EQ("192.0.2.7", remote_block_of("192.0.2.7"));
  EXPECT_EQ("192.0.2.7", remote_block_of("::ffff:192.0.2.7"));
  EXPECT_EQ("2001:db8:1:2::/64", remote_block_of("2001:db8:1:2:3:4:5:6"));
  EXPECT_EQ(remote_block_of("2001:db8:1:2::1"), remote_block_of("2001:db8:1:2:ffff::9"));
  EXPECT_EQ("", remote_block_of(""));
}

} // namespace
} // namespace codeq::base
