// SPDX-License-Identifier: Apache-2.0
#include "permits/world.hpp"

#include "core/checks/invariants.hpp"
#include "core/state/apply.hpp"
#include "core/state/task_limits.hpp"
#include "support/task_builder.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

namespace codeq::permits {

namespace {

using namespace codeq::core;
using namespace std::chrono_literals;

constexpr peer_id worker_peer = 1;
constexpr peer_id producer_peer = 2;
constexpr duration disturbed_for = 20s;
constexpr duration healed_for = 120s;

const queue_address bounded_queue{"default", "bounded"};
const queue_address deep_queue{"default", "deep"};

/// Tasks that are added whatever the depth have this priority, and no others.
constexpr std::uint8_t exempt_priority = 9;

/// The limits of the simulation, with their concurrency.
const std::map<std::string, std::uint32_t> concurrencies{{"one", 1}, {"two", 2}, {"any", 5}};

} // namespace

world::world(std::uint64_t seed) : random_(seed) {
  is_os_mode = below(2) == 0;
  is_faulty_ = below(8) != 0;
  maximum_ = 1 + below(4);
  is_maximum_changed_ = below(4) == 0;
  is_maximum_checked_ = !is_maximum_changed_;
  max_depth_ = 1 + below(60);
  is_depth_checked_ = !is_maximum_changed_;
  // Slots come while such workers are busy.
  if (below(4) == 0) {
    credits = 1;
    run_max = 120;
  }
  for (std::uint16_t i = 0; i < shard_count; ++i)
    nodes_.push_back(std::make_unique<node>(*this, shard_id{i}));
}

void world::after(duration wait, std::function<void()> what) {
  due_.emplace(std::pair{now_ + wait, ++order_}, std::move(what));
}

void world::send(shard_id to, const core::command& c) {
  if (is_disturbed_ && below(10) == 0)
    return;
  auto times = is_disturbed_ && below(10) == 0 ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    auto is_late = is_disturbed_ && below(8) == 0;
    after(duration{1 + below(is_late ? 3000 : 4)}, [this, to, c] {
      auto& there = *nodes_[value(to)];
      if (there.is_up())
        there.decide(c);
    });
  }
}

std::string world::run() {
  for (auto& one : nodes_)
    one->serve();
  for (duration passed{0}; passed < disturbed_for && wrong_.empty(); passed += 20ms) {
    disturb();
    pass(20ms);
  }
  is_disturbed_ = false;
  pass(4s);
  max_depth_ = std::max<std::uint64_t>(max_depth_, 1);
  for (auto& one : nodes_) {
    one->serve();
    one->set_maximum(maximum_);
    one->set_depth(max_depth_);
  }
  pass(4s);
  is_maximum_checked_ = true;
  fill_depth();
  pass(healed_for);
  return wrong_.empty() ? check_end() : wrong_;
}

void world::look(const std::string& wrong) {
  if (wrong_.empty())
    wrong_ = wrong;
}

void world::audit() {
  std::map<std::pair<std::string, std::string>, std::uint32_t> leased;
  for (const auto& one : nodes_)
    one->state().segments.for_each([&](const segment& s) {
      if (s.limits && s.view(s.first).state == task_state::leased)
        for (const auto& use : *s.limits)
          ++leased[{use.name, use.key}];
    });
  for (const auto& [key, count] : leased)
    if (count > concurrencies.at(key.first))
      look("key " + key.second + " of " + key.first + " has " + std::to_string(count)
           + " leases");
  std::uint64_t bounded = 0;
  for (const auto& one : nodes_)
    if (const auto* queue = one->state().find_queue(bounded_queue))
      bounded += queue->leased;
  if (is_maximum_checked_ && maximum_ > 0 && bounded > maximum_)
    look("the bounded queue has " + std::to_string(bounded) + " leases; its maximum is "
         + std::to_string(maximum_));
  audit_depth();
}

std::uint64_t world::deep_tasks() const {
  std::uint64_t tasks = 0;
  for (const auto& one : nodes_)
    if (const auto* queue = one->state().find_queue(deep_queue))
      tasks += queue->depth();
  return tasks;
}

std::uint64_t world::exempt_tasks() const {
  std::uint64_t tasks = 0;
  for (const auto& one : nodes_)
    one->state().segments.for_each([&](const segment& s) {
      for (std::uint32_t i = 0; s.priority == exempt_priority && i < s.count; ++i)
        tasks += is_terminal(s.view(s.first + i).state) ? 0 : 1;
    });
  return tasks;
}

