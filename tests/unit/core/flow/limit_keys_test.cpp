// SPDX-License-Identifier: Apache-2.0
#include "support/seed.hpp"
#include "unit/core/flow/limited_lane.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

TEST(LimitKeys, SlotIsTakenByTheGrantAndFreedByTheEnd) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 1}, tasks.now);
  tasks.add(1, {{{stripe, "a"}}});
  tasks.add(2, {{{stripe, "a"}}});
  tasks.add(3, {{{stripe, "b"}}});

  EXPECT_EQ(tasks.grant(), (numbers{1, 3}));
  EXPECT_EQ(tasks.limits.counts_of({stripe, "a"}).held, 1u);
  EXPECT_EQ(tasks.grant(), numbers{});

  tasks.end(1);
  EXPECT_EQ(tasks.grant(), numbers{2});
}

TEST(LimitKeys, HeldTasksReturnInTheirOrder) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 1}, tasks.now);
  tasks.add(1, {{{stripe, ""}}});
  tasks.grant();
  tasks.add(2, {{{stripe, ""}}}, 0);
  tasks.add(3, {{{stripe, ""}}}, 5);
  tasks.add(4, {{{stripe, ""}}}, 5);
  tasks.grant();

  EXPECT_EQ(tasks.limits.held_before({stripe, ""}, tasks.tasks.at(2)), 2u);
  for (sequence next : {3u, 4u, 2u}) {
    tasks.end(*tasks.leased.begin());
    EXPECT_EQ(tasks.grant(), numbers{next});
  }
}

TEST(LimitKeys, TaskNeedsAllItsLimits) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 1}, tasks.now);
  tasks.limits.set(mail, {.concurrency = 1}, tasks.now);
  tasks.add(1, {{{stripe, ""}}});
  tasks.add(2, {{{mail, ""}}});
  tasks.grant();
  tasks.add(3, {{{stripe, ""}}, {{mail, ""}}});
  tasks.add(4, {{{stripe, ""}}});
  EXPECT_EQ(tasks.grant(), numbers{});

  // The task that now waits for mail leaves its turn at stripe to the next one.
  tasks.end(1);
  EXPECT_EQ(tasks.grant(), numbers{});
  EXPECT_EQ(tasks.limits.counts_of({mail, ""}).held, 1u);
  EXPECT_EQ(tasks.grant(), numbers{4});
  tasks.end(4);
  tasks.end(2);
  EXPECT_EQ(tasks.grant(), numbers{3});
}

TEST(LimitKeys, CheapTasksDoNotPassADearOneThatIsHeldByARate) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.rate = start_rate{10, 1s, 10}}, tasks.now);
  tasks.add(1, {{{stripe, "a"}}});
  EXPECT_EQ(tasks.grant(), numbers{1});
  tasks.add(2, {{{stripe, "a"}, 10}});
  EXPECT_EQ(tasks.grant(), numbers{});
  tasks.add(3, {{{stripe, "a"}}});
  tasks.add(4, {{{stripe, "a"}}}, 5);

  EXPECT_EQ(tasks.grant(), numbers{4}) << "a higher priority comes first";
  tasks.now += 200ms;

  EXPECT_EQ(tasks.grant(), numbers{2});
}

TEST(LimitKeys, ChangeOfALimitLooksAtItsKeysInSeveralTurns) {
  limited_lane tasks;
  constexpr std::size_t keys = 10'000;
  tasks.limits.set(stripe, {.rate = start_rate{1, 1s, 1}}, tasks.now);
  for (sequence i = 1; i <= keys; ++i) {
    tasks.add(i, {{{stripe, std::to_string(i)}}});
    tasks.grant();
    tasks.end(i);
  }
  (void)tasks.limits.take_marks();

  tasks.limits.remove(stripe);
  (void)tasks.limits.release(tasks.now);

  EXPECT_GT(tasks.limits.size(), keys / 2);
  EXPECT_LT(tasks.limits.take_marks().size(), keys / 2);
  while (tasks.limits.next_release().value_or(timestamp::max()) <= tasks.now)
    (void)tasks.limits.release(tasks.now);
  EXPECT_EQ(tasks.limits.size(), 0u);
}

