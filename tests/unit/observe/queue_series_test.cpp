// SPDX-License-Identifier: Apache-2.0
#include "observe/queue_series.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::observe {
namespace {

using counts = std::vector<base::queue_counts>;

base::queue_counts
queue(const std::string& tenant, const std::string& name, std::uint64_t ready, std::uint64_t done) {
  base::queue_counts q;
  q.queue = {tenant, name};
  q.ready = ready;
  q.completed = done;
  q.run.add(duration{10}, done);
  return q;
}

/// Each queue with its ready and completed tasks.
std::string text_of(const counts& shown) {
  std::string text;
  for (const auto& q : shown)
    text += (text.empty() ? "" : " ") + q.queue.tenant + "/" + q.queue.queue + "="
            + std::to_string(q.ready) + "," + std::to_string(q.completed);
  return text;
}

TEST(QueueSeries, BusiestQueuesHaveNamesAndTheOthersOfATenantASum) {
  queue_series series(2);

  EXPECT_EQ(
    text_of(series.choose(
      {queue("t", "a", 1, 5),
       queue("t", "b", 9, 5),
       queue("t", "c", 8, 5),
       queue("t", "d", 2, 5)})),
    "t/b=9,5 t/c=8,5 t/*=3,10");
}

TEST(QueueSeries, TenantsTakeTurnsAtThePlaces) {
  queue_series series(3);
  counts all;
  for (int i = 0; i < 9; ++i)
    all.push_back(queue("big", "q" + std::to_string(i), 100, 0));
  all.push_back(queue("small", "only", 1, 0));

  auto shown = text_of(series.choose(all));

  EXPECT_NE(shown.find("small/only=1,0"), std::string::npos) << shown;
  EXPECT_NE(shown.find("big/*=700,0"), std::string::npos) << shown;
}

TEST(QueueSeries, CountersOfASumNeverGoBack) {
  queue_series series(1);
  EXPECT_EQ(
    text_of(series.choose({queue("t", "a", 1, 5), queue("t", "b", 0, 7)})), "t/a=1,5 t/*=0,7");

  // `a` is removed, and `b` takes its place.
  EXPECT_EQ(text_of(series.choose({queue("t", "b", 1, 8)})), "t/b=1,8 t/*=0,7");
  EXPECT_EQ(
    text_of(series.choose({queue("t", "b", 1, 9), queue("t", "c", 0, 2)})), "t/b=1,9 t/*=0,9");
  // A queue of the same name is created again.
  EXPECT_EQ(
    text_of(series.choose({queue("t", "b", 1, 9), queue("t", "c", 0, 1)})), "t/b=1,9 t/*=0,10");
}

TEST(QueueSeries, QueueWithoutTasksGivesItsPlaceToOneThatHasSome) {
  queue_series series(1);
  EXPECT_EQ(text_of(series.choose({queue("t", "a", 0, 5)})), "t/a=0,5");

  EXPECT_EQ(
    text_of(series.choose({queue("t", "a", 0, 5), queue("t", "b", 0, 0)})), "t/a=0,5 t/*=0,0");
  EXPECT_EQ(
    text_of(series.choose({queue("t", "a", 0, 5), queue("t", "b", 3, 0)})), "t/b=3,0 t/*=0,0");
}

TEST(QueueSeries, TenantsBeyondTheLimitShareASum) {
  queue_series series(2);
  counts all;
  for (const char* tenant : {"a", "b", "c", "d", "e"}) {
    all.push_back(queue(tenant, "x", 5, 1));
    all.push_back(queue(tenant, "y", 5, 1));
  }

  EXPECT_EQ(
    text_of(series.choose(all)), "a/x=5,1 b/x=5,1 */*=30,6 a/*=5,1 b/*=5,1");
}

TEST(QueueSeries, TimesOfASumAreThoseOfItsQueues) {
  queue_series series(1);

  auto shown = series.choose({queue("t", "a", 1, 5), queue("t", "b", 0, 7)});

  EXPECT_EQ(shown.back().run.sum_ms, 70);
}

} // namespace
} // namespace codeq::observe
