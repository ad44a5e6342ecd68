// SPDX-License-Identifier: Apache-2.0
#include "core/checks/invariants.hpp"
#include "core/state/apply.hpp"
#include "core/state/task_limits.hpp"
#include "permits/world.hpp"
#include "support/task_builder.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace codeq::permits {

using namespace codeq::core;
using namespace std::chrono_literals;

void node::rebuild() {
  state_ = std::make_unique<shard_state>(id_, epoch_ + 1);
  state_->steady = around_.now().steady;
  for (const auto& e : log_)
    apply(*state_, e);
}

void node::later(duration wait, std::function<void()> what) {
  around_.after(wait, [this, process = process_, what = std::move(what)] {
    if (process == process_)
      what();
  });
}

void node::serve() {
  if (is_up_)
    return;
  rebuild();
  ++epoch_;
  // The epoch's record is synced.
  synced_ = log_.size();
  is_up_ = true;
  if (std::exchange(has_lost_, false))
    state_->limits.use_up_all(around_.now().shard);
  open_permits(*state_, shard_count);
  for (const auto& [name, concurrency] : concurrencies)
    decide(set_limit{
      producer_peer, 1, {"default", name}, limit_definition{.concurrency = concurrency}});
  set_maximum(around_.maximum());
  set_depth(around_.max_depth());
  connect_worker();
}

void node::connect_worker() {
  has_worker_ = true;
  auto worker =
    std::make_shared<const worker_identity>(worker_identity{"w", worker_process_});
  // As a coordinator does: an earlier process may have leases that were recovered.
  decide(replace_worker{worker});
  decide(attach_worker{worker_peer, worker, {{"default", "q"}, bounded_queue}});
  decide(resume{worker_peer, worker, {}});
  decide(claim{worker_peer, around_.credits});
}

bool node::kill_worker() {
  if (!is_up_ || !std::exchange(has_worker_, false))
    return false;
  ++worker_process_;
  decide(detach_peer{worker_peer});
  return true;
}

void node::start_worker() {
  if (is_up_ && !has_worker_)
    connect_worker();
}

void node::kill() {
  if (!is_up_)
    return;
  ++process_;
  deep_.clear();
  closes_.clear();
  reported_.clear();
  is_up_ = false;
  is_closing_ = false;
  turn_.reset();
  rebuild();
}

void node::cut_power(std::uint64_t kept) {
  kill();
  has_lost_ = true;
  log_.resize(synced_ + std::min<std::uint64_t>(kept, unsynced()));
  rebuild();
}

void node::decide(const command& c) {
  if (!turn_)
    turn_ = std::make_unique<turn>(*state_);
  turn_->decide(c, around_.now());
  if (!std::exchange(is_closing_, true))
    later(duration{around_.below(around_.is_quick ? 2 : 3)}, [this] { close_turn(); });
}

void node::close_turn() {
  is_closing_ = false;
  auto sealed = turn_->seal(around_.now());
  turn_.reset();
  around_.audit();
  for (const auto& e : sealed.events)
    if (const auto* grant = std::get_if<batch_granted>(&e))
      check_starts(*grant);
  if (sealed.must_sync && sealed.events.empty())
    around_.look("a turn without events has to be synced");
  for (const auto& violation : find_violations(*state_))
    around_.look(violation);
  const duration takes{around_.below(around_.is_quick ? 2 : 4)};
  written_until_ = std::max(written_until_, around_.now().steady + takes);
  auto wait = written_until_ - around_.now().steady;
  auto must_sync = sealed.must_sync || !around_.is_os_mode;
  auto done = std::make_shared<sealed_turn>(std::move(sealed));
  later(wait, [this, done, must_sync] {
    write(done->events, must_sync);
    for (const auto& e : done->effects)
      carry_out(e);
  });
  if (auto next = next_wakeup(*state_, around_.now()))
    later(std::max(duration{1}, *next), [this] {
      if (!is_closing_)
        decide(tick{});
    });
}

void node::write(const std::vector<event>& events, bool is_synced) {
  log_.insert(log_.end(), events.begin(), events.end());
  if (is_synced)
    synced_ = log_.size();
}

void node::carry_out(const effect& e) {
  if (const auto* told = std::get_if<shard_told>(&e))
    std::visit([&](const auto& what) { around_.send(told->to, what); }, told->what);
  if (const auto* granted = std::get_if<tasks_granted>(&e)) {
    note_starts(*granted);
    complete(*granted);
  }
  if (std::holds_alternative<work_available>(e))
    decide(claim{worker_peer, around_.credits});
  if (const auto* answered = std::get_if<enqueue_answered>(&e))
    if (auto asked = deep_.extract(answered->number); !asked.empty())
      around_.note_deep(
        asked.mapped(), answered->allowed ? errc::none : answered->allowed.error().code);
  if (const auto* answered = std::get_if<limits_answered>(&e))
    if (auto closed = closes_.extract(answered->number); !closed.empty() && answered->allowed)
      around_.note_answered(closed.mapped());
}

void node::complete(const tasks_granted& granted) {
  if (!has_worker_)
    return;
  for (const auto& run : granted.runs)
    for (std::uint32_t i = 0; i < run.count; ++i) {
      lease_report done;
      done.seq = run.first + i;
      done.token = fencing_token{value(run.first_token) + i};
      const auto* s = find_segment(state_->segments, done.seq);
      if (s && s->limits && lacks_permit(*state_, *s))
        ++around_.through_permits;
      if (s && state_->queue_of(*s).has_slots())
        ++around_.through_slots;
      switch (around_.below(8)) {
      case 0:
        done.how = disposition::limited;
        done.delay = duration{around_.below(300)};
        break;
      case 1:
        done.how = disposition::abandon;
        break;
      default:
        break;
      }
      const auto end = [this, done, again = !granted.redelivered, by = worker_process_] {
        if (by != worker_process_)
          return;
        note_limited(done);
        decide(report{worker_peer, {done}});
        ++around_.completed;
        if (again)
          decide(claim{worker_peer, 1});
      };
      later(duration{around_.below(around_.run_max)}, end);
    }
}

