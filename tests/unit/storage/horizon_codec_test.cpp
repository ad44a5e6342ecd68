// SPDX-License-Identifier: Apache-2.0
#include "storage/retention/horizon_codec.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

constexpr shard_id shard{3};
constexpr auto last = std::numeric_limits<core::log_position>::max();

shard_horizon horizon_with(std::vector<core::log_position> held) {
  return {shard, last - 1, timestamp{480'000h}, core::position_set(std::move(held))};
}

TEST(PackedHorizon, IsReadBack) {
  const std::vector<std::vector<core::log_position>> sets{
    {}, {1}, {127, 128, 255, 256}, {1, (std::uint64_t{5} << 39) + 1, last}};
  for (const auto& held : sets) {
    const auto read = unpack_horizon(pack(horizon_with(held)), shard);

    ASSERT_TRUE(read);
    EXPECT_EQ(read->shard, shard);
    EXPECT_EQ(read->through, last - 1);
    EXPECT_EQ(read->at, timestamp{480'000h});
    EXPECT_TRUE(read->is_held_known);
    EXPECT_EQ(read->held.all(), held);
  }
}

TEST(PackedHorizon, TakesAByteForEachNeighbour) {
  std::vector<core::log_position> held;
  for (core::log_position position = 1; position <= 1000; ++position)
    held.push_back((std::uint64_t{1} << 39) + position * 100);

  EXPECT_LE(pack(horizon_with(held)).size(), 1000u + 30u);
}

TEST(PackedHorizon, IsWithoutOutcomesWhenTheyAreTooMany) {
  std::vector<core::log_position> held;
  for (core::log_position position = 1; position <= packed_horizon_bytes_max; ++position)
    held.push_back(position);
  const auto most = unpack_horizon(pack(horizon_with(held)), shard);
  ASSERT_TRUE(most);
  EXPECT_TRUE(most->is_held_known);
  EXPECT_EQ(most->held.all(), held);

  held.push_back(held.back() + 1);

  const auto packed = pack(horizon_with(held));
  EXPECT_LT(packed.size(), 100u);
  const auto read = unpack_horizon(packed, shard);
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->is_held_known);
  EXPECT_EQ(read->through, last - 1);
}

TEST(PackedHorizon, ThatIsCutIsRefused) {
  const auto packed = pack(horizon_with({1000}));

  for (std::size_t size = 0; size < 17; ++size)
    EXPECT_FALSE(unpack_horizon(std::string_view(packed).substr(0, size), shard)) << size;
  EXPECT_FALSE(unpack_horizon(std::string_view(packed).substr(0, packed.size() - 1), shard));
  EXPECT_FALSE(unpack_horizon(packed.substr(0, 17) + std::string(11, '\x80'), shard));
}

} // namespace
} // namespace codeq::storage
