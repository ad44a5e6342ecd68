// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/schedule.hpp"

#include "core/commands/operator_command.hpp"
#include "encoding/schema_enums.hpp"
#include "operator.capnp.h"
#include "schedule.capnp.h"

/// The enums in the requests and replies of operators.
namespace codeq::encoding {

template <>
struct names_of<task_change> {
  using ours = task_change;
  using theirs = schema::TaskChange;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::cancel, theirs::CANCEL},
    {ours::promote, theirs::PROMOTE},
    {ours::redrive, theirs::REDRIVE},
    {ours::purge, theirs::PURGE}};
};

template <>
struct names_of<change_result> {
  using ours = change_result;
  using theirs = schema::ChangeResult;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::changed, theirs::CHANGED},
    {ours::requested, theirs::REQUESTED},
    {ours::unchanged, theirs::UNCHANGED},
    {ours::guarded, theirs::GUARDED},
    {ours::key_taken, theirs::KEY_TAKEN},
    {ours::not_found, theirs::NOT_FOUND}};
};

template <>
struct names_of<force_kind> {
  using ours = force_kind;
  using theirs = schema::ForceKind;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::revoke, theirs::REVOKE}, {ours::complete, theirs::COMPLETE}, {ours::fail, theirs::FAIL}};
};

template <>
struct names_of<core::bulk_kind> {
  using ours = core::bulk_kind;
  using theirs = schema::BulkKind;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::redrive, theirs::REDRIVE},
    {ours::purge_dead, theirs::PURGE_DEAD},
    {ours::purge_all, theirs::PURGE_ALL},
    {ours::redrive_listed, theirs::REDRIVE_LISTED},
    {ours::purge_listed, theirs::PURGE_LISTED},
    {ours::count_redrive, theirs::COUNT_REDRIVE},
    {ours::count_purge, theirs::COUNT_PURGE}};
};

template <>
struct names_of<task_reason> {
  using ours = task_reason;
  using theirs = schema::TaskReason;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::deferred, theirs::DEFERRED},
    {ours::retry_waiting, theirs::RETRY_WAITING},
    {ours::gated, theirs::GATED},
    {ours::blocked, theirs::BLOCKED},
    {ours::queue_paused, theirs::QUEUE_PAUSED},
    {ours::no_worker, theirs::NO_WORKER},
    {ours::queue_at_max_leased, theirs::QUEUE_AT_MAX_LEASED},
    {ours::no_free_slots, theirs::NO_FREE_SLOTS},
    {ours::next, theirs::NEXT},
    {ours::leased, theirs::LEASED},
    {ours::completed, theirs::COMPLETED},
    {ours::dead, theirs::DEAD},
    {ours::cancelled, theirs::CANCELLED},
    {ours::limited, theirs::LIMITED},
    {ours::fairness, theirs::FAIRNESS}};
};

template <>
struct names_of<task_event::kind> {
  using ours = task_event::kind;
  using theirs = schema::TaskEventKind;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::enqueued, theirs::ENQUEUED},
    {ours::granted, theirs::GRANTED},
    {ours::completed, theirs::COMPLETED},
    {ours::failed, theirs::FAILED},
    {ours::failed_permanently, theirs::FAILED_PERMANENTLY},
    {ours::nacked, theirs::NACKED},
    {ours::abandoned, theirs::ABANDONED},
    {ours::lost, theirs::LOST},
    {ours::revoked, theirs::REVOKED},
    {ours::cancel_requested, theirs::CANCEL_REQUESTED},
    {ours::cancelled, theirs::CANCELLED},
    {ours::rescheduled, theirs::RESCHEDULED},
    {ours::redriven, theirs::REDRIVEN},
    {ours::forced_to_complete, theirs::FORCED_TO_COMPLETE},
    {ours::forced_to_fail, theirs::FORCED_TO_FAIL},
    {ours::timed_out, theirs::TIMED_OUT},
    {ours::payload_replaced, theirs::PAYLOAD_REPLACED},
    {ours::limited, theirs::LIMITED}};
};

