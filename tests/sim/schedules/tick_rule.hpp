// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/schedule.hpp"
#include "codeq/time.hpp"

#include "schedule/nominal_time.hpp"
#include "schedule/zone_store.hpp"
#include "sim/chance.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::sim {

/// Name of a zone whose clocks are turned by a few seconds, in both directions, within a run.
inline const std::string turned_zone = "Sim/Turned";

/// Zones of UTC, fixed offsets and `turned_zone`.
[[nodiscard]] std::shared_ptr<schedule::zone_store> sim_zones();

/// A time at which a schedule fires.
struct tick {
  schedule::nominal_time nominal;
  timestamp due;
};

/// A rule that fires every few seconds.
struct tick_rule {
  /// With a period every so many seconds, else in each minute at the seconds that it divides.
  bool is_period = false;
  std::int64_t step = 1;
  std::string zone = "UTC";
  bool skips_gaps = false;
  /// 0: the first of two times, 1: the last, 2: both.
  int fold = 0;
  /// Second of UTC from which it does not fire any more.
  std::optional<std::int64_t> end{};

  /// The same as users write it.
  [[nodiscard]] std::string text() const;

  /// True when the nominal times of both rules are times of the same clock.
  [[nodiscard]] bool shares_clock(const tick_rule& other) const {
    return is_period == other.is_period && (is_period || zone == other.zone);
  }

  /// All ticks after a nominal time that are due before an instant, in order. Looks at each second,
  /// and shares no code with the coordinator.
  [[nodiscard]] std::vector<tick>
  after(const schedule::nominal_time& mark, timestamp until) const;

  /// All ticks that are due in [from, until).
  [[nodiscard]] std::vector<tick> between(timestamp from, timestamp until) const;

private:
  void add_at(std::int64_t second, std::vector<tick>& to) const;
  void add_cron(std::int64_t second, std::vector<tick>& to) const;
  [[nodiscard]] bool matches(std::int64_t local) const { return local % 60 % step == 0; }
};

/// A schedule as the workload sets it.
struct tick_wish {
  tick_rule rule;
  misfire_policy misfire = misfire_policy::latest;
  duration catch_up{0};
  overlap_policy overlap = overlap_policy::skip;
  /// Its tasks have a key, so an occurrence may find the task of an earlier one.
  bool has_key = false;
};

/// The queue of the tasks of schedules.
inline const std::string tick_queue = "t";

[[nodiscard]] tick_wish some_wish(chance& random, timestamp now);

/// The schedule that a wish asks for; `payload` is that of its tasks.
[[nodiscard]] schedule_spec
spec_of(const tick_wish& wish, const std::string& name, const std::string& payload);

} // namespace codeq::sim
