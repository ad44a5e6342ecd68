// SPDX-License-Identifier: Apache-2.0
#include "http/dashboard/queue_history.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace codeq::http {
namespace {

using namespace std::chrono_literals;

base::time_counts times_in(std::size_t bucket, std::uint64_t count) {
  base::time_counts times;
  times.counts[bucket] = count;
  return times;
}

base::queue_counts counts_of(const std::string& queue, std::uint64_t completed) {
  base::queue_counts q;
  q.queue = {"default", queue};
  q.enqueued = q.granted = q.completed = completed;
  q.ready = 3;
  q.oldest_ready = 1500ms;
  q.run = times_in(3, completed);
  return q;
}

/// A history that a test feeds every 10 s.
class history_fixture : public testing::Test {
protected:
  void take(std::vector<base::queue_counts> queues) {
    now_ += limits::history_step;
    base::coordinator_counts stats;
    stats.queues = std::move(queues);
    history_.take(stats, now_);
  }

  std::string points(const std::string& queue, history_span span = history_span::hour) const {
    base::json_writer json;
    history_.write(json, {"default", queue}, span);
    auto text = json.take();
    return text.substr(text.find("\"points\":") + 9);
  }

  static std::size_t count_points(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '[')) - 1;
  }

  timestamp now_{};
  queue_history history_{8};
};

using QueueHistory = history_fixture;

TEST(PercentileMs, IsLinearWithinABucket) {
  EXPECT_FALSE(percentile_ms({}, 50));
  EXPECT_EQ(1u, percentile_ms(times_in(0, 4), 50));
  // Between 5 and 10 ms.
  EXPECT_EQ(8u, percentile_ms(times_in(3, 100), 50));
  EXPECT_EQ(10u, percentile_ms(times_in(3, 100), 100));
}

TEST(PercentileMs, ReachesIntoTheBucketOfItsRank) {
  auto times = times_in(1, 95);
  times.counts[8] = 5;
  EXPECT_EQ(2u, percentile_ms(times, 95));
  EXPECT_LT(250u, percentile_ms(times, 99));
  // The last bucket has no end.
  EXPECT_EQ(3'600'000u, percentile_ms(times_in(13, 1), 99));
}

TEST_F(QueueHistory, HasTheGrowthOfEachStep) {
  take({counts_of("mail", 5)});
  EXPECT_EQ("[]}", points("mail"));
  take({counts_of("mail", 12)});

  EXPECT_EQ(
    "[[20000,7,7,7,0,0,0,0,0,0,null,null,null,8,10,10,3,0,0,0,0,1500]]}", points("mail"));
}

TEST_F(QueueHistory, SumsTheQueuesOfATenant) {
  take({counts_of("mail", 0), counts_of("bills", 0)});
  take({counts_of("mail", 2), counts_of("bills", 3)});

  EXPECT_EQ(0u, points("").find("[[20000,5,5,5,"));
}

TEST_F(QueueHistory, LosesNothingOfATenantWhenAQueueIsRemoved) {
  take({counts_of("mail", 10), counts_of("bills", 90)});
  take({counts_of("mail", 14)});
  EXPECT_EQ(0u, points("").find("[[20000,4,4,4,"));

  // A queue that begins later counts from its beginning on.
  take({counts_of("mail", 14), counts_of("orders", 2)});
  EXPECT_NE(std::string::npos, points("").find("[30000,2,2,2,"));
}

TEST_F(QueueHistory, NeverGoesBackWhenCountersBeginAnew) {
  take({counts_of("mail", 50)});
  take({counts_of("mail", 2)});

  EXPECT_EQ(0u, points("mail").find("[[20000,0,0,0,"));
}

TEST_F(QueueHistory, KeepsAnHourOfShortAndADayOfLongSteps) {
  for (std::uint64_t i = 0; i < 10'000; ++i)
    take({counts_of("mail", i)});

  EXPECT_EQ(limits::history_points_hour, count_points(points("mail")));
  auto day = points("mail", history_span::day);
  EXPECT_EQ(limits::history_points_day, count_points(day));
  // 30 steps of 10 s make one of 5 min.
  EXPECT_NE(std::string::npos, day.find(",30,30,30,"));
}

TEST_F(QueueHistory, TenantsShareItsPlacesAndRemovedQueuesGiveThemBack) {
  take({counts_of("a", 0), counts_of("b", 0), counts_of("c", 0), counts_of("d", 0)});
  take({counts_of("a", 1), counts_of("b", 1), counts_of("c", 1), counts_of("d", 1)});
  // The tenant has 4 of the 8 places: its sum and three queues.
  EXPECT_EQ(1u, count_points(points("c")));
  EXPECT_EQ("[]}", points("d"));

  // A place is free from the next step on.
  for (std::uint64_t count : {2u, 3u, 4u})
    take({counts_of("d", count)});

  EXPECT_EQ("[]}", points("a"));
  EXPECT_EQ(1u, count_points(points("d")));
}

} // namespace
} // namespace codeq::http
