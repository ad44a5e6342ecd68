// SPDX-License-Identifier: Apache-2.0
#include "core/flow/kept_credits.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace codeq::core {
namespace {

constexpr peer_id worker = 1;
constexpr peer_id other_worker = 2;
constexpr std::uint32_t queue = 10;
constexpr std::uint32_t other_queue = 11;

constexpr monotonic_time at(std::int64_t ms) {
  return monotonic_time{duration{ms}};
}

TEST(KeptCredits, OtherQueuesMayNotUseThem) {
  kept_credits kept;
  kept.keep(queue, worker, 2, {at(50)});
  kept.keep(other_queue, worker, 1, {at(60)});
  kept.keep(queue, other_worker, 4, {at(50)});

  EXPECT_EQ(kept.kept_of(worker), 3u);
  EXPECT_EQ(kept.kept_for(queue), 6u);
  EXPECT_EQ(kept.kept_for_others(queue, worker), 1u);
  EXPECT_EQ(kept.kept_for_others(other_queue, worker), 2u);
  EXPECT_EQ(kept.kept_for_others(other_queue + 1, worker), 3u);
  EXPECT_EQ(kept.kept_for_others(other_queue, 3), 0u);
}

TEST(KeptCredits, LeasesUseThem) {
  kept_credits kept;
  kept.keep(queue, worker, 2, {at(50)});
  kept.use(other_queue, worker, 1);
  kept.use(queue, other_worker, 1);
  EXPECT_EQ(kept.kept_of(worker), 2u);

  kept.use(queue, worker, 1);
  EXPECT_EQ(kept.kept_for(queue), 1u);
  kept.use(queue, worker, 5);
  EXPECT_TRUE(kept.empty());
  EXPECT_EQ(kept.kept_of(worker), 0u);
}

TEST(KeptCredits, EndWithTheirTerm) {
  kept_credits kept;
  EXPECT_EQ(kept.next_end(at(0)), std::nullopt);
  kept.keep(queue, worker, 1, {at(50)});
  kept.keep(other_queue, worker, 1, {at(40), at(30)});
  EXPECT_EQ(kept.next_end(at(0)), at(30));
  EXPECT_EQ(kept.next_end(at(30)), at(40));

  auto over = kept.find_if(
    [](std::uint32_t, const kept_credits::term& of) { return of.until <= at(40); });
  EXPECT_EQ(over, std::vector<std::uint32_t>{other_queue});
  EXPECT_EQ(kept.end(other_queue), std::vector<peer_id>{worker});
  EXPECT_EQ(kept.end(other_queue), std::vector<peer_id>{});
  EXPECT_EQ(kept.next_end(at(0)), at(50));
  EXPECT_EQ(kept.kept_of(worker), 1u);
}

TEST(KeptCredits, GoWithTheWorker) {
  kept_credits kept;
  kept.keep(queue, worker, 1, {at(50)});
  kept.keep(other_queue, worker, 1, {at(50)});
  kept.keep(queue, other_worker, 1, {at(50)});
  kept.forget(worker);

  EXPECT_EQ(kept.kept_for(queue), 1u);
  EXPECT_EQ(kept.kept_for(other_queue), 0u);
  kept.forget(other_worker);
  EXPECT_TRUE(kept.empty());
}

} // namespace
} // namespace codeq::core
