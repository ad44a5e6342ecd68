// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/turn/turn.hpp"

#include <map>
#include <string>
#include <vector>

namespace codeq::model {

/// The effects of a sealed turn, sorted by how they are checked.
struct observed_turn {
  /// Lines that the reference must expect, word for word, in any order.
  std::vector<std::string> lines;
  /// Grants of this turn, without redeliveries; the reference checks them by rules.
  std::vector<core::tasks_granted> grants;
  /// Timers. Those that answer a hint are expected; the others are checked by their leases' age.
  std::vector<core::timer_wanted> timers;
  /// Answers that the reference checks by rules.
  std::vector<core::tasks_listed> listed;
  /// In order; the positions where they end are checked by rules.
  std::vector<core::bulk_answered> parts;
  /// Follow-ups for other shards; the core chooses their numbers.
  std::vector<core::deliver_follow_ups> deliveries;
};

/// Converts a turn's effects to lines of text. Remembers the fates of closed segments, as the store
/// does, so that a query for a task that is no longer in memory gets the answer of a reader.
class observer {
public:
  [[nodiscard]] observed_turn observe(const core::sealed_turn& turn);

  /// Sequences below which all tasks of a queue were purged.
  struct purge_notes {
    std::map<queue_address, sequence> purged_below;
    /// Removed queues, with the tasks that need no mark any more.
    std::map<queue_address, sequence> expired_below;
  };

  [[nodiscard]] const purge_notes& purges() const noexcept { return purges_; }

  /// Drops the fates of turns that were lost: their segments are in memory again. `purges`: as of
  /// the last turn that was not lost.
  void go_back_to(core::shard_state& state, const purge_notes& purges);

private:
  void see(const core::enqueue_answered& e);
  void see(const core::tasks_granted& e);
  void see(const core::claim_parked& e);
  void see(const core::work_available& e);
  void see(const core::credits_revoked& e);

  /// The model's shards have no neighbours.
  void see(const core::claim_outranked&) {}

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

  /// For the log only.
  void see(const core::leases_expired&) {}
  void see(const core::breaker_tripped& e);
  void see(const core::task_described& e);
  void see(const core::task_explained& e);
  void see(const core::queue_answered& e);
  void see(const core::tasks_listed& e);

  /// No command asks for the audit log.
  void see(const core::audit_wanted&) {}

  void see(const core::schedule_answered&) {}
  void see(const core::schedules_listed&) {}
  void see(const core::limits_answered&) {}
  void see(const core::limit_keys_met&) {}
  void see(const core::shard_told&) {}
  void see(const core::occurrence_noted&) {}
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
  purge_notes purges_;
};

} // namespace codeq::model
