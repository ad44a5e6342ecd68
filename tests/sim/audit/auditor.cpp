// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/auditor.hpp"

#include "base/tuning.hpp"
#include "protocol/task_validation.hpp"

#include <algorithm>
#include <utility>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

/// A status that arrives this late cannot have been in flight before the event.
constexpr virtual_time told_late = 60s;

/// The shortest retention that producers ask for.
constexpr duration shortest_retention = 1h;

std::string name_of(const task_id& id) {
  return std::to_string(value(id.shard)) + "/" + std::to_string(id.seq >> 39) + "."
         + std::to_string(id.seq & tuning::token_counter_max);
}

std::string name_of(fencing_token token) {
  return std::to_string(value(token) >> 39) + "."
         + std::to_string(value(token) & tuning::token_counter_max);
}

} // namespace

run_totals& run_totals::operator+=(const run_totals& more) {
  tasks += more.tasks;
  deliveries += more.deliveries;
  redeliveries += more.redeliveries;
  lost_leases += more.lost_leases;
  kills += more.kills;
  power_cuts += more.power_cuts;
  worker_crashes += more.worker_crashes;
  connection_cuts += more.connection_cuts;
  producer_crashes += more.producer_crashes;
  changes += more.changes;
  grouped += more.grouped;
  follow_ups += more.follow_ups;
  handed_on += more.handed_on;
  duplicates += more.duplicates;
  refused += more.refused;
  forced += more.forced;
  purged += more.purged;
  pauses += more.pauses;
  ticks += more.ticks;
  return *this;
}

void auditor::breach(const std::string& rule, const std::string& what) {
  breaches_.push_back(rule + ": " + what);
  world_.say("BREACH " + breaches_.back());
}

void auditor::submitted(const std::string& name, const task_spec& spec, timestamp shard_now) {
  ++totals_.tasks;
  totals_.grouped += spec.group.empty() ? 0 : 1;
  auto earliest = spec.not_before ? *spec.not_before : timestamp{};
  if (spec.delay > duration{0})
    earliest = shard_now + spec.delay;
  // An absolute time holds regardless of clock changes; a delay counts from a shard time.
  wish wanted{spec, earliest, spec.not_before ? ~0ull : clock_, std::nullopt};
  wanted.spec.tenant = protocol::tenant_of(spec);
  wanted.power_cuts = totals_.power_cuts;
  wishes_.emplace(name, std::move(wanted));
}

auditor::task_view* auditor::meet(const std::string& name, const task_id& id) {
  auto wanted = wishes_.find(name);
  if (wanted == wishes_.end() && tick_book::is_tick(name))
    wanted = meet_tick(name, id);
  if (wanted == wishes_.end()) {
    breach("I1", "task " + name_of(id) + " has a payload that nobody enqueued: " + name);
    return nullptr;
  }
  if (wanted->second.is_settled && wanted->second.power_cuts == totals_.power_cuts)
    breach("I10", name + " exists, and was answered with another record or refused");
  auto& known = wanted->second.id;
  // A process that was paused may read an answer that a later power cut has taken back.
  if (auto old = tasks_.find(id); old != tasks_.end() && old->second.doubtful && known != id)
    return &old->second;
  if (known && *known != id) {
    auto& first = tasks_.at(*known);
    if (!first.doubtful)
      breach("I1", name + " exists twice: as " + name_of(*known) + " and as " + name_of(id));
  }
  known = id;
  auto [at, is_new] = tasks_.try_emplace(id);
  auto& t = at->second;
  if (is_new || t.name.empty()) {
    t.name = name;
    t.seen_at = world_.time.now();
  } else if (t.name != name) {
    breach("I1", "task " + name_of(id) + " is " + t.name + " and also " + name);
  }
  return &t;
}

std::map<std::string, auditor::wish>::iterator
auditor::meet_tick(const std::string& name, const task_id& id) {
  wish wanted{{}, timestamp{}, clock_, std::nullopt};
  wanted.spec.tenant = protocol::default_tenant;
  wanted.is_follow_up = true;
  tasks_[id].cancel_asked = tasks_[id].cancel_asked || ticks_.cancels(name);
  return wishes_.emplace(name, std::move(wanted)).first;
}

