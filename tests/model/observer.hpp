// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/turn/turn.hpp"

#include <map>
#include <string>
#include <vector>

namespace codeq::model {

/// What a sealed turn said, sorted by how it is checked.
struct observed_turn {
  /// Lines that the reference must expect, word for word; their order does not matter.
  std::vector<std::string> lines;
  /// Grants of this turn, without redeliveries; the reference checks them by rules.
  std::vector<core::tasks_granted> grants;
  /// Timers: expected ones answer a hint, the others are checked by the age of their leases.
  std::vector<core::timer_wanted> timers;
  /// Answers that the reference checks by rules.
  std::vector<core::tasks_listed> listed;
  /// In their order; where they end is checked by rules.
  std::vector<core::bulk_answered> parts;
  /// Follow-ups for other shards; only the core knows under which numbers.
  std::vector<core::deliver_follow_ups> deliveries;
};

/// Puts a turn's effects into words. Remembers the fates of closed segments, as the store would, so
/// that a question about a task that left the memory has the answer that a reader would give.
class observer {
public:
  [[nodiscard]] observed_turn observe(const core::sealed_turn& turn);

  /// Forgets the fates of turns that were lost: their segments are in memory again.
  void go_back_to(core::shard_state& state);

private:
  void see(const core::enqueue_answered& e);
  void see(const core::tasks_granted& e);
  void see(const core::claim_parked& e);
  void see(const core::work_available& e);
  void see(const core::credits_revoked& e);
  void see(const core::reports_answered& e);
  void see(const core::deliver_follow_ups& e);
  void see(const core::follow_ups_taken& e);
  void see(const core::checkpoints_saved& e);
  void see(const core::leases_lost& e);
  void see(const core::resumed& e);
  void see(const core::cancel_wanted& e);
  void see(const core::change_answered& e);
  void see(const core::bulk_answered& e);
  void see(const core::timer_wanted& e);
  void see(const core::timer_dropped& e);
  void see(const core::task_described& e);
  void see(const core::task_explained& e);
  void see(const core::queue_answered& e);
  void see(const core::tasks_listed& e);
  void see(const core::progress_told& e);
  void see(const core::task_not_here& e);
  void remember_fates(const core::sealed_turn& turn);

  observed_turn seen_;

  struct known_fate {
    queue_address queue;
    core::task_entry entry;
  };

  [[nodiscard]] const core::task_entry* find_fate(const core::task_not_here& e) const;

  std::map<sequence, known_fate> fates_;
};

} // namespace codeq::model
