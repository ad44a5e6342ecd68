// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replication/bounds.hpp"
#include "replication/messages.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace codeq::coordinator {

/// The bytes of the rings of all shards.
struct ring_memory {
  std::size_t bytes_max = replication::bounds::rings_bytes;
  std::size_t bytes = 0;
};

/// The latest deltas of a shard in memory, from which other replicas are sent what they lack. A
/// ring is bounded, and gives up its oldest deltas also when all rings together take too much.
class delta_ring {
public:
  /// @pre `memory` outlives the ring
  explicit delta_ring(ring_memory& memory, std::size_t bytes_max = replication::bounds::ring_bytes)
    : memory_(memory), bytes_max_(bytes_max) {}

  delta_ring(const delta_ring&) = delete;
  delta_ring& operator=(const delta_ring&) = delete;
  ~delta_ring() { clear(); }

  /// Adds the next delta of the history; one that does not follow the latest one replaces them all.
  void push(replication::entry e);

  /// The deltas that follow `after`, at most `bytes_max` but at least one; none when the ring has
  /// not got the next one.
  [[nodiscard]] std::vector<replication::entry>
  read_after(replication::position after, std::size_t bytes_max) const;

  void clear();

private:
  [[nodiscard]] static std::size_t size_of(const replication::entry& e);
  void drop_oldest();

  ring_memory& memory_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::deque<replication::entry> entries_;
};

} // namespace codeq::coordinator
