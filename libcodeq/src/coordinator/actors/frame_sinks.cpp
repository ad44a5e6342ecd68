// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/frame_sinks.hpp"

#include "base/tuning.hpp"
#include "coordinator/actors/session_driver.hpp"
#include "coordinator/session/registrar.hpp"
#include "protocol/operator_convert.hpp"
#include "protocol/reply.hpp"

#include <caf/send.hpp>

#include <type_traits>
#include <utility>
#include <variant>

namespace codeq::coordinator {

namespace {

/// Passes a message of the peer to its session: by a plain call when it runs on this thread.
template <class Message>
void pass_on(const session_place& to, Message message) {
  auto* here = to.loop ? to.loop->session(to.peer) : nullptr;
  if (here == nullptr)
    return caf::anon_send(to.session, std::move(message));
  to.loop->begin_read();
  here->take(message);
}

/// True for messages that may be stored.
template <class S>
constexpr bool may_be_stored = std::is_same_v<S, schema::EnqueueRequest>
                               || std::is_same_v<S, schema::HeartbeatRequest>
                               || protocol::is_change<S>;

/// False for a heartbeat without checkpoints, and for a request that only asks.
template <class S>
bool is_stored(const protocol::frame<S>& m) {
  const auto asks = m.read([](auto reader) -> result<bool> {
    if constexpr (std::is_same_v<S, schema::HeartbeatRequest>)
      return reader.getCheckpoints().size() == 0;
    else if constexpr (std::is_same_v<S, schema::QueueRequest>)
      return reader.isShow() || reader.isFairness() || reader.isExplain();
    else if constexpr (std::is_same_v<S, schema::LimitRequest>)
      return reader.isShow() || reader.isList() || reader.isDryRun() || reader.isKeys();
    else if constexpr (std::is_same_v<S, schema::ScheduleRequest>)
      return reader.isShow() || reader.isNext() || reader.isHistory() || reader.isList();
    else
      return false;
  });
  return !asks || !*asks;
}

/// Refuses an enqueue with a retry later.
result<void>
refuse(const session_place& to, const protocol::enqueue_request& m, const error& reason) {
  auto number = protocol::number_of(m);
  if (!number)
    return number.error();
  core::enqueue_answered refusal{to.peer, *number, {}};
  refusal.allowed = reason;
  auto answer = protocol::make_enqueue_reply({}, refusal, tuning::enqueue_bytes_retry_after);
  pass_on(to, request_without_share{answer.to_wire()});
  return {};
}

/// Passes on a heartbeat without its checkpoints, which the peer sends again later.
result<void> refuse(const session_place& to, const protocol::heartbeat_request& m, const error&) {
  auto parts = protocol::split(m);
  if (!parts)
    return parts.error();
  pass_on(to, protocol::session_request{std::move(parts->without_checkpoints)});
  auto answer = protocol::make_checkpoints_postponed(parts->shard, parts->checkpoints);
  pass_on(to, request_without_share{answer.to_wire()});
  return {};
}

/// Refuses a change.
template <class S>
result<void> refuse(const session_place& to, const protocol::frame<S>& m, const error& reason) {
  auto address = protocol::address_of(m);
  if (!address)
    return address.error();
  auto answer = protocol::make_refusal<S>(address->number, reason);
  pass_on(to, request_without_share{answer.to_wire()});
  return {};
}

/// Passes on a message; one that is stored with its share, or instead of it the refusal of one for
/// which there is no share.
template <class S>
result<void>
pass_on_request(const session_place& to, const protocol::frame<S>& m, const enqueue_payer& payer) {
  if constexpr (may_be_stored<S>) {
    if (is_stored(m)) {
      auto share =
        payer.shares->take(payer.tenant, m.body().size() + tuning::enqueue_overhead_bytes);
      if (!share)
        return refuse(to, m, share.error());
      pass_on(to, stored_request{m, std::move(*share)});
      return {};
    }
  }
  pass_on(to, protocol::session_request{m});
  return {};
}

} // namespace

actors::frame_sink session_sink(schema::Role role, session_place to, enqueue_payer payer) {
  return [role, to = std::move(to), payer = std::move(payer)](
           const protocol::wire_frame& frame) -> result<void> {
    auto request = protocol::read_request(role, frame);
    if (!request)
      return request.error();
    return std::visit([&](const auto& m) { return pass_on_request(to, m, payer); }, *request);
  };
}

actors::frame_sink stream_sink(replicas_actor to, const protocol::node_introduction& from) {
  return [to = std::move(to), name = from.identity.name, incarnation = from.identity.incarnation](
           const protocol::wire_frame& frame) -> result<void> {
    auto messages = read_stream_frame(frame);
    if (!messages)
      return messages.error();
    if (*messages)
      caf::anon_send(to, replica_frame_arrived{name, incarnation, std::move(**messages)});
    return {};
  };
}

} // namespace codeq::coordinator
