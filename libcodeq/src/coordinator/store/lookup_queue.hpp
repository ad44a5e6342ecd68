// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/shard/shard_messages.hpp"

#include <cstddef>
#include <deque>
#include <unordered_map>
#include <vector>

namespace codeq::coordinator {

/// The look-ups that wait for the reader, in one queue for each peer. The peers take turns, each
/// with a bounded part of its queue, so that none waits for all that another asked. Used from one
/// thread.
class lookup_queue {
public:
  /// Look-ups of one turn. A delivery waits for no more than these.
  static constexpr std::size_t turn_max = 32;

  void add(stored_inquiry asked);

  /// Takes the next turn: look-ups of one peer, in their order; none when the queue is empty.
  [[nodiscard]] std::vector<stored_inquiry> take();

  /// The peer is gone: nobody waits for what it asked.
  void drop(core::peer_id peer);

  [[nodiscard]] bool has(core::peer_id peer) const { return waiting_.contains(peer); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] std::size_t size_of(core::peer_id peer) const;

private:
  /// Never empty queues.
  std::unordered_map<core::peer_id, std::deque<stored_inquiry>> waiting_;
  /// The peers with queues, the next one first.
  std::deque<core::peer_id> turns_;
  std::size_t size_ = 0;
};

} // namespace codeq::coordinator
