// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/assert.hpp"
#include "base/tuning.hpp"
#include "core/state/apply.hpp"
#include "core/turn/turn.hpp"
#include "schedule/overlap.hpp"

#include <algorithm>
#include <utility>

/// Schedules: each change of a schedule is in the same write as the tasks of its occurrences.
namespace codeq::core {

namespace {

/// As many schedules of the largest size as fit into one message.
constexpr std::size_t listed_together_max = 200;

occurrence_state state_of(task_state state) {
  switch (state) {
  case task_state::completed:
    return occurrence_state::completed;
  case task_state::dead:
    return occurrence_state::dead;
  case task_state::cancelled:
    return occurrence_state::cancelled;
  case task_state::scheduled:
  case task_state::gated:
  case task_state::ready:
  case task_state::leased:
    break;
  }
  return occurrence_state::ended;
}

/// Occurrences that were started by hand do not count.
bool is_counted(const open_occurrence& open) {
  return open.entry.cause == occurrence_cause::due;
}

/// The open occurrence that is forgotten first: the oldest one that does not count.
std::size_t least_wanted(const std::vector<open_occurrence>& open) {
  auto found = std::find_if_not(open.begin(), open.end(), is_counted);
  return found == open.end() ? 0 : static_cast<std::size_t>(found - open.begin());
}

/// The place of the first open occurrence for which `is_wanted` is true. @pre there is one
template <class Wanted>
std::size_t place_where(const std::vector<open_occurrence>& open, const Wanted& is_wanted) {
  auto found = std::find_if(open.begin(), open.end(), is_wanted);
  CODEQ_ASSERT(found != open.end());
  return static_cast<std::size_t>(found - open.begin());
}

schedule::overlap_state overlap_of(const schedule_progress& p) {
  return {std::any_of(p.open.begin(), p.open.end(), is_counted), p.waiting.has_value()};
}

bool may_release(const schedule_entry& entry) {
  return entry.progress.waiting && !entry.progress.paused
         && schedule::releases_waiting(entry.definition->overlap, overlap_of(entry.progress));
}

/// True when the schedule is as the caller of the command saw it.
bool is_current(const schedule_entry& entry, const fire_schedule& c) {
  if (*entry.definition != *c.definition)
    return false;
  if (c.cause != occurrence_cause::due)
    return true;
  if (c.is_waiting)
    return may_release(entry) && c.fire.size() == 1
           && entry.progress.waiting->nominal == c.fire.front().nominal;
  return !entry.progress.paused && entry.progress.mark == c.from;
}

operator_action action_of(schedule_change what) {
  switch (what) {
  case schedule_change::pause:
    return operator_action::schedule_pause;
  case schedule_change::resume:
    return operator_action::schedule_resume;
  case schedule_change::remove:
    return operator_action::schedule_delete;
  }
  return operator_action::schedule_delete;
}

error no_such_schedule(const schedule_address& name) {
  return {
    errc::unknown_schedule,
    "tenant \"" + name.tenant + "\" has no schedule \"" + name.name + "\""};
}

} // namespace

void turn::answer(schedule_answered answer) {
  if (const auto* entry = state_.schedules.find(answer.view.name)) {
    answer.view.definition = entry->definition;
    answer.view.progress = entry->progress;
  } else if (answer.allowed && answer.what != schedule_result::deleted) {
    answer.allowed = no_such_schedule(answer.view.name);
  }
  effects_.emplace_back(std::move(answer));
}

void turn::run(const set_schedule& c) {
  schedule_answered answered{c.peer, c.number, schedule_result::unchanged, {c.name}};
  const auto* known = state_.schedules.find(c.name);
  bool is_equal = known && *known->definition == *c.definition;
  answered.allowed = c.allowed;
  if (answered.allowed && !is_equal)
    answered.allowed = check_room(state_.schedules, c.name, *c.definition);
  if (!answered.allowed || is_equal)
    return answer(std::move(answered));
  answered.what = known ? schedule_result::changed : schedule_result::created;
  audit({origin_, operator_action::schedule_set, c.name.tenant, {}, 0, 1, c.name.name});
  auto progress = known ? known->progress : schedule_progress{};
  progress.mark = c.mark;
  state_.schedules.put(c.name, c.definition, std::move(progress));
  change_of(c.name).definition = c.definition;
  answer(std::move(answered));
}

void turn::run(const change_schedule& c) {
  schedule_answered answered{c.peer, c.number, schedule_result::unchanged, {c.name}};
  const auto* known = state_.schedules.find(c.name);
  bool is_paused = c.what == schedule_change::pause;
  bool is_removed = c.what == schedule_change::remove;
  if (!known || (!is_removed && known->progress.paused == is_paused))
    return answer(std::move(answered));
  answered.what = is_removed ? schedule_result::deleted : schedule_result::changed;
  audit({origin_, action_of(c.what), c.name.tenant, {}, 0, 1, c.name.name});
  auto& record = change_of(c.name);
  if (is_removed) {
    record.is_removed = true;
    record.progress = known->progress;
    answered.view.definition = known->definition;
    open_schedules_.erase(c.name);
    // Nothing is left of the schedule on the disk, and shard time may not go back to before now. An
    // earlier record of the turn may have an earlier time.
    static_cast<void>(open_changes(true));
    state_.schedules.erase(c.name);
    return answer(std::move(answered));
  }
  auto& progress = state_.schedules.progress_of(c.name);
  progress.paused = is_paused;
  // The mark never goes back, so that no occurrence fires twice when the local time was set back.
  if (!is_paused)
    progress.mark = std::max(progress.mark, c.mark);
  state_.schedules.look_at(c.name, is_paused ? std::nullopt : std::optional{timestamp{}});
  answer(std::move(answered));
}

void turn::run(const show_schedule& c) {
  schedule_answered answered{c.peer, c.number, schedule_result::unchanged, {c.name}};
  answered.next = c.next;
  answered.with_history = c.with_history;
  answer(std::move(answered));
}

void turn::run(const list_schedules& c) {
  schedules_listed listed{c.peer, c.number, {}};
  auto at = state_.schedules.behind({c.tenant, c.after});
  auto is_of_tenant = [&] {
    return at != state_.schedules.end() && at->first.tenant == c.tenant;
  };
  auto most = std::min<std::size_t>(c.limit, listed_together_max);
  for (; is_of_tenant() && listed.schedules.size() < most; ++at)
    listed.schedules.push_back({at->first, at->second.definition, at->second.progress});
  listed.more = is_of_tenant();
  effects_.emplace_back(std::move(listed));
}

void turn::run(const fire_schedule& c) {
  schedule_answered answered{c.peer, c.number, schedule_result::unchanged, {c.name}};
  answered.allowed = c.allowed;
  const auto* known = state_.schedules.find(c.name);
  bool is_own = c.cause == occurrence_cause::due;
  if (!known || !c.allowed || !is_current(*known, c)) {
    // A paused schedule is looked at again when it is resumed.
    if (is_own && known && known->progress.paused)
      state_.schedules.look_at(c.name, std::nullopt);
    return is_own ? void() : answer(std::move(answered));
  }
  if (c.is_waiting)
    return fire_waiting(c);
  if (c.skipped > 0)
    add_entry(
      c.name,
      {0,
       c.last_skipped,
       c.last_skipped_at,
       now_.shard,
       c.cause,
       occurrence_state::skipped_misfire,
       c.skipped});
  for (const auto& o : c.fire)
    fire(c, o);
  if (is_own) {
    if (c.from != c.to) {
      state_.schedules.progress_of(c.name).mark = c.to;
      change_of(c.name);
    }
    state_.schedules.look_at(c.name, c.next);
    return;
  }
  auto action = c.cause == occurrence_cause::run_now ? operator_action::schedule_run
                                                     : operator_action::schedule_backfill;
  audit({origin_, action, c.name.tenant, {}, 0, c.fire.size(), c.name.name});
  answered.what = schedule_result::fired;
  answer(std::move(answered));
}

void turn::fire(const fire_schedule& c, const planned_occurrence& o) {
  if (c.cause == occurrence_cause::due)
    return fire_due(c, o);
  start(c, {0, o.nominal, o.at, now_.shard, c.cause}, o);
}

void turn::fire_due(const fire_schedule& c, const planned_occurrence& o) {
  using act = schedule::overlap_decision::act;
  const auto* known = state_.schedules.find(c.name);
  auto decision = schedule::decide_overlap(known->definition->overlap, overlap_of(known->progress));
  occurrence entry{0, o.nominal, o.at, now_.shard, c.cause};
  if (decision.replaces_waiting) {
    auto waiting = *known->progress.waiting;
    change_entry(
      c.name,
      {waiting.number,
       waiting.nominal,
       waiting.at,
       now_.shard,
       c.cause,
       occurrence_state::skipped_overlap});
  }
  if (decision.cancels_running)
    cancel_running(c.name);
  if (decision.what == act::enqueue)
    return start(c, std::move(entry), o);
  bool waits = decision.what == act::wait;
  entry.state = waits ? occurrence_state::waiting : occurrence_state::skipped_overlap;
  auto number = add_entry(c.name, entry);
  if (waits)
    state_.schedules.progress_of(c.name).waiting = waiting_occurrence{o.nominal, o.at, number};
}

void turn::fire_waiting(const fire_schedule& c) {
  auto& progress = state_.schedules.progress_of(c.name);
  auto waiting = *std::exchange(progress.waiting, std::nullopt);
  occurrence entry{waiting.number, waiting.nominal, waiting.at, now_.shard, c.cause};
  start(c, std::move(entry), c.fire.front());
  state_.schedules.look_at(c.name, c.next);
}

void turn::start(const fire_schedule& c, occurrence entry, const planned_occurrence& o) {
  open_occurrence open;
  if (!c.is_waiting)
    entry.number = state_.schedules.find(c.name)->progress.occurrences;
  entry.shard = o.shard;
  // The owner of a key may have to be looked up, which the way to other shards does.
  if (o.shard == state_.id && o.task->key.empty()) {
    entry.task = add_run(*o.task, nullptr).front().first;
  } else {
    append_follow_up({o.shard, *o.task});
    open.sent = follow_ups_.back().position;
    std::size_t place = 0;
    for (const auto& run : state_.outgoing.at(o.shard).at(open.sent))
      place += run.tasks.count();
    open.place = static_cast<std::uint32_t>(place - 1);
  }
  if (c.is_waiting)
    change_entry(c.name, entry);
  else
    add_entry(c.name, entry);
  open.entry = entry;
  state_.schedules.add_open(c.name, std::move(open));
  const auto& all_open = state_.schedules.find(c.name)->progress.open;
  // The history has no place for the end of an older one.
  if (all_open.size() > limits::schedule_history_max)
    state_.schedules.remove_open(c.name, least_wanted(all_open));
  change_of(c.name).is_fired = true;
  state_.fired = now_.steady;
  ++state_.schedules.counts.fired;
  bool is_late = c.cause == occurrence_cause::due && !c.is_waiting
                 && now_.shard - o.at >= tuning::schedule_late_after;
  if (is_late) {
    ++state_.schedules.counts.late;
    effects_.emplace_back(occurrence_noted{c.name, entry});
  }
}

std::uint64_t turn::add_entry(const schedule_address& name, occurrence entry) {
  entry.number = state_.schedules.progress_of(name).occurrences++;
  change_entry(name, entry);
  return entry.number;
}

void turn::change_entry(const schedule_address& name, const occurrence& entry) {
  auto& latest = state_.schedules.progress_of(name).latest;
  if (!latest || latest->number <= entry.number)
    latest = entry;
  change_of(name).entries.push_back(entry);
  auto& counts = state_.schedules.counts;
  bool is_overlap = entry.state == occurrence_state::skipped_overlap;
  bool is_misfire = entry.state == occurrence_state::skipped_misfire;
  counts.skipped_overlap += is_overlap ? 1 : 0;
  counts.skipped_misfire += is_misfire ? entry.count : 0;
  if (is_overlap || is_misfire)
    effects_.emplace_back(occurrence_noted{name, entry});
}

void turn::cancel_running(const schedule_address& name) {
  // A cancelled task may end at once, which changes the schedule.
  auto running = state_.schedules.find(name)->progress.open;
  auto is_unwanted = [](const open_occurrence& open) { return is_counted(open) && open.sent != 0; };
  for (const auto& open : running) {
    if (!is_counted(open) || open.sent != 0)
      continue;
    if (open.entry.shard != state_.id) {
      effects_.emplace_back(shard_told{open.entry.shard, cancel{0, 0, open.entry.task}});
      continue;
    }
    if (auto* s = find_known(state_.segments, open.entry.task)) {
      static_cast<void>(cancel_task(*s, open.entry.task, task_event::author::coordinator));
      if (auto* left = find_known(state_.segments, open.entry.task))
        stop_holder(*left, open.entry.task);
    }
  }
  const auto& left = state_.schedules.find(name)->progress.open;
  for (std::size_t place = 0; place < left.size(); ++place) {
    auto open = left[place];
    if (!is_unwanted(open))
      continue;
    open.is_unwanted = true;
    state_.schedules.replace_open(name, place, std::move(open));
  }
  change_of(name);
}

void turn::end_occurrence(shard_id shard, sequence task, occurrence_state how) {
  const auto* owner = state_.schedules.owner_of(shard, task);
  if (!owner)
    return;
  auto name = *owner;
  const auto& open = state_.schedules.find(name)->progress.open;
  auto place = place_where(open, [&](const open_occurrence& one) {
    return one.sent == 0 && one.entry.shard == shard && one.entry.task == task;
  });
  auto entry = open[place].entry;
  entry.state = how;
  entry.ended_at = now_.shard;
  state_.schedules.remove_open(name, place);
  change_entry(name, entry);
  if (may_release(*state_.schedules.find(name)))
    state_.schedules.look_at(name, timestamp{});
}

void turn::tell_schedules(sequence seq) {
  if (state_.schedules.empty() && state_.watched_ends.empty())
    return;
  const auto* s = find_known(state_.segments, seq);
  auto how = s ? state_of(s->view(seq).state) : occurrence_state::ended;
  end_occurrence(state_.id, seq, how);
  auto watched = state_.watched_ends.extract(seq);
  if (watched.empty())
    return;
  for (auto to : watched.mapped())
    effects_.emplace_back(shard_told{to, note_ends{state_.id, {{seq, how}}}});
}

void turn::run(const watch_ends& c) {
  note_ends ended{state_.id, {}};
  for (auto seq : c.tasks) {
    const auto* s = find_known(state_.segments, seq);
    if (s && !is_terminal(s->view(seq).state))
      state_.watched_ends[seq].insert(c.from);
    else
      ended.ends.push_back({seq, s ? state_of(s->view(seq).state) : occurrence_state::ended});
  }
  if (!ended.ends.empty())
    effects_.emplace_back(shard_told{c.from, std::move(ended)});
}

void turn::run(const note_ends& c) {
  for (const auto& end : c.ends)
    end_occurrence(c.by, end.seq, end.how);
}

void turn::settle_sent(const confirm_follow_ups& c) {
  watch_ends watched{state_.id, {}};
  for (const auto& [place, name] : state_.schedules.sent_in(c.by, c.number)) {
    const auto& all_open = state_.schedules.find(name)->progress.open;
    auto at = place_where(all_open, [&, place = place](const open_occurrence& one) {
      return one.sent == c.number && one.entry.shard == c.by && one.place == place;
    });
    auto open = all_open[at];
    open.sent = 0;
    open.entry.task = place < c.tasks.size() ? c.tasks[place] : 0;
    bool is_unwanted = std::exchange(open.is_unwanted, false);
    auto entry = open.entry;
    // A key's task may belong to an occurrence already.
    bool is_lost = entry.task == 0 || state_.schedules.owner_of(c.by, entry.task);
    if (is_lost) {
      entry.state = occurrence_state::ended;
      entry.ended_at = now_.shard;
      state_.schedules.remove_open(name, at);
    } else {
      state_.schedules.replace_open(name, at, std::move(open));
    }
    change_entry(name, entry);
    if (is_lost) {
      if (may_release(*state_.schedules.find(name)))
        state_.schedules.look_at(name, timestamp{});
      continue;
    }
    watched.tasks.push_back(entry.task);
    if (is_unwanted)
      effects_.emplace_back(shard_told{c.by, cancel{0, 0, entry.task}});
  }
  if (!watched.tasks.empty())
    effects_.emplace_back(shard_told{c.by, std::move(watched)});
}

void turn::want_ends() {
  if (std::exchange(state_.are_ends_wanted, true))
    return;
  for (auto& [shard, tasks] : state_.schedules.tasks_elsewhere(state_.id))
    effects_.emplace_back(shard_told{shard, watch_ends{state_.id, std::move(tasks)}});
}

schedule_changed& turn::change_of(const schedule_address& name) {
  auto [at, is_new] = open_schedules_.try_emplace(name, scheduled_.size());
  if (is_new) {
    scheduled_.push_back({state_.positions.take(1), now_.shard, name});
    // Its size on disk counts towards the bound of a turn, about.
    body_bytes_ += tuning::schedule_record_bytes;
  }
  return scheduled_[at->second];
}

void turn::close_schedules() {
  for (const auto& [name, place] : open_schedules_) {
    auto& record = scheduled_[place];
    record.at = now_.shard;
    record.progress = state_.schedules.find(name)->progress;
    auto kept = record.progress.occurrences
                - std::min(record.progress.occurrences, limits::schedule_history_max);
    // The latest state of each entry that the history still has.
    std::map<std::uint64_t, occurrence> latest;
    for (auto& entry : record.entries)
      if (entry.number >= kept)
        latest.insert_or_assign(entry.number, std::move(entry));
    record.entries.clear();
    for (auto& [number, entry] : latest)
      record.entries.push_back(std::move(entry));
  }
  open_schedules_.clear();
}

} // namespace codeq::core
