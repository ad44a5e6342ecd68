// SPDX-License-Identifier: Apache-2.0
#include "model/observer.hpp"

#include "model/words.hpp"

#include <algorithm>

namespace codeq::model {

observed_turn observer::observe(const core::sealed_turn& turn) {
  seen_ = {};
  for (const auto& e : turn.effects)
    std::visit([this](const auto& x) { see(x); }, e);
  // Last, because the segments that this turn closed were in memory when its commands were decided.
  remember_fates(turn);
  return std::move(seen_);
}

void observer::go_back_to(core::shard_state& state, const purge_notes& purges) {
  purges_ = purges;
  std::erase_if(
    fates_, [&](const auto& fate) { return core::find_segment(state.segments, fate.first); });
}

void observer::remember_fates(const core::sealed_turn& turn) {
  for (const auto& e : turn.events) {
    const auto* snapshot = std::get_if<core::snapshot_taken>(&e);
    if (const auto* changed = std::get_if<core::tasks_changed>(&e))
      for (const auto& purge : changed->purges)
        purges_.purged_below[purge.queue] =
          std::max(purges_.purged_below[purge.queue], purge.below);
    if (!snapshot)
      continue;
    for (const auto& removed : snapshot->removed_queues)
      if (removed.mark.below == 0)
        purges_.expired_below[removed.queue] = purges_.purged_below[removed.queue];
    for (const auto& queue : snapshot->expired_marks)
      purges_.expired_below[queue] = purges_.purged_below[queue];
    for (const auto& fate : snapshot->closed)
      for (std::size_t i = 0; i < fate.entries.size(); ++i)
        fates_[fate.first + i] = {fate.queue, fate.entries[i]};
  }
}

const core::task_entry* observer::find_fate(const core::task_not_here& e) const {
  auto fate = fates_.find(e.seq);
  if (fate == fates_.end() || fate->second.entry.gone)
    return nullptr;
  bool is_marked =
    e.purged && e.purged->contains(fate->second.queue) && e.seq < e.purged->at(fate->second.queue);
  // Without a mark, the purged task's record must have expired.
  auto expired = purges_.expired_below.find(fate->second.queue);
  bool is_expired = expired != purges_.expired_below.end() && e.seq < expired->second;
  return is_marked || is_expired ? nullptr : &fate->second.entry;
}

void observer::see(const core::enqueue_answered& e) {
  if (!e.allowed) {
    seen_.lines.push_back(say_refused(e.peer, e.number, e.allowed.error().code));
    return;
  }
  std::vector<sequence> tasks;
  for (const auto& run : e.tasks)
    for (std::uint32_t i = 0; i < run.count; ++i)
      tasks.push_back(run.first + i);
  seen_.lines.push_back(say_enqueued(e.peer, e.number, tasks, e.kinds));
}

void observer::see(const core::tasks_granted& e) {
  if (!e.redelivered) {
    seen_.grants.push_back(e);
    return;
  }
  for (const auto& run : e.runs)
    for (std::uint32_t i = 0; i < run.count; ++i) {
      core::task_lease lease{run.first + i, static_cast<fencing_token>(value(run.first_token) + i)};
      auto attempt = run.attempts.empty() ? std::uint16_t{1} : run.attempts.at(i);
      seen_.lines.push_back(
        say_redelivered(e.peer, lease, attempt) + say_checkpoint(run, lease.seq));
    }
}

void observer::see(const core::claim_parked& e) {
  seen_.lines.push_back(say_parked(e.peer));
}

void observer::see(const core::work_available& e) {
  seen_.lines.push_back(say_available(e.peer));
}

void observer::see(const core::credits_revoked& e) {
  seen_.lines.push_back(say_revoked(e.peer, e.credits));
}

void observer::see(const core::reports_answered& e) {
  for (const auto& a : e.answers)
    seen_.lines.push_back(say_answered(e.peer, {a.seq, a.token}, a.code));
}

void observer::see(const core::deliver_follow_ups& e) {
  seen_.deliveries.push_back(e);
}

void observer::see(const core::follow_ups_taken& e) {
  seen_.lines.push_back(say_taken(e.from, e.number));
}

void observer::see(const core::checkpoints_saved& e) {
  for (const auto& saved : e.checkpoints)
    seen_.lines.push_back(say_saved(e.peer, saved));
}

void observer::see(const core::leases_lost& e) {
  for (const auto& lease : e.leases)
    seen_.lines.push_back(say_lost(e.peer, lease));
}

void observer::see(const core::resumed& e) {
  seen_.lines.push_back(say_resumed(e.peer));
}

void observer::see(const core::cancel_wanted& e) {
  seen_.lines.push_back(say_stop(e.peer, e.lease, e.grace));
}

void observer::see(const core::change_answered& e) {
  seen_.lines.push_back(say_changed(e));
}

void observer::see(const core::bulk_answered& e) {
  seen_.lines.push_back(say_bulk(e));
  seen_.parts.push_back(e);
}

void observer::see(const core::timer_wanted& e) {
  seen_.timers.push_back(e);
}

void observer::see(const core::timer_dropped& e) {
  seen_.lines.push_back(say_timer_dropped(e.token));
}

void observer::see(const core::task_described& e) {
  const auto& entry = e.view.entry;
  seen_.lines.push_back(
    say_described(e.why, {e.view.seq, entry.state, entry.token, entry.attempt}));
}

void observer::see(const core::task_explained& e) {
  told_reason told{e.peer, e.number, e.view.seq, e.reason};
  told.until = e.until;
  told.blocker = e.blocker;
  told.blocker_state = e.blocker_state;
  told.worker = e.view.worker;
  told.lease_left = e.lease_left;
  seen_.lines.push_back(say_explained(told));
}

void observer::see(const core::breaker_tripped& e) {
  seen_.lines.push_back(say_tripped(e));
}

void observer::see(const core::queue_answered& e) {
  if (!e.allowed)
    seen_.lines.push_back(say_queue_refused(e.peer, e.number, e.allowed.error().code));
  else
    seen_.lines.push_back(say_queue(e));
}

void observer::see(const core::tasks_listed& e) {
  seen_.listed.push_back(e);
}

void observer::see(const core::progress_told& e) {
  seen_.lines.push_back(say_progress(e));
}

void observer::see(const core::task_not_here& e) {
  const auto* fate = find_fate(e);
  if (e.why.what == core::inquiry::kind::repeated_report) {
    auto code = errc::unknown_task;
    if (fate) {
      bool repeated = core::is_repeat(*fate, e.why.token, e.why.reported);
      code = repeated ? errc::already : errc::stale_lease;
    }
    seen_.lines.push_back(say_answered(e.why.peer, {e.seq, e.why.token}, code));
    return;
  }
  if (!fate) {
    seen_.lines.push_back(say_unknown(e.why, e.seq));
    return;
  }
  const auto& entry = *fate;
  if (e.why.what == core::inquiry::kind::explain) {
    // A task with a fate has ended.
    auto reason =
      entry.state == task_state::completed ? task_reason::completed : task_reason::cancelled;
    seen_.lines.push_back(say_explained({e.why.peer, e.why.number, e.seq, reason}));
    return;
  }
  if (e.why.what == core::inquiry::kind::change) {
    // A task with a fate has ended and does not change any more.
    seen_.lines.push_back(
      say_changed({e.why.peer, e.why.number, e.seq, change_result::unchanged, fate->state}));
    return;
  }
  seen_.lines.push_back(say_described(e.why, {e.seq, fate->state, fate->token, fate->attempt}));
}

} // namespace codeq::model