void node::note_limited(const lease_report& done) {
  const auto* s = find_segment(state_->segments, done.seq);
  if (done.how != disposition::limited || !s || !s->limits)
    return;
  const auto& use = s->limits->front();
  around_.note_closed(use, *done.delay);
  const auto* accepted = state_->leases.find(done.token);
  if (!accepted || accepted->seq != done.seq)
    return;
  const limit_key key{use.name, use.key};
  auto& until = reported_[key];
  until = std::max(until, around_.now().steady + *done.delay);
  around_.note_reported(key, *done.delay);
}

void node::check_starts(const batch_granted& grant) {
  for (const auto& run : grant.runs)
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const auto* s = find_segment(state_->segments, run.first + i);
      if (!s || !s->limits)
        continue;
      for (const auto& use : *s->limits) {
        const limit_key key{use.name, use.key};
        const auto reported = reported_.find(key);
        if (reported != reported_.end() && around_.now().steady < reported->second)
          around_.look("a task of key " + use.key + " of " + use.name
                       + " was leased where a report had closed it");
        around_.note_leased(key);
      }
    }
}

void node::note_starts(const tasks_granted& granted) {
  if (granted.redelivered)
    return;
  for (const auto& run : granted.runs)
    for (std::uint32_t i = 0; i < run.count; ++i)
      if (const auto* s = find_segment(state_->segments, run.first + i); s && s->limits)
        for (const auto& use : *s->limits)
          around_.note_started({use.name, use.key});
}

void node::pause(bool is_paused) {
  decide(pause_queue{producer_peer, ++requests_, {"default", "q"}, is_paused});
}

void node::cancel_task() {
  std::vector<sequence> live;
  state_->segments.for_each([&](const segment& s) {
    for (std::uint32_t i = 0; i < s.count; ++i)
      if (!is_terminal(s.view(s.first + i).state))
        live.push_back(s.first + i);
  });
  if (!live.empty())
    decide(cancel{producer_peer, ++requests_, live[around_.below(live.size())]});
}

void node::enqueue_task(
  std::string group, std::string customer, std::vector<task_limit> uses, std::uint8_t priority) {
  enqueue_run run;
  run.queue = {"default", "q"};
  run.group = std::move(group);
  run.fairness.key = std::move(customer);
  run.limits = std::move(uses);
  enqueue_run_of(std::move(run), 1, priority);
}

void node::enqueue_bounded(
  std::uint32_t count, std::vector<task_limit> uses, std::uint8_t priority) {
  enqueue_run run;
  run.queue = bounded_queue;
  run.limits = std::move(uses);
  enqueue_run_of(std::move(run), count, priority);
}

void node::enqueue_run_of(enqueue_run run, std::uint32_t count, std::uint8_t priority) {
  run.settings.lease = 1h;
  run.settings.max_attempts = 1000;
  // After attempts that were lost with their worker.
  run.settings.retry = {retry_kind::fixed, 100ms, 100ms};
  run.priority = priority;
  run.tasks = test::encode_bodies(count, 8);
  auto session = make_producer_id(around_.now().shard, 0, epoch_);
  decide(enqueue{producer_peer, {session, ++requests_, 0}, {std::move(run)}});
}

void node::enqueue_deep(std::uint32_t count, bool is_exempt) {
  enqueue_run run;
  run.queue = deep_queue;
  run.settings.lease = 1h;
  if (!is_exempt) {
    deep_.emplace(requests_ + 1, count);
    return enqueue_run_of(std::move(run), count, 0);
  }
  run.priority = exempt_priority;
  run.tasks = test::encode_bodies(count, 8);
  // No shard of the simulation has that number; its follow-ups are numbered by the time.
  auto number = static_cast<std::uint64_t>(around_.now().shard.time_since_epoch().count());
  decide(take_follow_ups{shard_id{shard_count}, number, number, {std::move(run)}});
}

void node::cancel_deep(std::uint64_t most) {
  std::vector<sequence> live;
  state_->segments.for_each([&](const segment& s) {
    if (state_->queues[s.queue]->address != deep_queue)
      return;
    for (std::uint32_t i = 0; i < s.count; ++i)
      if (!is_terminal(s.view(s.first + i).state))
        live.push_back(s.first + i);
  });
  live.resize(std::min<std::uint64_t>(live.size(), most));
  for (auto seq : live)
    decide(cancel{producer_peer, ++requests_, seq});
}

void node::set_depth(std::uint64_t max_depth) {
  queue_config config;
  config.max_depth = max_depth;
  decide(configure_queue{producer_peer, ++requests_, deep_queue, config});
}

void node::flip_depth() {
  set_depth(0);
  set_depth(around_.max_depth());
}

void node::close_key(const key_close& order) {
  closes_.emplace(++requests_, order);
  decide(close_limit_key{
    producer_peer, requests_, {"default", order.key.first}, order.key.second,
    order.until - order.asked});
}

void node::set_maximum(std::uint64_t max_leased) {
  queue_config config;
  config.max_leased = max_leased;
  decide(configure_queue{producer_peer, ++requests_, bounded_queue, config});
}

} // namespace codeq::permits
