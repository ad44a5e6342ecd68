// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/shard.hpp"

#include "codeq/limits.hpp"
#include "codeq/operator_types.hpp"

#include "core/state/epoch.hpp"
#include "core/state/survivors.hpp"
#include "core/state/task_keys.hpp"
#include "core/state/task_limits.hpp"
#include "protocol/task_header.hpp"
#include "storage/records/projection.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

namespace codeq::coordinator {

namespace {

bool is_purge(const core::audit_entry& entry) {
  constexpr std::array purges{
    operator_action::purge,
    operator_action::dead_purge,
    operator_action::queue_purge,
    operator_action::tenant_purge};
  return std::find(purges.begin(), purges.end(), entry.action) != purges.end();
}

/// True when an operator's command removed tasks. It is audited with every part of its changes.
bool has_purged(const std::vector<core::event>& events) {
  return std::any_of(events.begin(), events.end(), [](const core::event& event) {
    const auto* audited = std::get_if<core::commands_audited>(&event);
    return audited && std::any_of(audited->entries.begin(), audited->entries.end(), is_purge);
  });
}

} // namespace

shard::shard(const shard_options& options, shard_port& port, const instant& now)
  : port_(port),
    state_(options.state),
    shard_count_(options.shard_count),
    turns_(*state_, now.steady, options.turns),
    planner_(options.zones, {state_->id, options.shard_count}, now.shard),
    zones_seen_(now.steady),
    cache_(options.cache_bytes),
    wheel_(now.steady) {
  if (options.hand_overs) {
    hand_overs_.emplace(*options.hand_overs);
    confirmations_.emplace(options.hand_overs->sync_pace);
  }
  if (options.carries_settings && state_->id == shard_id{})
    settings_.emplace(options.shard_count);
  hold_ = options.hold;
  if (options.board)
    state_->join_board(options.board);
  if (options.may_have_lost)
    state_->limits.use_up_all(now.shard);
  core::open_permits(*state_, options.shard_count);
  state_->read_header = protocol::header_of;
}

void shard::start(const instant& now) {
  decide(core::tick{}, now);
  fire_due(now);
}

void shard::take(const peer_request& m, const instant& now) {
  auto command = read(m, now);
  if (!command)
    return;
  decide(*command, now, m.share);
}

void shard::decide(const core::command& command, const instant& now, enqueue_share share) {
  auto named = core::named_keys_of(command);
  bool waits = std::any_of(named.names.begin(), named.names.end(), [this](const task_key& name) {
    return must_look_up(name);
  });
  if (waits) {
    auto number = lookups_.add(command, named.names, std::move(share));
    wanted_keys_.push_back({state_->id, number, named.peer, std::move(named.names)});
    return find_keys(now);
  }
  turns_.hold(std::move(share));
  decide_now(command, now);
  close_if_full(now);
}

bool shard::must_look_up(const task_key& name) const {
  if (lookups_.is_awaited(name))
    return true;
  if (core::has_live_owner(*state_, name))
    return false;
  // The store cannot find a key record before its commit.
  bool is_writing = turns_.committed() < closed_keys_commit_;
  return is_writing || port_.may_hold_key(name) || core::is_retained(*state_, name);
}

void shard::find_keys(const instant& now) {
  if (turns_.committed() < closed_keys_commit_)
    return;
  for (auto& wanted : std::exchange(wanted_keys_, {})) {
    wanted.purged = state_->purged;
    wanted.now = now.shard;
    port_.find_keys(std::move(wanted));
  }
}

void shard::keys_found(
  std::uint64_t number, std::vector<core::recalled_key> found, const instant& now) {
  lookups_.answer(number, std::move(found));
  while (auto known = lookups_.take()) {
    // Both commands in one turn.
    turns_.hold(std::move(known->share));
    decide_now(std::move(known->keys), now);
    decide_now(known->command, now);
    close_if_full(now);
  }
}

void shard::decide_now(const core::command& command, const instant& now) {
  if (is_held(command, now))
    return;
  if (const auto* due = std::get_if<core::expire_lease>(&command))
    hold_lease(*due, now);
  if (turns_.decide(command, now))
    port_.close_turn_soon();
  if (hand_overs_)
    note_neighbour(command, now);
}

void shard::hold_lease(const core::expire_lease& due, const instant& now) {
  if (!check_replicas() || !port_.may_answer())
    held_until_ = now.steady;
  auto* lease = state_->leases.find(due.token);
  const auto is_due = lease && lease->seq == due.seq && lease->deadline <= now.steady;
  if (!is_due || !held_until_)
    return;
  const auto term = state_->leases.grant_at(lease->grant).lease;
  if (now.steady >= *held_until_ + term)
    return;
  lease->run_deadline = std::max(lease->run_deadline, now.steady + term);
  decide_now(core::heartbeat{.beats = {{due.seq, due.token, lease->queued, true}}}, now);
}

void shard::close_if_full(const instant& now) {
  if (turns_.is_full())
    close_turn(now);
}

void shard::attach(const peer_attached& m, const instant& now) {
  peers_.insert_or_assign(m.peer, peer{m.worker, m.bearer, m.is_gateway});
  if (m.worker)
    decide(core::attach_worker{m.peer, m.worker, m.queues, m.prefixes, m.without}, now);
  if (m.watches_queues) {
    queue_watchers_.insert_or_assign(m.peer, state_->queues_created);
    port_.tell_queues(m.peer, queues_from(0));
  }
}

void shard::detach(core::peer_id peer, const instant& now) {
  peers_.erase(peer);
  queue_watchers_.erase(peer);
  std::erase_if(kept_, [&](const kept_read& one) {
    const auto is_of_peer = one.request.peer == peer;
    if (is_of_peer)
      kept_bytes_.give_back(one.tenant, one.bytes);
    return is_of_peer;
  });
  decide(core::detach_peer{peer}, now);
}

std::uint32_t shard::drop_credits(core::peer_id peer, const instant& now) {
  decide(core::detach_peer{peer}, now);
  return turns_.granted_to(peer);
}

void shard::close_turn(const instant& now) {
  if (!turns_.has_turn())
    return;
  if (auto events = turns_.close(now); !events.empty())
    commit(std::move(events), now);
  renew_epoch();
  release(now);
  arm(now);
}

void shard::commit(std::vector<core::event> events, const instant& now) {
  turn_commit turn{state_->id, turns_.submitted(), nullptr};
  turn.is_synced = turns_.must_sync();
  if (confirmations_ && confirmations_->submit(turn.number, now.steady))
    turn.is_synced = true;
  auto writes = std::make_shared<storage::write_set>();
  for (const auto& e : events) {
    storage::project(state_->id, e, *writes);
    // It is the last event of its turn, so the state is the one of the snapshot.
    if (const auto* snapshot = std::get_if<core::snapshot_taken>(&e)) {
      turn.horizon =
        std::make_shared<const storage::shard_horizon>(storage::horizon_of(*state_, *snapshot));
      note_closed(*snapshot);
      note_forgotten();
      note_removed(*snapshot);
      snapshot_commit_ = turns_.submitted();
    }
    if (const auto* scheduled = std::get_if<core::schedule_changed>(&e))
      turn.is_synced = turn.is_synced || scheduled->is_fired;
  }
  if (!turn.horizon)
    turns_.note_written(writes->byte_size());
  turn.writes = std::move(writes);
  if (has_purged(events))
    port_.note_purge();
  port_.commit(std::move(turn), events);
  for (auto& e : events)
    cache_.take(e);
}

void shard::note_closed(const core::snapshot_taken& snapshot) {
  if (snapshot.closed_keys.empty())
    return;
  lookups_.note_closed(snapshot.closed_keys);
  closed_keys_commit_ = turns_.submitted();
}

void shard::note_forgotten() {
  auto before = std::exchange(sessions_forgotten_, state_->sessions_forgotten);
  if (sessions_forgotten_ > before)
    port_.note_limit(
      "producer_sessions_per_shard_max", limits::producer_sessions_per_shard_max, "-");
}

void shard::note_removed(const core::snapshot_taken& snapshot) {
  if (queue_watchers_.empty())
    return;
  for (const auto& removed : snapshot.removed_queues)
    removed_queues_.push_back(removed.queue);
}

void shard::read_survivors() {
  // While grants are paused the disk has too little space for copies.
  bool may_copy = snapshot_commit_ != 0 && !state_->are_grants_paused;
  if (!may_copy || turns_.committed() < snapshot_commit_)
    return;
  snapshot_commit_ = 0;
  for (auto& tasks : core::take_sparse(*state_))
    port_.read_survivors({state_->id, std::move(tasks)});
}

void shard::committed(std::uint64_t number, const instant& now) {
  turns_.committed(number, now.steady);
  find_keys(now);
  read_survivors();
  release(now);
  // The turn may have added timers.
  arm(now);
}

void shard::release(const instant& now) {
  while (auto effects = turns_.release())
    carry_out(*effects, now);
  confirm_synced();
  hand_over(now);
  carry_settings(now);
  tell_queues();
  if (is_stopping_ && turns_.is_settled()) {
    is_stopping_ = false;
    port_.settled();
  }
}

void shard::arm(const instant& now) {
  if (auto next = turns_.arm(now, next_timer_look()))
    port_.wake_after(next->wait, next->number);
}

std::optional<monotonic_time> shard::next_timer_look() const {
  if (is_backfilling_)
    return monotonic_time{};
  auto next = ends_.next_look();
  const auto sooner = [&next](const std::optional<monotonic_time>& other) {
    if (other && (!next || *other < *next))
      next = other;
  };
  if (hand_overs_)
    sooner(hand_overs_->next_look());
  if (confirmations_)
    sooner(confirmations_->next_look());
  if (settings_)
    sooner(settings_->next_look());
  sooner(kept_look_);
  // The wheel may contain tokens whose leases have ended; without a timer no wake-up is needed.
  if (timers_ > 0)
    sooner(wheel_.next_look());
  return next;
}

void shard::wake(std::uint64_t number, const instant& now) {
  if (!turns_.wake(number))
    return;
  for (auto token : wheel_.take_due(now.steady))
    port_.fire_timer(token);
  ask_ends(now);
  take_kept(now);
  if (const auto sync = confirmations_ ? confirmations_->next_look() : std::nullopt;
      sync && *sync <= now.steady)
    decide(core::take_snapshot{}, now);
  decide(core::tick{}, now);
  fire_due(now);
  backfill_next(now);
}

void shard::look_at_room(const instant& now) {
  auto why = grant_pause::none;
  if (port_.is_disk_tight(now.steady, 0))
    why = grant_pause::disk_full;
  else if (!port_.accepts_writes())
    why = grant_pause::few_replicas;
  if (why == grant_pause::few_replicas)
    held_until_ = now.steady;
  if (std::exchange(paused_for_, why) != why)
    port_.note_grants(why);
  bool is_paused = why != grant_pause::none;
  if (is_paused != state_->are_grants_paused)
    pause_grants(is_paused, now);
}

void shard::pause_grants(bool paused, const instant& now) {
  state_->are_grants_paused = paused;
  // Queues that could not be matched before are matched at the end of this turn. Other shards must
  // not wait for tasks that cannot be granted.
  state_->move_all_heads();
  decide(core::tick{}, now);
}

void shard::renew_epoch() {
  if (next_epoch_) {
    core::begin_epoch(*state_, *std::exchange(next_epoch_, std::nullopt));
    wants_epoch_ = false;
  }
  bool is_spent = !wants_epoch_ && core::is_epoch_spent(*state_);
  if (!is_spent)
    return;
  wants_epoch_ = true;
  port_.raise_epoch();
}

void shard::begin_epoch(std::uint32_t epoch) {
  next_epoch_ = epoch;
  if (!turns_.has_turn())
    renew_epoch();
}

void shard::stop(const instant& now) {
  is_stopping_ = true;
  decide(core::take_snapshot{}, now);
  close_turn(now);
  release(now);
}

} // namespace codeq::coordinator
