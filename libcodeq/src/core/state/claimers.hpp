// SPDX-License-Identifier: Apache-2.0
#pragma once

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

} // namespace codeq::core