TEST(LimitKeys, FreedSlotDoesNotWaitForTheKeysOfAChangedLimit) {
  limited_lane tasks;
  constexpr sequence keys = 10'000;
  tasks.limits.set(stripe, {.concurrency = 1}, tasks.now);
  tasks.limits.set(mail, {.concurrency = 1}, tasks.now);
  for (sequence i = 1; i <= keys; ++i)
    tasks.add(i, {{{stripe, std::to_string(i)}}});
  tasks.grant(keys);
  tasks.add(keys + 1, {{{mail, ""}}});
  tasks.add(keys + 2, {{{mail, ""}}});
  EXPECT_EQ(tasks.grant(), numbers{keys + 1});
  while (tasks.limits.next_release().value_or(timestamp::max()) <= tasks.now)
    (void)tasks.limits.release(tasks.now);

  tasks.limits.set(stripe, {.concurrency = 2}, tasks.now);
  tasks.end(keys + 1);

  EXPECT_EQ(tasks.grant(), numbers{keys + 2});
}

TEST(LimitKeys, RateReleasesTasksByTimeAlone) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.rate = start_rate{10, 1s, 2}}, tasks.now);
  for (sequence seq = 1; seq <= 5; ++seq)
    tasks.add(seq, {{{stripe, ""}}});

  EXPECT_EQ(tasks.grant(), (numbers{1, 2}));
  EXPECT_EQ(tasks.grant(), numbers{});
  EXPECT_EQ(tasks.limits.next_release(), tasks.now + 100ms);
  tasks.now += 100ms;
  EXPECT_EQ(tasks.grant(), numbers{3});
  tasks.now += 200ms;
  EXPECT_EQ(tasks.grant(), (numbers{4, 5}));
}

TEST(LimitKeys, NoMoreTasksAreReleasedThanTheKeyAdmits) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 2}, tasks.now);
  for (sequence seq = 1; seq <= 10; ++seq)
    tasks.add(seq, {{{stripe, ""}}});
  tasks.grant();
  tasks.end(1);
  tasks.end(2);

  EXPECT_EQ(tasks.grant(0), numbers{});
  EXPECT_EQ(tasks.lane, (std::set<sequence>{3, 4}));
  EXPECT_EQ(tasks.grant(0), numbers{});
  EXPECT_EQ(tasks.lane.size(), 2u);
}

TEST(LimitKeys, CancelledTaskLeavesItsTurnToTheNextOne) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 1}, tasks.now);
  for (sequence seq = 1; seq <= 4; ++seq)
    tasks.add(seq, {{{stripe, ""}}});
  tasks.grant();
  tasks.end(1);
  tasks.grant(0);
  EXPECT_EQ(tasks.lane, std::set<sequence>{2});

  tasks.cancel(2);
  tasks.cancel(3);

  EXPECT_EQ(tasks.grant(), numbers{4});
}

TEST(LimitKeys, ClosedKeyStartsNothingUntilItsTime) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 10}, tasks.now);
  tasks.limits.close({stripe, "a"}, tasks.now + 30s);
  tasks.add(1, {{{stripe, "a"}}});
  tasks.add(2, {{{stripe, "b"}}});
  EXPECT_EQ(tasks.grant(), numbers{2});
  tasks.grant();
  EXPECT_EQ(tasks.limits.next_release(), tasks.now + 30s);

  tasks.now += 29'999ms;
  EXPECT_EQ(tasks.grant(), numbers{});
  tasks.now += 1ms;
  EXPECT_EQ(tasks.grant(), numbers{1});
}