void auditor::given_up(const std::string& name) {
  wishes_.at(name).given_up = true;
}

void auditor::worker_replaced(shard_id shard, const worker_identity& by) {
  ledger_.replaced(shard, by);
  for (auto& [place, id] : places_) {
    auto* l = place.first == shard ? find(place) : nullptr;
    if (l && l->holder.name == by.name && l->holder.incarnation != by.incarnation)
      l->may_have_ended = true;
  }
}

void auditor::worker_left(shard_id shard, const worker_identity& worker) {
  ledger_.left(shard, worker);
  left_.emplace(shard, worker);
}

template <class Auditor>
auto* auditor::find_in(Auditor& of, const lease_place& lease) {
  auto place = of.places_.find(lease);
  auto* leases = place == of.places_.end() ? nullptr : &of.tasks_.at(place->second).leases;
  auto at = leases ? leases->find(lease.second) : decltype(leases->end()){};
  return leases && at != leases->end() ? &at->second : nullptr;
}

auditor::lease_view* auditor::find(const lease_place& lease) {
  return find_in(*this, lease);
}

const auditor::lease_view* auditor::find(const lease_place& lease) const {
  return find_in(*this, lease);
}

void auditor::delivered(const worker_identity& worker, const delivery& d) {
  ++(d.redelivered ? totals_.redeliveries : totals_.deliveries);
  auto name = check_payload(d);
  auto* t = meet(name, d.id);
  auto* l = find({d.id.shard, d.token});
  auto who = name + " (task " + name_of(d.id) + ", token " + name_of(d.token) + ")";
  if (!t)
    return;
  if (!l || l->id != d.id)
    return breach("I3", who + " came under a token that it was not granted");
  if (!l->left_at)
    return breach("durability", who + " was delivered before its grant was durable");
  if (l->holder != worker)
    return breach("I2", who + " was delivered to " + worker.name + ", granted to another");
  auto& wanted = wishes_.at(name);
  // Attempt limits that come from the queue are checked by the ledger.
  if (d.attempt == 0 || d.attempt > wanted.spec.max_attempts.value_or(limits::attempts_max))
    breach("I6", who + " is at attempt " + std::to_string(d.attempt));
  if (auto is = ledger_.attempt_of(d.id.shard, d.token); is && *is != d.attempt)
    breach(
      "attempts",
      who + " is at attempt " + std::to_string(d.attempt) + " and should be at "
        + std::to_string(*is));
  bool comparable = wanted.clock == ~0ull || wanted.clock == clock_;
  bool may_be_lifted = is_asked(d.id, *t, task_change::promote) || !wanted.spec.key.empty();
  bool was_lifted = wanted.spec.allow_promotion && may_be_lifted;
  if (comparable && !was_lifted && d.shard_now < wanted.earliest)
    breach("I5", who + " was delivered before its time");
  check_floors(who, *t, *l, d.shard_now);
  bool may_live_again =
    t->redrive_asked && !t->final_token && (!t->final || t->final->state == task_state::dead);
  if (t->final_at && *t->final_at < l->granted_at && !may_live_again)
    breach("I4", who + " was delivered after its end was told");
  if (!l->delivered_at) {
    l->delivered_at = world_.time.now();
    l->delivered_shard = d.shard_now;
    l->attempt = d.attempt;
  }
  l->redelivered = l->redelivered || d.redelivered;
  ticks_.delivered(d.id);
  check_checkpoint(who, d, *t);
  check_retry_time(d.id, *t);
}

duration auditor::shortest_retry(
  const task_spec& spec, const worker::report& r, std::uint32_t attempt) const {
  if (r.delay)
    return *r.delay;
  auto retry = spec.retry.value_or(retry_policy{});
  auto delay = retry.base;
  if (retry.kind == retry_kind::exponential_jitter)
    return duration{0};
  if (retry.kind == retry_kind::linear)
    delay *= attempt;
  if (retry.kind == retry_kind::exponential)
    delay *= 1 << (attempt - 1);
  return std::min(delay, retry.cap);
}