void world::audit_depth() {
  if (!is_depth_checked_ || max_depth_ == 0)
    return;
  const auto tasks = deep_tasks();
  if (tasks > max_depth_ && tasks > max_depth_ + exempt_tasks())
    look("the deep queue has " + std::to_string(tasks) + " tasks; its maximum is "
         + std::to_string(max_depth_));
}

void world::note_deep(std::uint32_t tasks, errc answer) {
  deep_taken += answer == errc::none ? tasks : 0;
  deep_full += answer == errc::queue_full ? 1 : 0;
  deep_put_off += answer == errc::overloaded ? 1 : 0;
  if (is_filling_ && answer == errc::overloaded)
    look("without faults it was not known whether the deep queue had room");
}

void world::empty_depth() {
  for (auto& one : nodes_)
    one->cancel_deep(deep_tasks());
  pass(1s);
  if (const auto left = deep_tasks(); left > 0)
    look("the deep queue has " + std::to_string(left) + " tasks after all were cancelled");
}

void world::fill_depth() {
  empty_depth();
  is_depth_checked_ = true;
  is_filling_ = true;
  // Each shard is refused only when there is no room on any.
  for (std::uint64_t i = 0; i < 4 * max_depth_ + 40; ++i) {
    nodes_[below(shard_count)]->enqueue_deep(1, false);
    pass(duration{below(20)});
  }
  pass(1s);
  if (const auto tasks = deep_tasks(); tasks != max_depth_)
    look("the deep queue was filled with " + std::to_string(tasks) + " tasks; its maximum is "
         + std::to_string(max_depth_));
  // One shard gets what all others do not need.
  empty_depth();
  nodes_[below(shard_count)]->enqueue_deep(static_cast<std::uint32_t>(max_depth_), false);
  pass(1s);
  if (const auto tasks = deep_tasks(); tasks != max_depth_)
    look("the deep queue has " + std::to_string(tasks) + " tasks of one request of "
         + std::to_string(max_depth_));
  empty_depth();
}

void world::disturb() {
  if (below(3) == 0)
    add_task();
  if (below(4) == 0)
    add_bounded();
  if (is_maximum_changed_ && below(100) == 0)
    change_maximum();
  disturb_depth();
  auto& one = *nodes_[below(shard_count)];
  if (below(30) == 0 && one.is_up())
    one.cancel_task();
  if (!is_faulty_)
    return;
  switch (below(100)) {
  case 0:
    one.kill();
    return bring_back(one);
  case 1:
  case 2:
  case 3:
    return lose(one, below(one.unsynced() + 1));
  default:
    return;
  }
}

void world::lose(node& one, std::uint64_t kept) {
  one.cut_power(kept);
  bring_back(one);
}

void world::bring_back(node& one) {
  after(duration{below(2000)}, [this, &one] {
    one.serve();
    for (auto& other : nodes_)
      if (other->id() != one.id())
        after(duration{below(200)}, [&other, id = one.id()] {
          note_moved(other->state(), id);
          if (other->is_up())
            other->decide(tick{});
        });
  });
}

void world::add_task() {
  static const std::array<std::string, 3> names{"one", "two", "any"};
  std::vector<task_limit> uses;
  for (const auto& name : names)
    if (below(2) == 0)
      uses.push_back({name, "k" + std::to_string(below(3)), 1});
  if (uses.empty())
    return;
  auto first = static_cast<std::ptrdiff_t>(below(uses.size()));
  std::rotate(uses.begin(), uses.begin() + first, uses.end());
  shard_id at{static_cast<std::uint16_t>(below(shard_count))};
  auto group = below(3) == 0 ? "g" + std::to_string(below(5)) : std::string();
  auto customer = below(2) == 0 ? "c" + std::to_string(below(3)) : std::string();
  if (nodes_[value(at)]->is_up())
    nodes_[value(at)]->enqueue_task(
      std::move(group), std::move(customer), std::move(uses),
      static_cast<std::uint8_t>(below(3)));
}

void world::add_bounded() {
  std::vector<task_limit> uses;
  if (below(4) == 0)
    uses.push_back({"any", "k" + std::to_string(below(3)), 1});
  auto& one = *nodes_[below(shard_count)];
  auto count = uses.empty() ? 1 + below(3) : 1;
  if (one.is_up())
    one.enqueue_bounded(
      static_cast<std::uint32_t>(count), std::move(uses), static_cast<std::uint8_t>(below(3)));
}

