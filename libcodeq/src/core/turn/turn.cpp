// SPDX-License-Identifier: Apache-2.0
#include "core/turn/turn.hpp"

#include "base/tuning.hpp"
#include "core/state/apply.hpp"
#include "core/state/producer_sessions.hpp"
#include "core/state/queue_removal.hpp"
#include "core/state/queue_slots.hpp"
#include "core/state/survivors.hpp"
#include "core/state/task_keys.hpp"

#include <algorithm>
#include <iterator>

namespace codeq::core {

namespace {

log_position position_of(const event& e) {
  return std::visit([](const auto& x) { return x.position; }, e);
}

/// Once this many tasks became ready by their time within a window, the next ones wait for its end.
constexpr std::size_t due_window_tasks = 64;

/// Less than the lateness that the contract allows.
constexpr duration due_window_length{40};

/// True while due tasks wait for the end of the window.
bool is_full(const due_window& window, monotonic_time now) {
  return window.released >= due_window_tasks && now < window.begin + due_window_length;
}

template <class From>
void move_all(std::vector<From>& from, std::vector<event>& to) {
  for (auto& x : from)
    to.emplace_back(std::move(x));
}

segment_fate fate_of(shard_state& state, segment& s, timestamp now) {
  segment_fate fate;
  fate.first = s.first;
  fate.aside = s.aside;
  fate.closed_at = now;
  fate.enqueued_at = s.enqueued_at;
  fate.queue = state.queue_of(s).address;
  fate.priority = s.priority;
  fate.max_attempts = s.settings.max_attempts;
  fate.entries = s.entries;
  fate.replaced = s.replaced;
  fate.copied = s.copied;
  fate.retention = s.settings.retention;
  fate.group = s.group;
  fate.fairness = s.mark();
  fate.limits = s.limit_uses();
  fate.key = s.key ? s.key->name : std::string();
  return fate;
}

} // namespace

turn::turn(shard_state& state) : state_(state) {
}

turn::~turn() = default;

void turn::advance(const instant& now) {
  state_.steady = std::max(state_.steady, now.steady);
  state_.at = std::max(state_.at, now.shard);
  now_ = {state_.steady, state_.at};
}

queue_configured turn::settings_again(std::uint32_t index) {
  const auto& queue = *state_.queues[index];
  return {state_.positions.take(1), now_.shard, queue.address, queue.settings};
}

void turn::decide(const command& c, const instant& now) {
  advance(now);
  ++commands_;
  std::visit(
    [this](const auto& x) {
      if constexpr (requires { x.origin; })
        origin_ = x.origin;
      run(x);
    },
    c);
  origin_ = nullptr;
}

void turn::release_due_tasks() {
  auto& window = state_.released;
  if (is_full(window, now_.steady))
    return;
  if (now_.steady >= window.begin + due_window_length)
    window = {now_.steady, 0};
  auto released = release_due(state_, now_.shard, tuning::due_released_per_turn_max);
  // Tasks that this turn had no room for are released by the next one, without waiting.
  bool any_left = released == tuning::due_released_per_turn_max;
  window.released = any_left ? 0 : window.released + released;
}

sealed_turn turn::seal(const instant& now) {
  close_checkpoints();
  close_audits();
  advance(now);
  want_ends();
  purge_past_dead();
  release_due_tasks();
  settle_depths();
  state_.permits.return_unspent(now_.steady);
  take_changed_slots(state_);
  tell_claimers(match());
  want_timers();
  say_follow_ups();
  close_schedules();
  close_limits();
  settle_paused();
  say_permits();
  sealed_turn sealed;
  sealed.must_sync = state_.permits.take_must_sync() || has_given_room_;
  for (auto& [asker, changed] : permits_) {
    sealed.must_sync = sealed.must_sync
                       || !std::all_of(changed.booked.begin(), changed.booked.end(), is_depth);
    sealed.events.emplace_back(std::move(changed));
  }
  move_all(segments_, sealed.events);
  move_all(ended_, sealed.events);
  move_all(changed_, sealed.events);
  move_all(configured_, sealed.events);
  move_all(follow_ups_, sealed.events);
  move_all(changed_checkpoints_, sealed.events);
  move_all(closed_audits_, sealed.events);
  move_all(scheduled_, sealed.events);
  move_all(limits_, sealed.events);
  move_all(limit_keys_, sealed.events);
  move_all(grants_, sealed.events);
  if (synced_queue_ && sealed.events.empty())
    sealed.events.emplace_back(settings_again(*synced_queue_));
  std::sort(sealed.events.begin(), sealed.events.end(), [](const event& a, const event& b) {
    return position_of(a) < position_of(b);
  });
  state_.records_since_snapshot += sealed.events.size();
  want_queue_ends(state_);
  if (snapshot_wanted_) {
    sealed.events.emplace_back(make_snapshot());
    const auto& taken = std::get<snapshot_taken>(sealed.events.back());
    settle_snapshot(state_, taken, taken.blocks);
    for (const auto& removed : taken.removed_queues)
      state_.depths.abandon(removed.queue);
    state_.parked.note_closed_keys();
  }
  state_.keys.recalled.clear();
  sealed.effects = std::move(effects_);
  for (auto& [queue, expired] : expired_)
    sealed.effects.emplace_back(std::move(expired));
  for (auto& g : granted_)
    sealed.effects.emplace_back(std::move(g.batch));
  return sealed;
}

namespace {

/// The monotonic time that must pass before shard time can have advanced by `wait`, since it may
/// run 5 % fast.
duration at_the_fastest(duration wait) {
  return wait - wait / 20;
}

} // namespace

std::optional<duration> next_wakeup(shard_state& state, const instant& now) {
  std::optional<duration> wait;
  auto sooner = [&](duration until) { wait = wait ? std::min(*wait, until) : until; };
  auto time_until = [&](timestamp at) {
    return at_the_fastest(std::max(duration{0}, at - now.shard));
  };
  if (!state.due.empty()) {
    auto until = time_until(time_of(state.due.front()));
    if (is_full(state.released, now.steady))
      until = std::max(until, state.released.begin + due_window_length - now.steady);
    sooner(until);
  }
  if (auto look = state.schedules.next_look())
    // A burst of occurrences is fired in few turns.
    sooner(std::max(time_until(*look), state.fired + tuning::schedule_turn_interval - now.steady));
  if (!state.dead_ends.empty())
    sooner(time_until(time_of(state.dead_ends.front())));
  // When it is past, the next snapshot is due for it.
  if (!state.queue_ends.empty() && state.queue_ends.begin()->first > now.shard)
    sooner(time_until(state.queue_ends.begin()->first));
  if (auto release = state.limits.keys().next_release())
    sooner(time_until(*release));
  if (state.limits.is_behind)
    sooner(duration{0});
  for (auto look :
       {state.permits.next_look(),
        state.recalls.next_look(),
        state.lent.next_look(),
        state.depths.next_look(),
        state.parked.next_look(),
        state.kept.next_end(now.steady),
        state.promised.next_end(now.steady)})
    if (look)
      sooner(std::max(duration{0}, *look - now.steady));
  if (auto timer_due = state.leases.next_due_for_timer())
    sooner(std::max(duration{0}, *timer_due - now.steady));
  return wait;
}

void turn::run(const copy_survivors& c) {
  state_.copies.insert_or_assign(c.segment, c);
  // They are work for a snapshot, also when nothing else happens.
  ++state_.records_since_snapshot;
}

snapshot_taken turn::make_snapshot() {
  snapshot_taken c;
  c.position = state_.positions.take(1);
  c.at = now_.shard;
  note_sessions(state_, c);
  c.copied = take_copies(state_);
  auto asides = leave_segments(state_, c.copied);
  std::vector<segment*> closed;
  for (auto first : state_.dirty)
    if (auto& s = state_.segments.at(first); s.kept == 0)
      closed.push_back(&s);
  // There may be thousands of them, each with its task's history, which would be moved again and
  // again.
  c.closed.reserve(closed.size());
  for (auto* s : closed) {
    c.closed.push_back(fate_of(state_, *s, now_.shard));
    note_closed_key(state_, *s, c);
  }
  add_asides(state_, std::move(asides));
  note_records(state_, c.closed);
  list_queue_ends(state_);
  note_queue_ends(state_, c);
  for (auto queue : state_.changed_totals)
    c.queues.push_back(state_.queues[queue]->totals);
  c.blocks = pack_changed(state_);
  c.next_sequence = state_.sequences.next;
  c.merged_changes = state_.change_records;
  c.delivered_follow_ups = state_.delivered_follow_ups;
  c.ended_grants = state_.leases.take_ended_grants();
  return c;
}

} // namespace codeq::core
