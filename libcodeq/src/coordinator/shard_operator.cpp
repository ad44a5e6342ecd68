// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard.hpp"
#include "protocol/operator_convert.hpp"
#include "protocol/operator_reply.hpp"

#include <utility>
#include <variant>

/// What a shard does for operators.
namespace codeq::coordinator {

namespace {

template <class T>
inline constexpr bool is_variant = false;
template <class... Ts>
inline constexpr bool is_variant<std::variant<Ts...>> = true;

/// Calls `fn` with the command itself.
template <class Command, class F>
void visit_command(Command& command, F&& fn) {
  if constexpr (is_variant<Command>)
    std::visit(fn, command);
  else
    fn(command);
}

} // namespace

template <class S>
void shard_actor_state::decide_request(const actors::from_peer<S>& m) {
  auto command = protocol::to_command(m.message, protocol::asked_at{m.peer, place()});
  auto address = protocol::address_of(m.message);
  if (!command && (!address || command.error().code == errc::protocol_error))
    return send_to(m.peer, actors::peer_misbehaved{command.error()});
  if (!command)
    return send_to(m.peer, protocol::make_refusal<S>(address->number, command.error()).to_wire());
  visit_command(*command, [&](auto& one) { decide(std::move(one)); });
}

void shard_actor_state::operate(const actors::from_peer<schema::StatusRequest>& m) {
  decide_request(m);
}

void shard_actor_state::operate(const actors::from_peer<schema::ChangeRequest>& m) {
  decide_request(m);
}

void shard_actor_state::operate(const actors::from_peer<schema::ForceRequest>& m) {
  decide_request(m);
}

void shard_actor_state::operate(const actors::from_peer<schema::QueueRequest>& m) {
  decide_request(m);
}

void shard_actor_state::operate(const actors::from_peer<schema::BulkRequest>& m) {
  decide_request(m);
}

void shard_actor_state::operate(const actors::from_peer<schema::ListRequest>& m) {
  decide_request(m);
}

void shard_actor_state::operate(const actors::from_peer<schema::ExplainRequest>& m) {
  decide_request(m);
}

void shard_actor_state::operate(const actors::from_peer<schema::EventsRequest>& m) {
  decide_request(m);
}

void shard_actor_state::carry_out(core::change_answered& e) {
  send_to(e.peer, protocol::make_change_reply(state_->id, e).to_wire());
}

void shard_actor_state::carry_out(core::queue_answered& e) {
  send_to(e.peer, protocol::make_queue_reply(e).to_wire());
}

void shard_actor_state::carry_out(core::bulk_answered& e) {
  send_to(e.peer, protocol::make_bulk_reply(e).to_wire());
}

void shard_actor_state::carry_out(core::tasks_listed& e) {
  send_to(e.peer, protocol::make_list_reply(e).to_wire());
}

void shard_actor_state::carry_out(core::task_explained& e) {
  send_to(e.peer, protocol::make_explain_reply(state_->id, e).to_wire());
}

} // namespace codeq::coordinator
