// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "core/state/apply.hpp"
#include "core/state/task_checkpoints.hpp"
#include "core/turn/granted_run.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace codeq::core {

void turn::run(const heartbeat& c) {
  leases_lost lost{c.peer, {}};
  for (const auto& beat : c.beats) {
    auto* l = state_.leases.find(beat.token);
    if (!l || l->seq != beat.seq) {
      lost.leases.push_back({beat.seq, beat.token});
      continue;
    }
    extend(*l, beat);
  }
  state_.stale_beats += lost.leases.size();
  if (!lost.leases.empty())
    effects_.emplace_back(std::move(lost));
  save_all(c);
  tell_progress(c.progress);
}

void turn::tell_progress(const std::vector<lease_progress>& lines) {
  // Only the latest report of each lease counts; earlier ones are obsolete.
  std::map<fencing_token, const lease_progress*> latest;
  for (const auto& p : lines)
    latest.insert_or_assign(p.token, &p);
  for (const auto& [token, p] : latest)
    tell_progress(*p);
}

void turn::tell_progress(const lease_progress& p) {
  auto* l = state_.leases.find(p.token);
  if (!l || l->seq != p.seq)
    return;
  l->progress = std::make_shared<const lease_progress>(p);
  auto attempt = find_segment(state_.segments, p.seq)->view(p.seq).attempt;
  for (auto at = state_.watched.lower_bound({p.seq, 0});
       at != state_.watched.end() && at->first == p.seq;
       ++at)
    effects_.emplace_back(progress_told{at->second, p.seq, attempt, p.percent, p.note});
}

void turn::extend(lease& l, const lease_beat& beat) {
  // The start of an attempt counts as progress, too.
  bool progressed = beat.progressed || (l.queued && !beat.queued);
  l.queued = beat.queued;
  if (progressed && l.progress_deadline != monotonic_time::max())
    l.progress_deadline =
      now_.steady + find_segment(state_.segments, l.seq)->settings.progress_timeout;
  auto valid_for = std::max(state_.leases.grant_at(l.grant).lease, beat.extend);
  auto extended = std::max(l.deadline, now_.steady + valid_for);
  l.deadline = std::min({extended, l.run_deadline, l.progress_deadline});
}

void turn::run(const expire_lease& c) {
  auto* l = state_.leases.find(c.token);
  if (!l || l->seq != c.seq)
    return;
  if (l->deadline > now_.steady) {
    effects_.emplace_back(timer_wanted{c.seq, c.token, l->deadline});
    return;
  }
  if (auto peer = state_.peer_of(*state_.leases.grant_at(l->grant).worker))
    effects_.emplace_back(leases_lost{*peer, {{c.seq, c.token}}});
  expire(c.token, *l);
}

void turn::expire(fencing_token token, const lease& l) {
  lease_end e{l.seq, token, lease_end_kind::expired, !l.queued, task_state::ready, {}, {}};
  auto entry = find_segment(state_.segments, l.seq)->view(l.seq);
  if (entry.cancelling && now_.steady >= l.run_deadline) {
    e.kind = lease_end_kind::revoked;
    e.text = bytes("cancelled: the handler did not stop in time");
    return append_end(std::move(e));
  }
  if (now_.steady >= std::min(l.run_deadline, l.progress_deadline)) {
    e.kind = lease_end_kind::timed_out;
    e.text = now_.steady >= l.run_deadline
               ? bytes("run_timeout: the attempt ran longer than its limit")
               : bytes("progress_timeout: the handler gave no sign of progress in time");
    note_expired(e);
    return l.queued ? append_end(std::move(e)) : end_failed(std::move(e), std::nullopt);
  }
  if (l.queued)
    return append_end(std::move(e));
  e.text = bytes("lease_expired: the worker did not report in time");
  if (quarantine(e, entry.lost + 1u))
    return append_end(std::move(e));
  note_expired(e);
  // The first loss in a row may be the fault of a crashing node and is retried at once; a task that
  // loses its workers repeatedly is slowed down and ends dead.
  bool first_in_row = entry.lost == 0;
  end_failed(std::move(e), first_in_row ? std::optional{duration{0}} : std::nullopt);
}

bool turn::quarantine(lease_end& e, std::uint32_t lost_in_row) {
  const auto& s = *find_segment(state_.segments, e.seq);
  auto& queue = state_.queue_of(s);
  auto most = queue.settings.config.quarantine_after;
  // After a cancel the task ends as cancelled, whatever its attempts did.
  if (most == 0 || lost_in_row < most || s.view(e.seq).cancelling)
    return false;
  e.next = task_state::dead;
  e.text = bytes(
    "quarantined: " + std::to_string(lost_in_row)
    + " started attempts in a row were lost; quarantine_after is " + std::to_string(most));
  note_expired(e);
  ++expired_.at(s.queue).quarantined;
  ++queue.activity.quarantined;
  return true;
}

void turn::note_expired(const lease_end& e) {
  const auto& s = *find_segment(state_.segments, e.seq);
  auto [at, is_first] = expired_.try_emplace(s.queue);
  auto& expired = at->second;
  ++expired.count;
  // A task that dies of its losses is the one to look at.
  bool is_named = is_first || (expired.quarantined == 0 && e.next == task_state::dead);
  if (!is_named)
    return;
  const auto* l = state_.leases.find(e.token);
  expired.queue = state_.queue_of(s).address;
  expired.seq = e.seq;
  expired.attempt = s.view(e.seq).attempt;
  expired.worker = state_.leases.grant_at(l->grant).worker->name;
  expired.reason = std::string(e.text.view());
}

