// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/rfc3339.hpp"
#include "schedule/timetable.hpp"
#include "schedule/zone_store.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace codeq::schedule {

/// The zones of this machine.
inline zone_ptr zone_of(const std::string& name) {
  static zone_store zones;
  auto found = zones.find(name);
  return found ? *found : throw std::runtime_error(found.error().context);
}

inline timetable times_of(const std::string& line, const std::string& name = "test/nightly") {
  auto parsed = parse_rule(line);
  if (!parsed)
    throw std::runtime_error(parsed.error().context);
  auto zone = zone_of(parsed->zone);
  auto made = timetable::make(std::move(*parsed), zone, name);
  return made ? *made : throw std::runtime_error(made.error().context);
}

inline timestamp at(const std::string& text) {
  return base::parse_rfc3339(text).value();
}

/// Nominal time and instant of each occurrence, one a line.
inline std::string lines(const timetable& times, const std::vector<occurrence>& all) {
  std::string text;
  for (const auto& each : all)
    text += to_string(each.nominal) + " at " + times.zone()->text_of(each.due) + "\n";
  return text;
}

} // namespace codeq::schedule
