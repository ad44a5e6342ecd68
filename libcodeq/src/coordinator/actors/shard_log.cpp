// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/shard_log.hpp"

#include "observe/log.hpp"

#include <utility>

namespace codeq::coordinator {

namespace {

observe::line_pace::time_point line_time(monotonic_time now) {
  return observe::line_pace::time_point(now.time_since_epoch());
}

} // namespace

void shard_log::note_expired(const core::leases_expired& expired, monotonic_time now) {
  auto owner = expired.queue.tenant + "/" + expired.queue.queue;
  if (expired.quarantined > 0)
    note_quarantined(expired, owner, now);
  auto left_out = expiry_lines_.take(owner, line_time(now));
  if (!left_out)
    return;
  CODEQ_LOG_WARN(
    "leases expire tenant={} queue={} count={} task={} attempt={} worker={} left_out={} "
    "reason=\"{}\"",
    expired.queue.tenant,
    expired.queue.queue,
    expired.count,
    to_string(task_id{shard_, expired.seq}),
    expired.attempt,
    expired.worker,
    *left_out,
    expired.reason);
}

void shard_log::note_quarantined(
  const core::leases_expired& expired, const std::string& owner, monotonic_time now) {
  auto left_out = quarantine_lines_.take(owner, line_time(now));
  if (!left_out)
    return;
  CODEQ_LOG_WARN(
    "tasks are quarantined tenant={} queue={} count={} task={} attempt={} worker={} left_out={} "
    "reason=\"{}\"",
    expired.queue.tenant,
    expired.queue.queue,
    expired.quarantined,
    to_string(task_id{shard_, expired.seq}),
    expired.attempt,
    expired.worker,
    *left_out,
    expired.reason);
}

void shard_log::note_breaker(const core::breaker_tripped& tripped) const {
  CODEQ_LOG_WARN(
    "queue is paused tenant={} queue={} shard={} reason=\"{}\"",
    tripped.queue.tenant,
    tripped.queue.queue,
    value(shard_),
    tripped.reason);
}

void shard_log::note_occurrence(const core::occurrence_noted& noted, const instant& now) {
  auto owner = noted.name.tenant + "/" + noted.name.name;
  auto left_out = occurrence_lines_.take(owner, line_time(now.steady));
  if (!left_out)
    return;
  const auto& entry = noted.entry;
  bool is_late = entry.state == occurrence_state::running;
  CODEQ_LOG_WARN(
    "occurrence of a schedule {} tenant={} schedule={} nominal=\"{}\" late_ms={} count={} "
    "left_out={}",
    is_late ? std::string("is late") : "is left out reason=" + std::string(to_string(entry.state)),
    noted.name.tenant,
    noted.name.name,
    schedule::to_string(entry.nominal),
    (now.shard - entry.at).count(),
    entry.count,
    *left_out);
}

void shard_log::note_grants(grant_pause why) const {
  auto shard = value(shard_);
  if (why == grant_pause::none)
    CODEQ_LOG_INFO("shard hands tasks out again shard={}", shard);
  else
    CODEQ_LOG_WARN(
      "shard hands no tasks out shard={} reason=\"{}\"", shard,
      why == grant_pause::disk_full ? "the disk is full" : "too few replicas are in sync");
}

void shard_log::note_disk(const result<void>& has_room) {
  if (shard_ != shard_id{} || !has_room == std::exchange(is_disk_low_, !has_room))
    return;
  if (!has_room)
    CODEQ_LOG_WARN(
      "disk is low on space, new tasks are refused reason=\"{}\"", has_room.error().context);
  else
    CODEQ_LOG_INFO("disk has space again, new tasks are accepted");
}

} // namespace codeq::coordinator
