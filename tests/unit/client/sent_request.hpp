// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "protocol/messages.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace codeq::client {

/// An enqueue request that a producer has sent to a coordinator, without its tasks.
struct sent_request {
  producer_id producer;
  std::uint64_t number = 0;
  std::uint64_t answered_below = 0;
  std::uint16_t shard = 0;
  std::uint32_t tasks = 0;

  friend bool operator==(const sent_request&, const sent_request&) = default;
};

inline sent_request read_sent(const protocol::enqueue_request& request) {
  auto taken = request.read([](auto reader) -> result<sent_request> {
    return sent_request{
      {reader.getProducer().getHigh(), reader.getProducer().getLow()},
      reader.getNumber(),
      reader.getAnsweredBelow(),
      reader.getShard(),
      reader.getTasks().getEnds().size()};
  });
  EXPECT_TRUE(taken);
  return *taken;
}

} // namespace codeq::client
