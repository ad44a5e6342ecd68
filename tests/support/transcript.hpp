// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/effect.hpp"

#include <map>
#include <string>
#include <vector>

namespace codeq::test {

/// Writes effects as one line that reads like a scenario. `w: got 1/t1 2/t2@3; w: parked` means:
/// worker w got the first task under the first token, and the second task, at attempt 3, under the
/// second token; then its claim was parked. Tasks and tokens are numbered from 1 in each epoch;
/// `2.1` is the first of epoch 2.
class transcript {
public:
  /// Times are shown in milliseconds since `start`.
  transcript(const std::map<core::peer_id, std::string>& names, const instant& start)
    : names_(names), start_(start.steady), start_shard_(start.shard) {}

  /// Adds a line for the effect.
  void add(const core::effect& e);

  /// All lines so far, joined by "; ".
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
  void say(const core::enqueue_answered& e);
  void say(const core::tasks_granted& e);
  void say(const core::claim_parked& e);
  void say(const core::work_available& e);
  void say(const core::credits_revoked& e);
  void say(const core::claim_outranked& e);
  void say(const core::reports_answered& e);
  void say(const core::deliver_follow_ups& e);
  void say(const core::follow_ups_taken& e);
  void say(const core::checkpoints_saved& e);
  void say(const core::leases_lost& e);
  void say(const core::resumed& e);
  void say(const core::cancel_wanted& e);
  void say(const core::change_answered& e);
  void say(const core::bulk_answered& e);
  void say(const core::timer_wanted& e);
  void say(const core::timer_dropped& e);
  /// For the log only, so that it is left out.
  void say(const core::leases_expired&) {}
  void say(const core::breaker_tripped& e);
  void say(const core::task_described& e);
  void say(const core::progress_told& e);
  void say(const core::schedule_answered& e);
  void say(const core::schedules_listed& e);
  void say(const core::shard_told& e);
  void say(const core::occurrence_noted& e);
  void say(const core::task_explained& e);
  void say(const core::queue_answered& e);
  void say(const core::limits_answered& e);
  void say(const core::limit_keys_met& e);
  void say(const core::tasks_listed& e);
  void say(const core::audit_wanted& e);
  void say(const core::task_not_here& e);
  void line(const std::string& words);
  void line(core::peer_id peer, const std::string& words);

  const std::map<core::peer_id, std::string>& names_;
  monotonic_time start_;
  timestamp start_shard_;
  std::string text_;
};

/// A sequence, token or position as a transcript shows it.
[[nodiscard]] std::string short_number(std::uint64_t number);

} // namespace codeq::test
