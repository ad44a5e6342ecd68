// SPDX-License-Identifier: Apache-2.0
#include "protocol/peer_messages.hpp"

#include "base/tuning.hpp"
#include "protocol/operator_convert.hpp"

#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace codeq::protocol {

namespace {

/// Size of an ended task in a frame, without its text.
constexpr std::size_t ended_overhead_bytes = 32;

/// Size of a run in a frame, without its tasks: its fields and its queue's names.
constexpr std::size_t run_overhead_bytes = 512;

/// Size of a task in a frame, without its body: its end offset and its attempt.
constexpr std::size_t task_overhead_bytes = 8;

template <class S>
constexpr bool is_of_worker = false;
template <>
constexpr bool is_of_worker<schema::ClaimRequest> = true;
template <>
constexpr bool is_of_worker<schema::HeartbeatRequest> = true;
template <>
constexpr bool is_of_worker<schema::ResultRequest> = true;
template <>
constexpr bool is_of_worker<schema::ResumeRequest> = true;

/// Messages about leases, which a gateway sends for HTTP workers under the tokens of the leases.
template <class S>
constexpr bool needs_token = false;
template <>
constexpr bool needs_token<schema::HeartbeatRequest> = true;
template <>
constexpr bool needs_token<schema::ResultRequest> = true;

/// Messages that only a gateway sends.
template <class S>
constexpr bool is_of_gateway = false;
template <>
constexpr bool is_of_gateway<schema::ActingFor> = true;
template <>
constexpr bool is_of_gateway<schema::ClaimAt> = true;

template <class S>
bool may_send(schema::Role role) {
  if (std::is_same_v<S, schema::Goodbye>)
    return true;
  if (role == schema::Role::GATEWAY)
    return !is_of_worker<S> || needs_token<S>;
  return !is_of_gateway<S> && is_of_worker<S> == (role == schema::Role::WORKER);
}

void write_told(shard_id shard, std::span<const awaited_task> rest, const frame_writer& write) {
  while (!rest.empty()) {
    // As many tasks as fit into a frame with some room left.
    std::size_t count = 0;
    std::size_t byte_count = 0;
    while (count < rest.size() && (count == 0 || byte_count < tuning::grant_bytes_max))
      byte_count += rest[count++].text.size() + ended_overhead_bytes;
    write(make_tasks_ended(shard, rest.first(count)).to_wire());
    rest = rest.subspan(count);
  }
}

/// Writes one reply; one overload per type.
struct reply_writer {
  shard_id shard;
  const frame_writer& write;

  void operator()(const core::enqueue_answered& r) const {
    bool has_to_wait = r.allowed.error().code == errc::overloaded;
    auto pause = has_to_wait ? tuning::overloaded_retry_after : duration{0};
    write(make_enqueue_reply(shard, r, pause).to_wire());
  }

  void operator()(const core::reports_answered& r) const {
    write(make_result_reply(shard, r.answers).to_wire());
  }

  void operator()(const core::checkpoints_saved& r) const {
    write(make_checkpoints_saved(shard, r.checkpoints).to_wire());
  }

  void operator()(const core::leases_lost& r) const {
    write(make_leases_lost(shard, r.leases).to_wire());
  }

  void operator()(const leases_extended& r) const {
    write(make_heartbeat_reply(shard, r.number, r.leases).to_wire());
  }

  void operator()(const core::resumed&) const { write(make_resume_reply(shard).to_wire()); }

  void operator()(const core::cancel_wanted& r) const {
    write(make_cancel_notice(shard, r).to_wire());
  }

  void operator()(const core::change_answered& r) const {
    write(make_change_reply(shard, r).to_wire());
  }

  void operator()(const core::queue_answered& r) const { write(make_queue_reply(r).to_wire()); }

  void operator()(const core::bulk_answered& r) const { write(make_bulk_reply(r).to_wire()); }

  void operator()(const core::tasks_listed& r) const { write(make_list_reply(r).to_wire()); }

  void operator()(const core::task_explained& r) const {
    write(make_explain_reply(shard, r).to_wire());
  }

  void operator()(const tasks_told& r) const { write_told(shard, r.tasks, write); }

