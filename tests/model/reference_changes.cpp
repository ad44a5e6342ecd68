// SPDX-License-Identifier: Apache-2.0
#include "model/reference_shard.hpp"
#include "model/words.hpp"

#include <algorithm>

/// Changes that users and operators make to tasks, in the reference.
namespace codeq::model {

namespace {

constexpr duration stop_grace{10'000};

} // namespace

void reference_shard::settle_group(const reference_task& of) {
  if (of.group.empty())
    return;
  std::vector<reference_task*> members;
  for (auto& [seq, task] : tasks) {
    bool blocks = task.state == task_state::dead && task.settings.when_dead == on_dead::block;
    if (task.queue == of.queue && task.group == of.group && (!is_terminal(task.state) || blocks))
      members.push_back(&task);
  }
  // One task of the group is open: the leased one, or else the first to arrive.
  auto open = std::find_if(members.begin(), members.end(), [](const reference_task* task) {
    return task->state == task_state::leased;
  });
  if (open == members.end())
    open = members.begin();
  for (auto at = members.begin(); at != members.end(); ++at) {
    auto& task = **at;
    if (task.state == task_state::dead)
      continue;
    if (at != open)
      task.state = task_state::gated;
    else if (task.state == task_state::gated)
      task.state = task.eligible_at() > now_.shard ? task_state::scheduled : task_state::ready;
  }
}

reference_task*
reference_shard::find_to_change(core::peer_id peer, std::uint64_t number, sequence seq) {
  auto at = tasks.find(seq);
  if (at != tasks.end())
    return &at->second;
  expected.push_back(say_unknown({core::inquiry::kind::change, peer, number, {}, {}}, seq));
  return nullptr;
}

void reference_shard::run(const core::promote& c) {
  auto seq = find_named(c.peer, c.number, c.seq, c.key);
  auto* task = seq ? find_to_change(c.peer, c.number, *seq) : nullptr;
  if (!task)
    return;
  auto result = change_result::unchanged;
  bool waits = task->state == task_state::gated && task->eligible_at() > now_.shard;
  if (waits || task->state == task_state::scheduled) {
    auto not_before = task->not_before;
    bool had_retry = task->retry_at != timestamp{};
    task->retry_at = {};
    result = change_result::changed;
    if (!task->allow_promotion && task->not_before > now_.shard)
      result = change_result::guarded;
    else
      task->not_before = {};
    if (task->state == task_state::scheduled && task->eligible_at() <= now_.shard)
      task->state = task_state::ready;
    if (had_retry || task->not_before != not_before)
      note_change(*task, task_event::kind::rescheduled);
  }
  expected.push_back(say_changed({c.peer, c.number, *seq, result, task->state}));
}

void reference_shard::run(const core::redrive& c) {
  auto* task = find_to_change(c.peer, c.number, c.seq);
  if (!task)
    return;
  auto result = change_result::unchanged;
  if (task->state == task_state::dead && is_key_taken(*task)) {
    result = change_result::key_taken;
  } else if (task->state == task_state::dead) {
    result = change_result::changed;
    live_again(*task);
  }
  expected.push_back(say_changed({c.peer, c.number, c.seq, result, task->state}));
}

bool reference_shard::is_key_taken(const reference_task& task) {
  if (task.key.empty())
    return false;
  auto* owner = owner_of({task.queue, task.group, task.key}, now_.shard);
  return owner && owner != &task && !is_terminal(owner->state);
}

void reference_shard::live_again(reference_task& task) {
  task.live_since = next_live_++;
  task.text.clear();
  task.attempt = 0;
  task.lost = 0;
  task.refunds = 0;
  task.state = !task.group.empty()               ? task_state::gated
               : task.eligible_at() > now_.shard ? task_state::scheduled
                                                 : task_state::ready;
  settle_group(task);
  note_change(task, task_event::kind::redriven);
}

void reference_shard::note_change(reference_task& task, task_event::kind what) {
  bool is_leased = task.state == task_state::leased;
  task.history.push_back(
    say_event(what, task.state)
    + (is_leased ? say_attempt(task.attempt, task.holder.name) : say_attempt(0, {})));
}

void reference_shard::run(const core::cancel& c) {
  auto seq = find_named(c.peer, c.number, c.seq, c.key);
  auto* found = seq ? find_to_change(c.peer, c.number, *seq) : nullptr;
  if (!found)
    return;
  auto& task = *found;
  if (is_terminal(task.state)) {
    auto unchanged = change_result::unchanged;
    expected.push_back(say_changed({c.peer, c.number, *seq, unchanged, task.state}));
    return;
  }
  if (task.state != task_state::leased) {
    task.state = task_state::cancelled;
    task.checkpoint.reset();
    ++totals[task.queue].cancelled;
    settle_group(task);
    note_change(task, task_event::kind::cancelled);
    tell_ended(task);
    auto changed = change_result::changed;
    expected.push_back(say_changed({c.peer, c.number, *seq, changed, task_state::cancelled}));
    return;
  }
  if (!task.cancelling)
    note_change(task, task_event::kind::cancel_requested);
  task.cancelling = true;
  auto requested = change_result::requested;
  expected.push_back(say_changed({c.peer, c.number, *seq, requested, task_state::leased}));
  for (const auto& [peer, worker] : workers)
    if (worker.identity == task.holder && !task.told_to_stop)
      tell_to_stop(peer, task);
}

void reference_shard::tell_to_stop(core::peer_id peer, reference_task& task) {
  if (!task.told_to_stop) {
    task.told_to_stop = true;
    // The grace starts when the worker is notified.
    task.run_deadline = std::min<monotonic_time>(task.run_deadline, now_.steady + stop_grace);
    bool sooner = task.run_deadline < task.deadline;
    task.deadline = std::min(task.deadline, task.run_deadline);
    if (sooner && task.timed)
      expected.push_back(say_timer({task.seq, task.token}, task.deadline));
  }
  auto left = std::max<duration>(duration{0}, task.run_deadline - now_.steady);
  expected.push_back(say_stop(peer, {task.seq, task.token}, left));
}

} // namespace codeq::model