TEST(LimitKeys, StartsOfRatesThatArePutOffWaitAndLoseNothing) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.rate = start_rate{1, 1s, 2}}, tasks.now);
  for (sequence seq = 1; seq <= 3; ++seq)
    tasks.add(seq, {{{stripe, "a"}}});
  tasks.limits.put_off_starts(tasks.now + 50ms);
  EXPECT_EQ(tasks.grant(), numbers{});
  EXPECT_EQ(tasks.grant(), numbers{});
  EXPECT_EQ(tasks.limits.next_release(), tasks.now + 50ms);

  tasks.now += 50ms;

  EXPECT_EQ(tasks.grant(), (numbers{1, 2})) << "the burst";
}

TEST(LimitKeys, TasksWithoutARateStartWhileOthersArePutOff) {
  limited_lane tasks;
  tasks.limits.set(mail, {.concurrency = 1}, tasks.now);
  for (sequence seq = 1; seq <= 2; ++seq)
    tasks.add(seq, {{{mail, "a"}}});
  tasks.limits.put_off_starts(tasks.now + 50ms);
  EXPECT_EQ(tasks.grant(), numbers{1});

  tasks.end(1);

  EXPECT_EQ(tasks.grant(), numbers{2});
}

TEST(LimitKeys, OpenedKeyStartsAtOnce) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 10}, tasks.now);
  tasks.limits.close({stripe, "a"}, tasks.now + 30s);
  tasks.add(1, {{{stripe, "a"}}});
  tasks.grant();

  tasks.limits.close({stripe, "a"}, tasks.now);

  EXPECT_EQ(tasks.grant(), numbers{1});
}

TEST(LimitKeys, KeysOfARemovedLimitAreOpened) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 10}, tasks.now);
  tasks.limits.close({stripe, "a"}, tasks.now + 30s);
  static_cast<void>(tasks.limits.take_marks());
  tasks.limits.remove(stripe);

  (void)tasks.grant();
  const auto marks = tasks.limits.take_marks();
  ASSERT_EQ(marks.size(), 1u) << "the closure was stored";
  EXPECT_EQ(marks[0].closed_until, timestamp{});
  tasks.limits.set(stripe, {.concurrency = 10}, tasks.now);
  tasks.add(1, {{{stripe, "a"}}});
  EXPECT_EQ(tasks.grant(), numbers{1});
}

TEST(LimitKeys, LoweredLimitRevokesNothingAndRaisedOneStartsMore) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 3}, tasks.now);
  for (sequence seq = 1; seq <= 6; ++seq)
    tasks.add(seq, {{{stripe, ""}}});
  tasks.grant();
  tasks.limits.set(stripe, {.concurrency = 1}, tasks.now);
  tasks.end(1);
  tasks.end(2);
  EXPECT_EQ(tasks.grant(), numbers{});

  tasks.limits.set(stripe, {.concurrency = 2}, tasks.now);
  EXPECT_EQ(tasks.grant(), numbers{4});
}

TEST(LimitKeys, ZeroAdmitsNothingAndARemovedLimitEverything) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 0}, tasks.now);
  tasks.add(1, {{{stripe, ""}}});
  tasks.add(2, {{{stripe, ""}}});
  EXPECT_EQ(tasks.grant(), numbers{});

  tasks.limits.remove(stripe);

  EXPECT_EQ(tasks.grant(), (numbers{1, 2}));
  tasks.end(1);
  tasks.end(2);
}

TEST(LimitKeys, ActualCostIsSettled) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.rate = start_rate{10, 1s, 1}}, tasks.now);
  limit_use use{{stripe, ""}, 1};
  tasks.add(1, {use});
  tasks.add(2, {use});
  tasks.grant();

  tasks.limits.settle(use, 11, tasks.now, tasks.now);
  tasks.grant();

  EXPECT_EQ(tasks.limits.next_release(), tasks.now + 1100ms);
}

TEST(LimitKeys, WhatIsRestoredIsNotStoredAgain) {
  const limit_place at{mail, "k"};
  limit_keys replayed;
  replayed.set(mail, {.rate = start_rate{1, 1s, 1}}, timestamp{});
  replayed.occupy({1, 0, {{at, 1}}});
  replayed.restore({at, 1, {}, false});
  replayed.use_up_all(timestamp{10s});
  ASSERT_EQ(replayed.marks().size(), 1u);

  replayed.restore({at, 0, {}, true});

  EXPECT_TRUE(replayed.marks().empty()) << "its lease lives on, and nothing of it is stored";
}

