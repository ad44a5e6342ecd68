// SPDX-License-Identifier: Apache-2.0
#include "core/state/apply.hpp"
#include "core/checks/invariants.hpp"
#include "sim/audit/auditor.hpp"

#include <algorithm>

namespace codeq::sim {

namespace {

/// The latest that an expired lease may be ended.
constexpr duration timer_slack{1'000};

} // namespace

void auditor::turn_sealed(core::shard_state& state, const std::vector<core::event>& events) {
  ledger_.follow(state.id, events, state.at);
  ledger_.note_waiting([&state](const auto& request) { return state.parked.contains(request); });
  ticks_.follow(state.id, events, state.at);
  for (const auto& e : events) {
    if (const auto* grant = std::get_if<core::batch_granted>(&e))
      granted(state, *grant);
  }
  order_.turn_sealed(state, events, world_.time.now());
  fairness_.turn_sealed(state, events);
  limits_.turn_sealed(state, events);
  maxima_.turn_sealed(state, events);
  for (const auto& violation : core::find_violations(state))
    breach("memory", violation);
}

void auditor::granted(core::shard_state& state, const core::batch_granted& e) {
  auto& last = last_token_[state.id];
  if (e.first_token <= last)
    breach("I3", "a token is not above the last one of its shard");
  auto token = value(e.first_token);
  for (const auto& run : e.runs) {
    for (std::uint32_t i = 0; i < run.count; ++i, ++token)
      start_view(state, e, {state.id, run.first + i}, static_cast<fencing_token>(token));
  }
  last = static_cast<fencing_token>(token - 1);
}

void auditor::start_view(
  core::shard_state& state, const core::batch_granted& e, const task_id& id, fencing_token token) {
  auto& t = tasks_[id];
  check_single_lease(id, token, t);
  check_start(id, t, e.worker->name);
  if (left_.contains({id.shard, *e.worker}))
    breach("goodbye", t.name + " was leased to " + e.worker->name + ", which had left");
  lease_view l;
  l.holder = *e.worker;
  l.id = id;
  l.granted_at = world_.time.now();
  l.lease = e.lease;
  l.earliest_end = world_.steady() + e.lease;
  l.run_end = monotonic_time::max();
  if (const auto* s = core::find_segment(state.segments, id.seq);
      s && s->settings.run_timeout > duration{0}) {
    l.run_timeout = s->settings.run_timeout;
    l.run_end = world_.steady() + l.run_timeout;
  }
  l.earliest_end = std::min(l.earliest_end, l.run_end);
  t.leases.insert_or_assign(token, std::move(l));
  places_.insert_or_assign({id.shard, token}, id);
}

void auditor::grant_left(shard_id shard, fencing_token token) {
  limits_.grant_left(shard, token);
  auto* l = find({shard, token});
  if (!l || l->left_at)
    return;
  l->left_at = world_.time.now();
}

void auditor::beat_taken(shard_id shard, fencing_token token, bool queued) {
  ledger_.beaten(shard, token, queued);
  auto* l = find({shard, token});
  if (l && !l->doubtful && world_.steady() - l->run_end > timer_slack)
    breach("run_timeout", tasks_.at(l->id).name + " runs on after its run_timeout");
  // After its earliest end the lease may have ended; a heartbeat does not revive it then.
  if (!l || world_.steady() >= l->earliest_end)
    return;
  l->earliest_end = std::min(std::max(l->earliest_end, world_.steady() + l->lease), l->run_end);
}

void auditor::coordinator_ended(bool clock_went_back) {
  if (clock_went_back)
    ++clock_;
  order_.forget();
  fairness_.forget();
  limits_.forget();
  maxima_.forget();
  // A grant that was not sent to any worker may or may not be durable.
  for (auto& [id, t] : tasks_) {
    for (auto& [token, l] : t.leases)
      l.doubtful = l.doubtful || !l.left_at;
  }
}

void auditor::coordinator_restarted() {
  for (auto& [id, t] : tasks_) {
    for (auto& [token, l] : t.leases) {
      // A recovered lease may run its whole time again.
      if (l.run_timeout > duration{0})
        l.run_end = world_.steady() + l.run_timeout;
      if (world_.steady() >= l.earliest_end)
        continue;
      auto run_limit = l.run_end == monotonic_time::max() ? l.lease : duration{0};
      l.earliest_end = std::max(l.earliest_end, world_.steady() + run_limit);
    }
  }
}

void auditor::power_was_cut(virtual_time lost_since) {
  auto drop = [&](std::optional<virtual_time>& seen) {
    if (!seen || *seen < lost_since)
      return false;
    seen.reset();
    return true;
  };
  for (auto& [id, t] : tasks_) {
    t.doubtful = t.doubtful || t.seen_at >= lost_since;
    for (auto& [token, l] : t.leases) {
      l.doubtful = l.doubtful || !l.left_at || *l.left_at >= lost_since;
      // The worker was answered and forgot the report; it may get the task again under the same
      // token.
      if (drop(l.accepted_at)) {
        l.reported_at.reset();
        l.doubtful = true;
      }
    }
    for (auto& [mark, state] : t.saved)
      drop(state.told_at);
    drop(t.purged_at);
    if (t.forced && t.forced->second >= lost_since)
      t.forced.reset();
    std::erase_if(t.floors, [&](const auto& floor) { return floor.first >= lost_since; });
    drop(t.cancelled_at);
    drop(t.cancelling_since);
    if (drop(t.final_at)) {
      t.final_token.reset();
      t.final.reset();
    }
    // The power cut may have taken back the purge.
    t.is_unknown = false;
  }
  for (auto& [queue, pause] : pauses_)
    drop(pause.told_at);
  ticks_.power_was_cut();
}

void auditor::time_recovered(timestamp found, timestamp durable) {
  if (found < durable)
    breach("I5", "shard time goes back over a restart");
}

void auditor::recovered(
  core::shard_state& found, core::shard_state& expected, const std::string& whose_memory) {
  // Both at the same time, so that due tasks count alike.
  auto now = std::max(found.at, expected.at);
  for (auto* state : {&found, &expected}) {
    state->at = now;
    core::release_due(*state, now);
  }
  auto is = core::durable_text(found);
  auto should = core::durable_text(expected);
  if (is != should)
    breach("I12", "recovered:\n" + is + "but " + whose_memory + " says:\n" + should);
  for (const auto& violation : core::find_violations(found))
    breach("recovered", violation);
}

std::vector<task_id> auditor::known_tasks() const {
  std::vector<task_id> known;
  for (const auto& [id, t] : tasks_) {
    if (!t.name.empty())
      known.push_back(id);
  }
  return known;
}

std::string auditor::unfinished() const {
  auto rest = ticks_.missing() + ledger_.living_ticks();
  for (const auto& [name, wanted] : wishes_) {
    if (wanted.given_up || wanted.is_follow_up || wanted.is_settled)
      continue;
    if (!wanted.id)
      rest += name + " was never answered\n";
    else if (const auto& t = tasks_.at(*wanted.id);
             !t.final && !t.doubtful && !t.redrive_asked && !t.is_unknown && !t.forgotten)
      rest += name + " has not ended\n";
  }
  return rest;
}

} // namespace codeq::sim
