// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/audit/auditor.hpp"
#include "sim/operator_process.hpp"
#include "sim/schedules/tick_rule.hpp"
#include "sim/world.hpp"

#include <map>
#include <optional>
#include <string>

namespace codeq::sim {

/// Random requests for schedules, from a stream of random numbers of their own.
class schedule_meddling {
public:
  schedule_meddling(world& all, auditor& audit, operator_process& who)
    : world_(all), auditor_(audit), operator_(who) {}

  /// Makes random requests from now on, until `wind_up`.
  void start();

  /// Lets the schedules fire for a while without requests, then deletes all of them.
  void wind_up();

  /// True when all schedules were deleted.
  [[nodiscard]] bool is_over() const { return is_over_; }

private:
  void go_on();
  void meddle();
  void set();
  void change(schedule_action what);
  void backfill();
  void look();
  void delete_all();

  world& world_;
  auditor& auditor_;
  operator_process& operator_;
  /// The latest wish for each schedule, and the payload of its tasks.
  std::map<std::string, std::pair<tick_wish, std::string>> wishes_;
  bool is_winding_up_ = false;
  bool is_over_ = false;
};

} // namespace codeq::sim
