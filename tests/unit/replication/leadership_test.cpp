// SPDX-License-Identifier: Apache-2.0
#include "replication/leadership.hpp"

#include "replication/bounds.hpp"
#include "replication/timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace codeq::replication {
namespace {

using namespace std::chrono_literals;

constexpr replica_id a{1};
constexpr replica_id b{2};
constexpr replica_id c{3};

class large_body final : public delta_body {
public:
  explicit large_body(std::size_t size) : size_(size) {}

  [[nodiscard]] std::size_t byte_size() const override { return size_; }

private:
  std::size_t size_;
};

/// A primary `a` in epoch 2, with `b` in sync and `c` as a learner, which serves.
class LeadershipTest : public testing::Test {
protected:
  LeadershipTest() { leads_.set_phase(leadership::phase::serving); }

  void advance(duration by) { now_ += by; }

  position propose() { return leads_.propose(nullptr, now_).at; }

  void confirm_by(replica_id from, position written, std::uint64_t incarnation = 1) {
    leads_.note_confirm({from, incarnation, {}}, confirm{2, beacon_, written, false}, now_);
  }

  void beat() { beacon_ = leads_.next_beacon(now_); }

  /// For so long `b` confirms each delta and beacon, but each beacon too late to entitle. Returns
  /// the change that is asked for in the end.
  std::optional<membership> confirm_late_until(duration end) {
    std::optional<membership> change;
    for (auto waited = 0ms; waited < end; waited += timing::beacon) {
      advance(timing::beacon);
      beat();
      beacon_ = 0;
      confirm_by(b, leads_.sent());
      change = leads_.next_change(now_);
    }
    return change;
  }

  monotonic_time now_{1'000'000ms};
  std::uint64_t beacon_ = 0;
  membership value_{
    .version = 1, .epoch = 2, .primary = a, .in_sync = {a, b}, .replicas = {a, b, c}};
  leadership leads_{a, value_, {1, 9}, now_};
};

TEST_F(LeadershipTest, DeltaIsReadyWhenTheOthersHaveConfirmedIt) {
  const auto first = propose();
  propose();

  EXPECT_TRUE(leads_.take_ready().empty());
  confirm_by(b, first);

  const auto ready = leads_.take_ready();
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready.front().at, first);
  EXPECT_EQ(ready.front().previous, (position{1, 9}));
}

TEST_F(LeadershipTest, LagIsThatOfTheFirstDeltaThatIsNotConfirmed) {
  EXPECT_FALSE(leads_.lag_of(b, now_));
  const auto first = propose();
  advance(2s);
  propose();
  advance(1s);

  confirm_by(b, {1, 9});
  EXPECT_EQ(leads_.lag_of(b, now_), 3s);
  confirm_by(b, first);
  EXPECT_EQ(leads_.lag_of(b, now_), 1s);
  EXPECT_FALSE(leads_.lag_of(c, now_));
}

TEST_F(LeadershipTest, ConfirmationEndsWithItsProcess) {
  const auto first = propose();
  confirm_by(b, first, 1);
  confirm_by(b, {1, 9}, 2);

  EXPECT_TRUE(leads_.take_ready().empty());
}

TEST_F(LeadershipTest, RemovalCountsAfterItsAnswer) {
  propose();
  advance(timing::unconfirmed + 1ms);

  const auto next = leads_.next_change(now_);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->in_sync, (std::vector{a}));
  EXPECT_TRUE(leads_.take_ready().empty());
  leads_.note_value(*next);

  EXPECT_EQ(leads_.take_ready().size(), 1u);
}

TEST_F(LeadershipTest, ChangeWithoutAnAnswerIsAskedForAgain) {
  advance(timing::unconfirmed + 1ms);
  const auto next = leads_.next_change(now_);

  EXPECT_FALSE(leads_.next_change(now_));
  advance(timing::unanswered);

  EXPECT_EQ(leads_.next_change(now_), next);
}

