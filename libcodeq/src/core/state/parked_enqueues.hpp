// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "base/fair_share.hpp"
#include "core/commands/command.hpp"
#include "core/tables/key_index.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::core {

/// Enqueues that wait for a moment, until another shard has said whether their queue has room. They
/// are answered in a later turn. Those of one queue keep their order. Volatile: nothing of them is
/// acknowledged, so a producer sends them again.
class parked_enqueues {
public:
  /// A request is parked no longer than this, so that the loss of a coordinator is a delay.
  static constexpr duration wait_max{3'000};
  /// Bytes of the parked requests of one queue, which one large request may exceed, and of all
  /// queues. A tenant may have as many as are left for others.
  static constexpr std::uint64_t queue_bytes_max = std::uint64_t{1} << 20;
  static constexpr std::uint64_t shard_bytes_max = std::uint64_t{16} << 20;
  /// A request counts so many bytes beside its runs. It takes less memory; each turn looks at the
  /// first one of each queue, so that their number has to be small.
  static constexpr std::uint64_t request_bytes = 4096;

  struct parked {
    enqueue request;
    monotonic_time until{};
    /// Number of its tasks in the queue that it waits for.
    std::uint64_t tasks = 0;
    /// The store's answers for the keys of its tasks.
    std::vector<std::pair<key_id, retained_key>> recalled{};
    /// The store has changed since: its answers do not count.
    bool is_stale = false;
  };

  /// The request waits behind the others of the queue. Returns false when there is no room for it.
  bool park(std::uint32_t queue, parked what);

  [[nodiscard]] bool contains(const request_id& request) const;

  /// A request that waits was sent again: its answer goes to this peer. @pre contains(request)
  void answer_to(const request_id& request, peer_id peer);

  [[nodiscard]] bool is_waiting(std::uint32_t queue) const { return queues_.contains(queue); }

  /// Nothing waits.
  [[nodiscard]] bool empty() const noexcept { return queues_.empty(); }

  /// The request of the queue that came first; null: none waits.
  [[nodiscard]] const parked* first(std::uint32_t queue) const;

  /// @pre is_waiting(queue)
  [[nodiscard]] parked take_first(std::uint32_t queue);

  /// Takes those of the queue that meet the condition, in order.
  template <class Condition>
  [[nodiscard]] std::vector<parked> take_if(std::uint32_t queue, Condition meets) {
    std::vector<parked> taken;
    auto at = queues_.find(queue);
    if (at == queues_.end())
      return taken;
    for (auto one = at->second.requests.begin(); one != at->second.requests.end();) {
      auto next = std::next(one);
      if (meets(std::as_const(*one)))
        taken.push_back(take(at->second, one));
      one = next;
    }
    if (at->second.requests.empty())
      queues_.erase(at);
    return taken;
  }

  /// The queues with requests.
  [[nodiscard]] std::vector<std::uint32_t> queues() const;

  /// The store may know other tasks of keys than before.
  void note_closed_keys();

  /// When the first one has waited for too long.
  [[nodiscard]] std::optional<monotonic_time> next_end() const;

  /// The turn has no room for further tasks, so that the next one is to look at what waits.
  void put_off() noexcept { is_put_off_ = true; }
  void begin_look() noexcept { is_put_off_ = false; }

  /// When to look at what waits if nothing else happens.
  [[nodiscard]] std::optional<monotonic_time> next_look() const {
    return is_put_off_ ? std::optional(monotonic_time{}) : next_end();
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return shares_.used(); }

private:
  using request_name = std::pair<producer_id, std::uint64_t>;

  struct line {
    std::list<parked> requests{};
    std::uint64_t bytes = 0;
  };

  [[nodiscard]] static request_name name_of(const request_id& request);
  [[nodiscard]] parked take(line& from, std::list<parked>::iterator at);

  std::map<std::uint32_t, line> queues_;
  std::map<request_name, std::list<parked>::iterator> names_;
  std::multiset<monotonic_time> ends_;
  base::fair_share shares_{shard_bytes_max};
  bool is_put_off_ = false;
};

} // namespace codeq::core
