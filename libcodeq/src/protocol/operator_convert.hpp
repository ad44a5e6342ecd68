// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "core/commands/operator_command.hpp"
#include "protocol/convert.hpp"
#include "protocol/error_code.hpp"
#include "protocol/messages.hpp"

#include <cstdint>
#include <string>
#include <variant>

/// Converts requests of operators to commands of the shard core, as `convert.hpp` does for other
/// messages: `protocol_error` ends the connection, any other error is answered by `make_refusal`.
namespace codeq::protocol {

/// The schema struct of the reply to an operator's request.
template <class S>
struct reply_of;

template <>
struct reply_of<schema::StatusRequest> {
  using type = schema::StatusReply;
};

template <>
struct reply_of<schema::ChangeRequest> {
  using type = schema::ChangeReply;
};

template <>
struct reply_of<schema::ForceRequest> {
  using type = schema::ChangeReply;
};

template <>
struct reply_of<schema::QueueRequest> {
  using type = schema::QueueReply;
};

template <>
struct reply_of<schema::BulkRequest> {
  using type = schema::BulkReply;
};

template <>
struct reply_of<schema::ListRequest> {
  using type = schema::ListReply;
};

template <>
struct reply_of<schema::ExplainRequest> {
  using type = schema::ExplainReply;
};

template <>
struct reply_of<schema::EventsRequest> {
  using type = schema::EventsReply;
};

template <>
struct reply_of<schema::StatsRequest> {
  using type = schema::StatsReply;
};

template <>
struct reply_of<schema::AuditRequest> {
  using type = schema::AuditReply;
};

template <>
struct reply_of<schema::LimitRequest> {
  using type = schema::LimitReply;
};

template <>
struct reply_of<schema::WorkersRequest> {
  using type = schema::WorkersReply;
};

/// True for requests that may change tasks, queues, limits or schedules.
template <class S>
inline constexpr bool is_change = false;
template <>
inline constexpr bool is_change<schema::ChangeRequest> = true;
template <>
inline constexpr bool is_change<schema::ForceRequest> = true;
template <>
inline constexpr bool is_change<schema::QueueRequest> = true;
template <>
inline constexpr bool is_change<schema::BulkRequest> = true;
template <>
inline constexpr bool is_change<schema::LimitRequest> = true;
template <>
inline constexpr bool is_change<schema::ScheduleRequest> = true;

/// Content of a request for the workers.
struct workers_wish {
  std::uint64_t number = 0;
  /// The worker to drain or to take back; empty: the request asks for the list.
  std::string worker{};
  bool is_drained = false;
};

[[nodiscard]] result<workers_wish> read_workers_request(const workers_request& message);

/// The reply to a request `S` that reports why nothing was done.
template <class S>
[[nodiscard]] frame<typename reply_of<S>::type>
make_refusal(std::uint64_t number, const error& reason) {
  return frame<typename reply_of<S>::type>::build([&](auto reply) {
    reply.setNumber(number);
    reply.setCode(to_schema(reason.code));
    reply.setContext({reason.context.data(), reason.context.size()});
  });
}

/// Number of a request, and the shard that it is for.
struct request_address {
  std::uint64_t number = 0;
  std::uint16_t shard = 0;
};

template <class S>
[[nodiscard]] result<request_address> address_of(const frame<S>& message) {
  return message.read([](auto reader) -> result<request_address> {
    if constexpr (requires { reader.getTask(); })
      return request_address{reader.getNumber(), reader.getTask().getShard()};
    else
      return request_address{reader.getNumber(), reader.getShard()};
  });
}

/// The error for a request to a shard that does not exist.
template <class S>
[[nodiscard]] error no_such_shard(const request_address& to, std::size_t shard_count) {
  if constexpr (requires(typename S::Reader reader) { reader.getTask(); })
    return {errc::unknown_task, "no such task: its shard is not there"};
  else
    return {
      errc::invalid_argument,
      "shard is " + std::to_string(to.shard) + "; it must be 0.."
        + std::to_string(shard_count - 1)};
}

/// The operator that sent a request, and the shard that handles it.
struct asked_at {
  core::peer_id peer = 0;
  shard_place place;
};

/// The command of a request that changes one task.
using change_command = std::variant<core::cancel, core::promote, core::redrive, core::purge>;

/// The command of a request for a queue.
using queue_command =
  std::variant<core::show_queue, core::configure_queue, core::weigh_keys, core::pause_queue>;

[[nodiscard]] result<core::describe_task> to_command(const status_request& message, asked_at by);
[[nodiscard]] result<change_command> to_command(const change_request& message, asked_at by);
[[nodiscard]] result<core::force> to_command(const force_request& message, asked_at by);
[[nodiscard]] result<queue_command> to_command(const queue_request& message, asked_at by);
[[nodiscard]] result<core::change_many> to_command(const bulk_request& message, asked_at by);
[[nodiscard]] result<core::list_tasks> to_command(const list_request& message, asked_at by);
[[nodiscard]] result<core::explain_task> to_command(const explain_request& message, asked_at by);
[[nodiscard]] result<core::tell_history> to_command(const events_request& message, asked_at by);
[[nodiscard]] result<core::tell_audit> to_command(const audit_request& message, asked_at by);

/// The number that all parts of an operator's command share; 0: the request is a command of its
/// own.
template <class S>
[[nodiscard]] std::uint64_t operation_of(const frame<S>& message) {
  if constexpr (requires(typename S::Reader reader) { reader.getOperation(); }) {
    auto number =
      message.read([](auto reader) -> result<std::uint64_t> { return reader.getOperation(); });
    return number ? *number : 0;
  } else {
    return 0;
  }
}

} // namespace codeq::protocol
