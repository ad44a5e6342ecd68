// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "core/commands/effect.hpp"
#include "protocol/limit_convert.hpp"
#include "protocol/messages.hpp"
#include "protocol/operator_reply.hpp"
#include "protocol/reply.hpp"
#include "protocol/schedule_convert.hpp"

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

/// Requests of peers to a shard, and a shard's replies, as values. A session reads requests from
/// frames and writes replies into frames; callers within the process use the values directly.
namespace codeq::protocol {

namespace detail {

template <class... Lists>
struct frame_variant;

template <class... Bodies>
struct frame_variant<body_list<Bodies...>> {
  using type = std::variant<frame<Bodies>...>;
};

template <class... First, class... Second, class... Rest>
struct frame_variant<body_list<First...>, body_list<Second...>, Rest...>
  : frame_variant<body_list<First..., Second...>, Rest...> {};

} // namespace detail

/// A frame of one of the schema types in these lists.
template <class... Lists>
using one_frame_of = typename detail::frame_variant<Lists...>::type;

/// The requests of producers and workers that name their shard.
using client_shard_requests = body_list<
  schema::EnqueueRequest,
  schema::HeartbeatRequest,
  schema::ResultRequest,
  schema::ResumeRequest,
  schema::AwaitRequest>;

/// A message that names its shard.
using shard_request = one_frame_of<client_shard_requests, operator_shard_requests>;

/// Every message that a session accepts. Which of them a node may send depends on its role.
using session_request = one_frame_of<
  client_shard_requests,
  body_list<schema::ClaimRequest>,
  operator_shard_requests,
  operator_node_requests,
  body_list<schema::ActingFor, schema::ClaimAt, schema::ShardEpochs, schema::Goodbye>>;

/// Parses a frame from a node with that role. Errors: `protocol_error` for a frame that the role
/// must not send, or that is malformed.
[[nodiscard]] result<session_request> read_request(schema::Role role, const wire_frame& frame);

/// Tasks that have ended, and tasks with progress reports.
struct tasks_told {
  std::vector<awaited_task> tasks;
};

/// The leases of a `HeartbeatRequest` that are extended.
struct leases_extended {
  std::uint64_t number = 0;
  std::vector<core::task_lease> leases;
};

/// Answers a `StatusRequest`.
struct status_answered {
  std::uint64_t number = 0;
  core::task_view view;
  task_texts texts;
};

/// Answers an `EventsRequest`.
struct history_answered {
  std::uint64_t number = 0;
  task_timeline timeline;
};

/// Answers an `AuditRequest`.
struct audit_answered {
  std::uint64_t number = 0;
  audit_page page;
  /// See `core::tell_audit`.
  bool is_of_shard = false;
};

/// The request `S` was refused for `reason`.
template <class S>
struct request_refused {
  std::uint64_t number = 0;
  error reason;
};

/// A reply of a shard, or of its reader, to a peer.
using peer_reply = std::variant<
  core::enqueue_answered,
  core::reports_answered,
  core::checkpoints_saved,
  core::leases_lost,
  leases_extended,
  core::resumed,
  core::cancel_wanted,
  core::change_answered,
  core::queue_answered,
  core::bulk_answered,
  core::tasks_listed,
  core::task_explained,
  tasks_told,
  status_answered,
  history_answered,
  audit_answered,
  schedules_told,
  core::limits_answered,
  request_refused<schema::StatusRequest>,
  request_refused<schema::ChangeRequest>,
  request_refused<schema::ForceRequest>,
  request_refused<schema::QueueRequest>,
  request_refused<schema::BulkRequest>,
  request_refused<schema::ListRequest>,
  request_refused<schema::ExplainRequest>,
  request_refused<schema::EventsRequest>,
  request_refused<schema::AuditRequest>,
  request_refused<schema::ScheduleRequest>,
  request_refused<schema::LimitRequest>>;

using frame_writer = std::function<void(const wire_frame&)>;

/// Writes a reply of `shard` as one frame, or as several if one would be too large.
void write_reply(shard_id shard, const peer_reply& reply, const frame_writer& write);

/// True for the answer to a request without effects, which may thus be refused instead.
[[nodiscard]] bool answers_question(const peer_reply& reply);

/// The refusal in place of such an answer. @pre `answers_question(reply)`
[[nodiscard]] wire_frame refusal_of(const peer_reply& reply, const error& reason);

/// Writes granted tasks as frames, as many as their real size needs: the core bounds a grant by the
/// average task size of each segment, which the real sizes may exceed many times. `bodies` contains
/// the tasks of each run, in order.
void write_tasks(
  shard_id shard,
  const core::tasks_granted& granted,
  std::span<const core::encoded_tasks> bodies,
  const frame_writer& write);

} // namespace codeq::protocol
