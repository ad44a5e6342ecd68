// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/shard/shard_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
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

/// The look-ups that wait for the reader, in one queue per peer. Peers take turns, each with a
/// bounded part of its queue, so that no peer waits for all look-ups of another. Used from one
/// thread.
template <class Lookup>
class lookup_queue {
public:
  /// Maximum number of look-ups in one turn, and thus the longest wait of a delivery.
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
    auto count = static_cast<std::ptrdiff_t>(std::min(queue.size(), turn_max));
    std::vector<Lookup> taken{
      std::make_move_iterator(queue.begin()), std::make_move_iterator(queue.begin() + count)};
    queue.erase(queue.begin(), queue.begin() + count);
    size_ -= taken.size();
    if (queue.empty())
      waiting_.erase(at);
    else
      turns_.push_back(peer);
    return taken;
  }

  /// The peer has ended: its look-ups need no answer.
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
  /// Queues are never empty.
  std::unordered_map<core::peer_id, std::deque<Lookup>> waiting_;
  /// The peers with queues, the next one first.
  std::deque<core::peer_id> turns_;
  std::size_t size_ = 0;
};

} // namespace codeq::coordinator
