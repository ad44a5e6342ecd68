// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/audit/auditor.hpp"
#include "sim/operator_process.hpp"
#include "sim/world.hpp"

#include <vector>

namespace codeq::sim {

/// Random operator requests.
class meddling {
public:
  meddling(world& all, auditor& audit, operator_process& who)
    : world_(all), auditor_(audit), operator_(who) {}

  /// Makes one random request.
  void meddle();

  /// Reverts pauses and limits, which would keep tasks from ending.
  void relent();

private:
  void change_task();
  void change_by_key();
  void force_task();
  void change_queue();
  /// Settings for a queue whose tasks may have limits in runs with limits.
  [[nodiscard]] queue_config some_settings();

  world& world_;
  auditor& auditor_;
  operator_process& operator_;
};

} // namespace codeq::sim