void turn::give_back(fencing_token token, const lease& l) {
  append_end({l.seq, token, lease_end_kind::abandoned, false, task_state::ready, {}, {}});
}

void turn::run(const release_worker& c) {
  auto is_of_worker = [&](const live_grant& g) { return *g.worker == *c.worker; };
  for (auto token : state_.leases.tokens_of_worker(c.worker->name, is_of_worker))
    give_back(token, *state_.leases.find(token));
}

void turn::run(const replace_worker& c) {
  auto is_of_older = [&](const live_grant& g) {
    return g.worker->incarnation != c.worker->incarnation;
  };
  for (auto token : state_.leases.tokens_of_worker(c.worker->name, is_of_older))
    expire(token, *state_.leases.find(token));
}

void turn::run(const resume& c) {
  leases_lost lost{c.peer, {}};
  std::vector<fencing_token> held;
  for (const auto& claimed : c.leases) {
    auto* l = state_.leases.find(claimed.token);
    bool is_own =
      l && l->seq == claimed.seq && *state_.leases.grant_at(l->grant).worker == *c.worker;
    if (is_own)
      held.push_back(claimed.token);
    else
      lost.leases.push_back(claimed);
  }
  if (!lost.leases.empty())
    effects_.emplace_back(std::move(lost));
  std::sort(held.begin(), held.end());
  auto own = state_.leases.tokens_of_worker(
    c.worker->name, [&](const live_grant& g) { return *g.worker == *c.worker; });
  std::vector<fencing_token> unknown;
  std::set_difference(
    own.begin(), own.end(), held.begin(), held.end(), std::back_inserter(unknown));
  // A worker does not know the tasks that are on their way to it: those that it was granted since
  // it attached and, when it resumes once more, all. A second copy would run if the first one is
  // over when it arrives.
  if (auto at = state_.attached.find(c.peer); at != state_.attached.end()) {
    auto& [peer, worker] = *at;
    const auto on_their_way = std::exchange(worker.has_resumed, true)
                                ? unknown.begin()
                                : std::lower_bound(
                                    unknown.begin(), unknown.end(), worker.delivered_from);
    unknown.erase(on_their_way, unknown.end());
  }
  redeliver(c.peer, unknown);
  for (auto token : own) {
    const auto* l = state_.leases.find(token);
    if (l && find_segment(state_.segments, l->seq)->view(l->seq).cancelling)
      send_cancel(c.peer, token);
  }
  effects_.emplace_back(resumed{c.peer});
}

void turn::redeliver(peer_id peer, const std::vector<fencing_token>& tokens) {
  tasks_granted batch{peer, true, false, {}};
  std::uint64_t held_bytes = 0;
  for (auto token : tokens) {
    const auto& l = *state_.leases.find(token);
    const auto& s = *find_segment(state_.segments, l.seq);
    held_bytes += s.body_bytes / s.count;
    bool fits = batch.runs.empty()
                || (held_bytes <= tuning::grant_bytes_max
                    && batch.runs.size() < tuning::grant_tasks_max);
    // More cannot be on its way to a worker that reads, so this bounds what one that only pretends
    // not to know its leases can ask for.
    if (!fits)
      give_back(token, l);
    else
      batch.runs.push_back(
        describe_run(state_, s, {l.seq, 1}, token, state_.leases.grant_at(l.grant).lease));
  }
  if (!batch.runs.empty())
    effects_.emplace_back(std::move(batch));
}

void turn::want_timers() {
  while (auto token = state_.leases.take_due_for_timer(now_.steady)) {
    auto& l = *state_.leases.find(*token);
    l.timed = true;
    effects_.emplace_back(timer_wanted{l.seq, *token, l.deadline});
  }
}

void turn::save_all(const heartbeat& c) {
  checkpoints_saved saved{c.peer, {}};
  leases_lost lost{c.peer, {}};
  for (auto checkpoint : c.checkpoints) {
    auto& [token, number] = checkpoint.mark;
    if (number == 0)
      number = next_checkpoint_number(state_, checkpoint.seq, token);
    if (save(checkpoint))
      saved.checkpoints.push_back({checkpoint.seq, checkpoint.mark});
    else
      lost.leases.push_back({checkpoint.seq, checkpoint.mark.token});
  }
  if (!saved.checkpoints.empty())
    effects_.emplace_back(std::move(saved));
  if (!lost.leases.empty())
    effects_.emplace_back(std::move(lost));
}

bool turn::save(const lease_checkpoint& c) {
  const auto* l = state_.leases.find(c.mark.token);
  bool is_held = l && l->seq == c.seq;
  if (!is_held)
    return false;
  // A checkpoint that is already known is, or will be, durable with this turn.
  if (!is_newer_checkpoint(state_, c.seq, c.mark))
    return true;
  set_checkpoint(state_, c.seq, c.mark);
  body_bytes_ += c.data.size();
  dropped_.erase(c.seq);
  saved_.insert_or_assign(c.seq, c);
  return true;
}

void turn::drop_checkpoint(sequence seq) {
  if (!state_.checkpoints.contains(seq))
    return;
  forget_checkpoint(state_, seq);
  saved_.erase(seq);
  dropped_.insert(seq);
}

void turn::close_checkpoints() {
  if (saved_.empty() && dropped_.empty())
    return;
  checkpoints_changed e;
  e.position = state_.positions.take(1);
  // The time is only needed for saved checkpoints; tasks that ended have it in their own records.
  if (!saved_.empty())
    e.at = now_.shard;
  for (auto& [seq, checkpoint] : saved_)
    e.saved.push_back(std::move(checkpoint));
  e.dropped.assign(dropped_.begin(), dropped_.end());
  changed_checkpoints_.push_back(std::move(e));
}

} // namespace codeq::core
