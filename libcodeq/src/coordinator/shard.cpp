// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard.hpp"

#include "codeq/limits.hpp"

#include "coordinator/access.hpp"
#include "coordinator/task_batches.hpp"
#include "protocol/convert.hpp"
#include "protocol/operator_reply.hpp"

#include <span>
#include <utility>

namespace codeq::coordinator {

namespace {

/// What the end of a task costs in a frame beside its text.
constexpr std::size_t ended_overhead_bytes = 32;

} // namespace

void shard_actor_state::start(
  actors::shard_internal_actor::pointer self, const shard_options& options) {
  self_ = self;
  options_ = options;
  state_ = options_.state;
  cache_.emplace(options_.cache_bytes);
  auto now = options_.clock->now();
  timers_.emplace(now.steady);
  turns_.emplace(*state_, now.steady);
  decide(core::tick{});
}

void shard_actor_state::decide(const core::command& command) {
  if (turns_->decide(command, options_.clock->now()))
    self_->send(self_, actors::close_turn{});
  if (turns_->is_full())
    close_turn();
}

void shard_actor_state::close_turn() {
  if (!turns_->has_turn())
    return;
  if (auto events = turns_->close(options_.clock->now()); !events.empty())
    commit(std::move(events));
  renew_epoch();
  release();
  arm();
}

void shard_actor_state::committed(std::uint64_t number) {
  turns_->committed(number);
  release();
  // Timers were wanted.
  arm();
}

void shard_actor_state::release() {
  while (auto effects = turns_->release()) {
    for (auto& e : *effects)
      std::visit([this](auto& x) { carry_out(x); }, e);
    flush_endings();
  }
  // A name is no promise: at worst somebody waits at a queue that stays empty.
  for (auto& [peer, watcher] : queue_watchers_)
    if (watcher.told < state_->queues.size())
      tell_queues(watcher);
  if (stopping_ && turns_->is_settled())
    std::exchange(stopping_, std::nullopt)->deliver(true);
}

void shard_actor_state::arm() {
  if (auto next = turns_->arm(options_.clock->now(), timers_->next_look()))
    self_->delayed_send(self_, next->wait, actors::wake_shard{next->number});
}

void shard_actor_state::wake(std::uint64_t number) {
  if (!turns_->wake(number))
    return;
  timers_->wake_due(options_.clock->now().steady);
  decide(core::tick{});
}

template <class Command>
std::optional<Command> shard_actor_state::accept(core::peer_id peer, result<Command> command) {
  if (command)
    return std::move(*command);
  send_to(peer, actors::peer_misbehaved{command.error()});
  return std::nullopt;
}

void shard_actor_state::enqueue(const actors::from_peer<schema::EnqueueRequest>& m) {
  auto now = options_.clock->now();
  auto command = protocol::to_command(m.message, m.peer, now.shard, place());
  if (command) {
    if (options_.space)
      command->refusal = options_.space->refusal(now.steady);
    if (auto ok = m.sender ? access::check(*m.sender, *command) : result<void>{}; !ok)
      return refuse(m.peer, command->request.number, ok.error());
    return decide(std::move(*command));
  }
  auto number = protocol::number_of(m.message);
  if (number && command.error().code != errc::protocol_error)
    refuse(m.peer, *number, command.error());
  else
    send_to(m.peer, actors::peer_misbehaved{command.error()});
}

void shard_actor_state::refuse(core::peer_id peer, std::uint64_t number, const error& reason) {
  core::enqueue_answered refusal{peer, number, {}, {}, reason};
  carry_out(refusal);
}

void shard_actor_state::beat(const actors::from_peer<schema::HeartbeatRequest>& m) {
  auto command = accept(m.peer, protocol::to_command(m.message, m.peer));
  if (!command)
    return;
  if (m.sender)
    say_not_yours(m.peer, access::take_foreign(*m.sender, *state_, *command));
  decide(std::move(*command));
}

void shard_actor_state::report(const actors::from_peer<schema::ResultRequest>& m) {
  auto now = options_.clock->now().shard;
  auto command = accept(m.peer, protocol::to_command(m.message, m.peer, now, place()));
  if (!command)
    return;
  if (m.sender) {
    say_not_yours(m.peer, access::take_foreign(*m.sender, *state_, *command));
    access::refuse_foreign_follow_ups(*m.sender, *command);
  }
  decide(std::move(*command));
}

void shard_actor_state::resume(const actors::from_peer<schema::ResumeRequest>& m) {
  auto at = peers_.find(m.peer);
  if (at == peers_.end() || !at->second.worker)
    return;
  auto command = protocol::to_command(m.message, m.peer, at->second.worker);
  if (auto accepted = accept(m.peer, std::move(command)))
    decide(std::move(*accepted));
}

void shard_actor_state::await(const actors::from_peer<schema::AwaitRequest>& m) {
  auto at = state_->awaiting.find(m.peer);
  if (at != state_->awaiting.end() && at->second.size() >= limits::awaited_tasks_max) {
    error reason{
      errc::overloaded,
      std::to_string(at->second.size()) + " tasks of one shard are awaited already; the limit is "
        + std::to_string(limits::awaited_tasks_max)};
    return send_to(m.peer, actors::peer_misbehaved{std::move(reason)});
  }
  auto command = accept(m.peer, protocol::to_command(m.message, m.peer));
  if (!command)
    return;
  if (m.sender)
    say_not_yours(m.peer, access::take_foreign(*m.sender, *state_, *command));
  decide(std::move(*command));
}

void shard_actor_state::attach(const actors::attach_session& m) {
  peers_.insert_or_assign(m.peer, peer{m.session, m.worker, m.bearer});
  if (m.worker)
    decide(core::attach_worker{m.peer, m.worker, m.queues});
  if (m.watcher)
    tell_queues(queue_watchers_.insert_or_assign(m.peer, queue_watcher{m.watcher}).first->second);
}

void shard_actor_state::tell_queues(queue_watcher& watcher) {
  actors::queues_added news{state_->id, {}};
  for (; watcher.told < state_->queues.size(); ++watcher.told)
    news.queues.push_back(state_->queues[watcher.told]->address);
  self_->send(watcher.actor, std::move(news));
}

void shard_actor_state::detach(const actors::detach_session& m) {
  peers_.erase(m.peer);
  queue_watchers_.erase(m.peer);
  decide(core::detach_peer{m.peer});
}

void shard_actor_state::end_leases(const actors::end_leases& m) {
  if (m.replaced)
    decide(core::replace_worker{m.worker});
  else
    decide(core::release_worker{m.worker});
}

caf::result<bool> shard_actor_state::stop() {
  auto promise = self_->make_response_promise<bool>();
  stopping_ = promise;
  decide(core::take_checkpoint{});
  close_turn();
  release();
  return promise;
}

void shard_actor_state::carry_out(core::enqueue_answered& e) {
  auto pause = e.refusal.code == errc::overloaded ? limits::overloaded_retry_after : duration{0};
  auto frame = protocol::make_enqueue_reply(state_->id, e, pause).to_wire();
  send_to(e.peer, actors::enqueue_done{e.number, std::move(frame)});
}

void shard_actor_state::carry_out(core::tasks_granted& e) {
  auto at = peers_.find(e.peer);
  if (at == peers_.end())
    return;
  if (!e.redelivered)
    note_dispatch(e);
  std::vector<core::encoded_tasks> bodies;
  bool all_cached = true;
  for (const auto& run : e.runs) {
    auto cached = cache_->find(run.segment, run.first, run.count);
    // What was handed on is on disk only.
    all_cached = all_cached && cached && run.checkpoints.empty();
    bodies.push_back(cached ? std::move(*cached) : core::encoded_tasks{});
  }
  if (!all_cached) {
    // Reading takes its time, and what this shard says later must not be overtaken by this.
    if (!e.redelivered && e.more)
      send_to(e.peer, actors::shard_has_work{state_->id});
    else if (!e.redelivered)
      send_to(e.peer, actors::shard_drained{state_->id});
    self_->send(
      options_.reader,
      actors::fetch_bodies{state_->id, at->second.session, std::move(e), std::move(bodies)});
    return;
  }
  task_batches batches(state_->id, e.redelivered, [&](actors::tasks_for_peer m) {
    m.more = e.more;
    send_to(e.peer, std::move(m));
  });
  for (std::size_t i = 0; i < e.runs.size(); ++i) {
    cache_->granted(e.runs[i].segment, e.runs[i].first, e.runs[i].count);
    batches.add(std::move(e.runs[i]), std::move(bodies[i]));
  }
  batches.send();
}

void shard_actor_state::carry_out(core::claim_parked& e) {
  send_to(e.peer, actors::shard_drained{state_->id});
}

void shard_actor_state::carry_out(core::work_available& e) {
  send_to(e.peer, actors::shard_has_work{state_->id});
}

void shard_actor_state::carry_out(core::credits_revoked& e) {
  send_to(e.peer, actors::credits_returned{state_->id, e.credits});
}

void shard_actor_state::carry_out(core::reports_answered& e) {
  for (const auto& answer : e.answers)
    if (answer.code == errc::none)
      ran_.add(answer.ran);
  send_to(e.peer, protocol::make_result_reply(state_->id, e.answers).to_wire());
}

void shard_actor_state::carry_out(core::checkpoints_saved& e) {
  send_to(e.peer, protocol::make_checkpoints_saved(state_->id, e.checkpoints).to_wire());
}

void shard_actor_state::carry_out(core::leases_lost& e) {
  send_to(e.peer, protocol::make_leases_lost(state_->id, e.leases).to_wire());
}

void shard_actor_state::carry_out(core::resumed& e) {
  send_to(e.peer, protocol::make_resume_reply(state_->id).to_wire());
}

void shard_actor_state::carry_out(core::timer_wanted& e) {
  timers_->want(self_->system(), caf::actor_cast<actors::shard_internal_actor>(self_), e);
}

void shard_actor_state::carry_out(core::timer_dropped& e) {
  timers_->drop(e.token);
}

void shard_actor_state::carry_out(core::task_described& e) {
  auto at = peers_.find(e.why.peer);
  if (at == peers_.end())
    return;
  if (!e.text) {
    auto view = std::make_shared<const core::task_view>(e.view);
    self_->send(
      options_.reader,
      actors::answer_inquiry{
        state_->id,
        at->second.session,
        e.why,
        e.view.seq,
        std::move(view),
        nullptr,
        options_.clock->now().shard,
        at->second.bearer});
  } else if (e.why.what == core::inquiry::kind::status) {
    auto reply = protocol::make_status_reply(state_->id, e.why.number, e.view, {*e.text});
    send_to(e.why.peer, reply.to_wire());
  } else {
    const auto& entry = e.view.entry;
    endings_[e.why.peer].push_back({e.view.seq, errc::none, entry.state, entry.attempt, *e.text});
  }
}

void shard_actor_state::carry_out(core::task_not_here& e) {
  auto at = peers_.find(e.why.peer);
  if (at == peers_.end())
    return;
  self_->send(
    options_.reader,
    actors::answer_inquiry{
      state_->id,
      at->second.session,
      e.why,
      e.seq,
      nullptr,
      std::move(e.purged),
      options_.clock->now().shard,
      at->second.bearer});
}

void shard_actor_state::carry_out(core::cancel_wanted& e) {
  send_to(e.peer, protocol::make_cancel_notice(state_->id, e).to_wire());
}

void shard_actor_state::carry_out(core::progress_told& e) {
  endings_[e.peer].push_back(
    {e.seq, errc::none, task_state::leased, e.attempt, bytes::from(std::move(e.note)), e.percent});
}

void shard_actor_state::flush_endings() {
  for (auto& [peer, ended] : endings_) {
    std::span<const protocol::ended_task> rest = ended;
    while (!rest.empty()) {
      // As many as fit a frame with room to spare.
      std::size_t count = 0;
      std::size_t byte_count = 0;
      while (count < rest.size() && (count == 0 || byte_count < limits::grant_bytes_max))
        byte_count += rest[count++].text.size() + ended_overhead_bytes;
      send_to(peer, protocol::make_tasks_ended(state_->id, rest.first(count)).to_wire());
      rest = rest.subspan(count);
    }
  }
  endings_.clear();
}

actors::shard_internal_actor::behavior_type shard(
  actors::shard_internal_actor::stateful_pointer<shard_actor_state> self,
  const shard_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  return {
    [self](const actors::from_peer<schema::EnqueueRequest>& m) { self->state.enqueue(m); },
    [self](const actors::from_peer<schema::HeartbeatRequest>& m) { self->state.beat(m); },
    [self](const actors::from_peer<schema::ResultRequest>& m) { self->state.report(m); },
    [self](const actors::from_peer<schema::ResumeRequest>& m) { self->state.resume(m); },
    [self](const actors::from_peer<schema::AwaitRequest>& m) { self->state.await(m); },
    [self](const actors::attach_session& m) { self->state.attach(m); },
    [self](const actors::detach_session& m) { self->state.detach(m); },
    [self](const actors::add_credits& m) {
      self->state.decide(core::claim{m.peer, m.credits, m.lease});
    },
    [self](const actors::take_credits& m) {
      self->state.decide(core::revoke_credits{m.peer, m.credits});
    },
    [self](const actors::change_worker_queues& m) {
      self->state.decide(core::change_queues{m.peer, m.queues});
    },
    [self](const actors::end_leases& m) { self->state.end_leases(m); },
    [self](const actors::from_peer<schema::StatusRequest>& m) { self->state.operate(m); },
    [self](const actors::from_peer<schema::ChangeRequest>& m) { self->state.operate(m); },
    [self](const actors::from_peer<schema::ForceRequest>& m) { self->state.operate(m); },
    [self](const actors::from_peer<schema::QueueRequest>& m) { self->state.operate(m); },
    [self](const actors::from_peer<schema::BulkRequest>& m) { self->state.operate(m); },
    [self](const actors::from_peer<schema::ListRequest>& m) { self->state.operate(m); },
    [self](const actors::from_peer<schema::ExplainRequest>& m) { self->state.operate(m); },
    [self](const actors::from_peer<schema::EventsRequest>& m) { self->state.operate(m); },
    [self](actors::ask_shard_stats) { return self->state.stats(); },
    [self](actors::stop_shard) { return self->state.stop(); },
    [self](actors::hand_over& m) { self->state.take(m); },
    [self](const actors::handed_over& m) { self->state.confirm(m); },
    [self](const actors::meet_shards& m) { self->state.meet(m); },
    [self](const actors::lease_timeout& m) {
      self->state.decide(core::expire_lease{m.seq, m.token});
    },
    [self](const actors::batch_committed& m) { self->state.committed(m.number); },
    [self](const actors::epoch_raised& m) { self->state.raise_epoch(m.epoch); },
    [self](actors::close_turn) { self->state.close_turn(); },
    [self](const actors::wake_shard& m) { self->state.wake(m.number); },
  };
}

} // namespace codeq::coordinator
