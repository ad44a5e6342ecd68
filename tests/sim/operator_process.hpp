// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/auditor.hpp"
#include "sim/peer_link.hpp"
#include "sim/world.hpp"

#include <map>
#include <utility>

namespace codeq::sim {

/// Somebody who changes tasks by chance: cancels, promotes, redrives. What is not answered when the
/// connection ends is not asked again, so that nobody knows what became of it.
class operator_process {
public:
  operator_process(world& all, network& net, auditor& audit);

  /// Asks for one change; nothing happens without a connection.
  void ask(const task_id& task, task_change what);

private:
  void take(const protocol::wire_frame& frame);

  world& world_;
  auditor& auditor_;
  process process_;
  peer_link link_;
  std::map<std::uint64_t, std::pair<task_id, task_change>> asked_;
  std::uint64_t next_number_ = 1;
};

} // namespace codeq::sim
