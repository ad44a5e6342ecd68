// SPDX-License-Identifier: Apache-2.0
#include "sim/shard_shell.hpp"

#include "codeq/limits.hpp"

#include "protocol/convert.hpp"
#include "storage/projection.hpp"

#include <algorithm>
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
    cache_(cache_bytes),
    wheel_(all.steady()),
    last_checkpoint_(all.steady()) {
  box_.send([this] { decide(core::tick{}); });
}

instant shard_shell::clock() {
  return {world_.steady(), shard_time_.at(world_.steady(), world_.wall())};
}

void shard_shell::decide(const core::command& c) {
  if (!turn_) {
    turn_ = std::make_unique<core::turn>(state_);
    box_.send([this] { close_turn(); });
  }
  turn_->decide(c, clock());
}

void shard_shell::close_turn() {
  if (!turn_)
    return;
  auto now = clock();
  bool has_records = state_.records_since_checkpoint > 0;
  bool is_late = now.steady - last_checkpoint_ >= limits::checkpoint_interval;
  // Also when there are many records; here by chance, since there never are.
  if (has_records && (is_late || world_.random.hits(20))) {
    turn_->decide(core::take_checkpoint{}, now);
    last_checkpoint_ = now.steady;
  }
  auto sealed = turn_->seal(now);
  turn_.reset();
  parts_.audit->turn_sealed(state_, sealed.events);
  if (!sealed.events.empty())
    commit(std::move(sealed.events));
  held_.push_back({submitted_, std::move(sealed.effects)});
  release();
  arm();
}

void shard_shell::commit(std::vector<core::event> events) {
  auto writes = std::make_shared<storage::write_set>();
  std::shared_ptr<const storage::shard_horizon> horizon;
  for (auto& e : events) {
    storage::project(state_.id, e, *writes);
    if (auto* appended = std::get_if<core::segment_appended>(&e))
      cache_.insert(appended->first, std::move(appended->pieces));
    if (const auto* checkpoint = std::get_if<core::checkpoint_taken>(&e))
      horizon =
        std::make_shared<const storage::shard_horizon>(storage::horizon_of(state_, *checkpoint));
  }
  parts_.journal->gather(
    *this, ++submitted_, {state_.id, std::move(events), std::move(writes), std::move(horizon)});
}

void shard_shell::committed(std::uint64_t number) {
  committed_ = std::max(committed_, number);
  release();
  arm();
}

void shard_shell::release() {
  while (!held_.empty() && held_.front().commit <= committed_) {
    auto effects = std::move(held_.front().effects);
    held_.pop_front();
    for (auto& e : effects)
      std::visit([this](auto& x) { carry_out(x); }, e);
    flush_endings();
  }
}

void shard_shell::arm() {
  auto now = clock();
  std::optional<monotonic_time> next;
  if (auto wait = core::next_wakeup(state_, now))
    next = now.steady + *wait;
  auto look = timers_.empty() ? std::nullopt : wheel_.next_look();
  if (look)
    next = next ? std::min(*next, *look) : *look;
  if (state_.records_since_checkpoint > 0) {
    auto checkpoint = last_checkpoint_ + limits::checkpoint_interval;
    next = next ? std::min(*next, checkpoint) : checkpoint;
  }
  if (!next || (armed_ && *armed_ <= *next))
    return;
  armed_ = next;
  auto wait = std::max(duration{1}, *next - now.steady);
  home_.after(
    wait, [this, number = ++armed_number_] { box_.send([this, number] { wake(number); }); });
}

void shard_shell::wake(std::uint64_t number) {
  if (number != armed_number_)
    return;
  armed_.reset();
  for (auto token : wheel_.take_due(world_.steady())) {
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
  auto command = protocol::to_command(m, from, clock().shard);
  if (command)
    for (auto& run : command->runs)
      run.settings.retention = world_.options.retention;
  decide_or_end(from, command);
}

void shard_shell::take(core::peer_id from, const protocol::heartbeat_request& m) {
  auto command = protocol::to_command(m, from);
  decide_or_end(from, command);
  if (!command)
    return;
  for (const auto& beat : command->beats)
    parts_.audit->beat_taken(state_.id, beat.token);
}

void shard_shell::take(core::peer_id from, const protocol::result_request& m) {
  decide_or_end(from, protocol::to_command(m, from));
}

void shard_shell::take(core::peer_id from, const protocol::resume_request& m) {
  auto at = peers_.find(from);
  if (at != peers_.end() && at->second.worker)
    decide_or_end(from, protocol::to_command(m, from, at->second.worker));
}

void shard_shell::take(core::peer_id from, const protocol::await_request& m) {
  decide_or_end(from, protocol::to_command(m, from));
}

core::shard_state* shard_shell::settled_state() {
  return !turn_ && submitted_ == committed_ ? &state_ : nullptr;
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
    all_cached = all_cached && cached;
    bodies.push_back(cached ? std::move(*cached) : core::encoded_tasks{});
  }
  if (!all_cached)
    return parts_.reader->fetch(state_.id, *session, std::move(e), std::move(bodies));
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
    return parts_.reader->answer(state_.id, *session, {e.why, e.view.seq, e.view, clock().shard});
  const auto& entry = e.view.entry;
  endings_[e.why.peer].push_back({e.view.seq, errc::none, entry.state, entry.attempt, *e.text});
}

void shard_shell::carry_out(core::task_not_here& e) {
  if (auto* session = session_of(e.why.peer))
    parts_.reader->answer(state_.id, *session, {e.why, e.seq, std::nullopt, clock().shard});
}

void shard_shell::flush_endings() {
  for (const auto& [peer, ended] : std::exchange(endings_, {}))
    send_to(peer, protocol::make_tasks_ended(state_.id, ended).to_wire());
}

} // namespace codeq::sim
