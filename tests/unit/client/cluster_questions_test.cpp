// SPDX-License-Identifier: Apache-2.0
#include "client/cluster_questions.hpp"
#include "protocol/cluster_convert.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::client {
namespace {

/// A coordinator's answer: shard 0 is on `a`, shard 1 on `b`.
cluster_status told_by(const std::string& node, std::uint32_t epoch = 1) {
  cluster_status status;
  status.name = "c";
  status.node = node;
  status.copies = 2;
  status.min_in_sync = 1;
  for (const char* name : {"a", "b"}) {
    auto& one = status.nodes.emplace_back();
    one.name = name;
    one.is_present = true;
    one.free_bytes = 7;
  }
  for (std::uint16_t i = 0; i < 2; ++i) {
    cluster_shard shard;
    shard.shard = shard_id{i};
    shard.primary = i == 0 ? "a" : "b";
    shard.is_served = shard.primary == node;
    shard.epoch = epoch;
    shard.copies = {{"a", true, shard.is_served, epoch, 9, 1}, {"b", false, false, 0, 0, 0}};
    shard.waits_for = "said by " + node;
    shard.pinned = "moved to " + node;
    status.shards.push_back(shard);
  }
  return status;
}

cluster_status received(const cluster_status& status) {
  return read_cluster(protocol::make_cluster_reply(1, status))->answer.value();
}

TEST(ClusterQuestions, ShardIsAsItsPrimaryTellsIt) {
  for (const auto& order : {std::vector{"a", "b"}, std::vector{"b", "a"}}) {
    cluster_status sum;
    for (const char* node : order)
      add(sum, received(told_by(node)));

    ASSERT_EQ(sum.shards.size(), 2u);
    EXPECT_TRUE(sum.shards[0].is_served);
    EXPECT_EQ(sum.shards[0].waits_for, "said by a");
    EXPECT_EQ(sum.shards[0].copies[0].position, 9u);
    EXPECT_EQ(sum.shards[0].copies[0].lag, 1u);
    EXPECT_EQ(sum.shards[1].waits_for, "said by b");
    EXPECT_EQ(sum.shards[1].pinned, "moved to b");
    EXPECT_TRUE(sum.nodes[0].has_answered && sum.nodes[1].has_answered);
  }
}

TEST(ClusterQuestions, LaterEpochCountsWhereThePrimaryIsSilent) {
  cluster_status sum;
  add(sum, received(told_by("x", 2)));
  add(sum, received(told_by("y", 3)));

  EXPECT_EQ(sum.shards[0].epoch, 3u);
  EXPECT_FALSE(sum.shards[0].is_served);
  EXPECT_FALSE(sum.nodes[0].has_answered);
}

TEST(ClusterQuestions, EachNodeTellsWhetherEtcdAnswersIt) {
  auto cut_off = told_by("b");
  cut_off.nodes[1].etcd_silent = duration{7000};
  for (const auto is_first : {true, false}) {
    cluster_status sum;
    add(sum, received(is_first ? cut_off : told_by("a")));
    add(sum, received(is_first ? told_by("a") : cut_off));

    EXPECT_EQ(sum.nodes[0].etcd_silent, duration{0});
    EXPECT_EQ(sum.nodes[1].etcd_silent, duration{7000});
  }
}

TEST(ClusterQuestions, NodeRefusesTasksAlsoWhenAnOlderVersionDoesNotTell) {
  auto newer = told_by("a");
  newer.nodes[1].refuses_tasks = true;
  for (const auto is_first : {true, false}) {
    cluster_status sum;
    add(sum, received(is_first ? newer : told_by("b")));
    add(sum, received(is_first ? told_by("b") : newer));

    EXPECT_FALSE(sum.nodes[0].refuses_tasks);
    EXPECT_TRUE(sum.nodes[1].refuses_tasks);
  }
}

TEST(ClusterQuestions, EachNodeTellsWhichOthersItDoesNotReach) {
  auto from_a = told_by("a");
  from_a.nodes[0].unreached = {"b", "c"};
  auto from_b = told_by("b");
  from_b.nodes[1].unreached = {"c"};
  for (const auto is_first : {true, false}) {
    cluster_status sum;
    add(sum, received(is_first ? from_a : from_b));
    add(sum, received(is_first ? from_b : from_a));

    EXPECT_EQ(sum.nodes[0].unreached, (std::vector<std::string>{"b", "c"}));
    EXPECT_EQ(sum.nodes[1].unreached, std::vector<std::string>{"c"});
  }
}

TEST(ClusterQuestions, NodeThatOthersMissTellsWhichOnesItDoesNotReach) {
  auto from_a = told_by("a");
  from_a.nodes[1].is_present = false;
  auto from_b = told_by("b");
  from_b.nodes[1].unreached = {"a"};
  cluster_status sum;

  add(sum, received(from_a));
  add(sum, received(from_b));

  EXPECT_TRUE(sum.nodes[0].unreached.empty());
  EXPECT_EQ(sum.nodes[1].unreached, std::vector<std::string>{"a"});
}

TEST(ClusterQuestions, AddressOfANodeThatIsMissingIsThatWhichAnyCoordinatorKnows) {
  auto knows = told_by("a");
  knows.nodes[1].is_present = false;
  knows.nodes[1].address = "b:1";
  auto has_started_since = told_by("c");
  has_started_since.nodes[1].is_present = false;
  for (const auto is_first : {true, false}) {
    cluster_status sum;
    add(sum, received(is_first ? knows : has_started_since));
    add(sum, received(is_first ? has_started_since : knows));

    EXPECT_EQ(sum.nodes[1].address, "b:1");
  }
}

TEST(ClusterQuestions, ChangesArriveAsTheyWereAsked) {
  using kind = cluster_change::kind;
  for (const auto& change : std::vector<cluster_change>{
         {},
         {kind::move, shard_id{7}, "b"},
         {kind::drain, {}, "a"},
         {kind::undrain, {}, "a"},
         {kind::balance, {}, {}, 9},
         {kind::force_primary, shard_id{7}, "b", 9, "lose it"}}) {
    const auto frame = ask_cluster(change)(5);
    const auto asked =
      protocol::read_cluster_request(protocol::cluster_request::parse(frame.body).value()).value();
    EXPECT_EQ(asked.number, 5u);
    EXPECT_EQ(asked.change.what, change.what);
    EXPECT_EQ(asked.change.shard, change.shard);
    EXPECT_EQ(asked.change.node, change.node);
    EXPECT_EQ(asked.change.operation, change.operation);
    EXPECT_EQ(asked.change.confirm, change.confirm);
  }
}

TEST(ClusterQuestions, RefusalIsTheAnswersError) {
  const auto reply = protocol::make_refusal<schema::ClusterRequest>(
    1, {errc::unsupported, "this coordinator is alone"});

  const auto told = read_cluster(reply);

  ASSERT_TRUE(told);
  EXPECT_EQ(told->answer.error().context, "this coordinator is alone");
}

} // namespace
} // namespace codeq::client
