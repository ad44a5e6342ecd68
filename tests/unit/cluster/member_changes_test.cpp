// SPDX-License-Identifier: Apache-2.0
// Operators' changes of a cluster.
#include "cluster/member.hpp"
#include "unit/cluster/member_fixture.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace codeq::cluster {
namespace {

using kind = cluster_change::kind;

const cluster_change move_to_b{kind::move, s0, "b", 71};

TEST_F(MemberTest, OperatorsMoveIsToldWhenEtcdHasStoredItAndThePrimaryCarriesItOut) {
  join_with_b();

  const auto told = ask(move_to_b);
  EXPECT_FALSE(told->has_value()) << "etcd has not decided";
  EXPECT_TRUE(port_.handed_to.empty());
  decide_shard();

  ASSERT_TRUE(told->has_value());
  EXPECT_TRUE((*told)->how);
  EXPECT_TRUE((*told)->is_stored);
  EXPECT_EQ(port_.handed_to, std::vector{replica_id{2}});
  EXPECT_EQ(stored_shard().pinned, "b");
  const auto balanced = ask({kind::balance, {}, {}});
  decide_shard();
  EXPECT_TRUE((*balanced)->how);
  EXPECT_EQ(stored_shard().pinned, "");
}

TEST_F(MemberTest, ChangeThatIsAskedForAgainHasTheEndOfTheFirst) {
  join_with_b();

  const auto first = ask(move_to_b);
  const auto during = ask(move_to_b);
  ASSERT_EQ(port_.decisions.size(), 1u);
  decide();
  const auto later = ask(move_to_b);

  for (const auto& told : {first, during, later}) {
    ASSERT_TRUE(told->has_value());
    EXPECT_TRUE((*told)->how);
    EXPECT_EQ((*told)->is_stored, told == first) << "the audit log has it once";
  }
  EXPECT_TRUE(port_.decisions.empty());
}

TEST_F(MemberTest, FailureIsToldAgainToo) {
  join_with_b();
  const auto first = ask(move_to_b);
  leave_open(etcd::swap_end::not_sent);

  const auto again = ask(move_to_b);

  for (const auto& told : {first, again}) {
    ASSERT_TRUE(told->has_value());
    EXPECT_EQ((*told)->how.error().code, errc::disconnected);
    EXPECT_NE((*told)->how.error().context.find("nothing is stored"), std::string::npos);
  }
  EXPECT_TRUE(port_.decisions.empty());
}

TEST_F(MemberTest, ChangeThatLosesTheRaceAgainstAReplicaIsMadeAnew) {
  join_with_b();
  const auto told = ask(move_to_b);
  interfere([](shard_record& shard) { shard.wanted = {"a", "b", "c"}; });
  decide();
  EXPECT_FALSE(told->has_value());
  decide();

  EXPECT_TRUE((*told)->how);
  EXPECT_EQ(stored_shard().pinned, "b");
  EXPECT_EQ(stored_shard().wanted.size(), 3u) << "nothing of the other change is lost";
}

TEST_F(MemberTest, ChangeThatLosesTheRaceAgainstAnotherOperatorIsAnError) {
  join_with_b();
  const auto told = ask(move_to_b);
  interfere([](shard_record& shard) { shard.pinned = "c"; });
  decide();

  ASSERT_TRUE(told->has_value());
  EXPECT_FALSE((*told)->is_stored);
  EXPECT_EQ((*told)->how.error().code, errc::overloaded);
  EXPECT_EQ(
    (*told)->how.error().context,
    "`cluster move 0 --to b` does not hold, since a shard was moved to `c` by another command "
    "meanwhile; look at `cluster status` and ask again");
  EXPECT_EQ(stored_shard().pinned, "c");
}

TEST_F(MemberTest, ChangeIsJudgedAnewWhenItLosesTheRace) {
  join_with_b();
  const auto told = ask(move_to_b);
  interfere([](shard_record& shard) { shard.value.in_sync = {replica_id{1}}; });
  decide();

  ASSERT_TRUE(told->has_value());
  EXPECT_EQ((*told)->how.error().code, errc::invalid_argument);
}

TEST_F(MemberTest, UnknownOutcomeIsReadByTheSameDecision) {
  join();
  for (const auto is_stored : {true, false}) {
    const auto told = ask({is_stored ? kind::drain : kind::undrain, {}, "b"});
    const auto asked = port_.decisions.front().what;
    leave_open(etcd::swap_end::unknown, is_stored);
    EXPECT_FALSE(told->has_value());
    ASSERT_EQ(port_.decisions.size(), 1u);
    EXPECT_EQ(port_.decisions.front().what.next, asked.next);
    EXPECT_EQ(port_.decisions.front().what.expected, asked.expected);
    if (is_stored)
      port_.decisions.front().what.expected = asked.next;
    decide();
    ASSERT_TRUE(told->has_value());
    EXPECT_TRUE((*told)->how);
    EXPECT_TRUE((*told)->is_stored);
  }
}

TEST_F(MemberTest, OutcomeThatStaysUnknownIsSaidSo) {
  join();
  const auto told = ask({kind::drain, {}, "b"});
  now_ += timing::change;
  leave_open(etcd::swap_end::unknown);

  ASSERT_TRUE(told->has_value());
  EXPECT_EQ((*told)->how.error().code, errc::timeout);
  EXPECT_NE((*told)->how.error().context.find("may be stored"), std::string::npos);
}

TEST_F(MemberTest, ChangeWaitsForADecisionThatIsUnderWay) {
  join();
  member_.compare_and_set(
    s0, shard_of(1).value, replication::remove_member(shard_of(1).value, replica_id{2}));
  const auto told = ask({kind::move, s0, "a"});
  EXPECT_EQ(port_.decisions.size(), 1u);
  decide();
  ASSERT_EQ(port_.decisions.size(), 1u);
  decide();

  EXPECT_TRUE((*told)->how);
  EXPECT_EQ(stored_shard().pinned, "a");
}

TEST_F(MemberTest, ChangeThatWaitsForTooLongIsNotStored) {
  join();
  member_.compare_and_set(
    s0, shard_of(1).value, replication::remove_member(shard_of(1).value, replica_id{2}));
  const auto told = ask({kind::move, s0, "a"});

  advance(timing::change);

  ASSERT_TRUE(told->has_value());
  EXPECT_EQ((*told)->how.error().code, errc::overloaded);
  EXPECT_NE((*told)->how.error().context.find("2500 ms"), std::string::npos);
  decide();
  EXPECT_EQ(stored_shard().pinned, "");
}

TEST_F(MemberTest, MoveThatIsNotPossibleNamesWhatIs) {
  join();
  auto why = [&](const cluster_change& change) { return (*ask(change))->how.error(); };

  EXPECT_EQ(why({kind::move, shard_id{3}, "a"}).context, "shard is 3; it must be 0..0");
  put(keys_.node("c"), encode(node_record{1, 9, "c:1", "c:2", "", 0, 0, 1, false, false, {}}));
  advance(timing::poll);
  answer_poll();
  port_.decisions.clear();
  EXPECT_EQ(
    why({kind::move, s0, "c"}).context,
    "node `c` has no copy of shard 0 that is in sync; the nodes that have one: a, b");
  EXPECT_TRUE(port_.decisions.empty());
}

TEST_F(MemberTest, NodeThatTheClusterDoesNotHaveIsRefused) {
  join();

  const std::map<kind, std::string> ends{
    {kind::move, ""},
    {kind::drain, ", so there is nothing to drain"},
    {kind::undrain, ", so there is nothing to undrain"}};
  for (const auto& [what, end] : ends) {
    const auto told = ask({what, s0, "x"});
    ASSERT_TRUE(told->has_value());
    EXPECT_EQ((*told)->how.error().code, errc::invalid_argument);
    EXPECT_EQ(
      (*told)->how.error().context,
      "node `x` is not one of the cluster, and not drained" + end
        + "; `cluster status` shows all");
  }
  EXPECT_TRUE(port_.decisions.empty());
}

TEST_F(MemberTest, NodeThatIsDrainedAndGoneIsUndrainedOnce) {
  auto record = cluster_record{1, 5, 1, 2, 1, 1, 1, {"x"}, {}};
  join();
  record.version = 2;
  put(keys_.cluster(), encode(record));
  advance(timing::poll);
  answer_poll();
  port_.decisions.clear();

  EXPECT_EQ(
    (*ask({kind::move, s0, "x"}))->how.error().context,
    "node `x` is drained, so the shard would not stay there; `cluster undrain x` first");
  const auto told = ask({kind::undrain, {}, "x", 5});
  // Another change comes first, after etcd has stored this one without an answer.
  leave_open(etcd::swap_end::unknown, true);
  put(keys_.cluster(), encode(cluster_record{4, 5, 1, 2, 1, 1, 1, {"b"}, {}}));
  decide();
  ASSERT_TRUE(told->has_value());
  EXPECT_TRUE((*told)->how);
  EXPECT_FALSE((*ask({kind::undrain, {}, "x", 6}))->how) << "it is in the cluster no more";
}

TEST_F(MemberTest, NothingIsMovedToANodeThatIsMissingOrDrained) {
  join();

  EXPECT_EQ((*ask(move_to_b))->how.error().context, "node `b` is missing; start it first");
  ask({kind::drain, {}, "b"});
  decide();
  EXPECT_EQ(
    (*ask({kind::move, s0, "b", 72}))->how.error().context,
    "node `b` is drained, so the shard would not stay there; `cluster undrain b` first");
  EXPECT_TRUE(port_.decisions.empty());
  EXPECT_EQ(stored_shard().pinned, "");
}

TEST_F(MemberTest, MoveThatIsAskedForWhileTheDrainEndsAnEarlierOneIsMade) {
  join_with_b();
  ask(move_to_b);
  decide_shard();
  ask({kind::drain, {}, "b"});
  decide();
  ASSERT_TRUE(port_.decisions.empty());

  const auto told = ask({kind::move, s0, "a", 73});
  interfere([](shard_record& shard) { shard.pinned.clear(); });
  decide();
  EXPECT_FALSE(told->has_value());
  decide();

  ASSERT_TRUE(told->has_value());
  EXPECT_TRUE((*told)->how);
  EXPECT_EQ(stored_shard().pinned, "a");
}

TEST_F(MemberTest, DrainOfANodeThatIsMissingIsStored) {
  join();
  ASSERT_FALSE(member_.known().nodes().contains("b"));

  const auto told = ask({kind::drain, {}, "b"});
  decide();

  ASSERT_TRUE(told->has_value());
  EXPECT_TRUE((*told)->how);
  const auto status = member_.view();
  ASSERT_EQ(status.nodes.size(), 2u);
  EXPECT_TRUE(status.nodes[1].is_draining);
  EXPECT_FALSE(status.nodes[1].is_present);
}

TEST_F(MemberTest, NodeThatIsMissingIsShownWithWhatItToldLast) {
  join_with_b();
  etcd_.erase(keys_.node("b"));
  ++revision_;

  // The first poll only counts the keys; the next one reads all.
  for (int i = 0; i < 2; ++i) {
    advance(timing::poll);
    answer_poll();
  }

  const auto status = member_.view();
  ASSERT_EQ(status.nodes.size(), 2u);
  EXPECT_FALSE(status.nodes[1].is_present);
  EXPECT_EQ(status.nodes[1].address, "b:1");
  EXPECT_EQ(status.nodes[1].http_address, "b:2");
}

TEST_F(MemberTest, DrainedNodesAreKeptInTheClusterSorted) {
  join();
  const auto drained = [&] {
    return decode<cluster_record>(etcd_.at(keys_.cluster()).first).value().drained;
  };

  for (const char* node : {"b", "a", "b"}) {
    const auto told = ask({kind::drain, {}, node});
    const auto is_new = !port_.decisions.empty();
    if (is_new)
      decide();
    EXPECT_TRUE((*told)->how);
    EXPECT_EQ((*told)->is_stored, is_new);
  }
  EXPECT_EQ(drained(), (std::vector<std::string>{"a", "b"}));
  ask({kind::undrain, {}, "b"});
  decide();
  EXPECT_EQ(drained(), std::vector<std::string>{"a"});
}

TEST_F(MemberTest, NoMoreNodesAreDrainedThanTheRecordMayHave) {
  auto full = cluster_record{1, 5, 1, 2, 1, 1, 1, {}, {}};
  for (std::size_t i = 0; i < drained_max; ++i)
    full.drained.push_back("gone-" + std::to_string(1000 + i));
  join();
  full.version = 2;
  put(keys_.cluster(), encode(full));
  advance(timing::poll);
  answer_poll();

  const auto told = ask({kind::drain, {}, "b"});

  ASSERT_TRUE(told->has_value());
  EXPECT_FALSE((*told)->how);
  EXPECT_NE((*told)->how.error().context.find("the 100 that may be drained"), std::string::npos);
  for (const auto& one : port_.decisions)
    EXPECT_NE(one.what.key, keys_.cluster());
}

TEST_F(MemberTest, PrimaryIsForcedByItsOwnNodeOnly) {
  join();
  put(keys_.node("b"), encode(node_record{1, 9, "b:1", "b:2", "", 0, 0, 1, false, false, {}}));
  advance(timing::poll);
  answer_poll();
  port_.decisions.clear();

  EXPECT_EQ(
    (*ask({kind::force_primary, s0, "b"}))->how.error().context,
    "only node `b` itself makes its copy the primary by force; ask it at b:1, over HTTP at b:2");
  EXPECT_EQ(
    (*ask({kind::force_primary, s0, "x"}))->how.error().context,
    "node `x` is not there; start it first");
  EXPECT_EQ(
    (*ask({kind::force_primary, s0, "a"}))->how.error().context,
    "node `a` has no copy of shard 0");
  EXPECT_TRUE(port_.decisions.empty());
}

TEST_F(MemberTest, ForcedPrimaryIsStoredOnceAndItsLossIsTold) {
  join();
  interfere([](shard_record& shard) {
    shard.value.in_sync = {replica_id{2}};
    shard.value.primary = replica_id{2};
  });
  advance(timing::poll);
  answer_poll();
  port_.decisions.clear();
  own_copy own;
  own.promised = 1;
  own.last = {1, 17};
  cluster_change wanted{kind::force_primary, s0, "a", 5};

  const auto refused = ask(wanted, own);
  EXPECT_EQ((*refused)->how.error().code, errc::invalid_argument);
  EXPECT_FALSE((*refused)->is_stored);
  wanted.operation = 6;
  wanted.confirm = "lose what b did not copy";
  const auto told = ask(wanted, own);
  decide();

  ASSERT_TRUE(told->has_value());
  EXPECT_TRUE((*told)->is_stored);
  EXPECT_EQ((*told)->loss, "lost is what b acknowledged after 1/17");
  EXPECT_EQ(stored_shard().value.primary, replica_id{1});
  EXPECT_TRUE(stored_shard().is_forced);
  wanted.operation = 7;
  const auto again = ask(wanted, own);
  EXPECT_TRUE((*again)->how);
  EXPECT_FALSE((*again)->is_stored);
}

TEST_F(MemberTest, ChangesAtOnceAreLimited) {
  join();
  for (std::size_t i = 0; i < changes_max; ++i)
    EXPECT_FALSE(ask({kind::drain, {}, "b"})->has_value());

  EXPECT_EQ((*ask({kind::drain, {}, "b"}))->how.error().code, errc::overloaded);
  decide();
  EXPECT_TRUE((*ask({kind::drain, {}, "b"}))->how);
}

TEST_F(MemberTest, ChangeBeforeEtcdWasReadIsRefused) {
  EXPECT_EQ((*ask(move_to_b))->how.error().code, errc::going_away);
}

} // namespace
} // namespace codeq::cluster