TEST_F(LeadershipTest, MemberThatConfirmsAgainIsNotRemovedAndCountsUntilEtcdSaysOtherwise) {
  const auto first = propose();
  advance(timing::unconfirmed + 1ms);
  const auto removal = leads_.next_change(now_);
  ASSERT_TRUE(removal);
  advance(timing::unanswered);

  confirm_by(b, first);
  EXPECT_FALSE(leads_.next_change(now_));
  EXPECT_EQ(leads_.take_ready().size(), 1u);
  propose();
  EXPECT_TRUE(leads_.take_ready().empty());
  // etcd had got what it was asked for.
  leads_.note_value(*removal);
  EXPECT_EQ(leads_.take_ready().size(), 1u);
}

TEST_F(LeadershipTest, LearnerCountsForNewDeltasUntilItsAdditionIsAskedFor) {
  const auto start = propose();
  confirm_by(b, start);
  confirm_by(c, start);
  EXPECT_EQ(leads_.take_ready().size(), 1u);
  const auto old = propose();
  EXPECT_FALSE(leads_.next_change(now_));
  confirm_by(b, old);

  EXPECT_EQ(leads_.take_ready().size(), 1u);
  const auto later = propose();
  confirm_by(b, later);
  EXPECT_TRUE(leads_.take_ready().empty());
}

TEST_F(LeadershipTest, LearnerWhoseDiskHangsWhileItCountsHoldsNothingUpForLong) {
  confirm_by(b, propose());
  confirm_by(c, {2, 10});
  (void)leads_.take_ready();
  const auto old = propose();
  EXPECT_FALSE(leads_.next_change(now_)) << "it counts from here on";
  const auto later = propose();
  confirm_by(b, later);
  EXPECT_EQ(leads_.take_ready().size(), 1u) << "up to " << old.number;

  for (auto waited = 0ms; waited <= timing::unconfirmed; waited += timing::beacon) {
    advance(timing::beacon);
    beat();
    confirm_by(b, later);
    confirm_by(c, {2, 10});
    EXPECT_FALSE(leads_.next_change(now_));
  }

  EXPECT_EQ(leads_.take_ready().size(), 1u);
}

TEST_F(LeadershipTest, LearnerThatIsBeingAddedCountsForAllThatIsNotAcknowledged) {
  const auto start = propose();
  confirm_by(b, start);
  confirm_by(c, start);
  EXPECT_EQ(leads_.take_ready().size(), 1u);
  const auto old = propose();
  EXPECT_FALSE(leads_.next_change(now_));
  confirm_by(c, old);
  ASSERT_TRUE(leads_.next_change(now_));
  // It loses power, and with it what it had confirmed.
  confirm_by(c, start, 2);
  confirm_by(b, old);

  EXPECT_TRUE(leads_.take_ready().empty());
}

TEST_F(LeadershipTest, NobodyIsAddedBeforeThePrimaryServes) {
  leads_.set_phase(leadership::phase::waiting);
  const auto start = propose();
  confirm_by(b, start);
  confirm_by(c, start);

  EXPECT_FALSE(leads_.next_change(now_));
}

TEST_F(LeadershipTest, MemberWhoseBeaconsComeButNotItsConfirmationsIsRemoved) {
  const auto first = propose();
  for (int i = 0; i < 7; ++i) {
    EXPECT_FALSE(leads_.next_change(now_));
    advance(timing::beacon);
    confirm_by(b, {1, 9});
  }

  const auto next = leads_.next_change(now_);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->in_sync, (std::vector{a}));
  EXPECT_TRUE(leads_.take_ready().empty());
  leads_.note_value(*next);
  EXPECT_EQ(leads_.take_ready().front().at, first);
}

TEST_F(LeadershipTest, MemberThatConfirmsStepByStepStays) {
  auto due = propose();

  for (int i = 0; i < 10; ++i) {
    const auto next = propose();
    beat();
    advance(timing::unconfirmed - 1ms);
    confirm_by(b, due);
    EXPECT_FALSE(leads_.next_change(now_));
    due = next;
  }
}

TEST_F(LeadershipTest, MemberWhoseBeaconsComeLateIsRemoved) {
  const auto late = confirm_late_until(timing::late);
  EXPECT_FALSE(late);

  const auto next = confirm_late_until(timing::beacon);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->in_sync, (std::vector{a}));
}

