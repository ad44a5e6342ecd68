// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/cron.hpp"
#include "schedule/rule.hpp"
#include "schedule/time_zone.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace codeq::schedule {

/// A nominal time and its instant.
struct zone_match {
  nominal_time nominal;
  sys_seconds at;
};

/// Walks the local times of a zone in the order of their instants: span by span, and within each
/// span by local time.
class zone_walk {
public:
  /// @pre `zone` outlives this
  zone_walk(const time_zone& zone, gap_policy gap, fold_policy fold)
    : zone_(zone), gap_(gap), fold_(fold) {}

  /// The first match in [from, until).
  [[nodiscard]] std::optional<zone_match>
  first(const cron_expression& cron, sys_seconds from, sys_seconds until) const;

  /// The number of matches in [from, until).
  [[nodiscard]] std::uint64_t
  count(const cron_expression& cron, sys_seconds from, sys_seconds until) const;

  /// An instant before which no nominal time after `mark` is; the instant of `mark` itself if the
  /// zone has it.
  [[nodiscard]] sys_seconds earliest_from(const nominal_time& mark) const;

  /// The nominal time that a clock shows.
  [[nodiscard]] nominal_time nominal_at(sys_seconds when) const;

private:
  /// Local times [begin, end) of a span that fire; the end of the fold when it is the second time.
  struct piece {
    local_seconds begin{};
    local_seconds end{};
    std::optional<local_seconds> second_until{};
  };

  /// The pieces of a span in order; empty ones do not fire.
  [[nodiscard]] std::array<piece, 3> pieces_of(std::size_t index) const;
  /// Where the span before ended; the span's own begin for the first span.
  [[nodiscard]] local_seconds end_before(std::size_t index) const;
  /// What fires at the beginning of a span for the gap before it.
  [[nodiscard]] std::optional<zone_match>
  match_of_gap(const cron_expression& cron, std::size_t index) const;

  const time_zone& zone_;
  gap_policy gap_;
  fold_policy fold_;
};

} // namespace codeq::schedule
