// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol.capnp.h"
#include "protocol/frame.hpp"

#include <array>
#include <string>
#include <utility>

namespace codeq::protocol {

// One alias per member of `schema::Message`; a test walks the union and fails when one is missing.
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
using checkpoints_saved = frame<schema::CheckpointsSaved>;

// A frame's type number is the ordinal of its type in `schema::Message`.
template <>
inline constexpr std::uint16_t frame_type<schema::Hello> = schema::Message::HELLO;
template <>
inline constexpr std::uint16_t frame_type<schema::HelloAck> = schema::Message::HELLO_ACK;
template <>
inline constexpr std::uint16_t frame_type<schema::Refused> = schema::Message::REFUSED;
template <>
inline constexpr std::uint16_t frame_type<schema::Ping> = schema::Message::PING;
template <>
inline constexpr std::uint16_t frame_type<schema::Pong> = schema::Message::PONG;
template <>
inline constexpr std::uint16_t frame_type<schema::Goodbye> = schema::Message::GOODBYE;
template <>
inline constexpr std::uint16_t frame_type<schema::EnqueueRequest> =
  schema::Message::ENQUEUE_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::EnqueueReply> = schema::Message::ENQUEUE_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::ClaimRequest> = schema::Message::CLAIM_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::TaskBatch> = schema::Message::TASK_BATCH;
template <>
inline constexpr std::uint16_t frame_type<schema::HeartbeatRequest> =
  schema::Message::HEARTBEAT_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::LeasesLost> = schema::Message::LEASES_LOST;
template <>
inline constexpr std::uint16_t frame_type<schema::ResultRequest> = schema::Message::RESULT_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::ResultReply> = schema::Message::RESULT_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::ResumeRequest> = schema::Message::RESUME_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::ResumeReply> = schema::Message::RESUME_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::AwaitRequest> = schema::Message::AWAIT_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::TasksEnded> = schema::Message::TASKS_ENDED;
template <>
inline constexpr std::uint16_t frame_type<schema::StatusRequest> = schema::Message::STATUS_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::StatusReply> = schema::Message::STATUS_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::StatsRequest> = schema::Message::STATS_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::StatsReply> = schema::Message::STATS_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::CancelNotice> = schema::Message::CANCEL_NOTICE;
template <>
inline constexpr std::uint16_t frame_type<schema::ChangeRequest> = schema::Message::CHANGE_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::ChangeReply> = schema::Message::CHANGE_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::ForceRequest> = schema::Message::FORCE_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::QueueRequest> = schema::Message::QUEUE_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::QueueReply> = schema::Message::QUEUE_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::BulkRequest> = schema::Message::BULK_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::BulkReply> = schema::Message::BULK_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::ListRequest> = schema::Message::LIST_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::ListReply> = schema::Message::LIST_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::ExplainRequest> =
  schema::Message::EXPLAIN_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::ExplainReply> = schema::Message::EXPLAIN_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::EventsRequest> = schema::Message::EVENTS_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::EventsReply> = schema::Message::EVENTS_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::BackupRequest> = schema::Message::BACKUP_REQUEST;
template <>
inline constexpr std::uint16_t frame_type<schema::BackupReply> = schema::Message::BACKUP_REPLY;
template <>
inline constexpr std::uint16_t frame_type<schema::CheckpointsSaved> =
  schema::Message::CHECKPOINTS_SAVED;

namespace detail {

template <class... Bodies>
struct body_list {};

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
  schema::CheckpointsSaved>;

template <class S, class F>
result<void> visit_as(const wire_frame& wire, F& fn) {
  auto parsed = frame<S>::parse(wire.body);
  if (!parsed)
    return parsed.error();
  fn(std::move(*parsed));
  return {};
}

template <class F, class... Bodies>
result<void> visit_any(const wire_frame& wire, F& fn, body_list<Bodies...>) {
  using visitor = result<void> (*)(const wire_frame&, F&);
  static constexpr std::array<visitor, sizeof...(Bodies)> visitors{&visit_as<Bodies, F>...};
  if (wire.type >= visitors.size())
    return error{errc::protocol_error, "unknown frame type " + std::to_string(wire.type)};
  return visitors[wire.type](wire, fn);
}

} // namespace detail

/// Calls `fn` with the body as its typed frame. Errors: `protocol_error` for a type number that is
/// not in the catalogue or a body that has not the shape of a message.
template <class F>
[[nodiscard]] result<void> visit_frame(const wire_frame& wire, F&& fn) {
  return detail::visit_any(wire, fn, detail::all_bodies{});
}

} // namespace codeq::protocol
