// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol.capnp.h"
#include "protocol/frame.hpp"

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace codeq::protocol {

// One alias per member of `schema::Message`; a test fails when one is missing.
using hello = frame<schema::Hello>;
using hello_ack = frame<schema::HelloAck>;
using refused = frame<schema::Refused>;
using ping = frame<schema::Ping>;
using pong = frame<schema::Pong>;
using goodbye = frame<schema::Goodbye>;
using enqueue_request = frame<schema::EnqueueRequest>;
using enqueue_reply = frame<schema::EnqueueReply>;
using claim_request = frame<schema::ClaimRequest>;
using task_batch = frame<schema::TaskBatch>;
using heartbeat_request = frame<schema::HeartbeatRequest>;
using leases_lost = frame<schema::LeasesLost>;
using result_request = frame<schema::ResultRequest>;
using result_reply = frame<schema::ResultReply>;
using resume_request = frame<schema::ResumeRequest>;
using resume_reply = frame<schema::ResumeReply>;
using await_request = frame<schema::AwaitRequest>;
using tasks_ended = frame<schema::TasksEnded>;
using status_request = frame<schema::StatusRequest>;
using status_reply = frame<schema::StatusReply>;
using stats_request = frame<schema::StatsRequest>;
using stats_reply = frame<schema::StatsReply>;
using cancel_notice = frame<schema::CancelNotice>;
using change_request = frame<schema::ChangeRequest>;
using change_reply = frame<schema::ChangeReply>;
using force_request = frame<schema::ForceRequest>;
using queue_request = frame<schema::QueueRequest>;
using queue_reply = frame<schema::QueueReply>;
using bulk_request = frame<schema::BulkRequest>;
using bulk_reply = frame<schema::BulkReply>;
using list_request = frame<schema::ListRequest>;
using list_reply = frame<schema::ListReply>;
using explain_request = frame<schema::ExplainRequest>;
using explain_reply = frame<schema::ExplainReply>;
using events_request = frame<schema::EventsRequest>;
using events_reply = frame<schema::EventsReply>;
using backup_request = frame<schema::BackupRequest>;
using backup_reply = frame<schema::BackupReply>;
using log_level_request = frame<schema::LogLevelRequest>;
using log_level_reply = frame<schema::LogLevelReply>;
using checkpoints_saved = frame<schema::CheckpointsSaved>;
using workers_request = frame<schema::WorkersRequest>;
using workers_reply = frame<schema::WorkersReply>;
using audit_request = frame<schema::AuditRequest>;
using audit_reply = frame<schema::AuditReply>;
using schedule_request = frame<schema::ScheduleRequest>;
using schedule_reply = frame<schema::ScheduleReply>;
using replica_frame = frame<schema::ReplicaFrame>;
using cluster_map_news = frame<schema::ClusterMap>;
using credit_news = frame<schema::CreditNews>;
using cluster_request = frame<schema::ClusterRequest>;
using cluster_reply = frame<schema::ClusterReply>;
using acting_for = frame<schema::ActingFor>;
using limit_request = frame<schema::LimitRequest>;
using limit_reply = frame<schema::LimitReply>;
using claim_at = frame<schema::ClaimAt>;
using claim_news = frame<schema::ClaimNews>;
using heartbeat_reply = frame<schema::HeartbeatReply>;
using shard_epochs = frame<schema::ShardEpochs>;

/// A list of schema types.
template <class... Bodies>
struct body_list {};

/// The requests of operators that name their shard, or that of their task.
using operator_shard_requests = body_list<
  schema::StatusRequest,
  schema::ChangeRequest,
  schema::ForceRequest,
  schema::QueueRequest,
  schema::BulkRequest,
  schema::ListRequest,
  schema::ExplainRequest,
  schema::EventsRequest,
  schema::AuditRequest,
  schema::ScheduleRequest,
  schema::LimitRequest>;

/// The requests of operators that any coordinator answers.
using operator_node_requests = body_list<
  schema::StatsRequest,
  schema::WorkersRequest,
  schema::BackupRequest,
  schema::LogLevelRequest,
  schema::ClusterRequest>;

/// The replies to the requests of operators.
using operator_replies = body_list<
  schema::StatusReply,
  schema::ChangeReply,
  schema::QueueReply,
  schema::BulkReply,
  schema::ListReply,
  schema::ExplainReply,
  schema::EventsReply,
  schema::AuditReply,
  schema::ScheduleReply,
  schema::LimitReply,
  schema::StatsReply,
  schema::WorkersReply,
  schema::BackupReply,
  schema::LogLevelReply,
  schema::ClusterReply>;

namespace detail {

/// The members of `schema::Message` in the order of their ordinals; a test compares them.
using all_bodies = body_list<
  schema::Hello,
  schema::HelloAck,
  schema::Refused,
  schema::Ping,
  schema::Pong,
  schema::Goodbye,
  schema::EnqueueRequest,
  schema::EnqueueReply,
  schema::ClaimRequest,
  schema::TaskBatch,
  schema::HeartbeatRequest,
  schema::LeasesLost,
  schema::ResultRequest,
  schema::ResultReply,
  schema::ResumeRequest,
  schema::ResumeReply,
  schema::AwaitRequest,
  schema::TasksEnded,
  schema::StatusRequest,
  schema::StatusReply,
  schema::StatsRequest,
  schema::StatsReply,
  schema::CancelNotice,
  schema::ChangeRequest,
  schema::ChangeReply,
  schema::ForceRequest,
  schema::QueueRequest,
  schema::QueueReply,
  schema::BulkRequest,
  schema::BulkReply,
  schema::ListRequest,
  schema::ListReply,
  schema::ExplainRequest,
  schema::ExplainReply,
  schema::EventsRequest,
  schema::EventsReply,
  schema::BackupRequest,
  schema::BackupReply,
  schema::CheckpointsSaved,
  schema::WorkersRequest,
  schema::WorkersReply,
  schema::AuditRequest,
  schema::AuditReply,
  schema::LogLevelRequest,
  schema::LogLevelReply,
  schema::ScheduleRequest,
  schema::ScheduleReply,
  schema::ReplicaFrame,
  schema::ClusterMap,
  schema::CreditNews,
  schema::ClusterRequest,
  schema::ClusterReply,
  schema::ActingFor,
  schema::LimitRequest,
  schema::LimitReply,
  schema::ClaimAt,
  schema::ClaimNews,
  schema::HeartbeatReply,
  schema::ShardEpochs>;

/// Number of bodies before `S` in the list; the size of the list when it does not contain `S`.
template <class S, class... Bodies>
[[nodiscard]] consteval std::size_t place_of(body_list<Bodies...>) {
  std::size_t place = 0;
  static_cast<void>(((std::is_same_v<S, Bodies> || (++place, false)) || ...));
  return place;
}

template <class... Bodies>
[[nodiscard]] consteval std::size_t size_of(body_list<Bodies...>) {
  return sizeof...(Bodies);
}

template <class S>
concept listed_body = (place_of<S>(all_bodies{}) < size_of(all_bodies{}));

} // namespace detail

/// A frame's type number is the ordinal of its body in `schema::Message`.
template <detail::listed_body S>
inline constexpr std::uint16_t
  frame_type<S> = static_cast<std::uint16_t>(detail::place_of<S>(detail::all_bodies{}));

namespace detail {

template <class S, class F>
result<void> visit_as(const wire_frame& wire, F& fn) {
  auto parsed = frame<S>::parse(wire.body);
  if (!parsed)
    return parsed.error();
  fn(std::move(*parsed));
  return {};
}

} // namespace detail

/// If the body is one of `Bodies`, calls `fn` with its typed frame; otherwise returns nothing.
/// Errors: `protocol_error` for a body that cannot be a message.
template <class... Bodies, class F>
[[nodiscard]] std::optional<result<void>> visit_one_of(const wire_frame& wire, F&& fn) {
  std::optional<result<void>> visited;
  auto offer = [&]<class S>(std::type_identity<S>) {
    if (wire.type == frame_type<S>)
      visited = detail::visit_as<S>(wire, fn);
    return visited.has_value();
  };
  static_cast<void>((offer(std::type_identity<Bodies>{}) || ...));
  return visited;
}

/// The same for the bodies of a list.
template <class... Bodies, class F>
[[nodiscard]] std::optional<result<void>>
visit_one_of(body_list<Bodies...>, const wire_frame& wire, F&& fn) {
  return visit_one_of<Bodies...>(wire, fn);
}

/// Calls `fn` with the body as its typed frame. Errors: `protocol_error` for a type number that is
/// not in the catalogue, or a body that cannot be a message.
template <class F>
[[nodiscard]] result<void> visit_frame(const wire_frame& wire, F&& fn) {
  if (auto visited = visit_one_of(detail::all_bodies{}, wire, fn))
    return *visited;
  return error{errc::protocol_error, "unknown frame type " + std::to_string(wire.type)};
}

/// The error for a frame that is not expected in the current state of a connection.
[[nodiscard]] inline error unexpected_frame(const wire_frame& wire) {
  return {errc::protocol_error, "unexpected frame type=" + std::to_string(wire.type)};
}

} // namespace codeq::protocol
