// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/frame_sinks.hpp"

#include "base/tuning.hpp"
#include "coordinator/actors/session_driver.hpp"
#include "coordinator/session/registrar.hpp"

#include <caf/send.hpp>

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

/// Passes on an enqueue with its share, or the refusal of one for which there is no share.
result<void> pass_on_enqueue(
  const session_place& to, const protocol::enqueue_request& m, const enqueue_payer& payer) {
  auto share = payer.shares->take(payer.tenant, m.body().size() + tuning::enqueue_overhead_bytes);
  if (share) {
    pass_on(to, peer_enqueue{m, std::move(*share)});
    return {};
  }
  auto number = protocol::number_of(m);
  if (!number)
    return number.error();
  pass_on(to, enqueue_without_share{*number, share.error()});
  return {};
}

} // namespace

actors::frame_sink session_sink(schema::Role role, session_place to, enqueue_payer payer) {
  return [role, to = std::move(to), payer = std::move(payer)](
           const protocol::wire_frame& frame) -> result<void> {
    auto request = protocol::read_request(role, frame);
    if (!request)
      return request.error();
    if (const auto* enqueue = std::get_if<protocol::enqueue_request>(&*request))
      return pass_on_enqueue(to, *enqueue, payer);
    pass_on(to, std::move(*request));
    return {};
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
