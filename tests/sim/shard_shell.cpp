// SPDX-License-Identifier: Apache-2.0
#include "sim/shard_shell.hpp"

#include "codeq/limits.hpp"

#include "protocol/operator_convert.hpp"
#include "protocol/operator_reply.hpp"
#include "storage/projection.hpp"

#include <stdexcept>
#include <utility>

namespace codeq::sim {

namespace {

/// So small that bodies are often read back.
constexpr std::size_t cache_bytes = 600;

} // namespace

shard_shell::shard_shell(world& all, process& home, parts made)
  : world_(all),
    home_(home),
    parts_(std::move(made)),
    box_(all, home),
    state_(*parts_.state),
    shard_time_(state_.at, all.steady(), all.wall()),
    turns_(state_, clock().steady),
    cache_(cache_bytes),
    wheel_(clock().steady) {
  box_.send([this] { decide(core::tick{}); });
}

instant shard_shell::clock() {
  return {world_.steady(), shard_time_.at(world_.steady(), world_.wall())};
}

void shard_shell::decide(const core::command& c) {
  parts_.audit->asked(state_.id, c);
  if (turns_.decide(c, clock()))
    box_.send([this] { close_turn(); });
}

void shard_shell::close_turn() {
  if (!turns_.has_turn())
    return;
  // Many records are never there; by chance they count as many.
  if (state_.records_since_checkpoint > 0 && world_.random.faults.hits(20))
    turns_.decide(core::take_checkpoint{}, clock());
  auto events = turns_.close(clock());
  parts_.audit->turn_sealed(state_, events);
  if (!events.empty())
    commit(std::move(events));
  release();
  arm();
}

void shard_shell::commit(std::vector<core::event> events) {
  gather(turns_.submitted(), std::move(events));
}

void shard_shell::gather(std::uint64_t number, std::vector<core::event> events) {
  auto writes = std::make_shared<storage::write_set>();
  std::shared_ptr<const storage::shard_horizon> horizon;
  for (auto& e : events) {
    storage::project(state_.id, e, *writes);
    cache_.take_bodies(e);
    if (const auto* checkpoint = std::get_if<core::checkpoint_taken>(&e))
      horizon =
        std::make_shared<const storage::shard_horizon>(storage::horizon_of(state_, *checkpoint));
  }
  parts_.journal->gather(
    *this, number, {state_.id, std::move(events), std::move(writes), std::move(horizon)});
}

void shard_shell::committed(std::uint64_t number) {
  turns_.committed(number);
  release();
  arm();
}

void shard_shell::release() {
  while (auto effects = turns_.release()) {
    for (auto& e : *effects)
      std::visit([this](auto& x) { carry_out(x); }, e);
    flush_endings();
  }
}

void shard_shell::arm() {
  auto look = timers_.empty() ? std::nullopt : wheel_.next_look();
  if (auto next = turns_.arm(clock(), look))
    home_.after(
      next->wait, [this, number = next->number] { box_.send([this, number] { wake(number); }); });
}

void shard_shell::wake(std::uint64_t number) {
  if (!turns_.wake(number))
    return;
  for (auto token : wheel_.take_due(clock().steady)) {
    // Through the mailbox, as from the lease's own actor.
    if (auto timer = timers_.find(token); timer != timers_.end())
      box_.send([this, c = core::expire_lease{timer->second, token}] { decide(c); });
  }
  decide(core::tick{});
}

void shard_shell::attach(const peer& p) {
  peers_.insert_or_assign(p.id, p);
  if (p.worker)
    decide(core::attach_worker{p.id, p.worker, p.queues});
}

void shard_shell::detach(core::peer_id peer) {
  peers_.erase(peer);
  decide(core::detach_peer{peer});
}

void shard_shell::release(const std::shared_ptr<const worker_identity>& worker) {
  decide(core::release_worker{worker});
  parts_.audit->worker_left(state_.id, *worker);
}

void shard_shell::replace(const std::shared_ptr<const worker_identity>& worker) {
  decide(core::replace_worker{worker});
  parts_.audit->worker_replaced(state_.id, *worker);
}

template <class T>
void shard_shell::decide_or_end(core::peer_id from, const result<T>& command) {
  if (command)
    decide(*command);
  else if (auto* session = session_of(from))
    session->end_later(command.error());
}

void shard_shell::take(core::peer_id from, const protocol::enqueue_request& m) {
  protocol::shard_place place{state_.id, parts_.shard_count};
  auto command = protocol::to_command(m, from, clock().shard, place);
  if (command && world_.options.retention > duration{0}) {
    for (auto& run : command->runs) {
      run.left_to_queue &= ~static_cast<std::uint16_t>(core::setting_bit::retention);
      run.settings.retention = world_.options.retention;
    }
  }
  decide_or_end(from, command);
}

void shard_shell::take(core::peer_id from, const protocol::heartbeat_request& m) {
  auto command = protocol::to_command(m, from);
  decide_or_end(from, command);
  if (!command)
    return;
  for (const auto& beat : command->beats) {
    if (state_.leases.find(beat.token) != nullptr)
      parts_.audit->beat_taken(state_.id, beat.token, beat.queued);
  }
}

void shard_shell::take(core::peer_id from, const protocol::result_request& m) {
  protocol::shard_place place{state_.id, parts_.shard_count};
  decide_or_end(from, protocol::to_command(m, from, clock().shard, place));
}

void shard_shell::take(core::peer_id from, const protocol::resume_request& m) {
  auto at = peers_.find(from);
  if (at != peers_.end() && at->second.worker)
    decide_or_end(from, protocol::to_command(m, from, at->second.worker));
}

void shard_shell::take(core::peer_id from, const protocol::await_request& m) {
  decide_or_end(from, protocol::to_command(m, from));
}

namespace {

template <class Command>
core::command as_command(const Command& one) {
  return one;
}

template <class... Commands>
core::command as_command(const std::variant<Commands...>& any) {
  return std::visit([](const auto& one) { return core::command{one}; }, any);
}

} // namespace

template <class S>
void shard_shell::operate(core::peer_id from, const protocol::frame<S>& m) {
  protocol::shard_place place{state_.id, parts_.shard_count};
  auto command = protocol::to_command(m, protocol::asked_at{from, place});
  if (command)
    return decide(as_command(*command));
  // The simulation asks for nothing that is out of bounds.
  throw std::runtime_error("operator: " + to_string(command.error()));
}

void shard_shell::take(core::peer_id from, const protocol::change_request& m) {
  operate(from, m);
}

void shard_shell::take(core::peer_id from, const protocol::force_request& m) {
  operate(from, m);
}

void shard_shell::take(core::peer_id from, const protocol::queue_request& m) {
  operate(from, m);
}

void shard_shell::take(core::peer_id from, const protocol::bulk_request& m) {
  operate(from, m);
}

core::shard_state* shard_shell::settled_state() {
  return turns_.is_settled() ? &state_ : nullptr;
}

std::vector<task_id> shard_shell::blockers() const {
  std::vector<task_id> found;
  for (const auto& [name, group] : state_.groups) {
    auto head = *group.members.begin();
    if (core::find_segment(state_.segments, head)->view(head).state == task_state::dead)
      found.push_back({state_.id, head});
  }
  return found;
}

session_shell* shard_shell::session_of(core::peer_id peer) {
  auto at = peers_.find(peer);
  return at == peers_.end() ? nullptr : at->second.session;
}

void shard_shell::send_to(core::peer_id peer, const protocol::wire_frame& frame) {
  if (auto* session = session_of(peer))
    session->send_later(frame);
}

void shard_shell::carry_out(core::enqueue_answered& e) {
  auto pause = e.refusal.code == errc::overloaded ? limits::overloaded_retry_after : duration{0};
  send_to(e.peer, protocol::make_enqueue_reply(state_.id, e, pause).to_wire());
}

void shard_shell::carry_out(core::tasks_granted& e) {
  for (const auto& run : e.runs) {
    for (std::uint32_t i = 0; i < run.count; ++i)
      parts_.audit->grant_left(state_.id, static_cast<fencing_token>(value(run.first_token) + i));
  }
  auto* session = session_of(e.peer);
  if (!session)
    return;
  std::vector<core::encoded_tasks> bodies;
  std::uint32_t count = 0;
  bool all_cached = true;
  for (const auto& run : e.runs) {
    count += run.count;
    auto cached = cache_.find(run.segment, run.first, run.count);
    // What was handed on is on disk only.
    all_cached = all_cached && cached && run.checkpoints.empty();
    bodies.push_back(cached ? std::move(*cached) : core::encoded_tasks{});
  }
  if (!all_cached) {
    // Reading takes its time, and what this shard says later must not be overtaken by this.
    if (!e.redelivered && e.more)
      session->has_work(state_.id);
    else if (!e.redelivered)
      session->drained(state_.id);
    return parts_.reader->fetch(state_.id, *session, std::move(e), std::move(bodies));
  }
  auto frame = protocol::make_task_batch(state_.id, e, bodies).to_wire();
  session->deliver({state_.id, count, e.redelivered, e.more, frame});
}

void shard_shell::carry_out(core::claim_parked& e) {
  if (auto* session = session_of(e.peer))
    session->drained(state_.id);
}

void shard_shell::carry_out(core::work_available& e) {
  if (auto* session = session_of(e.peer))
    session->has_work(state_.id);
}

void shard_shell::carry_out(core::credits_revoked& e) {
  if (auto* session = session_of(e.peer))
    session->credits_returned(state_.id, e.credits);
}

void shard_shell::carry_out(core::reports_answered& e) {
  send_to(e.peer, protocol::make_result_reply(state_.id, e.answers).to_wire());
}

void shard_shell::carry_out(core::deliver_follow_ups& e) {
  auto& to = parts_.neighbour(e.to);
  core::take_follow_ups c{state_.id, e.number, e.answered_below, std::move(e.runs)};
  to.box().send([&to, c = std::move(c)] { to.decide(c); });
}

void shard_shell::carry_out(core::follow_ups_taken& e) {
  auto& to = parts_.neighbour(e.from);
  core::confirm_follow_ups c{state_.id, e.number};
  to.box().send([&to, c] { to.decide(c); });
}

void shard_shell::carry_out(core::checkpoints_saved& e) {
  send_to(e.peer, protocol::make_checkpoints_saved(state_.id, e.checkpoints).to_wire());
}

void shard_shell::carry_out(core::leases_lost& e) {
  send_to(e.peer, protocol::make_leases_lost(state_.id, e.leases).to_wire());
}

void shard_shell::carry_out(core::resumed& e) {
  send_to(e.peer, protocol::make_resume_reply(state_.id).to_wire());
}

void shard_shell::carry_out(core::timer_wanted& e) {
  timers_[e.token] = e.seq;
  wheel_.add(e.token, e.deadline);
}

void shard_shell::carry_out(core::timer_dropped& e) {
  timers_.erase(e.token);
}

void shard_shell::carry_out(core::task_described& e) {
  auto* session = session_of(e.why.peer);
  if (!session)
    return;
  if (!e.text)
    return parts_.reader->answer(
      state_.id, *session, {e.why, e.view.seq, e.view, {}, clock().shard});
  const auto& entry = e.view.entry;
  endings_[e.why.peer].push_back({e.view.seq, errc::none, entry.state, entry.attempt, *e.text});
}

void shard_shell::carry_out(core::task_not_here& e) {
  if (auto* session = session_of(e.why.peer))
    parts_.reader->answer(state_.id, *session, {e.why, e.seq, {}, e.purged, clock().shard});
}

void shard_shell::carry_out(core::change_answered& e) {
  send_to(e.peer, protocol::make_change_reply(state_.id, e).to_wire());
}

void shard_shell::carry_out(core::queue_answered& e) {
  send_to(e.peer, protocol::make_queue_reply(e).to_wire());
}

void shard_shell::carry_out(core::bulk_answered& e) {
  send_to(e.peer, protocol::make_bulk_reply(e).to_wire());
}

void shard_shell::carry_out(core::cancel_wanted& e) {
  send_to(e.peer, protocol::make_cancel_notice(state_.id, e).to_wire());
}

void shard_shell::flush_endings() {
  for (const auto& [peer, ended] : std::exchange(endings_, {}))
    send_to(peer, protocol::make_tasks_ended(state_.id, ended).to_wire());
}

} // namespace codeq::sim