void auditor::reported(const worker::report& r, timestamp shard_now) {
  auto* l = find({r.key.shard, r.key.token});
  if (!l)
    return;
  // A second report under one token occurs after a power cut that took back the answer to the
  // first.
  auto& t = tasks_.at(l->id);
  t.texts.insert(r.text);
  t.may_end_since = t.may_end_since.value_or(world_.time.now());
  l->retry_floor.reset();
  l->reported_at = world_.time.now();
  l->how = r.what;
  l->text = r.text;
  l->clock = clock_;
  bool is_failure = r.what == disposition::failed || r.what == disposition::nack;
  if (is_failure && r.started) {
    const auto& wanted = wishes_.at(tasks_.at(l->id).name);
    l->retry_floor = shard_now + shortest_retry(wanted.spec, r, l->attempt);
  }
}

void auditor::answered(const lease_place& lease, errc code) {
  auto* l = find(lease);
  if (!l || (code != errc::none && code != errc::already))
    return;
  auto& t = tasks_.at(l->id);
  auto who = t.name + " (token " + name_of(lease.second) + ")";
  if (!l->reported_at)
    return breach("I4", "a report of " + who + " was accepted that nobody made");
  if (code == errc::none && l->accepted_at)
    breach("I4", "the same report of " + who + " was accepted twice");
  l->accepted_at = world_.time.now();
  if (t.forced && l->granted_at<t.forced->first&& * l->reported_at> t.forced->second)
    breach("force", "a report of " + who + " was accepted after its lease was ended by force");
  if (t.purged_at && *l->reported_at > *t.purged_at)
    breach("purge", "a report of " + who + " was accepted after its task was purged");
  for (const auto& [token, later] : t.leases) {
    if (token > lease.second && !later.doubtful && later.granted_at < *l->reported_at)
      breach("I2", "a report of " + who + " was accepted after token " + name_of(token));
  }
  check_retry_time(l->id, t);
  if (l->how != disposition::completed)
    return;
  if (t.final_token && *t.final_token != lease.second)
    breach("I4", who + ": a second result was accepted");
  if (t.final && (t.final->state != task_state::completed || t.final->result != l->text))
    breach("I4", who + ": the accepted result is not the one that was told");
  t.final_token = lease.second;
  if (!t.final_at)
    t.final_at = world_.time.now();
}

void auditor::told_lost(const lease_place& lease) {
  auto* l = find(lease);
  if (!l)
    return;
  if (!l->lost && !l->reported_at)
    ++totals_.lost_leases;
  l->lost = true;
  const auto& t = tasks_.at(l->id);
  bool has_run_limit = l->run_end != monotonic_time::max() || is_meddled_with(l->id, t);
  if (world_.options.is_calm() && !l->reported_at && !has_run_limit)
    breach("lease", "token " + name_of(lease.second) + " was lost, though nothing went wrong");
}

std::vector<lease_place> auditor::owed_to(
  const worker_identity& worker, shard_id shard, const std::set<fencing_token>& held) const {
  std::vector<lease_place> owed;
  for (const auto& [id, t] : tasks_) {
    if (id.shard != shard)
      continue;
    for (const auto& [token, l] : t.leases) {
      bool is_open = l.left_at && !l.doubtful && !l.reported_at && !l.lost && !may_be_over(l);
      if (
        is_open && l.holder == worker && !held.contains(token) && token == t.leases.rbegin()->first)
        owed.emplace_back(shard, token);
    }
  }
  return owed;
}

void auditor::check_owed(const std::vector<lease_place>& owed) {
  for (const auto& place : owed) {
    auto* l = find(place);
    if (l && !l->redelivered && !l->lost && !may_be_over(*l))
      breach("resume", "token " + name_of(place.second) + " was not delivered again");
  }
}

bool auditor::may_be_over(const lease_view& l) const {
  bool has_left = left_.contains({l.id.shard, l.holder});
  return l.doubtful || l.may_have_ended || has_left || l.reported_at
         || world_.steady() >= l.earliest_end || is_meddled_with(l.id, tasks_.at(l.id));
}

