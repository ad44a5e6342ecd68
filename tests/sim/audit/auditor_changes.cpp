// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/auditor.hpp"

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

/// Time after the answer to a cancellation within which its grace cannot have ended.
constexpr virtual_time within_grace = 7s;

} // namespace

std::vector<task_id> auditor::candidates(task_change what) const {
  std::vector<task_id> found;
  for (const auto& [id, t] : tasks_) {
    bool is_dead = t.final && t.final->state == task_state::dead;
    bool fits = what == task_change::redrive ? is_dead : !t.final;
    if (!t.name.empty() && fits)
      found.push_back(id);
  }
  return found;
}

void auditor::change_asked(const task_id& id, task_change what) {
  auto& t = tasks_[id];
  // From now on the change may happen, whether or not the answer arrives.
  switch (what) {
  case task_change::cancel:
    t.cancel_asked = true;
    t.may_end_since = t.may_end_since.value_or(world_.time.now());
    break;
  case task_change::promote:
    t.promote_asked = true;
    break;
  case task_change::redrive:
    t.redrive_asked = true;
    if (!t.final_token && (!t.final || t.final->state == task_state::dead)) {
      t.final.reset();
      t.final_at.reset();
    }
    break;
  case task_change::purge:
    break;
  }
}

void auditor::change_asked(const task_key& key, task_change what) {
  // The change applies to the task that has the key when the request is decided.
  asked_by_key_[key].insert(what);
}

bool auditor::is_asked(const task_id& id, const task_view& t, task_change what) const {
  bool by_id = what == task_change::cancel ? t.cancel_asked : t.promote_asked;
  const auto* spec = by_id ? nullptr : spec_of(id, t);
  if (spec == nullptr || spec->key.empty())
    return by_id;
  auto asked = asked_by_key_.find({{spec->tenant, spec->queue}, spec->group, spec->key});
  return asked != asked_by_key_.end() && asked->second.contains(what);
}

bool auditor::is_meddled_with(const task_id& id, const task_view& t) const {
  return t.force_asked || is_asked(id, t, task_change::cancel) || is_purge_asked(id, t);
}

void auditor::force_asked(const task_id& id, force_kind how, const std::string& text) {
  auto& t = tasks_[id];
  t.force_asked = true;
  t.may_end_since = t.may_end_since.value_or(world_.time.now());
  if (how == force_kind::complete)
    t.texts.insert(text);
}

void auditor::force_answered(
  const task_id& id, force_kind how, virtual_time asked_at, const change_outcome& answer) {
  ++totals_.changes;
  if (answer.what != change_result::changed)
    return;
  ++totals_.forced;
  auto& t = tasks_[id];
  t.forced = {asked_at, world_.time.now()};
  bool is_over = is_terminal(answer.state);
  bool is_completed = answer.state == task_state::completed;
  bool fits = is_over == (how != force_kind::revoke) || answer.state == task_state::cancelled;
  if (!fits || is_completed != (how == force_kind::complete))
    breach("force", t.name + " is " + std::string(to_string(answer.state)) + " after it");
}

void auditor::change_answered(const task_id& id, task_change what, const change_outcome& how) {
  ++totals_.changes;
  auto& t = tasks_[id];
  if (what != task_change::cancel)
    return;
  if (how.what == change_result::changed && !t.cancelled_at)
    t.cancelled_at = world_.time.now();
  if (how.what == change_result::requested && !t.cancelling_since)
    t.cancelling_since = world_.time.now();
  if (t.final)
    check_cancelled(t, *t.final);
}

void auditor::check_cancelled(const task_view& t, const ended_task& now) {
  // On a slow connection the status may be from before the task was redriven.
  if (t.redrive_asked && now.state == task_state::dead)
    return;
  if (t.cancelled_at && now.state != task_state::cancelled)
    breach("cancel", t.name + " was cancelled, and is " + std::string(to_string(now.state)));
  bool is_over = now.state == task_state::cancelled || now.state == task_state::completed;
  if (t.cancelling_since && !is_over)
    breach(
      "cancel",
      t.name + " was to end cancelled or completed, and is " + std::string(to_string(now.state)));
}

bool auditor::is_cancel_owed(const lease_place& lease) const {
  const auto* l = find(lease);
  if (!l || l->doubtful || l->may_have_ended || l->reported_at || l->lost)
    return false;
  const auto& t = tasks_.at(l->id);
  bool has_left =
    left_.contains({l->id.shard, l->holder}) || t.force_asked || is_purge_asked(l->id, t);
  return !has_left && t.cancelling_since && world_.steady() < l->earliest_end
         && world_.time.now() - *t.cancelling_since < within_grace;
}

void auditor::cancel_missed(const lease_place& lease) {
  if (is_cancel_owed(lease))
    breach("cancel", tasks_.at(find(lease)->id).name + "'s holder was not told again to cancel");
}

} // namespace codeq::sim
