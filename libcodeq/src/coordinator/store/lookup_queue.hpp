// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "coordinator/store/reader.hpp"

#include <compare>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// A tenant whose tasks a peer lists. The gateway is one peer for all tenants.
struct list_owner {
  core::peer_id peer = 0;
  std::string tenant;

  friend auto operator<=>(const list_owner&, const list_owner&) = default;
};

/// Whose turn a look-up takes: the peer that waits for it.
[[nodiscard]] inline core::peer_id owner_of(const stored_inquiry& asked) {
  return asked.why.peer;
}

[[nodiscard]] inline core::peer_id owner_of(const keys_wanted& wanted) {
  return wanted.peer;
}

/// Survivors are read for a shard; the shards take turns.
[[nodiscard]] inline core::peer_id owner_of(const survivors_wanted& wanted) {
  return value(wanted.shard);
}

[[nodiscard]] inline list_owner owner_of(const open_list& list) {
  return {list.peer, list.tenant};
}

[[nodiscard]] inline core::peer_id peer_of(core::peer_id peer) {
  return peer;
}

[[nodiscard]] inline core::peer_id peer_of(const list_owner& owner) {
  return owner.peer;
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

/// A list takes a whole turn, then it waits for the next one.
[[nodiscard]] inline std::size_t reads_of(const open_list&) {
  return tuning::list_turn_reads;
}

/// The look-ups that wait for the reader, in one queue for each owner. The owners take turns, each
/// with a bounded part of its queue, so that none waits for all look-ups of another. Used from one
/// thread.
template <class Lookup>
class lookup_queue {
public:
  using owner = decltype(owner_of(std::declval<const Lookup&>()));

  /// Maximum number of records that the look-ups of one turn read, except when a single look-up
  /// reads more. A delivery waits for at most one turn.
  static constexpr std::size_t turn_max = tuning::list_turn_reads;

  void add(Lookup asked) {
    auto of = owner_of(asked);
    auto [at, is_new] = waiting_.try_emplace(of);
    if (is_new)
      turns_.push_back(of);
    at->second.push_back(std::move(asked));
    ++size_;
  }

  /// Takes the next turn: look-ups of one owner, in order; none when the queue is empty.
  [[nodiscard]] std::vector<Lookup> take() {
    if (turns_.empty())
      return {};
    auto of = turns_.front();
    turns_.pop_front();
    auto at = waiting_.find(of);
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
      turns_.push_back(of);
    return taken;
  }

  /// Removes the look-ups of a peer that has ended.
  void drop(core::peer_id peer) {
    size_ -= size_of(peer);
    std::erase_if(waiting_, [&](const auto& entry) { return peer_of(entry.first) == peer; });
    std::erase_if(turns_, [&](const owner& of) { return peer_of(of) == peer; });
  }

  [[nodiscard]] bool has(core::peer_id peer) const { return size_of(peer) > 0; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] std::size_t size_of(core::peer_id peer) const {
    if constexpr (std::is_same_v<owner, core::peer_id>) {
      auto at = waiting_.find(peer);
      return at == waiting_.end() ? 0 : at->second.size();
    } else {
      std::size_t size = 0;
      for (auto at = waiting_.lower_bound({peer, {}});
           at != waiting_.end() && peer_of(at->first) == peer;
           ++at)
        size += at->second.size();
      return size;
    }
  }

private:
  /// No queue in it is empty.
  std::map<owner, std::deque<Lookup>> waiting_;
  /// The owners with queues, the next one first.
  std::deque<owner> turns_;
  std::size_t size_ = 0;
};

} // namespace codeq::coordinator
