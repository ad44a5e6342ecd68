// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/shard/shard_messages.hpp"

#include <cstddef>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// The peer that waits for a look-up.
[[nodiscard]] inline core::peer_id peer_of(const stored_inquiry& asked) {
  return asked.why.peer;
}

[[nodiscard]] inline core::peer_id peer_of(const keys_wanted& wanted) {
  return wanted.peer;
}

/// Survivors are read for a shard; the shards take turns.
[[nodiscard]] inline core::peer_id peer_of(const survivors_wanted& wanted) {
  return value(wanted.shard);
}

/// The number of records that a look-up reads.
[[nodiscard]] inline std::size_t reads_of(const stored_inquiry&) {
  return 1;
}

[[nodiscard]] inline std::size_t reads_of(const keys_wanted& wanted) {
  return wanted.names.size();
}

/// Counts as many: the record of a segment is larger than others, and no peer waits for it.
[[nodiscard]] inline std::size_t reads_of(const survivors_wanted&) {
  return 8;
}

/// The look-ups that wait for the reader, in one queue for each peer. The peers take turns, each
/// with a bounded part of its queue, so that no peer waits for all look-ups of another. Used from
/// one thread.
template <class Lookup>
class lookup_queue {
public:
  /// Maximum number of records that the look-ups of one turn read, except when a single look-up
  /// reads more. A delivery waits for at most one turn.
  static constexpr std::size_t turn_max = 32;

  void add(Lookup asked) {
    auto peer = peer_of(asked);
    auto [at, is_new] = waiting_.try_emplace(peer);
    if (is_new)
      turns_.push_back(peer);
    at->second.push_back(std::move(asked));
    ++size_;
  }

  /// Takes the next turn: look-ups of one peer, in order; none when the queue is empty.
  [[nodiscard]] std::vector<Lookup> take() {
    if (turns_.empty())
      return {};
    auto peer = turns_.front();
    turns_.pop_front();
    auto at = waiting_.find(peer);
    auto& queue = at->second;
    std::vector<Lookup> taken;
    for (std::size_t reads = 0; !queue.empty() && reads < turn_max; queue.pop_front()) {
      reads += reads_of(queue.front());
      taken.push_back(std::move(queue.front()));
    }
    size_ -= taken.size();
    if (queue.empty())
      waiting_.erase(at);
    else
      turns_.push_back(peer);
    return taken;
  }

  /// Removes the look-ups of a peer that has ended.
  void drop(core::peer_id peer) {
    auto at = waiting_.find(peer);
    if (at == waiting_.end())
      return;
    size_ -= at->second.size();
    waiting_.erase(at);
    std::erase(turns_, peer);
  }

  [[nodiscard]] bool has(core::peer_id peer) const { return waiting_.contains(peer); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] std::size_t size_of(core::peer_id peer) const {
    auto at = waiting_.find(peer);
    return at == waiting_.end() ? 0 : at->second.size();
  }

private:
  /// No queue in it is empty.
  std::unordered_map<core::peer_id, std::deque<Lookup>> waiting_;
  /// The peers with queues, the next one first.
  std::deque<core::peer_id> turns_;
  std::size_t size_ = 0;
};

} // namespace codeq::coordinator
