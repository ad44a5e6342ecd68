// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/drained_workers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::coordinator {
namespace {

class DrainedWorkers : public testing::Test {
protected:
  /// Connects; returns whether the worker is drained.
  bool join(const std::string& name, std::uint64_t incarnation, core::peer_id peer) {
    return workers_.join({name, incarnation}, peer, [this, name](bool is_drained) {
      told_.push_back(name + (is_drained ? " drained" : " taken back"));
    });
  }

  bool is_marked(const std::string& name) {
    std::vector<base::worker_counts> all(1);
    all.front().name = name;
    workers_.mark(all);
    return all.front().is_draining;
  }

  drained_workers workers_;
  std::vector<std::string> told_;
};

TEST_F(DrainedWorkers, TellsTheSessionOnlyOfChanges) {
  EXPECT_FALSE(join("w1", 7, 1));
  EXPECT_FALSE(join("w2", 8, 2));

  EXPECT_EQ(drain_outcome::changed, *workers_.set("w1", true));
  EXPECT_EQ(drain_outcome::unchanged, *workers_.set("w1", true));
  EXPECT_TRUE(is_marked("w1"));
  EXPECT_FALSE(is_marked("w2"));
  EXPECT_EQ(drain_outcome::changed, *workers_.set("w1", false));

  EXPECT_EQ((std::vector<std::string>{"w1 drained", "w1 taken back"}), told_);
  EXPECT_FALSE(is_marked("w1"));
}

TEST_F(DrainedWorkers, StaysDrainedWhenItConnectsAgainButNotAsANewProcess) {
  ASSERT_FALSE(join("w1", 7, 1));
  ASSERT_EQ(drain_outcome::changed, *workers_.set("w1", true));
  workers_.leave("w1", 1);
  EXPECT_TRUE(is_marked("w1")) << "it may still have leases";

  EXPECT_TRUE(join("w1", 7, 2));
  EXPECT_FALSE(join("w1", 9, 3));
  EXPECT_FALSE(is_marked("w1"));
}

TEST_F(DrainedWorkers, TheEndOfAReplacedConnectionChangesNothing) {
  ASSERT_FALSE(join("w1", 7, 1));
  ASSERT_FALSE(join("w1", 7, 2));
  workers_.leave("w1", 1);

  EXPECT_EQ(drain_outcome::changed, *workers_.set("w1", true));
  EXPECT_EQ((std::vector<std::string>{"w1 drained"}), told_);
}

TEST_F(DrainedWorkers, IsNotKnownOnceItHasLeftUnlessItIsDrained) {
  EXPECT_EQ(drain_outcome::unknown, *workers_.set("w1", true)) << "it never connected";
  ASSERT_FALSE(join("w1", 7, 1));
  workers_.leave("w1", 1);
  EXPECT_EQ(drain_outcome::unknown, *workers_.set("w1", true));

  ASSERT_FALSE(join("w2", 7, 2));
  ASSERT_EQ(drain_outcome::changed, *workers_.set("w2", true));
  workers_.leave("w2", 2);
  EXPECT_EQ(drain_outcome::changed, *workers_.set("w2", false)) << "taken back while it is away";
  EXPECT_FALSE(join("w2", 7, 3));
  EXPECT_EQ((std::vector<std::string>{"w2 drained"}), told_);
}

TEST_F(DrainedWorkers, RemembersABoundedNumberOfThoseThatLeft) {
  core::peer_id peer = 0;
  for (std::size_t i = 0; i <= drained_workers::gone_max; ++i) {
    auto name = "w" + std::to_string(i);
    ASSERT_FALSE(join(name, 7, ++peer));
    ASSERT_EQ(drain_outcome::changed, *workers_.set(name, true));
    workers_.leave(name, peer);
  }
  EXPECT_FALSE(is_marked("w0")) << "the first one that left";
  EXPECT_TRUE(is_marked("w1"));
  EXPECT_TRUE(is_marked("w" + std::to_string(drained_workers::gone_max)));
}

TEST_F(DrainedWorkers, WorkersOfTheGatewayAreRefused) {
  auto refused = workers_.set("http:acme/bob", true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(errc::unsupported, refused.error().code);
}

} // namespace
} // namespace codeq::coordinator
