// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/command.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

namespace codeq::core {

/// What a claimer waits for: says which turns have to look at it when they end.
enum class claimer_need : std::uint8_t {
  /// It has open credits.
  tasks,
  /// It has no open credits, and was not told of work since it claimed.
  news,
  /// It has no open credits and knows that there is work, so the next word is its own.
  nothing,
};

/// A peer that claims from a queue, behind the number of its arrival, by which they are ordered.
using claimer = std::pair<std::uint64_t, peer_id>;

/// Those who claim from one queue, apart by what they wait for, so that a turn walks past none to
/// whom it has nothing to say. Every operation is logarithmic in the claimers.
class queue_claimers {
public:
  void add(const claimer& who, claimer_need need) { part(need).insert(who); }

  void remove(const claimer& who, claimer_need need) { part(need).erase(who); }

  /// @pre `who` is one of those in `from`
  void move(const claimer& who, claimer_need from, claimer_need to) {
    part(to).insert(part(from).extract(who));
  }

  /// In order of their arrival.
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