void world::change_maximum() {
  maximum_ = below(3) == 0 ? 0 : 1 + below(4);
  for (auto& one : nodes_)
    after(duration{below(200)}, [this, &one] {
      if (one->is_up())
        one->set_maximum(maximum_);
    });
}

void world::change_depth() {
  max_depth_ = below(4) == 0 ? 0 : 1 + below(60);
  for (auto& one : nodes_)
    after(duration{below(200)}, [this, &one] {
      if (one->is_up())
        one->set_depth(max_depth_);
    });
}

void world::disturb_depth() {
  if (is_maximum_changed_ && below(100) == 0)
    change_depth();
  auto& one = *nodes_[below(shard_count)];
  if (!one.is_up())
    return;
  if (!is_maximum_changed_ && below(30) == 0)
    one.flip_depth();
  if (below(3) == 0)
    one.enqueue_deep(static_cast<std::uint32_t>(1 + below(8)), below(20) == 0);
  if (below(6) != 0)
    return;
  one.cancel_deep(below(max_depth_ + 1));
  if (is_faulty_ && below(8) == 0)
    after(duration{10 + below(30)}, [this, &one] { lose(one, 0); });
}

void world::pass(duration time) {
  auto until = now_ + time;
  while (!due_.empty() && due_.begin()->first.first <= until && wrong_.empty()) {
    auto next = due_.extract(due_.begin());
    now_ = std::max(now_, next.key().first);
    next.mapped()();
  }
  now_ = until;
}

std::string world::check_end() {
  for (const auto& one : nodes_) {
    const auto& state = one->state();
    auto name = "shard " + std::to_string(value(one->id()));
    std::size_t live = 0;
    state.segments.for_each([&](const segment& s) {
      for (std::uint32_t i = 0; i < s.count; ++i)
        live += is_terminal(s.view(s.first + i).state) ? 0 : 1;
    });
    if (live > 0)
      return name + " has " + std::to_string(live) + " tasks that never ended";
    if (state.permits.size() > 0)
      return name + " has permits without tasks";
    if (!state.parked.empty() || !state.depths.waiting().empty())
      return name + " has enqueues that wait for room";
    for (const auto& [asker, has] : state.lent.askers())
      if (!has.booked.empty() || !has.waiting.empty())
        return name + " has lent slots that nobody has: " + std::to_string(has.booked.size());
  }
  return {};
}

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
  auto worker = std::make_shared<const worker_identity>(worker_identity{"w", 1});
  set_maximum(around_.maximum());
  set_depth(around_.max_depth());
  decide(attach_worker{worker_peer, worker, {{"default", "q"}, bounded_queue}});
  decide(resume{worker_peer, worker, {}});
  decide(claim{worker_peer, around_.credits});
}

void node::kill() {
  if (!is_up_)
    return;
  ++process_;
  deep_.clear();
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
    later(duration{around_.below(3)}, [this] { close_turn(); });
}

void node::close_turn() {
  is_closing_ = false;
  auto sealed = turn_->seal(around_.now());
  turn_.reset();
  around_.audit();
  if (sealed.must_sync && sealed.events.empty())
    around_.look("a turn without events has to be synced");
  for (const auto& violation : find_violations(*state_))
    around_.look(violation);
  written_until_ = std::max(written_until_, around_.now().steady + duration{around_.below(4)});
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
  if (const auto* granted = std::get_if<tasks_granted>(&e))
    complete(*granted);
  if (std::holds_alternative<work_available>(e))
    decide(claim{worker_peer, around_.credits});
  if (const auto* answered = std::get_if<enqueue_answered>(&e))
    if (auto asked = deep_.extract(answered->number); !asked.empty())
      around_.note_deep(
        asked.mapped(), answered->allowed ? errc::none : answered->allowed.error().code);
}

void node::complete(const tasks_granted& granted) {
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
      later(duration{around_.below(around_.run_max)}, [this, done, again = !granted.redelivered] {
        decide(report{worker_peer, {done}});
        ++around_.completed;
        if (again)
          decide(claim{worker_peer, 1});
      });
    }
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

void node::set_maximum(std::uint64_t max_leased) {
  queue_config config;
  config.max_leased = max_leased;
  decide(configure_queue{producer_peer, ++requests_, bounded_queue, config});
}

} // namespace codeq::permits