TEST(LimitKeys, BurstThatCountsAsUsedUpIsStoredForStoredKeysOnly) {
  const limit_place at{mail, "k"};
  limit_keys keys;
  keys.set(mail, {.rate = start_rate{1, 1s, 1}}, timestamp{});
  keys.occupy({1, 0, {{at, 1}}});

  keys.use_up_all(timestamp{10s});

  EXPECT_TRUE(keys.marks().empty()) << "each process begins with the time that is stored for all";
  EXPECT_TRUE(keys.check({2, 0, {{at, 1}}}, timestamp{10s}));
}

TEST(LimitKeys, KeysThatNothingUsesTakeNoMemory) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 1, .rate = start_rate{10, 1s, 1}}, tasks.now);
  for (sequence seq = 1; seq <= 1000; ++seq)
    tasks.add(seq, {{{stripe, std::to_string(seq)}}});
  EXPECT_EQ(tasks.grant().size(), 1000u);
  for (sequence seq = 1; seq <= 1000; ++seq)
    tasks.end(seq);
  tasks.grant();
  EXPECT_EQ(tasks.limits.size(), 1000u);

  tasks.now += 2s;
  tasks.grant();

  EXPECT_EQ(tasks.limits.size(), 0u);
  EXPECT_FALSE(tasks.limits.next_release());
}

TEST(LimitKeys, ChangeOfTheRateMarksManyKeysInSeveralTurns) {
  constexpr sequence count = 10'000;
  limited_lane tasks;
  tasks.limits.set(stripe, {.rate = start_rate{1, 1s, 1}}, tasks.now);
  for (sequence i = 1; i <= count; ++i)
    tasks.add(i, {{{stripe, std::to_string(i)}}});
  (void)tasks.grant(count);
  (void)tasks.limits.take_marks();
  tasks.limits.set(stripe, {.rate = start_rate{1, 10s, 1}}, tasks.now);
  std::vector<std::size_t> marked;

  for (int i = 0; i < 4; ++i) {
    (void)tasks.grant();
    marked.push_back(tasks.limits.take_marks().size());
  }

  EXPECT_EQ(marked, (std::vector<std::size_t>{4096, 4096, 1808, 0}));
}

TEST(LimitKeys, SlotOfManyQueuesReleasesFewTasksAndEachQueueHasItsTurn) {
  constexpr sequence queues = 300;
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 1}, tasks.now);
  tasks.add_to_queues(queues);
  std::set<sequence> started;

  for (sequence i = 0; i < queues; ++i) {
    auto granted = tasks.grant();
    ASSERT_EQ(granted.size(), 1u);
    EXPECT_TRUE(started.insert(granted.front()).second);
    tasks.end(granted.front());
  }

  EXPECT_LE(tasks.most_released, 64u);
}

TEST(LimitKeys, QueuesWithoutWorkersDoNotKeepASlotFromLaterOnes) {
  constexpr sequence queues = 300;
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 0}, tasks.now);
  tasks.add_to_queues(queues);
  (void)tasks.grant();
  tasks.limits.set(stripe, {.concurrency = 1}, tasks.now);

  for (int i = 0; i < 10 && tasks.limits.next_release() <= tasks.now; ++i)
    (void)tasks.grant(0);

  EXPECT_EQ(tasks.lane.size(), queues);
  EXPECT_LE(tasks.most_released, 64u);
}

/// Does something random with tasks and limits at each step, and checks that no start exceeds a
/// limit, and that no task is held which all its limits admit.
class random_use {
public:
  explicit random_use(std::uint64_t seed) : random_(static_cast<std::uint32_t>(seed)) {
    for (std::uint32_t limit : {stripe, mail})
      tasks_.limits.set(limit, {.concurrency = 1 + below(4)}, tasks_.now);
  }

