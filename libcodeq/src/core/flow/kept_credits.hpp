// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "core/commands/operator_command.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace codeq::core {

/// The credits of workers that are kept for queues whose slots are asked for. So slots are asked
/// for only as far as credits are there, over all queues of a worker, and a slot that comes finds
/// its credit. Volatile.
///
/// Costs are logarithmic in the number of queues and workers that have kept credits.
class kept_credits {
public:
  struct term {
    monotonic_time until{};
    /// They are kept until then although the owner has answered.
    monotonic_time patient_until{};
  };

  [[nodiscard]] bool empty() const noexcept { return by_queue_.empty(); }

  /// Keeps credits for the queue, for that term; those that were kept for it before are kept as
  /// long.
  void keep(std::uint32_t queue, peer_id peer, std::uint32_t count, const term& of);

  /// Leases of the queue used credits of the peer.
  void use(std::uint32_t queue, peer_id peer, std::uint32_t count);

  /// Number of the peer's credits that are kept for any queue, and for other queues than this.
  [[nodiscard]] std::uint32_t kept_of(peer_id peer) const;
  [[nodiscard]] std::uint32_t kept_for_others(std::uint32_t queue, peer_id peer) const;

  /// Number of credits that are kept for the queue.
  [[nodiscard]] std::uint64_t kept_for(std::uint32_t queue) const;

  /// The queues for which `is_over(queue, term)`.
  template <class Condition>
  [[nodiscard]] std::vector<std::uint32_t> find_if(Condition&& is_over) const {
    std::vector<std::uint32_t> found;
    for (const auto& [queue, entry] : by_queue_)
      if (is_over(queue, entry.of))
        found.push_back(queue);
    return found;
  }

  /// Nothing is kept for the queue any more. Returns the peers whose credits were.
  std::vector<peer_id> end(std::uint32_t queue);

  /// The peer is gone, or claims from other queues.
  void forget(peer_id peer);

  /// The next time at which some may be over; empty when there are none.
  [[nodiscard]] std::optional<monotonic_time> next_end(monotonic_time now) const;

private:
  struct entry {
    term of{};
    std::map<peer_id, std::uint32_t> credits{};
  };

  void take_off(peer_id peer, std::uint32_t count);

  std::map<std::uint32_t, entry> by_queue_;
  std::map<peer_id, std::uint32_t> by_peer_;
};

} // namespace codeq::core