TEST_F(LeadershipTest, MemberThatIsLateStaysWhileTooFewOthersAreInSync) {
  value_.min_in_sync = 2;
  ++value_.version;
  leads_.note_value(value_);

  EXPECT_FALSE(confirm_late_until(2 * timing::late));
}

TEST_F(LeadershipTest, MemberThatLacksOldDeltasIsRemovedThoughItProgresses) {
  std::vector<position> made;
  for (int i = 0; i < 10; ++i)
    made.push_back(propose());

  for (std::size_t i = 0; i < 2; ++i) {
    beat();
    advance(timing::unconfirmed - 1ms);
    confirm_by(b, made[i]);
    EXPECT_FALSE(leads_.next_change(now_));
  }
  beat();
  advance(timing::unconfirmed - 1ms);
  confirm_by(b, made[2]);

  const auto next = leads_.next_change(now_);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->in_sync, (std::vector{a}));
}

TEST_F(LeadershipTest, LearnerThatIsLateIsNotAdded) {
  const auto last = propose();
  confirm_by(b, last);
  for (auto waited = 0ms; waited <= timing::late; waited += timing::beacon) {
    advance(timing::beacon);
    beat();
    confirm_by(b, last);
  }
  // A confirmation of a beacon that was sent long ago.
  beacon_ = 0;
  confirm_by(c, last);

  EXPECT_FALSE(leads_.next_change(now_));
}

TEST_F(LeadershipTest, MemberThatCannotBeSentWhatItLacksIsRemovedAndThenCopied) {
  propose();
  confirm_by(b, {1, 9});

  leads_.note_lost(b);
  EXPECT_FALSE(leads_.may_copy(b));
  EXPECT_FALSE(leads_.next_for(b));
  const auto next = leads_.next_change(now_);
  ASSERT_TRUE(next);
  leads_.note_value(*next);

  EXPECT_TRUE(leads_.may_copy(b));
}

TEST_F(LeadershipTest, LearnerThatIsAddedIsNotCopied) {
  const auto start = propose();
  confirm_by(b, start);
  confirm_by(c, start);
  (void)leads_.next_change(now_);

  EXPECT_FALSE(leads_.may_copy(c));
}

TEST_F(LeadershipTest, LearnerBeginsToCountWhenItIsLittleBehind) {
  const auto start = propose();
  confirm_by(b, start);
  confirm_by(c, start);
  beat();
  propose();
  beat();
  advance(timing::beacon_shared);
  beat();
  advance(timing::close);
  confirm_by(b, start);
  confirm_by(c, start);
  beat();
  EXPECT_FALSE(leads_.next_change(now_));
  const auto late = propose();
  EXPECT_FALSE(std::ranges::count(leads_.others(), c));

  confirm_by(c, late);
  const auto next = leads_.next_change(now_);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->in_sync, (std::vector{a, b, c}));
}

TEST_F(LeadershipTest, ReplicaIsSentEachDeltaOnceUntilItIsStuck) {
  const auto first = propose();
  propose();
  confirm_by(b, {1, 9});
  ASSERT_EQ(leads_.next_for(b), (position{1, 9}));
  leads_.note_sent(b, leads_.window_after({1, 9}));
  EXPECT_TRUE(leads_.window_after(*leads_.next_for(b)).empty());

  leads_.resend_if_stuck(b);
  beat();
  confirm_by(b, first);
  leads_.resend_if_stuck(b);
  EXPECT_TRUE(leads_.window_after(*leads_.next_for(b)).empty());
  leads_.resend_if_stuck(b);

  EXPECT_EQ(leads_.next_for(b), first);
}

TEST_F(LeadershipTest, NothingIsSentAgainWhileItMayWaitForTheConnection) {
  confirm_by(b, {1, 9});
  propose();
  beat();
  leads_.note_sent(b, leads_.window_after({1, 9}));
  const auto sent = leads_.next_for(b);

  for (int beacons = 0; beacons < 10; ++beacons) {
    leads_.resend_if_stuck(b);
    EXPECT_EQ(leads_.next_for(b), sent) << beacons;
  }
  // An earlier message may have had the number of this one.
  confirm_by(b, {1, 9});
  EXPECT_EQ(leads_.next_for(b), sent);
  advance(timing::beacon);
  beat();
  confirm_by(b, {1, 9});

  EXPECT_EQ(leads_.next_for(b), (position{1, 9}));
}

