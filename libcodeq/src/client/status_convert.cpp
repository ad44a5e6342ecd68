// SPDX-License-Identifier: Apache-2.0
#include "client/status_convert.hpp"

#include "protocol/error_code.hpp"

#include <utility>

namespace codeq::client {

namespace {

std::string string_of(capnp::Text::Reader text) {
  return {text.cStr(), text.size()};
}

std::string string_of(capnp::Data::Reader data) {
  return {data.asChars().begin(), data.size()};
}

/// A completed task has a result, any other an error text.
void put_text(task_status& status, std::string text) {
  (status.state == task_state::completed ? status.result : status.error_text) = std::move(text);
}

task_status status_of(schema::StatusReply::Reader reader) {
  task_status status;
  status.id = {static_cast<shard_id>(reader.getTask().getShard()), reader.getTask().getSeq()};
  status.tenant = string_of(reader.getQueue().getTenant());
  status.queue = string_of(reader.getQueue().getQueue());
  status.priority = reader.getPriority();
  status.state = static_cast<task_state>(reader.getState());
  status.attempt = reader.getAttempt();
  status.max_attempts = reader.getMaxAttempts();
  status.token = fencing_token{reader.getToken()};
  status.enqueued_at = timestamp{duration{reader.getEnqueuedAtMs()}};
  if (reader.getEligibleAtMs() != 0)
    status.eligible_at = timestamp{duration{reader.getEligibleAtMs()}};
  status.worker = string_of(reader.getWorker());
  status.lost_in_row = reader.getLostInRow();
  put_text(status, string_of(reader.getText()));
  return status;
}

queue_stats stats_of(schema::StatsReply::QueueStats::Reader reader) {
  queue_stats stats;
  stats.queue = {string_of(reader.getQueue().getTenant()), string_of(reader.getQueue().getQueue())};
  stats.scheduled = reader.getScheduled();
  stats.gated = reader.getGated();
  stats.ready = reader.getReady();
  stats.leased = reader.getLeased();
  stats.completed = reader.getCompleted();
  stats.dead = reader.getDead();
  stats.lost = reader.getLost();
  return stats;
}

std::string refusal_text(errc code) {
  return code == errc::unknown_task ? "no such task, or it is past its retention"
                                    : "the coordinator refused";
}

error unknown_state(schema::TaskState state) {
  return {
    errc::protocol_error,
    "unknown task state " + std::to_string(static_cast<std::uint16_t>(state))};
}

} // namespace

result<task_status>
ended_status(task_id task, schema::TasksEnded::Ended::Reader from, std::string text) {
  if (from.getState() > schema::TaskState::CANCELLED)
    return unknown_state(from.getState());
  task_status status;
  status.id = task;
  status.state = static_cast<task_state>(from.getState());
  status.attempt = from.getAttempt();
  put_text(status, std::move(text));
  return status;
}

result<numbered<task_status>> read_status(const protocol::status_reply& reply) {
  return reply.read([](auto reader) -> result<numbered<task_status>> {
    auto code = protocol::from_schema(reader.getCode());
    if (code != errc::none)
      return numbered<task_status>{reader.getNumber(), error{code, refusal_text(code)}};
    if (reader.getState() > schema::TaskState::CANCELLED)
      return unknown_state(reader.getState());
    return numbered<task_status>{reader.getNumber(), status_of(reader)};
  });
}

result<numbered<change_outcome>> read_change(const protocol::change_reply& reply) {
  return reply.read([](auto reader) -> result<numbered<change_outcome>> {
    auto code = protocol::from_schema(reader.getCode());
    if (code != errc::none)
      return numbered<change_outcome>{reader.getNumber(), error{code, refusal_text(code)}};
    if (reader.getState() > schema::TaskState::CANCELLED)
      return unknown_state(reader.getState());
    if (reader.getResult() > schema::ChangeResult::GUARDED)
      return error{errc::protocol_error, "unknown result of a change"};
    change_outcome outcome{
      static_cast<change_outcome::kind>(reader.getResult()),
      static_cast<task_state>(reader.getState())};
    return numbered<change_outcome>{reader.getNumber(), outcome};
  });
}

result<numbered<coordinator_stats>> read_stats(const protocol::stats_reply& reply) {
  return reply.read([](auto reader) -> result<numbered<coordinator_stats>> {
    coordinator_stats stats;
    for (auto queue : reader.getQueues())
      stats.queues.push_back(stats_of(queue));
    for (auto gauge : reader.getGauges())
      stats.gauges[string_of(gauge.getName())] = gauge.getValue();
    return numbered<coordinator_stats>{reader.getNumber(), std::move(stats)};
  });
}

} // namespace codeq::client