template <>
struct names_of<task_event::author> {
  using ours = task_event::author;
  using theirs = schema::TaskEventAuthor;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::coordinator, theirs::COORDINATOR},
    {ours::producer, theirs::PRODUCER},
    {ours::worker, theirs::WORKER},
    {ours::operator_user, theirs::OPERATOR_USER}};
};

template <>
struct names_of<operator_action> {
  using ours = operator_action;
  using theirs = schema::OperatorAction;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::cancel, theirs::CANCEL},
    {ours::promote, theirs::PROMOTE},
    {ours::redrive, theirs::REDRIVE},
    {ours::purge, theirs::PURGE},
    {ours::force_revoke, theirs::FORCE_REVOKE},
    {ours::force_complete, theirs::FORCE_COMPLETE},
    {ours::force_fail, theirs::FORCE_FAIL},
    {ours::queue_set, theirs::QUEUE_SET},
    {ours::queue_pause, theirs::QUEUE_PAUSE},
    {ours::queue_resume, theirs::QUEUE_RESUME},
    {ours::dead_redrive, theirs::DEAD_REDRIVE},
    {ours::dead_purge, theirs::DEAD_PURGE},
    {ours::queue_purge, theirs::QUEUE_PURGE},
    {ours::tenant_purge, theirs::TENANT_PURGE},
    {ours::backup, theirs::BACKUP},
    {ours::schedule_set, theirs::SCHEDULE_SET},
    {ours::schedule_pause, theirs::SCHEDULE_PAUSE},
    {ours::schedule_resume, theirs::SCHEDULE_RESUME},
    {ours::schedule_delete, theirs::SCHEDULE_DELETE},
    {ours::schedule_run, theirs::SCHEDULE_RUN},
    {ours::schedule_backfill, theirs::SCHEDULE_BACKFILL},
    {ours::log_level, theirs::LOG_LEVEL},
    {ours::limit_set, theirs::LIMIT_SET},
    {ours::limit_delete, theirs::LIMIT_DELETE},
    {ours::limit_close, theirs::LIMIT_CLOSE},
    {ours::limit_open, theirs::LIMIT_OPEN},
    {ours::cluster_change, theirs::CLUSTER_CHANGE},
    {ours::worker_drain, theirs::WORKER_DRAIN},
    {ours::worker_resume, theirs::WORKER_RESUME}};
};

template <>
struct names_of<schedule_result> {
  using ours = schedule_result;
  using theirs = schema::ScheduleResult;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::unchanged, theirs::UNCHANGED},
    {ours::created, theirs::CREATED},
    {ours::changed, theirs::CHANGED},
    {ours::deleted, theirs::DELETED},
    {ours::fired, theirs::FIRED}};
};

template <>
struct names_of<occurrence_state> {
  using ours = occurrence_state;
  using theirs = schema::OccurrenceState;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::running, theirs::RUNNING},
    {ours::completed, theirs::COMPLETED},
    {ours::dead, theirs::DEAD},
    {ours::cancelled, theirs::CANCELLED},
    {ours::ended, theirs::ENDED},
    {ours::skipped_overlap, theirs::SKIPPED_OVERLAP},
    {ours::skipped_misfire, theirs::SKIPPED_MISFIRE},
    {ours::waiting, theirs::WAITING}};
};

template <>
struct names_of<occurrence_cause> {
  using ours = occurrence_cause;
  using theirs = schema::OccurrenceCause;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::due, theirs::DUE},
    {ours::run_now, theirs::RUN_NOW},
    {ours::backfill, theirs::BACKFILL}};
};

template <>
struct names_of<backup_state> {
  using ours = backup_state;
  using theirs = schema::BackupState;
  static constexpr same_value<ours, theirs> all[] = {
    {ours::none, theirs::NONE},
    {ours::running, theirs::RUNNING},
    {ours::done, theirs::DONE},
    {ours::failed, theirs::FAILED}};
};

} // namespace codeq::encoding
