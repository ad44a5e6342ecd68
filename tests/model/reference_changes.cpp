// SPDX-License-Identifier: Apache-2.0
#include "model/reference_shard.hpp"
#include "model/words.hpp"

#include <algorithm>

/// What users and operators do to tasks in the reference.
namespace codeq::model {

namespace {

constexpr duration stop_grace{10'000};

} // namespace

reference_task*
reference_shard::find_to_change(core::peer_id peer, std::uint64_t number, sequence seq) {
  auto at = tasks.find(seq);
  if (at != tasks.end())
    return &at->second;
  expected.push_back(say_unknown({core::inquiry::kind::change, peer, number, {}, {}}, seq));
  return nullptr;
}

void reference_shard::run(const core::promote& c) {
  auto* task = find_to_change(c.peer, c.number, c.seq);
  if (!task)
    return;
  auto result = core::change_result::unchanged;
  if (task->state == task_state::scheduled) {
    task->retry_at = {};
    result = core::change_result::changed;
    if (task->allow_promotion)
      task->not_before = {};
    else if (task->not_before > now_.shard)
      result = core::change_result::guarded;
    if (task->eligible_at() <= now_.shard)
      task->state = task_state::ready;
  }
  expected.push_back(say_changed({c.peer, c.number, c.seq, result, task->state}));
}

void reference_shard::run(const core::cancel& c) {
  auto* found = find_to_change(c.peer, c.number, c.seq);
  if (!found)
    return;
  auto& task = *found;
  if (is_terminal(task.state)) {
    auto unchanged = core::change_result::unchanged;
    expected.push_back(say_changed({c.peer, c.number, c.seq, unchanged, task.state}));
    return;
  }
  if (task.state != task_state::leased) {
    task.state = task_state::cancelled;
    ++totals[task.queue].cancelled;
    tell_ended(task);
    auto changed = core::change_result::changed;
    expected.push_back(say_changed({c.peer, c.number, c.seq, changed, task_state::cancelled}));
    return;
  }
  task.cancelling = true;
  auto requested = core::change_result::requested;
  expected.push_back(say_changed({c.peer, c.number, c.seq, requested, task_state::leased}));
  for (const auto& [peer, worker] : workers)
    if (worker.identity == task.holder && !task.told_to_stop)
      tell_to_stop(peer, task);
}

void reference_shard::tell_to_stop(core::peer_id peer, reference_task& task) {
  if (!task.told_to_stop) {
    task.told_to_stop = true;
    // The grace starts when the worker is told.
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
