// SPDX-License-Identifier: Apache-2.0
#include "replication/membership.hpp"

#include "replication/epoch_index.hpp"

#include <gtest/gtest.h>

namespace codeq::replication {
namespace {

constexpr replica_id a{1};
constexpr replica_id b{2};
constexpr replica_id c{3};

membership first() {
  return {.version = 7, .epoch = 3, .primary = a, .in_sync = {a, b}, .replicas = {a, b, c}};
}

TEST(Membership, ElectionRaisesEpochAndVersion) {
  const auto next = elect(first(), b, {b}, 5);

  EXPECT_EQ(next.version, 8u);
  EXPECT_EQ(next.epoch, 5u);
  EXPECT_EQ(next.primary, b);
  EXPECT_EQ(next.in_sync, (std::vector{b}));
  EXPECT_EQ(next.replicas, first().replicas);
}

TEST(Membership, ElectionOutsideOfTheSetIsRefused) {
  EXPECT_DEATH((void)elect(first(), c, {c}, 4), "std::includes");
}

TEST(Membership, ChangesOfTheSetKeepItSorted) {
  const auto added = add_member(remove_member(first(), b), c);

  EXPECT_EQ(added.in_sync, (std::vector{a, c}));
  EXPECT_EQ(add_member(added, b).in_sync, (std::vector{a, b, c}));
  EXPECT_EQ(added.version, 9u);
  EXPECT_EQ(added.epoch, 3u);
}

TEST(Membership, ForcedPrimaryIsTheOnlyMemberInAnEpochBeyondAllPromises) {
  membership old;
  old.version = 3;
  old.epoch = 5;
  old.primary = replica_id{1};
  old.in_sync = {replica_id{1}};
  old.replicas = {replica_id{1}, replica_id{2}};

  const auto next = force_primary(old, replica_id{2}, 9);

  EXPECT_EQ(next.version, 4u);
  EXPECT_EQ(next.epoch, 9u + forced_epochs);
  EXPECT_EQ(next.primary, replica_id{2});
  EXPECT_EQ(next.in_sync, std::vector{replica_id{2}});
  EXPECT_EQ(next.replicas, old.replicas);
  EXPECT_EQ(next.condition, shard_condition::loss_accepted);
}

TEST(EpochIndex, KnowsWhichDeltasItHas) {
  epoch_index index;
  index.append({1, 1});
  index.append({1, 2});
  index.append({4, 3});

  EXPECT_EQ(index.last(), (position{4, 3}));
  EXPECT_TRUE(index.contains({}));
  EXPECT_TRUE(index.contains({1, 2}));
  EXPECT_FALSE(index.contains({1, 3}));
  EXPECT_FALSE(index.contains({2, 3}));
  EXPECT_TRUE(index.contains({4, 3}));
  EXPECT_FALSE(index.contains({4, 2}));
  EXPECT_FALSE(index.contains({4, 4}));
}

TEST(EpochIndex, ForgetsTheOldestEpochs) {
  epoch_index index;
  std::optional<epoch_number> forgotten;
  for (epoch_number epoch = 1; epoch <= epoch_index::epochs_max + 1; ++epoch)
    forgotten = index.append({epoch, epoch});

  EXPECT_EQ(forgotten, 1u);
  EXPECT_FALSE(index.contains({1, 1}));
  EXPECT_TRUE(index.contains({2, 2}));
  EXPECT_EQ(epoch_index(index.begins(), index.last()), index);
}

} // namespace
} // namespace codeq::replication
