// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/commands/command.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

namespace codeq::core {

/// The kind of change that a claimer waits for. A turn considers only the claimers that wait for
/// its changes.
enum class claimer_need : std::uint8_t {
  /// It has open credits.
  tasks,
  /// It has no open credits, and was not notified of ready tasks since its last claim.
  news,
  /// It has no open credits and was notified of ready tasks, so it acts next.
  nothing,
};

inline constexpr std::array all_needs{
  claimer_need::tasks, claimer_need::news, claimer_need::nothing};

/// A peer that claims from a queue. Claimers are ordered by the number of their arrival, which
/// comes first.
using claimer = std::pair<std::uint64_t, peer_id>;

/// The claimers of one queue, grouped by what they wait for, so that a turn only visits those that
/// it may affect. Every operation is logarithmic in the number of claimers.
class queue_claimers {
public:
  void add(const claimer& who, claimer_need need) { part(need).insert(who); }

  void remove(const claimer& who, claimer_need need) { part(need).erase(who); }

  /// @pre `who` is in `from`
  void move(const claimer& who, claimer_need from, claimer_need to) {
    part(to).insert(part(from).extract(who));
  }

  /// In order of arrival.
  [[nodiscard]] const std::set<claimer>& waiting_for(claimer_need need) const {
    return parts_[static_cast<std::size_t>(need)];
  }

  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const auto& one : parts_)
      sum += one.size();
    return sum;
  }

private:
  [[nodiscard]] std::set<claimer>& part(claimer_need need) {
    return parts_[static_cast<std::size_t>(need)];
  }

  std::array<std::set<claimer>, 3> parts_;
};

struct attached_worker;
struct queue_state;
struct shard_state;

/// The workers that claim from all queues whose names begin with a prefix, and those queues that
/// have ready tasks. A worker is listed here once, and not at each queue, so that the number of
/// queues that a prefix matches costs nothing per task. Volatile.
struct prefix_claims {
  queue_claimers claimers;
  /// The number of the turn that leased tasks of the queue last, and the queue's index.
  std::set<std::pair<std::uint64_t, std::uint32_t>> busy;
};

/// A worker's membership of `prefix_claims`.
struct claimed_prefix {
  /// `queue` is the prefix.
  queue_address name;
  prefix_claims* claims = nullptr;
};

/// Adds the worker to the claims of a prefix. The first worker links them to the queues that exist,
/// in time linear in the number of the tenant's queues; the last one that leaves takes as long.
[[nodiscard]] prefix_claims* join_prefix(
  shard_state& state, const queue_address& prefix, const claimer& who, claimer_need need);

/// Removes the worker; the last one removes the claims.
void leave_prefix(
  shard_state& state, const claimed_prefix& prefix, const claimer& who, claimer_need need);

/// Links a new queue to the prefixes that match it.
void link_prefixes(shard_state& state, std::uint32_t queue);

// The queue has ready tasks from now on, or none any more.
void list_busy(queue_state& queue, std::uint32_t index);
void unlist_busy(queue_state& queue, std::uint32_t index);

/// What a turn did for a queue. The next turn serves a queue that was tried in vain, for example
/// because another queue took the last slot of a limit, before the queues that were granted tasks.
enum class service : std::uint8_t { tried, granted };

void note_service(queue_state& queue, std::uint32_t index, std::uint64_t turn, service done);

/// True when tasks of the queue may be leased to the worker because of its prefixes.
[[nodiscard]] bool takes_by_prefix(const attached_worker& worker, const queue_state& queue);

struct claimer_counts {
  std::size_t all = 0;
  /// With open credits, and room for tasks of the queue.
  std::size_t free = 0;
};

/// The workers that serve the queue, by its name or by a prefix, also those that take no tasks of
/// it for now.
[[nodiscard]] claimer_counts count_claimers(const shard_state& state, const queue_state& queue);

} // namespace codeq::core
