// SPDX-License-Identifier: Apache-2.0
// Records that cannot be read, and those that are not written, since they could not.
#include "unit/cluster/member_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace codeq::cluster {
namespace {

TEST_F(MemberTest, RecordThatCannotBeReadIsNotedOnce) {
  join();
  put(keys_.shard(s0), "{}");

  for (int i = 0; i < 20; ++i) {
    advance(1s);
    answer_poll();
  }

  const std::vector<std::string> said{"etcd key /codeq/c/shards/0: field format is missing"};
  EXPECT_EQ(port_.notes, said);
}

TEST_F(MemberTest, RecordThatCouldNotBeReadIsNotWritten) {
  join();
  auto shard = shard_of(std::numeric_limits<std::int64_t>::max());
  shard.wanted = {"a"};
  put(keys_.shard(s0), encode(shard));
  member_.serves(s0, 1);
  port_.decisions.clear();

  for (int i = 0; i < 5; ++i) {
    advance(1s);
    answer_poll();
  }

  for (const auto& decision : port_.decisions)
    EXPECT_NE(decision.what.key, keys_.shard(s0));
  ASSERT_EQ(port_.notes.size(), 1u);
  EXPECT_TRUE(port_.notes[0].starts_with(
    "etcd key /codeq/c/shards/0: its next value could not be read: field version"))
    << port_.notes[0];
}

TEST_F(MemberTest, NewReplicaWaitsWhileTheRecordNamesAsManyAsItMay) {
  join();
  auto shard = shard_of(2);
  shard.nodes.clear();
  shard.value.replicas.clear();
  for (std::uint64_t i = 0; i < replicas_max; ++i) {
    const replica_id replica{i + 2};
    shard.value.replicas.push_back(replica);
    shard.nodes[replica] = std::string(1, static_cast<char>('b' + i));
  }
  shard.value.primary = replica_id{2};
  shard.value.in_sync = {replica_id{2}};
  put(keys_.shard(s0), encode(shard));
  advance(1s);
  answer_poll();
  port_.decisions.clear();

  member_.replica_built(s0, replica_id{99});
  EXPECT_TRUE(port_.decisions.empty());
  put(keys_.shard(s0), encode(without_replica(shard, replica_id{10})));
  advance(1s);
  answer_poll();
  ASSERT_FALSE(port_.decisions.empty());

  const auto next = decode<shard_record>(*port_.decisions.back().what.next);
  ASSERT_TRUE(next);
  EXPECT_EQ(node_of(*next, replica_id{99}), "a");
  EXPECT_TRUE(port_.notes.empty());
}

} // namespace
} // namespace codeq::cluster