void auditor::check_single_lease(const task_id& id, fencing_token token, const task_view& t) {
  for (const auto& [earlier, l] : t.leases) {
    if (earlier < token && !may_be_over(l))
      breach(
        "I2",
        t.name + " (task " + name_of(id) + ") was leased under " + name_of(token) + " while "
          + name_of(earlier) + " was valid");
  }
}

void auditor::check_retry_time(const task_id& id, const task_view& t) {
  // Operators may have lifted the delay; the ledger checks whether they did.
  if (is_asked(id, t, task_change::promote) || t.redrive_asked || t.force_asked)
    return;
  for (const auto& [token, l] : t.leases) {
    if (!l.accepted_at || !l.retry_floor || l.clock != clock_)
      continue;
    auto next = t.leases.upper_bound(token);
    bool known = next != t.leases.end() && next->second.delivered_at && !next->second.doubtful;
    if (known && next->second.delivered_shard < *l.retry_floor)
      breach("I5", t.name + " (task " + name_of(id) + ") was retried before its time");
  }
}

void auditor::check_final(const task_id& id, task_view& t, const ended_task& now) {
  auto who = t.name + " (task " + name_of(id) + ")";
  if (!is_terminal(now.state))
    return breach(
      "await", who + " was told to have ended, but is " + std::string(to_string(now.state)));
  check_cancelled(t, now);
  if (t.purged_at && world_.time.now() - *t.purged_at > told_late)
    breach("purge", who + " was told to have ended, long after it was purged");
  // The status may be from before a redrive.
  if (t.redrive_asked && now.state == task_state::dead)
    return;
  if (t.final) {
    // The error text of a cancelled task may be removed before its record.
    bool same_text =
      t.final->error_text == now.error_text || (now.error_text.empty() && may_be_forgotten(id, t));
    bool same = t.final->state == now.state && t.final->result == now.result && same_text
                && t.final->attempt == now.attempt;
    if (!same)
      breach(
        "I4", who + " ended twice, and differently: " + t.final->result + " and " + now.result);
    return;
  }
  if (t.final_token) {
    const auto& accepted = t.leases.at(*t.final_token);
    if (now.state != task_state::completed || now.result != accepted.text)
      breach("I4", who + " has another result than the accepted one");
  }
  if (now.state == task_state::completed) {
    bool was_made = t.texts.contains(now.result);
    if (!was_made)
      breach("I4", who + " has a result that no worker reported: " + now.result);
  }
  t.final = now;
  if (!t.final_at)
    t.final_at = world_.time.now();
}

bool auditor::may_be_forgotten(const task_id& id, const task_view& t) const {
  bool is_dead = t.final && t.final->state == task_state::dead;
  auto retention = world_.options.retention;
  if (retention == duration{0})
    retention = shortest_retention;
  // After a restart shard time may follow a step of the wall clock.
  if (world_.options.clock_step_every > virtual_time{0})
    retention = duration{0};
  // Shard time may run 5 % fast.
  bool is_past = t.may_end_since && world_.time.now() - *t.may_end_since >= retention * 9 / 10;
  // A cancellation by key may have ended it at any time.
  bool is_over = is_past || (!t.cancel_asked && is_asked(id, t, task_change::cancel));
  return !is_dead && is_over;
}

void auditor::ended(const task_id& id, const result<ended_task>& how) {
  auto& t = tasks_.at(id);
  if (how)
    return check_final(id, t, *how);
  if (how.error().code == errc::unknown_task && is_purge_asked(id, t)) {
    t.is_unknown = true;
    return;
  }
  if (how.error().code != errc::unknown_task)
    return breach("await", t.name + " ended with " + to_string(how.error()));
  t.forgotten = t.forgotten || may_be_forgotten(id, t);
  if (!t.doubtful && !t.forgotten)
    breach(
      "I1", t.name + " (task " + name_of(id) + ") is unknown, though its enqueue was answered");
}

void auditor::looked_again(const task_id& id, const result<ended_task>& how) {
  ended(id, how);
}

} // namespace codeq::sim
