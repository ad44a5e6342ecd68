// SPDX-License-Identifier: Apache-2.0
#include "cluster/repair.hpp"

#include "base/tuning.hpp"
#include "cluster/record_json.hpp"

#include <gtest/gtest.h>

namespace codeq::cluster {
namespace {

using replication::replica_id;
using replication::shard_condition;

constexpr shard_id s0{0};

/// A node with a copy of the one shard.
node_facts of(const std::string& node, std::uint64_t id, replication::position last) {
  node_facts facts;
  facts.node = node;
  facts.identity = 77;
  facts.shards = 1;
  facts.copies = 2;
  facts.min_in_sync = 1;
  facts.nodes = {"a", "b"};
  facts.held[s0] = {replica_id{id}, last.epoch, last, false, false};
  return facts;
}

repair_input two(replication::position a, replication::position b) {
  repair_input from;
  from.nodes = {of("a", 1, a), of("b", 2, b)};
  return from;
}

std::string why(const repair_input& from) {
  const auto plan = plan_repair(from);
  return plan ? "done" : plan.error().context;
}

TEST(Repair, LargestPositionOfTheNewestEpochWins) {
  // More deltas of an older epoch are not more.
  const auto plan = plan_repair(two({3, 900}, {4, 100})).value();

  const auto& shard = plan.shards.at(s0);
  EXPECT_EQ(shard.value.primary, replica_id{2});
  EXPECT_EQ(shard.value.in_sync, std::vector{replica_id{2}});
  EXPECT_EQ(shard.value.replicas, (std::vector{replica_id{1}, replica_id{2}}));
  EXPECT_EQ(shard.nodes.at(replica_id{1}), "a");
  EXPECT_EQ(shard.wanted, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(shard.value.epoch, 4u + 65'536u);
  EXPECT_EQ(shard.value.condition, shard_condition::normal);
  EXPECT_EQ(shard.value.min_in_sync, 1u);
  EXPECT_EQ(plan.cluster.identity, 77u);
  EXPECT_EQ(plan.cluster.shards, 1u);
  EXPECT_EQ(plan.cluster.copies, 2u);
  EXPECT_EQ(plan.words, "take what a, b has");
  EXPECT_TRUE(decode<shard_record>(encode(shard)));
  EXPECT_TRUE(decode<cluster_record>(encode(plan.cluster)));
}

TEST(Repair, EqualCopiesAreAllInSync) {
  const auto shard = plan_repair(two({4, 100}, {4, 100})).value().shards.at(s0);
  EXPECT_EQ(shard.value.in_sync, (std::vector{replica_id{1}, replica_id{2}}));
}

TEST(Repair, EpochIsBeyondEveryPromiseAndWhatEtcdHas) {
  auto from = two({4, 100}, {3, 1});
  from.nodes[1].held[s0].promised = 9;
  EXPECT_EQ(plan_repair(from).value().shards.at(s0).value.epoch, 9u + 65'536u);
  from.cluster = cluster_record{5, 77, 1, 2, 1, 1, 1, {}, {}};
  auto& known = from.shards[s0];
  known.value.version = 30;
  known.value.epoch = 12;
  known.nodes = {{replica_id{1}, "a"}};

  const auto plan = plan_repair(from).value();

  EXPECT_EQ(plan.shards.at(s0).value.epoch, 12u + 65'536u);
  EXPECT_EQ(plan.shards.at(s0).value.version, 31u);
  EXPECT_EQ(plan.cluster.version, 6u);
}

TEST(Repair, EpochIsOneThatTokensHaveBitsFor) {
  auto from = two({4, 100}, {3, 1});
  auto& promised = from.nodes[1].held[s0].promised;
  promised = static_cast<std::uint32_t>(tuning::epoch_max) - 65'536;
  EXPECT_EQ(
    why(from),
    "the epoch of shard 0 is 16711679, too large to be raised by 65536: the largest epoch is "
    "16777215");

  --promised;

  const auto shard = plan_repair(from).value().shards.at(s0);
  EXPECT_LT(shard.value.epoch, tuning::epoch_max) << "one is left for an election";
}

TEST(Repair, DoubtfulCopyIsPrimaryOnlyIfAllAreDoubtful) {
  auto from = two({4, 100}, {4, 100});
  from.nodes[0].held[s0].is_doubtful = true;
  auto shard = plan_repair(from).value().shards.at(s0);
  EXPECT_EQ(shard.value.primary, replica_id{2});
  EXPECT_EQ(shard.value.condition, shard_condition::normal);

  from.nodes[1].held[s0].is_doubtful = true;
  shard = plan_repair(from).value().shards.at(s0);
  EXPECT_EQ(shard.value.primary, replica_id{1});
  EXPECT_EQ(shard.value.condition, shard_condition::loss_accepted);
}

TEST(Repair, IncompleteCopyDoesNotCount) {
  auto from = two({4, 100}, {5, 1});
  from.nodes[1].held[s0].is_incomplete = true;
  const auto shard = plan_repair(from).value().shards.at(s0);
  EXPECT_EQ(shard.value.replicas, std::vector{replica_id{1}});
  EXPECT_EQ(shard.value.epoch, 5u + 65'536u);

  from.nodes[0].held.clear();
  EXPECT_EQ(why(from), "shard 0 has no complete copy on the nodes that have told what they have");
}

TEST(Repair, MissingNodeHasToBeNamed) {
  auto from = two({4, 100}, {4, 100});
  from.nodes.pop_back();
  EXPECT_EQ(
    why(from),
    "what b has is not told; what only it has would be lost: tell it, or name it with --without");
  from.without = {"b"};
  EXPECT_EQ(plan_repair(from).value().words, "take what a has without b");
  from.shards[s0].nodes = {{replica_id{3}, "c"}};
  EXPECT_NE(why(from).find("what c has is not told"), std::string::npos);
  from.without = {"a", "b", "c"};
  EXPECT_NE(why(from).find("node `a` has told"), std::string::npos);
  EXPECT_EQ(why({}), "no coordinator has told what it has");
}

TEST(Repair, FactsThatContradictEachOtherAreRefused) {
  auto from = two({4, 100}, {4, 100});
  from.nodes[1].identity = 78;
  EXPECT_NE(why(from).find("node `b` is of another cluster"), std::string::npos);
  from = two({4, 100}, {4, 100});
  from.nodes[1].node = "a";
  EXPECT_EQ(why(from), "two of the files are of the same node");
  from = two({4, 100}, {4, 100});
  from.nodes[1].held[s0].id = replica_id{1};
  EXPECT_NE(why(from), "done") << "the disk was copied";
}

TEST(Repair, FactsAreReadAsTheyAreWritten) {
  const auto facts = of("a", 0xFFFF'0000'1234'5678, {4, 100});

  EXPECT_EQ(decode_facts(encode(facts)).value(), facts);
  for (const char* wrong :
       {"", "[]", "{}", R"({"held":[1]})", R"({"node":"a","held":[]})"})
    EXPECT_FALSE(decode_facts(wrong)) << wrong;
}

} // namespace
} // namespace codeq::cluster
