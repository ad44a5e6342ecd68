// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "model/reference_shard.hpp"
#include "model/words.hpp"

#include <algorithm>
#include <utility>

/// The end of a turn in the reference. The core has chosen which worker gets which task; the
/// reference checks every rule that the choice must obey.
namespace codeq::model {

reference_shard::ready_tasks reference_shard::ready_in_order(const queue_address& queue) const {
  ready_tasks ready;
  // Sequences are in ascending order, which is that of the enqueues of one key.
  for (const auto& [seq, task] : tasks)
    if (task.state == task_state::ready && task.queue == queue)
      ready[task.priority][task.fairness_key].push_back(seq);
  return ready;
}

bool reference_shard::take_ready(ready_tasks& from, sequence seq) const {
  auto task = tasks.find(seq);
  // A task of a lower priority comes after all those of a higher one, whatever their keys.
  if (task == tasks.end() || from.empty() || from.begin()->first != task->second.priority)
    return false;
  auto& keys = from.begin()->second;
  auto key = keys.find(task->second.fairness_key);
  if (key == keys.end() || key->second.front() != seq)
    return false;
  key->second.pop_front();
  if (key->second.empty())
    keys.erase(key);
  if (keys.empty())
    from.erase(from.begin());
  return true;
}

void reference_shard::release_due(timestamp now) {
  for (auto& [seq, task] : tasks)
    if (task.state == task_state::scheduled && task.eligible_at() <= now) {
      task.state = task_state::ready;
      task.retry_at = {};
    }
}

void reference_shard::forget_past_dead() {
  std::vector<sequence> past;
  for (const auto& [seq, task] : tasks) {
    auto kept_for = task.settings.dead_retention;
    bool ends = task.state == task_state::dead && kept_for != duration{0};
    if (ends && task.ended_at + kept_for <= now_.shard)
      past.push_back(seq);
  }
  for (auto seq : past)
    forget(seq);
}

void reference_shard::settle(const std::vector<core::tasks_granted>& grants, const instant& now) {
  now_ = now;
  // Some have been purged since.
  for (auto seq : std::exchange(ended_, {}))
    if (auto ended = tasks.find(seq); ended != tasks.end())
      ended->second.settled_at = now.shard;
  forget_past_dead();
  release_due(now.shard);
  std::map<queue_address, std::map<fencing_token, sequence>> granted;
  for (const auto& batch : grants)
    for (const auto& run : batch.runs)
      for (std::uint32_t i = 0; i < run.count; ++i) {
        auto token = static_cast<fencing_token>(value(run.first_token) + i);
        bool is_new = granted[run.queue].emplace(token, run.first + i).second;
        require(is_new, "token t" + short_number(value(token)) + " was given twice");
      }
  check_order(granted);
  for (const auto& batch : grants)
    for (const auto& run : batch.runs)
      for (std::uint32_t i = 0; i < run.count; ++i)
        grant_one(batch, run, i);
  for (const auto& [queue, leases] : granted)
    if (!leases.empty())
      token_floor_ = std::max(token_floor_, value(leases.rbegin()->first));
  tell_workers(grants);
  if (std::exchange(snapshot_wanted_, false))
    close_keyed();
}

void reference_shard::check_order(
  const std::map<queue_address, std::map<fencing_token, sequence>>& granted) {
  for (const auto& [queue, leases] : granted) {
    auto ready = ready_in_order(queue);
    for (const auto& [token, seq] : leases) {
      require(take_ready(ready, seq), say_task(seq, token) + " was granted out of order");
      require(
        value(token) > token_floor_, "token t" + short_number(value(token)) + " does not ascend");
    }
  }
}

void reference_shard::grant_one(
  const core::tasks_granted& batch, const core::granted_run& run, std::uint32_t i) {
  auto seq = run.first + i;
  auto token = static_cast<fencing_token>(value(run.first_token) + i);
  auto who = workers.find(batch.peer);
  auto what = tasks.find(seq);
  auto name = say_task(seq, token);
  if (who == workers.end() || what == tasks.end() || what->second.state != task_state::ready)
    return require(false, name + " is not ready, or is for a worker that is not there");
  auto& worker = who->second;
  auto& task = what->second;
  require(worker.credits > 0, name + " was granted without a credit");
  worker.credits -= worker.credits > 0 ? 1 : 0;
  require(worker.claims_from(task.queue), name + " is of a queue that is not claimed");
  require(run.queue == task.queue && run.priority == task.priority, name + " has another queue");
  require(run.max_attempts == task.settings.max_attempts, name + " has another max_attempts");
  require(task.eligible_at() <= now_.shard, name + " is delivered early");
  require(hands_out(task.queue), name + " is of a queue that hands nothing out");
  task.state = task_state::leased;
  task.retry_at = {};
  task.token = token;
  ++task.attempt;
  auto attempt = run.attempts.empty() ? std::uint16_t{1} : run.attempts.at(i);
  require(attempt == task.attempt, name + " is delivered with another attempt");
  require(
    say_checkpoint(task) == say_checkpoint(run, seq),
    name + " is delivered with another checkpoint");
  require(task.attempt <= task.settings.max_attempts, name + " is delivered too often");
  task.lease = lease_for(worker, task);
  require(run.lease == task.lease, name + " has another lease");
  task.holder = worker.identity;
  start_clocks(task);
  task.queued = false;
  task.timed = false;
  task.told_to_stop = false;
  given.push_back({seq, token});
}

void reference_shard::start_clocks(reference_task& task) {
  auto now = now_.steady;
  auto end_of = [&](duration limit) {
    return limit == duration{0} ? monotonic_time::max() : monotonic_time(now + limit);
  };
  task.granted_at = now;
  task.run_deadline = end_of(task.settings.run_timeout);
  task.progress_deadline = end_of(task.settings.progress_timeout);
  task.deadline = std::min({end_of(task.lease), task.run_deadline, task.progress_deadline});
  task.began_short = task.deadline - now < tuning::lease_timer_delay_max;
}

bool reference_shard::has_work(const reference_worker& worker) const {
  return std::any_of(tasks.begin(), tasks.end(), [&](const auto& t) {
    return t.second.state == task_state::ready && worker.claims_from(t.second.queue)
           && hands_out(t.second.queue);
  });
}

void reference_shard::tell_workers(const std::vector<core::tasks_granted>& grants) {
  for (const auto& batch : grants) {
    auto at = workers.find(batch.peer);
    if (at == workers.end())
      continue;
    at->second.told = has_work(at->second);
    require(batch.more == at->second.told, say_available(batch.peer) + ": wrong `more`");
  }
  for (auto& [peer, worker] : workers) {
    bool work = has_work(worker);
    require(
      worker.credits == 0 || !work, say_parked(peer) + " although there is work for its credits");
    if (worker.claimed && worker.credits > 0)
      expected.push_back(say_parked(peer));
    if (worker.credits == 0 && work && !worker.told) {
      worker.told = true;
      expected.push_back(say_available(peer));
    }
    worker.claimed = false;
  }
}

void reference_shard::start_timers(
  const std::vector<core::timer_wanted>& timers, const instant& now) {
  for (const auto& t : timers) {
    auto* task = leased_task(t.seq, t.token);
    auto name = say_timer({t.seq, t.token}, t.deadline);
    if (!task)
      return require(false, name + " for a lease that is over");
    auto delay = task->began_short
                   ? duration{0}
                   : std::min<duration>(tuning::lease_timer_delay_max, task->lease / 8);
    require(!task->timed, name + " for the second time");
    require(task->deadline == t.deadline, name + ": another deadline");
    require(now.steady - task->granted_at >= delay, name + " for a young lease");
    task->timed = true;
  }
  for (const auto& [seq, task] : tasks) {
    bool is_old =
      task.began_short || now.steady - task.granted_at >= tuning::lease_timer_delay_max;
    bool needs = task.state == task_state::leased && is_old && !task.timed;
    require(!needs, say_task(seq, task.token) + " has no timer");
  }
}

} // namespace codeq::model
