// SPDX-License-Identifier: Apache-2.0
#include "permits/world.hpp"

#include "core/commands/routing.hpp"
#include "core/flow/permit_recalls.hpp"
#include "core/state/task_limits.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace codeq::permits {

namespace {

using namespace codeq::core;
using namespace std::chrono_literals;

constexpr duration disturbed_for = 20s;
constexpr duration healed_for = 120s;
/// The promise is 100 ms. A permit that some task could not use comes back by three messages, three
/// turns and three writes, and may do so three times before another task has it: many tasks want
/// the same keys when a close of these ends.
constexpr duration idle_max = 450ms;
/// After a report has closed a key, tasks of other shards may start for so long.
constexpr duration closed_late_max = 60ms;

/// The shard that owns the key.
shard_id owner_of(const limit_key& key) {
  return shard_of_limit_key("default", {key.first, key.second, 1}, shard_count);
}

} // namespace

world::world(std::uint64_t seed)
  : random_(seed),
    kills_workers_(seed % 2 == 1),
    worker_random_(seed),
    operator_random_(seed) {
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
    after(duration{is_quick ? below(2) : 1 + below(is_late ? 3000 : 4)}, [this, to, c] {
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
  load_quickly();
  pass(healed_for);
  return wrong_.empty() ? check_end() : wrong_;
}

void world::look(const std::string& wrong) {
  if (wrong_.empty())
    wrong_ = wrong;
}

void world::audit() {
  std::map<limit_key, std::uint32_t> leased;
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
  if (is_quick)
    audit_idle(leased);
}

void world::note_closed(const task_limit& use, duration wait) {
  auto& until = closed_[{use.name, use.key}];
  until = std::max(until, now_ + wait);
}

void world::note_reported(const limit_key& key, duration wait) {
  if (is_quick)
    reported_[key].push_back({now_, now_ + wait});
}

void world::note_leased(const limit_key& key) {
  for (const auto& [at, until] : reported_[key])
    if (at + closed_late_max < now_ && now_ < until)
      look("a task of key " + key.second + " of " + key.first + " was leased "
           + std::to_string((now_ - at).count()) + " ms after a report had closed it");
}

void world::order_close() {
  static const std::array<std::string, 3> names{"one", "two", "any"};
  const limit_key key{
    names[operator_random_() % names.size()], "k" + std::to_string(operator_random_() % 3)};
  const duration wait{operator_random_() % 4 == 0 ? 0 : 200 + operator_random_() % 800};
  auto& owner = *nodes_[value(owner_of(key))];
  if (!owner.is_up())
    return;
  forget_closed(key);
  note_closed({key.first, key.second, 1}, wait);
  owner.close_key({key, now_, now_ + wait, ++orders_[key]});
}

void world::forget_closed(const limit_key& key) {
  shut_.erase(key);
  reported_.erase(key);
  for (auto& one : nodes_)
    one->forget_reported(key);
}

void world::note_answered(const key_close& order) {
  if (order.until == order.asked)
    return;
  ++closes_confirmed;
  if (orders_.at(order.key) == order.order)
    shut_[order.key] = order.until;
}

void world::note_started(const limit_key& key) {
  const auto shut = shut_.find(key);
  if (shut != shut_.end() && now_ < shut->second)
    look("a task of key " + key.second + " of " + key.first
         + " started after an operator had closed it");
}

void world::audit_idle(const std::map<limit_key, std::uint32_t>& leased) {
  const auto admits = [&](const task_limit& use) {
    const auto busy = leased.find({use.name, use.key});
    const auto closed = closed_.find({use.name, use.key});
    return (busy == leased.end() || busy->second < concurrencies.at(use.name))
           && (closed == closed_.end() || closed->second < now_);
  };
  std::map<std::pair<shard_id, sequence>, monotonic_time> startable;
  for (const auto& one : nodes_) {
    auto& state = one->state();
    const auto worker = state.attached.find(worker_peer);
    const auto* queue = state.find_queue({"default", "q"});
    const auto is_paused = queue && queue->settings.paused;
    if (worker == state.attached.end() || worker->second.credits == 0 || is_paused)
      continue;
    state.segments.for_each([&](const segment& s) {
      // Tasks of the bounded queue may also wait for its slots.
      if (s.limits && s.view(s.first).state == task_state::ready
          && state.queue_of(s).address != bounded_queue
          && std::all_of(s.limits->begin(), s.limits->end(), admits))
        startable.emplace(std::pair{one->id(), s.first}, now_);
    });
  }
  for (auto& [task, since] : startable) {
    if (const auto before = startable_.find(task); before != startable_.end())
      since = before->second;
    if (now_ - since > idle_max)
      look("task " + std::to_string(task.second) + " of shard "
           + std::to_string(value(task.first)) + " waits beside free slots");
  }
  startable_ = std::move(startable);
}

void world::load_quickly() {
  is_quick = true;
  for (int i = 0; i < 200 && wrong_.empty(); ++i) {
    if (kills_workers_ && i % 50 == 25)
      stop_queue();
    if (operator_random_() % 8 == 0)
      order_close();
    add_task();
    pass(duration{below(40)});
  }
  is_quick = false;
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
  if (operator_random_() % 20 == 0)
    order_close();
  auto& one = *nodes_[below(shard_count)];
  if (below(30) == 0 && one.is_up())
    one.cancel_task();
  if (!is_faulty_)
    return;
  disturb_workers();
  switch (below(100)) {
  case 0:
    killed_shards += one.is_up() ? 1 : 0;
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

void world::disturb_workers() {
  if (!kills_workers_ || worker_random_() % 50 != 0)
    return;
  auto& one = *nodes_[worker_random_() % shard_count];
  if (!one.kill_worker())
    return;
  ++killed_workers;
  after(duration{100 + worker_random_() % 1500}, [&one] { one.start_worker(); });
}

void world::stop_queue() {
  auto& one = *nodes_[worker_random_() % shard_count];
  const auto time = 500ms + duration{worker_random_() % 500};
  if (worker_random_() % 2 == 0) {
    one.pause(true);
    after(time, [&one] { one.pause(false); });
  } else if (one.kill_worker()) {
    ++killed_workers;
    after(time, [&one] { one.start_worker(); });
  }
}

void world::lose(node& one, std::uint64_t kept) {
  killed_shards += one.is_up() ? 1 : 0;
  power_cuts += one.is_up() ? 1 : 0;
  one.cut_power(kept);
  // What was not synced may be what closed its keys.
  for (const auto& [name, concurrency] : concurrencies)
    for (int i = 0; i < 3; ++i) {
      const limit_key key{name, "k" + std::to_string(i)};
      if (is_os_mode && owner_of(key) == one.id())
        forget_closed(key);
    }
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

} // namespace codeq::permits
