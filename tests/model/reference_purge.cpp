// SPDX-License-Identifier: Apache-2.0
#include "model/reference_shard.hpp"
#include "model/words.hpp"

/// Forced and bulk changes of operators in the reference.
namespace codeq::model {

void reference_shard::run(const core::purge& c) {
  auto* task = find_to_change(c.peer, c.number, c.seq);
  if (!task)
    return;
  auto state = task->state;
  auto result = change_result::unchanged;
  if (state == task_state::dead) {
    forget(c.seq);
    result = change_result::changed;
    state = task_state::cancelled;
  }
  expected.push_back(say_changed({c.peer, c.number, c.seq, result, state}));
}

void reference_shard::run(const core::force& c) {
  auto* task = find_to_change(c.peer, c.number, c.seq);
  if (!task)
    return;
  auto result = change_result::unchanged;
  auto text = std::string(c.text.view());
  bool is_leased = task->state == task_state::leased;
  if (c.how == force_kind::revoke && is_leased) {
    force_end(*task, task_state::ready, false, text);
    result = change_result::changed;
  } else if (c.how != force_kind::revoke && !is_terminal(task->state)) {
    bool completes = c.how == force_kind::complete;
    force_end(*task, completes ? task_state::completed : task_state::dead, !task->queued, text);
    result = change_result::changed;
  }
  expected.push_back(say_changed({c.peer, c.number, c.seq, result, task->state}));
}

void reference_shard::force_end(
  reference_task& task, task_state next, bool charged, const std::string& text) {
  auto what = next == task_state::ready       ? task_event::kind::revoked
              : next == task_state::completed ? task_event::kind::forced_to_complete
                                              : task_event::kind::forced_to_fail;
  task.reported = std::nullopt;
  task.text = text;
  if (task.state == task_state::leased) {
    for (const auto& [peer, worker] : workers)
      if (worker.identity == task.holder)
        expected.push_back(say_lost(peer, {task.seq, task.token}));
    return end(task, what, next, charged);
  }
  task.state = next;
  task.retry_at = {};
  task.ended_at = now_.shard;
  ended_.push_back(task.seq);
  auto& count = totals[task.queue];
  count.completed += next == task_state::completed ? 1 : 0;
  count.dead += next == task_state::dead ? 1 : 0;
  settle_group(task);
  note_change(task, what);
  task.checkpoint.reset();
  tell_ended(task);
}

void reference_shard::forget(sequence seq) {
  auto& task = tasks.at(seq);
  if (task.state == task_state::leased)
    force_end(task, task_state::ready, false, {});
  auto forgotten = task;
  tasks.erase(seq);
  purged.insert(seq);
  settle_group(forgotten);
  tell_ended(forgotten);
}

bool reference_shard::change_one(core::bulk_kind what, sequence seq) {
  if (what != core::bulk_kind::redrive) {
    forget(seq);
    return true;
  }
  auto& task = tasks.at(seq);
  if (is_key_taken(task))
    return false;
  live_again(task);
  return true;
}

void reference_shard::change_listed(const core::change_many& c) {
  using core::bulk_kind;
  core::bulk_answered answer{c.peer, c.number, 0, 0, false};
  for (const auto& listed : c.tasks) {
    auto at = tasks.find(listed.seq);
    if (at == tasks.end())
      continue;
    const auto& task = at->second;
    bool is_of_queue = task.queue.tenant == c.part.filter.tenant
                       && (c.part.filter.queue.empty() || task.queue.queue == c.part.filter.queue);
    if (!is_of_queue || task.state != task_state::dead || task.token != listed.token)
      continue;
    if (c.what == bulk_kind::count_redrive)
      answer.changed += is_key_taken(task) ? 0 : 1;
    else if (c.what == bulk_kind::count_purge)
      ++answer.changed;
    else
      answer.changed +=
        change_one(
          c.what == bulk_kind::redrive_listed ? bulk_kind::redrive : bulk_kind::purge_dead,
          listed.seq)
          ? 1
          : 0;
  }
  expected.push_back(say_bulk(answer));
  expected_parts.push_back({});
}

void reference_shard::run(const core::change_many& c) {
  if (core::is_of_list(c.what))
    return change_listed(c);
  auto below = c.part.below == 0 ? next_seq_ : c.part.below;
  auto is_of_queue = [&](const reference_task& task) {
    return task.seq < below && task.queue.tenant == c.part.filter.tenant
           && (c.part.filter.queue.empty() || task.queue.queue == c.part.filter.queue);
  };
  std::vector<sequence> picked;
  core::bulk_answered answer{c.peer, c.number, 0, 0, false};
  reference_part part{c.part.after, below};
  for (const auto& [seq, task] : tasks) {
    bool fits = c.what == core::bulk_kind::purge_all || task.state == task_state::dead;
    fits = fits && (!c.part.filter.state || *c.part.filter.state == task.state);
    if (!fits || task.filed || seq <= c.part.after || !is_of_queue(task))
      continue;
    if (picked.size() == c.part.limit) {
      answer.more = true;
      part.after_max = seq - 1;
      break;
    }
    picked.push_back(seq);
    part.after_min = seq;
  }
  for (auto seq : picked)
    answer.changed += change_one(c.what, seq) ? 1 : 0;
  expected.push_back(say_bulk(answer));
  expected_parts.push_back(part);
  bool is_whole = c.what == core::bulk_kind::purge_all && !c.part.filter.state && !answer.more;
  for (auto at = tasks.begin(); is_whole && at != tasks.end();) {
    bool goes = at->second.filed && is_of_queue(at->second);
    if (goes)
      purged.insert(at->first);
    at = goes ? tasks.erase(at) : std::next(at);
  }
}

void reference_shard::remove_queues(const core::snapshot_taken& snapshot) {
  for (const auto& removed : snapshot.removed_queues) {
    for (const auto& [seq, task] : tasks) {
      bool is_over = task.state == task_state::completed || task.state == task_state::cancelled;
      bool is_past = is_over && task.ended_at + task.settings.retention <= now_.shard;
      if (task.queue == removed.queue && !is_past)
        broken.push_back("queue " + removed.queue.queue + " was removed and has tasks");
    }
    auto configured = queues.find(removed.queue);
    if (configured != queues.end() && configured->second != core::queue_settings{})
      broken.push_back("queue " + removed.queue.queue + " was removed and has settings");
    totals.erase(removed.queue);
  }
}

} // namespace codeq::model
