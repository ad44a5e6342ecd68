// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "model/reference_shard.hpp"
#include "model/words.hpp"

#include <algorithm>
#include <map>
#include <utility>

/// Queue limits, and queries of queues and tasks, in the reference.
namespace codeq::model {

namespace {

bool is_left(const core::enqueue_run& r, core::setting_bit bit) {
  return (r.left_to_queue & static_cast<unsigned>(bit)) != 0;
}

weight_changes weights_after(weight_changes before, weight_changes changes) {
  changes.merge(before);
  std::erase_if(changes, [](const auto& one) { return one.second == 0; });
  return changes;
}

bool may_leave_memory(const reference_task& task) {
  return task.state == task_state::completed || task.state == task_state::cancelled;
}

} // namespace

task_settings reference_shard::settings_of(const core::enqueue_run& r) const {
  auto at = queues.find(r.queue);
  const auto& of_queue = at == queues.end() ? core::queue_settings{} : at->second;
  auto settings = of_queue.config.defaults;
  if (!is_left(r, core::setting_bit::max_attempts))
    settings.max_attempts = r.settings.max_attempts;
  if (!is_left(r, core::setting_bit::retry))
    settings.retry = r.settings.retry;
  if (!is_left(r, core::setting_bit::run_timeout))
    settings.run_timeout = r.settings.run_timeout;
  if (!is_left(r, core::setting_bit::progress_timeout))
    settings.progress_timeout = r.settings.progress_timeout;
  if (!is_left(r, core::setting_bit::on_dead))
    settings.when_dead = r.settings.when_dead;
  if (!is_left(r, core::setting_bit::retention))
    settings.retention = r.settings.retention;
  if (!is_left(r, core::setting_bit::dead_retention))
    settings.dead_retention = r.settings.dead_retention;
  // Lease 0: the queue's own lease is looked up at each grant.
  settings.lease = is_left(r, core::setting_bit::lease) ? duration{0} : r.settings.lease;
  return settings;
}

std::string
reference_shard::fairness_key_of(const core::enqueue_run& r, const std::string& body) const {
  auto at = queues.find(r.queue);
  bool is_in_header = at != queues.end() && !at->second.config.fairness_header.empty();
  return r.fairness.key.empty() && is_in_header ? body.substr(0, 1) : r.fairness.key;
}

duration reference_shard::lease_for(const reference_worker& worker, const reference_task& task) {
  auto lease = queues[task.queue].config.defaults.lease;
  if (task.settings.lease != duration{0})
    lease = task.settings.lease;
  if (worker.wish != duration{0})
    lease = worker.wish;
  return std::clamp<duration>(lease, limits::lease_min, limits::lease_max);
}

std::uint64_t reference_shard::count_in(
  const queue_address& queue, const std::function<bool(task_state)>& wanted) const {
  auto count = std::count_if(tasks.begin(), tasks.end(), [&](const auto& t) {
    return t.second.queue == queue && wanted(t.second.state);
  });
  return static_cast<std::uint64_t>(count);
}

bool reference_shard::adds_nothing(const core::enqueue_run& r) {
  auto* owner = r.key.empty() ? nullptr : owner_of({r.queue, r.group, r.key}, now_.shard);
  bool is_kept = r.duplicate == on_duplicate::reject || r.duplicate == on_duplicate::existing;
  return owner && (is_kept || !is_terminal(owner->state));
}

bool reference_shard::has_room(const core::enqueue& c) {
  std::map<queue_address, std::uint64_t> depth;
  for (const auto& r : c.runs)
    if (!adds_nothing(r))
      depth[r.queue] += r.tasks.count();
  return std::all_of(depth.begin(), depth.end(), [&](const auto& added) {
    auto at = queues.find(added.first);
    auto limit = at == queues.end() ? 0 : at->second.config.max_depth;
    auto live = count_in(added.first, [](task_state is) { return !is_terminal(is); });
    return limit == 0 || live + added.second <= limit;
  });
}

bool reference_shard::hands_out(const queue_address& queue) const {
  auto at = queues.find(queue);
  if (at == queues.end())
    return true;
  auto leased = count_in(queue, [](task_state is) { return is == task_state::leased; });
  return !at->second.paused
         && (at->second.config.max_leased == 0 || leased < at->second.config.max_leased);
}

void reference_shard::run(const core::configure_queue& c) {
  auto& settings = queues[c.queue];
  if (c.config.keep_payload) {
    expected.push_back(say_queue_refused(c.peer, c.number, errc::unsupported));
    return;
  }
  if (settings.config.pause_when_failing != c.config.pause_when_failing)
    attempts.erase(c.queue);
  auto weights = std::exchange(settings.config, c.config).fairness_weights;
  // There is no other shard.
  settings.config.max_leased_part = c.config.max_leased;
  settings.config.max_depth_part = c.config.max_depth;
  if (c.weights)
    settings.config.fairness_weights = weights_after(std::move(weights), *c.weights);
  expected.push_back(say_queue({c.peer, c.number, c.queue, settings, {}}));
}

void reference_shard::run(const core::weigh_keys& c) {
  auto& settings = queues[c.queue];
  settings.config.fairness_weights =
    weights_after(std::move(settings.config.fairness_weights), c.weights);
  expected.push_back(say_queue({c.peer, c.number, c.queue, settings, {}}));
}

void reference_shard::count_for_breaker(
  const queue_address& queue, task_event::kind what, bool failed) {
  auto& settings = queues[queue];
  const auto& breaker = settings.config.pause_when_failing;
  if (breaker.percent == 0 || settings.paused || (!failed && what != task_event::kind::completed))
    return;
  constexpr std::int64_t tenths = 10;
  auto tenth_of = [&](monotonic_time when) {
    return when.time_since_epoch() / (breaker.window / tenths);
  };
  auto& ended = attempts[queue];
  ended.emplace_back(now_.steady, failed);
  std::erase_if(ended, [&](const auto& one) {
    return tenth_of(one.first) <= tenth_of(now_.steady) - tenths;
  });
  auto failures = static_cast<std::size_t>(
    std::count_if(ended.begin(), ended.end(), [](const auto& one) { return one.second; }));
  if (ended.size() < limits::breaker_attempts_min
      || failures * 100 <= ended.size() * breaker.percent)
    return;
  auto percent = (failures * 100 + ended.size() - 1) / ended.size();
  settings.paused = true;
  settings.pause_reason = "breaker, " + std::to_string(percent) + " % of "
                          + std::to_string(ended.size()) + " attempts failed in "
                          + std::to_string(breaker.window / std::chrono::seconds(1)) + "s";
  attempts.erase(queue);
  expected.push_back(say_tripped({queue, settings.pause_reason}));
}

void reference_shard::run(const core::pause_queue& c) {
  auto& settings = queues[c.queue];
  if (settings.paused != c.paused || !c.paused)
    attempts.erase(c.queue);
  settings.paused = c.paused;
  settings.pause_reason.clear();
  expected.push_back(say_queue({c.peer, c.number, c.queue, settings, {}}));
}

void reference_shard::run(const core::show_queue& c) {
  auto at = queues.find(c.queue);
  auto settings = at == queues.end() ? core::queue_settings{} : at->second;
  expected.push_back(say_queue({c.peer, c.number, c.queue, settings, {}}));
}

void reference_shard::run(const core::list_tasks& c) {
  lists.push_back({c, {}});
  auto& seen = lists.back().picked;
  for (const auto& [seq, task] : tasks) {
    const auto& f = c.part.filter;
    bool is_in = task.queue.tenant == f.tenant && (f.queue.empty() || task.queue.queue == f.queue)
                 && (!f.state || *f.state == task.state) && seq > c.part.after
                 && (f.group.empty() || f.group == task.group)
                 && (f.key.empty() || f.key == task.key)
                 && (c.part.below == 0 || seq < c.part.below);
    if (is_in)
      seen.push_back(task);
  }
}

void reference_shard::check_listed(const core::tasks_listed& answer) {
  auto at = std::find_if(lists.begin(), lists.end(), [&](const asked_list& l) {
    return l.asked.peer == answer.peer && l.asked.number == answer.number;
  });
  if (at == lists.end())
    return require(false, "a list of tasks was not asked for");
  const auto& asked = at->asked.part;
  auto name = "list #" + std::to_string(answer.number);
  require(answer.tasks.size() <= asked.limit, name + " is too long");
  require(!answer.more || answer.tasks.size() == asked.limit, name + " ends early");
  require(!answer.more || answer.after > asked.after, name + " does not get on");
  auto next = answer.tasks.begin();
  for (const auto& task : at->picked) {
    bool is_listed = next != answer.tasks.end() && next->seq == task.seq;
    // A task that has ended may have left memory; a later task is for the next part.
    bool may_miss = may_leave_memory(task) || (answer.more && task.seq > answer.after);
    require(is_listed || may_miss, name + " misses " + short_number(task.seq));
    if (!is_listed)
      continue;
    bool agrees = next->entry.state == task.state && next->entry.attempt == task.attempt
                  && next->queue == task.queue && next->group == task.group
                  && next->priority == task.priority && next->seq <= answer.after;
    require(agrees, name + " has another " + short_number(task.seq));
    ++next;
  }
  require(next == answer.tasks.end(), name + " has a task that the filter does not pick");
  lists.erase(at);
}

void reference_shard::check_all_answered() {
  require(lists.empty(), "a list was not given");
  lists.clear();
}

void reference_shard::run(const core::explain_task& c) {
  auto at = tasks.find(c.seq);
  if (at == tasks.end()) {
    expected.push_back(
      say_unknown({core::inquiry::kind::explain, c.peer, c.number, {}, {}}, c.seq));
    return;
  }
  const auto& task = at->second;
  told_reason told{c.peer, c.number, c.seq};
  bool waits = !is_terminal(task.state) && task.eligible_at() > now_.shard;
  if (waits && task.state != task_state::leased)
    told.until = task.eligible_at();
  if (task.state == task_state::leased) {
    told.worker = task.holder.name;
    told.lease_left = std::max<duration>(duration{0}, task.deadline - now_.steady);
  }
  if (task.state == task_state::gated) {
    const auto& blocker = blocker_of(task);
    told.blocker = blocker.seq;
    told.blocker_state = blocker.state;
  }
  told.reason = reason_of(task);
  expected.push_back(say_explained(told));
  if (!may_wait_for_turn(task, told.reason))
    return;
  told.reason = task_reason::fairness;
  expected_for[say_explained(told)] = expected.back();
}

bool reference_shard::may_wait_for_turn(const reference_task& task, task_reason reason) const {
  bool are_slots_taken =
    reason == task_reason::no_free_slots || reason == task_reason::queue_at_max_leased;
  if (task.state != task_state::ready || !are_slots_taken)
    return false;
  return ready_in_order(task.queue).at(task.priority).size() > 1;
}

const reference_task& reference_shard::blocker_of(const reference_task& of) const {
  const reference_task* first = nullptr;
  for (const auto& [seq, task] : tasks) {
    bool blocks = task.state == task_state::dead && task.settings.when_dead == on_dead::block;
    bool is_member = task.queue == of.queue && task.group == of.group;
    if (!is_member || (is_terminal(task.state) && !blocks))
      continue;
    if (task.state == task_state::leased)
      return task;
    first = first ? first : &task;
  }
  return *first;
}

task_reason reference_shard::reason_of(const reference_task& task) const {
  switch (task.state) {
  case task_state::leased:
    return task_reason::leased;
  case task_state::completed:
    return task_reason::completed;
  case task_state::dead:
    return task_reason::dead;
  case task_state::cancelled:
    return task_reason::cancelled;
  case task_state::gated: {
    bool is_blocked = blocker_of(task).state == task_state::dead;
    return is_blocked ? task_reason::blocked : task_reason::gated;
  }
  case task_state::scheduled:
  case task_state::ready:
    break;
  }
  if (task.state == task_state::scheduled && task.eligible_at() > now_.shard)
    return task.not_before < task.retry_at ? task_reason::retry_waiting : task_reason::deferred;
  auto at = queues.find(task.queue);
  if (at != queues.end() && at->second.paused)
    return task_reason::queue_paused;
  bool any_worker = false;
  bool any_credit = false;
  for (const auto& [peer, worker] : workers) {
    bool claims = worker.claims_from(task.queue);
    any_worker = any_worker || claims || worker.without.contains(task.queue);
    any_credit = any_credit || (claims && worker.credits > 0);
  }
  if (!any_worker)
    return task_reason::no_worker;
  if (!hands_out(task.queue))
    return task_reason::queue_at_max_leased;
  return any_credit ? task_reason::next : task_reason::no_free_slots;
}

} // namespace codeq::model
