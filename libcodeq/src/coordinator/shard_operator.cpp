// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access.hpp"
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

/// True unless the command names a task by its id that does not exist for the bearer.
template <class Command>
bool may_see_task(
  const security::principal& who, core::shard_state& state, const Command& command) {
  if constexpr (requires { command.key; })
    return command.key || access::may_see(who, state, command.seq);
  else if constexpr (requires { command.seq; })
    return access::may_see(who, state, command.seq);
  else
    return true;
}

} // namespace

template <class S>
void shard_actor_state::decide_request(const actors::from_peer<S>& m) {
  auto command = protocol::to_command(m.message, protocol::asked_at{m.peer, place()});
  auto address = protocol::address_of(m.message);
  if (!command && (!address || command.error().code == errc::protocol_error))
    return send_to(m.peer, actors::peer_misbehaved{command.error()});
  auto refuse = [&](const error& reason) {
    send_to(m.peer, protocol::make_refusal<S>(address->number, reason).to_wire());
  };
  if (!command)
    return refuse(command.error());
  visit_command(*command, [&](auto& one) {
    auto ok = m.sender ? access::check(*m.sender, one) : result<void>{};
    if (ok && m.sender && !may_see_task(*m.sender, *state_, one))
      ok = access::unknown_task();
    if (!ok)
      return refuse(ok.error());
    decide(std::move(one));
  });
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

void shard_actor_state::say_not_yours(
  core::peer_id peer, const std::vector<core::lease_beat>& beats) {
  std::vector<core::task_lease> lost;
  for (const auto& beat : beats)
    lost.push_back({beat.seq, beat.token});
  if (!lost.empty())
    send_to(peer, protocol::make_leases_lost(state_->id, lost).to_wire());
}

void shard_actor_state::say_not_yours(
  core::peer_id peer, const std::vector<core::lease_report>& reports) {
  std::vector<core::report_answer> answers;
  for (const auto& report : reports)
    answers.push_back({report.seq, report.token, errc::unknown_task});
  if (!answers.empty())
    send_to(peer, protocol::make_result_reply(state_->id, answers).to_wire());
}

void shard_actor_state::say_not_yours(core::peer_id peer, const std::vector<sequence>& awaited) {
  std::vector<protocol::ended_task> ended;
  for (auto seq : awaited)
    ended.push_back({seq, errc::unknown_task, {}, 0, {}});
  if (!ended.empty())
    send_to(peer, protocol::make_tasks_ended(state_->id, ended).to_wire());
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
