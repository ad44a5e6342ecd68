// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"
#include "schedule/nominal_time.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::schedule {

/// Zones and rules are computed from 1970-01-01T00:00:00Z to 2200-01-01T00:00:00Z. No occurrence is
/// before or after them.
inline constexpr sys_seconds computed_from{};
inline constexpr sys_seconds horizon{std::chrono::sys_days{std::chrono::year{2200} / 1 / 1}};

/// Largest distance between local time and UTC that a zone may have; it bounds how far apart the
/// two local times of one instant can be.
inline constexpr std::chrono::seconds offset_max = std::chrono::hours{26};

/// The offset of local time from UTC during a span of time.
struct zone_span {
  sys_seconds begin;
  sys_seconds end;
  std::chrono::seconds offset{0};

  [[nodiscard]] local_seconds local_begin() const {
    return local_seconds{begin.time_since_epoch() + offset};
  }

  [[nodiscard]] local_seconds local_end() const {
    return local_seconds{end.time_since_epoch() + offset};
  }

  friend bool operator==(const zone_span&, const zone_span&) = default;
};

/// The offsets of one zone up to the horizon. Immutable; its spans touch each other
/// and neighbours differ in their offset.
class time_zone {
public:
  /// @pre spans cover the time from `computed_from` to `horizon` without gaps
  time_zone(std::string name, std::vector<zone_span> spans);

  /// A zone with one offset for all times.
  [[nodiscard]] static time_zone of_offset(std::string name, std::chrono::seconds offset);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  [[nodiscard]] const std::vector<zone_span>& spans() const noexcept { return spans_; }

  /// The index of the span that contains an instant.
  [[nodiscard]] std::size_t index_at(sys_seconds when) const;

  [[nodiscard]] local_seconds to_local(sys_seconds when) const;

  /// An instant with the zone's local time and offset: `2026-10-25T02:30:00+01:00`.
  [[nodiscard]] std::string text_of(timestamp when) const;

  friend bool operator==(const time_zone&, const time_zone&) = default;

private:
  std::string name_;
  std::vector<zone_span> spans_;
};

using zone_ptr = std::shared_ptr<const time_zone>;

/// `UTC`, `Z`, or an offset `+hh:mm` or `-hh:mm` below 24 hours; empty for other names, which only
/// zone files know.
[[nodiscard]] std::optional<time_zone> zone_without_file(std::string_view name);

} // namespace codeq::schedule
