// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol.capnp.h"
#include "protocol/frame.hpp"

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

/// Calls `fn` with the body as its typed frame. Errors: `protocol_error` for a type number that is
/// not in the catalogue or a body that has not the shape of a message.
template <class F>
[[nodiscard]] result<void> visit_frame(const wire_frame& wire, F&& fn) {
  auto with = [&]<class S>(std::type_identity<S>) -> result<void> {
    auto parsed = frame<S>::parse(wire.body);
    if (!parsed)
      return parsed.error();
    fn(std::move(*parsed));
    return {};
  };
  switch (wire.type) {
  case frame_type<schema::Hello>:
    return with(std::type_identity<schema::Hello>{});
  case frame_type<schema::HelloAck>:
    return with(std::type_identity<schema::HelloAck>{});
  case frame_type<schema::Refused>:
    return with(std::type_identity<schema::Refused>{});
  case frame_type<schema::Ping>:
    return with(std::type_identity<schema::Ping>{});
  case frame_type<schema::Pong>:
    return with(std::type_identity<schema::Pong>{});
  case frame_type<schema::Goodbye>:
    return with(std::type_identity<schema::Goodbye>{});
  case frame_type<schema::EnqueueRequest>:
    return with(std::type_identity<schema::EnqueueRequest>{});
  case frame_type<schema::EnqueueReply>:
    return with(std::type_identity<schema::EnqueueReply>{});
  case frame_type<schema::ClaimRequest>:
    return with(std::type_identity<schema::ClaimRequest>{});
  case frame_type<schema::TaskBatch>:
    return with(std::type_identity<schema::TaskBatch>{});
  case frame_type<schema::HeartbeatRequest>:
    return with(std::type_identity<schema::HeartbeatRequest>{});
  case frame_type<schema::LeasesLost>:
    return with(std::type_identity<schema::LeasesLost>{});
  case frame_type<schema::ResultRequest>:
    return with(std::type_identity<schema::ResultRequest>{});
  case frame_type<schema::ResultReply>:
    return with(std::type_identity<schema::ResultReply>{});
  case frame_type<schema::ResumeRequest>:
    return with(std::type_identity<schema::ResumeRequest>{});
  case frame_type<schema::ResumeReply>:
    return with(std::type_identity<schema::ResumeReply>{});
  case frame_type<schema::AwaitRequest>:
    return with(std::type_identity<schema::AwaitRequest>{});
  case frame_type<schema::TasksEnded>:
    return with(std::type_identity<schema::TasksEnded>{});
  case frame_type<schema::StatusRequest>:
    return with(std::type_identity<schema::StatusRequest>{});
  case frame_type<schema::StatusReply>:
    return with(std::type_identity<schema::StatusReply>{});
  case frame_type<schema::StatsRequest>:
    return with(std::type_identity<schema::StatsRequest>{});
  case frame_type<schema::StatsReply>:
    return with(std::type_identity<schema::StatsReply>{});
  case frame_type<schema::CancelNotice>:
    return with(std::type_identity<schema::CancelNotice>{});
  case frame_type<schema::ChangeRequest>:
    return with(std::type_identity<schema::ChangeRequest>{});
  case frame_type<schema::ChangeReply>:
    return with(std::type_identity<schema::ChangeReply>{});
  default:
    return error{errc::protocol_error, "unknown frame type " + std::to_string(wire.type)};
  }
}

} // namespace codeq::protocol
