// SPDX-License-Identifier: Apache-2.0
// The places of tasks that have not started: released ones, and those that wait for permits.
#include "unit/core/flow/limited_lane.hpp"

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

TEST(LimitPlaces, ReleasedTaskThatOthersPassKeepsNoPlaceOfAHigherPriority) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 1}, tasks.now);
  tasks.add(1, {{{stripe, "a"}}});
  tasks.add(2, {{{stripe, "a"}}});
  tasks.grant();
  tasks.end(1);
  EXPECT_EQ(tasks.grant(0), numbers{}) << "2 returns to its lane, which no worker reaches";
  tasks.lane.clear();
  tasks.add(3, {{{stripe, "a"}}}, 9);
  tasks.add(4, {{{stripe, "a"}}}, 9);
  EXPECT_EQ(tasks.grant(), numbers{3});

  tasks.end(3);

  EXPECT_EQ(tasks.grant(), numbers{4});
}

TEST(LimitPlaces, ReleasedTasksThatHaveTwoRatesDoNotWaitForEachOther) {
  limited_lane tasks;
  for (auto limit : {stripe, mail})
    tasks.limits.set(limit, {.rate = start_rate{1, 1s, 1}}, tasks.now);
  tasks.add(1, {{{stripe, "a"}}});
  tasks.add(2, {{{mail, "a"}}});
  EXPECT_EQ(tasks.grant(), (numbers{1, 2}));
  for (sequence seq : {3u, 5u}) {
    tasks.add(seq, {{{stripe, "a"}}, {{mail, "a"}}});
    tasks.add(seq + 1, {{{mail, "a"}}, {{stripe, "a"}}});
  }
  EXPECT_EQ(tasks.grant(), numbers{}) << "each key holds two of them";

  tasks.now += 1s;

  EXPECT_EQ(tasks.grant().size(), 1u);
  tasks.now += 1s;
  EXPECT_EQ(tasks.grant().size(), 1u);
}

TEST(LimitPlaces, ReservationKeepsTheSlotOfATaskThatWaitsForAPermit) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 1}, tasks.now);
  for (sequence seq : {1u, 2u, 3u})
    tasks.add(seq, {{{stripe, "a"}}});
  EXPECT_EQ(tasks.grant(), numbers{1});
  tasks.end(1);
  EXPECT_EQ(tasks.limits.release(tasks.now), numbers{2});
  tasks.limits.drop(tasks.tasks.at(2));
  tasks.limits.reserve(tasks.tasks.at(2), tasks.now + 80ms);

  EXPECT_EQ(tasks.grant(), numbers{});
  tasks.add(4, {{{stripe, "a"}}});
  EXPECT_EQ(tasks.grant(), numbers{});
  tasks.lane.insert(2);

  EXPECT_EQ(tasks.grant(), numbers{2}) << "its permit has come";
  tasks.end(2);
  EXPECT_EQ(tasks.grant(), numbers{3});
}

TEST(LimitPlaces, ReservationEndsByTimeAndNoneFollowsBeforeAStart) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.rate = start_rate{1, 1s, 1}}, tasks.now);
  for (sequence seq : {1u, 2u})
    tasks.tasks[seq] = {seq, 0, {{{stripe, "a"}}}};
  tasks.limits.reserve(tasks.tasks.at(1), tasks.now + 80ms);
  tasks.add(3, {{{stripe, "a"}}});
  EXPECT_EQ(tasks.grant(), numbers{});
  EXPECT_FALSE(tasks.limits.check(tasks.tasks.at(1), tasks.now));
  EXPECT_TRUE(tasks.limits.release(tasks.now).empty());
  EXPECT_EQ(tasks.limits.next_release(), tasks.now + 80ms);

  tasks.now += 80ms;
  EXPECT_EQ(tasks.limits.release(tasks.now), numbers{3});
  tasks.limits.reserve(tasks.tasks.at(2), tasks.now + 80ms);

  EXPECT_FALSE(tasks.limits.check(tasks.tasks.at(3), tasks.now)) << "one was in vain";
  tasks.limits.take(tasks.tasks.at(3), tasks.now);
  tasks.now += 1s;
  tasks.limits.reserve(tasks.tasks.at(2), tasks.now + 80ms);
  EXPECT_TRUE(tasks.limits.check(tasks.tasks.at(1), tasks.now));
}

TEST(LimitPlaces, ReservationOfATaskThatIsNotReadyAnyMoreEnds) {
  limited_lane tasks;
  tasks.limits.set(stripe, {.concurrency = 1}, tasks.now);
  tasks.tasks[1] = {1, 0, {{{stripe, "a"}}}};
  tasks.limits.reserve(tasks.tasks.at(1), tasks.now + 80ms);

  tasks.limits.drop(tasks.tasks.at(1));
  EXPECT_TRUE(tasks.limits.release(tasks.now).empty());

  EXPECT_EQ(tasks.limits.size(), 0u);
  EXPECT_EQ(tasks.limits.next_release(), std::nullopt);
}

} // namespace
} // namespace codeq::core
