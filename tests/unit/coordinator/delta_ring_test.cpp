// SPDX-License-Identifier: Apache-2.0
#include "coordinator/replica/delta_ring.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace codeq::coordinator {
namespace {

using replication::entry;

constexpr std::size_t body_bytes = 1000;

class body final : public replication::delta_body {
public:
  [[nodiscard]] std::size_t byte_size() const override { return body_bytes; }
};

entry delta(std::uint64_t number, std::uint32_t epoch = 1) {
  return {{epoch, number}, {epoch, number - 1}, std::make_shared<body>()};
}

void fill(delta_ring& ring, std::uint64_t from, std::uint64_t to) {
  for (auto n = from; n <= to; ++n)
    ring.push(delta(n));
}

TEST(DeltaRing, ReturnsTheDeltasAfterOneOfThem) {
  ring_memory memory;
  delta_ring ring(memory);
  fill(ring, 5, 9);

  EXPECT_EQ(ring.read_after({1, 4}, 1u << 20).size(), 5u);
  EXPECT_EQ(ring.read_after({1, 7}, 1u << 20).front().at.number, 8u);
  EXPECT_EQ(ring.read_after({1, 4}, body_bytes + 1).size(), 2u);
  EXPECT_EQ(ring.read_after({1, 4}, 1).size(), 1u);
  EXPECT_TRUE(ring.read_after({1, 3}, 1u << 20).empty());
}

TEST(DeltaRing, KeepsABoundedSize) {
  ring_memory memory;
  delta_ring ring(memory, 10 * body_bytes);
  fill(ring, 1, 100);

  EXPECT_LE(memory.bytes, 10 * body_bytes);
  EXPECT_TRUE(ring.read_after({1, 80}, 1u << 20).empty());
  EXPECT_EQ(ring.read_after({1, 95}, 1u << 20).size(), 5u);
}

TEST(DeltaRing, AllOfThemKeepABoundedSize) {
  ring_memory memory{10 * body_bytes};
  delta_ring first(memory);
  delta_ring second(memory);
  fill(first, 1, 100);
  fill(second, 1, 100);

  EXPECT_LE(memory.bytes, 12 * body_bytes);
  EXPECT_FALSE(second.read_after({1, 99}, 1u << 20).empty());
}

TEST(DeltaRing, ThatGoesAwayGivesItsSizeBack) {
  ring_memory memory;
  {
    delta_ring ring(memory);
    fill(ring, 1, 3);
  }
  EXPECT_EQ(memory.bytes, 0u);
}

TEST(DeltaRing, DeltasThatDoNotJoinReplaceTheOthers) {
  ring_memory memory;
  delta_ring ring(memory);
  fill(ring, 1, 9);
  ring.push(delta(6, 2));

  EXPECT_TRUE(ring.read_after({1, 4}, 1u << 20).empty());
  EXPECT_EQ(ring.read_after({2, 5}, 1u << 20).size(), 1u);
}

} // namespace
} // namespace codeq::coordinator
