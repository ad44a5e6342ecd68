// SPDX-License-Identifier: Apache-2.0
#include "model/reference_shard.hpp"
#include "model/words.hpp"

#include <algorithm>

/// Keys and duplicates in the reference.
namespace codeq::model {

reference_task* reference_shard::owner_of(const task_key& name, timestamp now) {
  reference_task* owner = nullptr;
  for (auto& [seq, task] : tasks) {
    bool has_it = !task.key.empty() && task.queue == name.queue && task.group == name.group
                  && task.key == name.key && now < task.known_until;
    if (has_it && (!owner || owner->live_since < task.live_since))
      owner = &task;
  }
  return owner;
}

enqueue_kind reference_shard::meet(const core::enqueue_run& r, reference_task& task) {
  bool is_live = !is_terminal(task.state);
  bool is_leased = task.state == task_state::leased;
  if (r.duplicate == on_duplicate::reject)
    return enqueue_kind::duplicate;
  if (!is_live && r.duplicate != on_duplicate::existing)
    return enqueue_kind::created;
  bool moves = r.duplicate == on_duplicate::defer || r.duplicate == on_duplicate::promote;
  if (moves && is_leased)
    return enqueue_kind::running;
  auto kind = moves ? move_time(r, task) : enqueue_kind::existing;
  if (r.replace_payload && is_live && !is_leased) {
    task.body = r.tasks.body.view();
    note_change(task, task_event::kind::payload_replaced);
  }
  return kind;
}

enqueue_kind reference_shard::move_time(const core::enqueue_run& r, reference_task& task) {
  // A time in the past means now.
  auto now = now_.shard;
  auto is = task.not_before > now ? task.not_before : now;
  auto asked = r.not_before > now ? r.not_before : now;
  bool may_choose = r.duplicate == on_duplicate::promote && task.allow_promotion;
  auto becomes = may_choose ? asked : std::max(is, asked);
  if (becomes == is)
    return enqueue_kind::unchanged;
  task.not_before = becomes;
  if (task.state != task_state::gated)
    task.state = task.eligible_at() > now ? task_state::scheduled : task_state::ready;
  note_change(task, task_event::kind::rescheduled);
  return becomes > is ? enqueue_kind::deferred : enqueue_kind::promoted;
}

std::optional<sequence> reference_shard::find_named(
  core::peer_id peer,
  std::uint64_t number,
  sequence seq,
  const std::shared_ptr<const task_key>& key) {
  if (!key)
    return seq;
  if (auto* owner = owner_of(*key, now_.shard))
    return owner->seq;
  expected.push_back(say_changed({peer, number, 0, change_result::not_found}));
  return std::nullopt;
}

void reference_shard::close_keyed() {
  // A key remembers only its last task; a task that was closed earlier is then forgotten.
  std::vector<reference_task*> closing;
  for (auto& [seq, task] : tasks) {
    bool is_over = task.state == task_state::completed || task.state == task_state::cancelled;
    if (!task.key.empty() && is_over && !task.closed)
      closing.push_back(&task);
  }
  std::vector<reference_task*> last;
  for (auto* task : closing) {
    task->closed = true;
    if (owner_of({task->queue, task->group, task->key}, now_.shard) == task)
      last.push_back(task);
  }
  for (auto* task : closing)
    task->known_until = timestamp::min();
  for (auto* task : last) {
    for (auto& [seq, other] : tasks)
      if (
        other.closed && other.queue == task->queue && other.group == task->group
        && other.key == task->key)
        other.known_until = timestamp::min();
    task->known_until = now_.shard + task->settings.retention;
  }
}

} // namespace codeq::model
