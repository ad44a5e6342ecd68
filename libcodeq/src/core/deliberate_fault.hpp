// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace codeq::core {

/// Errors that nobody should make, kept in the code so that the tests prove that they would notice:
/// `tests/sim` compiles the layers once more with `CODEQ_DELIBERATE_FAULTS` and commits one fault
/// after the other. In every other build none of this leaves a trace.
enum class deliberate_fault : std::uint8_t {
  none,
  // What the shell owes.
  reply_before_commit,
  fate_before_outcome,
  turn_written_in_parts,
  wall_clock_expiry,
  // Leases.
  stale_token_accepted,
  token_reused_after_restart,
  beat_extends_nothing,
  expiry_ignores_extension,
  beat_outlives_run_timeout,
  lease_never_expires,
  recovered_lease_expires_at_once,
  resume_skips_redelivery,
  replaced_worker_keeps_leases,
  goodbye_keeps_leases,
  leased_after_goodbye,
  stale_report_confirmed,
  // Attempts and retries.
  attempt_uncharged,
  abandon_charged,
  goodbye_charges,
  last_attempt_skipped,
  one_attempt_too_many,
  permanent_failure_retried,
  retry_before_due,
  task_released_early,
  deferral_forgotten,
  first_loss_delayed,
  second_loss_at_once,
  // Groups.
  group_gate_not_opened,
  group_member_skipped,
  dead_head_does_not_block,
  group_leased_twice,
  // What operators do.
  cancel_lost_at_expiry,
  cancelled_although_completed,
  cancel_notice_not_repeated,
  leased_task_promoted,
  guard_ignored_by_promotion,
  dead_task_dropped,
  redrive_keeps_attempts,
  // Storage and liveness.
  request_executed_twice,
  ends_counted_twice,
  outcome_of_another_task,
  request_forgotten_by_checkpoint,
  shard_time_goes_back,
  waiting_worker_not_woken,
  ending_not_told,
  lower_priority_first,
  // Follow-ups.
  follow_ups_forgotten,
  follow_ups_of_a_repeat,
  follow_ups_lost_by_restart,
  outbox_delivered_twice,
  // Checkpoints of tasks.
  stale_checkpoint_kept,
  overtaken_checkpoint_kept,
  checkpoint_acknowledged_only,
  checkpoint_not_handed_on,
  checkpoint_kept_for_ever,
  checkpoint_lost_by_restart,
  // Keys.
  key_written_later,
  retained_key_not_written,
  key_kept_too_long,
  key_freed_too_early,
  purged_key_kept,
  duplicate_creates_record,
  earlier_time_taken_by_defer,
  guard_ignored_by_duplicate,
  leased_record_changed,
  retry_cleared_by_duplicate,
  leased_body_replaced,
  body_not_replaced,
  old_body_delivered,
  replaced_body_lost_by_restart,
  key_taken_ignored_by_redrive,
  repeated_answer_differs,
  keyed_answer_forgotten,
  refused_request_executed,
  // Queues.
  paused_queue_granted,
  pause_lost_by_restart,
  max_leased_ignored,
  max_depth_ignored,
  queue_defaults_ignored,
  // Purge and force.
  purge_leaves_tasks,
  purge_takes_other_queues,
  purged_lease_kept,
  purge_lost_by_restart,
  force_keeps_lease,
  force_forgotten,
  retry_kept_by_promotion,
  // Retention.
  filter_past_synced_position,
  counter_outside_batch,
  /// No fault: how many there are.
  end,
};

#ifdef CODEQ_DELIBERATE_FAULTS

/// The fault that is committed from now on.
inline deliberate_fault active_fault = deliberate_fault::none;

[[nodiscard]] inline bool is_active(deliberate_fault fault) noexcept {
  return fault == active_fault;
}

#else

[[nodiscard]] constexpr bool is_active(deliberate_fault) noexcept {
  return false;
}

#endif

} // namespace codeq::core
