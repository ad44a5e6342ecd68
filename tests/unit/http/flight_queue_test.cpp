// SPDX-License-Identifier: Apache-2.0
#include "http/server/flight_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace codeq::http {
namespace {

using tenants = std::vector<std::string>;

/// Starts all flights that may start and returns them.
std::vector<flight> start_all(flight_queue& queue) {
  std::vector<flight> started;
  while (auto next = queue.start_next())
    started.push_back(*next);
  return started;
}

tenants tenants_of(const std::vector<flight>& flights) {
  tenants all;
  for (const auto& one : flights)
    all.push_back(one.tenant);
  return all;
}

TEST(FlightQueue, OneTenantLeavesHalfOfTheFlightsToOthers) {
  flight_queue queue(8, 8);
  for (std::uint64_t i = 0; i < 20; ++i)
    queue.add({"mallory", "host", i});
  EXPECT_EQ(4u, start_all(queue).size());

  queue.add({"acme", "host", 100});

  auto started = start_all(queue);
  ASSERT_EQ(1u, started.size());
  EXPECT_EQ(100u, started.front().number);
}

TEST(FlightQueue, AFullHostHoldsUpNoOtherHostOfItsTenant) {
  flight_queue queue(100, 2);
  for (std::uint64_t i = 0; i < 5; ++i)
    queue.add({"t", "silent", i});
  queue.add({"t", "other", 9});

  auto started = start_all(queue);

  ASSERT_EQ(3u, started.size());
  EXPECT_EQ("other", started[1].host);
  EXPECT_FALSE(queue.start_next());
  queue.end(started[0]);
  EXPECT_EQ(2u, queue.start_next()->number);
}

TEST(FlightQueue, TenantsTakeTurns) {
  flight_queue queue(4, 4);
  for (std::uint64_t i = 0; i < 4; ++i)
    queue.add({"a", "host", i});
  auto first = start_all(queue);
  for (std::uint64_t i = 0; i < 4; ++i)
    queue.add({"b", "host", i});
  auto second = start_all(queue);
  EXPECT_EQ((tenants{"a", "a"}), tenants_of(first));
  EXPECT_EQ((tenants{"b"}), tenants_of(second));

  queue.end(first[0]);
  queue.end(first[1]);

  EXPECT_EQ((tenants{"a", "b"}), tenants_of(start_all(queue)));
}

TEST(FlightQueue, KeepsNothingOfWhatIsOver) {
  flight_queue queue(4, 1);
  queue.add({"a", "host", 1});
  auto started = start_all(queue);
  queue.end(started.front());
  EXPECT_EQ(0u, queue.in_flight());
  EXPECT_FALSE(queue.start_next());
}

} // namespace
} // namespace codeq::http