  void step() {
    switch (below(8)) {
    case 0:
    case 1:
    case 2:
      add();
      break;
    case 3:
    case 4:
      if (!tasks_.leased.empty())
        tasks_.end(*std::next(tasks_.leased.begin(), below(tasks_.leased.size())));
      break;
    case 5:
      cancel();
      break;
    case 6:
      change_limit();
      break;
    default:
      tasks_.now += duration{below(300)};
    }
    auto before = tasks_.leased;
    // A released task may be held by its other key, which lets the next one be released.
    do
      tasks_.grant();
    while (tasks_.limits.next_release().value_or(timestamp::max()) <= tasks_.now);
    check_slots(before);
    check_held();
  }

private:
  unsigned below(std::size_t n) { return static_cast<unsigned>(random_() % n); }

  void add() {
    std::vector<limit_use> uses{{{stripe, std::to_string(below(3))}, 1 + below(2)}};
    if (below(2) == 0)
      uses.push_back({{mail, std::to_string(below(2))}});
    tasks_.add(next_++, uses, static_cast<std::uint8_t>(below(3)));
  }

  void cancel() {
    sequence victim = 1 + below(next_);
    auto at = tasks_.tasks.find(victim);
    if (at != tasks_.tasks.end() && tasks_.limits.is_held(at->second))
      tasks_.cancel(victim);
  }

  void change_limit() {
    limit_rule rule{.concurrency = below(5)};
    if (below(2) == 0)
      rule.rate = start_rate{1 + below(20), 1s, 1 + below(3)};
    tasks_.limits.set(below(2) == 0 ? stripe : mail, rule, tasks_.now);
  }

  void check_slots(const std::set<sequence>& before) {
    std::map<limit_place, std::uint64_t> leased;
    std::set<limit_place> started;
    for (auto seq : tasks_.leased)
      for (const auto& use : tasks_.tasks.at(seq).uses) {
        ++leased[use.at];
        if (!before.contains(seq))
          started.insert(use.at);
      }
    for (const auto& [at, count] : leased)
      EXPECT_EQ(tasks_.limits.counts_of(at).leased, count);
    for (const auto& at : started)
      EXPECT_LE(leased.at(at), *tasks_.limits.find(at.limit)->concurrency);
  }

  void check_held() {
    EXPECT_TRUE(tasks_.lane.empty());
    for (const auto& [seq, task] : tasks_.tasks) {
      auto admits = [this](const limit_use& use) { return has_room(use); };
      bool may_start = tasks_.limits.is_held(task)
                       && std::all_of(task.uses.begin(), task.uses.end(), admits);
      EXPECT_TRUE(!may_start || is_behind_another(task)) << "task " << seq;
    }
  }

  [[nodiscard]] bool has_room(const limit_use& use) const {
    const auto* rule = tasks_.limits.find(use.at.limit);
    if (tasks_.limits.room_by({.concurrency = rule->concurrency}, use.at, tasks_.now) == 0)
      return false;
    return !rule->rate
           || tasks_.limits.room_by({.rate = rule->rate}, use.at, tasks_.now)
                >= std::min(use.cost, rule->rate->burst);
  }

  /// True when its key holds another task that comes first, and may need more than this one.
  [[nodiscard]] bool is_behind_another(const limited_task& task) const {
    return std::any_of(task.uses.begin(), task.uses.end(), [&](const limit_use& use) {
      return tasks_.limits.held_before(use.at, task) > 0;
    });
  }

  std::minstd_rand random_;
  limited_lane tasks_;
  sequence next_ = 1;
};

TEST(LimitKeys, RandomUseExceedsNoLimitAndLeavesNoSlotIdle) {
  auto seed = test::choose_seed();
  for (std::uint64_t round = 0; round < 100 && !HasFailure(); ++round) {
    random_use use(seed + round);
    for (int i = 0; i < 300 && !HasFailure(); ++i)
      use.step();
  }
}

} // namespace
} // namespace codeq::core
