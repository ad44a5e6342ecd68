// SPDX-License-Identifier: Apache-2.0
#include "core/flow/kept_credits.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace codeq::core {
namespace {

constexpr peer_id kept_worker = 1;
constexpr peer_id kept_other_worker = 2;
constexpr std::uint32_t kept_queue = 10;
constexpr std::uint32_t kept_other_queue = 11;

constexpr monotonic_time kept_at(std::int64_t ms) {
  return monotonic_time{duration{ms}};
}

TEST(KeptCredits, OtherQueuesMayNotUseThem) {
  kept_credits kept;
  kept.keep(kept_queue, kept_worker, 2, {kept_at(50)});
  kept.keep(kept_other_queue, kept_worker, 1, {kept_at(60)});
  kept.keep(kept_queue, kept_other_worker, 4, {kept_at(50)});

  EXPECT_EQ(kept.kept_of(kept_worker), 3u);
  EXPECT_EQ(kept.kept_for(kept_queue), 6u);
  EXPECT_EQ(kept.kept_for_others(kept_queue, kept_worker), 1u);
  EXPECT_EQ(kept.kept_for_others(kept_other_queue, kept_worker), 2u);
  EXPECT_EQ(kept.kept_for_others(kept_other_queue + 1, kept_worker), 3u);
  EXPECT_EQ(kept.kept_for_others(kept_other_queue, 3), 0u);
}

TEST(KeptCredits, LeasesUseThem) {
  kept_credits kept;
  kept.keep(kept_queue, kept_worker, 2, {kept_at(50)});
  kept.use(kept_other_queue, kept_worker, 1);
  kept.use(kept_queue, kept_other_worker, 1);
  EXPECT_EQ(kept.kept_of(kept_worker), 2u);

  kept.use(kept_queue, kept_worker, 1);
  EXPECT_EQ(kept.kept_for(kept_queue), 1u);
  kept.use(kept_queue, kept_worker, 5);
  EXPECT_TRUE(kept.empty());
  EXPECT_EQ(kept.kept_of(kept_worker), 0u);
}

TEST(KeptCredits, EndWithTheirTerm) {
  kept_credits kept;
  EXPECT_EQ(kept.next_end(kept_at(0)), std::nullopt);
  kept.keep(kept_queue, kept_worker, 1, {kept_at(50)});
  kept.keep(kept_other_queue, kept_worker, 1, {kept_at(40), kept_at(30)});
  EXPECT_EQ(kept.next_end(kept_at(0)), kept_at(30));
  EXPECT_EQ(kept.next_end(kept_at(30)), kept_at(40));

  auto over = kept.find_if(
    [](std::uint32_t, const kept_credits::term& of) { return of.until <= kept_at(40); });
  EXPECT_EQ(over, std::vector<std::uint32_t>{kept_other_queue});
  EXPECT_EQ(kept.end(kept_other_queue), std::vector<peer_id>{kept_worker});
  EXPECT_EQ(kept.end(kept_other_queue), std::vector<peer_id>{});
  EXPECT_EQ(kept.next_end(kept_at(0)), kept_at(50));
  EXPECT_EQ(kept.kept_of(kept_worker), 1u);
}

TEST(KeptCredits, GoWithTheWorker) {
  kept_credits kept;
  kept.keep(kept_queue, kept_worker, 1, {kept_at(50)});
  kept.keep(kept_other_queue, kept_worker, 1, {kept_at(50)});
  kept.keep(kept_queue, kept_other_worker, 1, {kept_at(50)});
  kept.forget(kept_worker);

  EXPECT_EQ(kept.kept_for(kept_queue), 1u);
  EXPECT_EQ(kept.kept_for(kept_other_queue), 0u);
  kept.forget(kept_other_worker);
  EXPECT_TRUE(kept.empty());
}

} // namespace
} // namespace codeq::core