TEST_F(LeadershipTest, ReplicaThatConfirmsNothingIsSentABoundedSize) {
  confirm_by(b, {1, 9});
  for (int i = 0; i < 20; ++i)
    leads_.propose(std::make_shared<large_body>(1u << 20), now_);
  std::size_t sent = 0;

  while (const auto after = leads_.next_for(b)) {
    const auto entries = leads_.window_after(*after);
    ASSERT_EQ(entries.size(), 1u);
    leads_.note_sent(b, entries);
    ++sent;
  }
  EXPECT_EQ(sent, 8u);
  confirm_by(b, {2, 10});

  EXPECT_TRUE(leads_.next_for(b));
}

TEST_F(LeadershipTest, LargeDeltaHasMoreTimeBeforeItIsSentAgain) {
  confirm_by(b, {1, 9});
  leads_.resend_if_stuck(b);
  leads_.propose(std::make_shared<large_body>(4 * bounds::beacon_bytes), now_);
  leads_.note_sent(b, leads_.window_after({1, 9}));
  beat();
  confirm_by(b, {1, 9});

  for (int beacons = 0; beacons < 4; ++beacons) {
    leads_.resend_if_stuck(b);
    EXPECT_EQ(leads_.next_for(b), std::nullopt) << beacons;
  }
  leads_.resend_if_stuck(b);

  EXPECT_EQ(leads_.next_for(b), (position{1, 9}));
}

TEST_F(LeadershipTest, MessagesThatAreSentCloseTogetherAreOneBeacon) {
  const auto first = leads_.next_beacon(now_);
  advance(timing::beacon_shared - 1ms);
  EXPECT_EQ(leads_.next_beacon(now_), first);
  advance(1ms);

  EXPECT_NE(leads_.next_beacon(now_), first);
}

TEST_F(LeadershipTest, EntitlementCountsFromTheSendingOfABeacon) {
  beat();
  advance(timing::entitlement - 1ms);
  confirm_by(b, {1, 9});
  EXPECT_TRUE(leads_.is_entitled(now_));

  advance(1ms);
  EXPECT_FALSE(leads_.is_entitled(now_));
}

TEST_F(LeadershipTest, EntitlementIsAlsoALearnersThatCounts) {
  const auto start = propose();
  beat();
  confirm_by(b, start);
  confirm_by(c, start);
  (void)leads_.next_change(now_);
  advance(1s);
  beat();
  confirm_by(b, start);
  EXPECT_TRUE(leads_.is_entitled(now_));

  advance(timing::entitlement - 1s);
  EXPECT_FALSE(leads_.is_entitled(now_));
}

TEST_F(LeadershipTest, AloneItIsAlwaysEntitled) {
  advance(timing::unconfirmed + 1ms);
  leads_.note_value(*leads_.next_change(now_));

  EXPECT_TRUE(leads_.is_entitled(now_));
}

TEST_F(LeadershipTest, LearnerOfTheSameEpochIsStreamedToAndAdded) {
  const replica_id d{4};
  auto next = value_;
  ++next.version;
  next.replicas.push_back(d);
  leads_.note_value(next);
  beat();
  const auto last = propose();
  confirm_by(b, last);
  confirm_by(d, last);

  const auto added = leads_.next_change(now_);

  ASSERT_TRUE(added);
  EXPECT_EQ(added->in_sync, (std::vector{a, b, d}));
}

TEST_F(LeadershipTest, DroppedLearnerIsNotAdded) {
  beat();
  const auto last = propose();
  confirm_by(b, last);
  confirm_by(c, last);
  auto next = value_;
  ++next.version;
  next.replicas = {a, b};
  leads_.note_value(next);

  EXPECT_EQ(leads_.next_change(now_), std::nullopt);
}

} // namespace
} // namespace codeq::replication