  void operator()(const status_answered& r) const {
    write(make_status_reply(shard, r.number, r.view, r.texts).to_wire());
  }

  void operator()(const schedules_told& r) const { write(make_schedule_reply(r).to_wire()); }

  void operator()(const core::limits_answered& r) const { write(make_limit_reply(r).to_wire()); }

  void operator()(const audit_answered& r) const {
    write(make_audit_reply(r.number, r.page, r.is_of_shard).to_wire());
  }

  void operator()(const history_answered& r) const {
    write(make_events_reply(r.number, r.timeline).to_wire());
  }

  template <class S>
  void operator()(const request_refused<S>& r) const {
    write(make_refusal<S>(r.number, r.reason).to_wire());
  }
};

} // namespace

result<session_request> read_request(schema::Role role, const wire_frame& frame) {
  result<session_request> request = unexpected_frame(frame);
  auto read = visit_frame(frame, [&]<class S>(protocol::frame<S> typed) {
    if constexpr (std::is_constructible_v<session_request, protocol::frame<S>>) {
      if (may_send<S>(role))
        request = session_request{std::move(typed)};
    }
  });
  if (!read)
    return read.error();
  return request;
}

void write_reply(shard_id shard, const peer_reply& reply, const frame_writer& write) {
  std::visit(reply_writer{shard, write}, reply);
}

namespace {

/// True for the answer to a request for schedules that changed none.
bool is_schedule_question(const peer_reply& reply) {
  const auto* told = std::get_if<schedules_told>(&reply);
  return told && told->what == schedule_result::unchanged;
}

} // namespace

bool answers_question(const peer_reply& reply) {
  return std::holds_alternative<status_answered>(reply)
         || std::holds_alternative<history_answered>(reply)
         || std::holds_alternative<audit_answered>(reply)
         || std::holds_alternative<core::tasks_listed>(reply)
         || is_schedule_question(reply)
         || std::holds_alternative<core::task_explained>(reply);
}

wire_frame refusal_of(const peer_reply& reply, const error& reason) {
  if (const auto* status = std::get_if<status_answered>(&reply))
    return make_refusal<schema::StatusRequest>(status->number, reason).to_wire();
  if (const auto* history = std::get_if<history_answered>(&reply))
    return make_refusal<schema::EventsRequest>(history->number, reason).to_wire();
  if (const auto* audit = std::get_if<audit_answered>(&reply))
    return make_refusal<schema::AuditRequest>(audit->number, reason).to_wire();
  if (const auto* told = std::get_if<schedules_told>(&reply))
    return make_refusal<schema::ScheduleRequest>(told->number, reason).to_wire();
  if (const auto* listed = std::get_if<core::tasks_listed>(&reply))
    return make_refusal<schema::ListRequest>(listed->number, reason).to_wire();
  auto number = std::get<core::task_explained>(reply).number;
  return make_refusal<schema::ExplainRequest>(number, reason).to_wire();
}

void write_tasks(
  shard_id shard,
  const core::tasks_granted& granted,
  std::span<const core::encoded_tasks> bodies,
  const frame_writer& write) {
  core::tasks_granted part;
  part.redelivered = granted.redelivered;
  std::size_t begin = 0;
  std::size_t bytes = 0;
  auto flush = [&](std::size_t end) {
    if (begin == end)
      return;
    bool is_all = begin == 0 && end == granted.runs.size();
    if (!is_all)
      part.runs.assign(granted.runs.begin() + begin, granted.runs.begin() + end);
    auto batch =
      make_task_batch(shard, is_all ? granted : part, bodies.subspan(begin, end - begin));
    write(batch.to_wire());
    begin = end;
    bytes = 0;
  };
  for (std::size_t i = 0; i < granted.runs.size(); ++i) {
    const auto& run = granted.runs[i];
    auto size = bodies[i].body.size() + run.count * task_overhead_bytes + run_overhead_bytes;
    for (const auto& checkpoint : run.checkpoints)
      size += checkpoint.data.size();
    if (bytes + size > tuning::grant_bytes_max)
      flush(i);
    bytes += size;
  }
  flush(granted.runs.size());
}

} // namespace codeq::protocol
