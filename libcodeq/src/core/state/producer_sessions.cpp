// SPDX-License-Identifier: Apache-2.0
#include "core/state/producer_sessions.hpp"

#include "codeq/limits.hpp"

#include "base/tuning.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace codeq::core {

namespace {

/// The time from which on the session is unknown. It is not before the session's id is too old,
/// although the producer's clock may have been ahead, so that later requests of the session are
/// refused.
timestamp end_of(const producer_id& producer, timestamp last_used) {
  return std::max(last_used, created_at(producer)) + limits::producer_session_idle_max;
}

void enter_order(shard_state& state, const producer_id& producer, const producer_session& session) {
  state.producer_ends.emplace(end_of(producer, session.last_used), producer);
  state.sessions_by_use[session.tenant].emplace(session.last_used, producer);
}

/// Does nothing for a new session, which is not in the order yet.
void leave_order(shard_state& state, const producer_id& producer, const producer_session& session) {
  state.producer_ends.erase({end_of(producer, session.last_used), producer});
  auto of_tenant = state.sessions_by_use.find(session.tenant);
  if (of_tenant == state.sessions_by_use.end())
    return;
  of_tenant->second.erase({session.last_used, producer});
  if (of_tenant->second.empty())
    state.sessions_by_use.erase(of_tenant);
}

void charge_to(
  shard_state& state,
  const producer_id& producer,
  producer_session& session,
  const std::string& tenant) {
  if (!is_internal(producer))
    leave_order(state, producer, session);
  session.tenant = tenant;
  if (!is_internal(producer))
    enter_order(state, producer, session);
}

/// True when a session that is as old may have been forgotten while it belonged to the tenant. A
/// session of several tenants may have been forgotten while it belonged to any one of them.
bool may_be_forgotten(
  const shard_state& state, const producer_id& producer, const std::string& tenant) {
  const auto& forgotten = state.sessions_forgotten_until;
  auto covers = [&](const auto& of) { return created_at(producer) <= of.second; };
  if (tenant.empty())
    return std::any_of(forgotten.begin(), forgotten.end(), covers);
  auto own = forgotten.find(tenant);
  auto shared = forgotten.find({});
  return (own != forgotten.end() && covers(*own)) || (shared != forgotten.end() && covers(*shared));
}

result<void> check_not_forgotten(
  const shard_state& state, const producer_id& producer, const std::string& tenant) {
  if (!may_be_forgotten(state, producer, tenant))
    return {};
  return error{
    errc::session_expired,
    "the producer's session is not known here for "
      + (tenant.empty() ? "several tenants" : "tenant " + tenant)
      + ", and there were so many that older ones were forgotten; a shard has room for "
      + std::to_string(limits::producer_sessions_per_shard_max) + " of all tenants"};
}

std::string hours(duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::hours>(d).count()) + " hours";
}

/// A session is refused when it is older than the shard remembers what it forgot.
result<void> check_age(const producer_id& producer, timestamp now) {
  if (end_of(producer, created_at(producer)) > now)
    return {};
  return error{
    errc::session_expired,
    "the producer's session was created more than " + hours(limits::producer_session_idle_max)
      + " ago and is not known here"};
}

} // namespace

const producer_session*
find_session(const shard_state& state, const producer_id& producer, timestamp now) {
  auto at = state.producers.find(producer);
  if (at == state.producers.end())
    return nullptr;
  bool is_over = !is_internal(producer) && end_of(producer, at->second.last_used) <= now;
  return is_over ? nullptr : &at->second;
}

std::string tenant_of(const std::vector<enqueue_run>& runs) {
  const auto& first = runs.front().queue.tenant;
  bool is_one = std::all_of(
    runs.begin(), runs.end(), [&](const enqueue_run& r) { return r.queue.tenant == first; });
  return is_one ? first : std::string{};
}

result<void> check_new_session(
  const shard_state& state, const producer_id& producer, const std::string& tenant, timestamp now) {
  if (is_internal(producer))
    return {};
  auto created = created_at(producer);
  if (auto ok = check_age(producer, now); !ok)
    return ok;
  if (created > now + tuning::producer_session_ahead_max)
    return error{
      errc::invalid_argument,
      "the producer's session was created " + std::to_string((created - now).count())
        + " ms in the future; the limit is " + hours(tuning::producer_session_ahead_max)};
  return check_not_forgotten(state, producer, tenant);
}

result<void> check_tenant(
  const shard_state& state,
  const producer_id& producer,
  const producer_session& session,
  const std::string& tenant,
  timestamp now) {
  if (is_internal(producer) || session.tenant.empty() || session.tenant == tenant)
    return {};
  if (auto ok = check_age(producer, now); !ok)
    return ok;
  return check_not_forgotten(state, producer, "");
}

void note_use(
  shard_state& state, const producer_id& producer, producer_session& session, timestamp at) {
  session.is_ended = false;
  if (!std::exchange(session.dirty, true))
    state.dirty_producers.push_back(producer);
  at = std::max(at, session.last_used);
  if (!is_internal(producer)) {
    leave_order(state, producer, session);
    session.last_used = at;
    enter_order(state, producer, session);
  }
  session.last_used = at;
}

producer_session& touch_session(
  shard_state& state, const request_id& request, const std::string& tenant, timestamp at) {
  auto [known, is_new] = state.producers.try_emplace(request.producer);
  auto& session = known->second;
  if (is_new)
    session.tenant = tenant;
  else if (session.tenant != tenant && !session.tenant.empty())
    charge_to(state, request.producer, session, "");
  session.answered_below = std::max(session.answered_below, request.answered_below);
  session.answers.erase(
    session.answers.begin(), session.answers.lower_bound(session.answered_below));
  note_use(state, request.producer, session, at);
  return session;
}

void remember_request(
  shard_state& state,
  const request_id& request,
  const std::string& tenant,
  const seq_run& tasks,
  timestamp at) {
  auto& session = touch_session(state, request, tenant, at);
  if (request.number < session.answered_below)
    return;
  auto& runs = session.answers[request.number].tasks;
  if (!runs.empty() && runs.back().first + runs.back().count == tasks.first)
    runs.back().count += tasks.count;
  else
    runs.push_back(tasks);
}

void end_session_of(shard_state& state, const producer_id& producer) {
  auto at = state.producers.find(producer);
  if (at == state.producers.end() || is_internal(producer))
    return;
  if (std::exchange(at->second.is_ended, true))
    return;
  state.ended_sessions.push_back(producer);
  // This is not a log record, but it is work for the next snapshot.
  ++state.records_since_snapshot;
}

bool has_many_sessions(const shard_state& state) {
  constexpr auto room = limits::producer_sessions_per_shard_max;
  return state.producer_ends.size() > room + room / 8;
}

namespace {

std::vector<producer_id> idle_sessions(const shard_state& state, timestamp now) {
  std::vector<producer_id> idle;
  for (auto at = state.producer_ends.begin(); at != state.producer_ends.end() && at->first <= now;
       ++at)
    idle.push_back(at->second);
  return idle;
}

/// The number of sessions of each tenant without those that end anyway. `ended` is sorted.
std::map<std::string, std::size_t>
count_sessions(const shard_state& state, const std::vector<producer_id>& ended) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [tenant, sessions] : state.sessions_by_use)
    counts.emplace(tenant, sessions.size());
  for (const auto& id : ended)
    --counts.at(state.producers.at(id).tenant);
  return counts;
}

/// Maximum number of sessions of one tenant, so that all tenants together fit the shard.
std::size_t share_of_tenant(const std::map<std::string, std::size_t>& counts_by_tenant) {
  std::vector<std::size_t> counts;
  for (const auto& [tenant, count] : counts_by_tenant)
    counts.push_back(count);
  std::sort(counts.begin(), counts.end());
  auto room = limits::producer_sessions_per_shard_max;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    auto share = room / (counts.size() - i);
    if (counts[i] > share)
      return share;
    room -= counts[i];
  }
  return limits::producer_sessions_per_shard_max;
}

/// Returns the sessions that tenants have beyond their share, the least recently used ones first,
/// in addition to `ended`, which is sorted.
std::vector<producer_id> surplus_sessions(
  const shard_state& state,
  const std::vector<producer_id>& ended,
  std::map<std::string, timestamp>& forgotten_until) {
  std::vector<producer_id> surplus;
  if (state.producer_ends.size() - ended.size() <= limits::producer_sessions_per_shard_max)
    return surplus;
  auto counts = count_sessions(state, ended);
  auto share = share_of_tenant(counts);
  for (const auto& [tenant, count] : counts) {
    auto left = count;
    const auto& sessions = state.sessions_by_use.at(tenant);
    for (auto at = sessions.begin(); left > share; ++at) {
      if (std::binary_search(ended.begin(), ended.end(), at->second))
        continue;
      auto& until = forgotten_until[tenant];
      until = std::max(until, created_at(at->second));
      surplus.push_back(at->second);
      --left;
    }
  }
  return surplus;
}

void sort_unique(std::vector<producer_id>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

std::vector<producer_record>
used_sessions(const shard_state& state, const std::vector<producer_id>& ended) {
  std::vector<producer_record> records;
  for (const auto& id : state.dirty_producers) {
    if (std::binary_search(ended.begin(), ended.end(), id))
      continue;
    const auto& session = state.producers.at(id);
    producer_record r{id, session.answered_below, session.last_used, {}, session.tenant};
    for (const auto& [number, answer] : session.answers)
      r.answers.push_back({number, answer});
    records.push_back(std::move(r));
  }
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return a.producer < b.producer;
  });
  return records;
}

} // namespace

void note_sessions(const shard_state& state, snapshot_taken& c) {
  auto ended = idle_sessions(state, c.at);
  auto forgotten_until = state.sessions_forgotten_until;
  for (const auto& id : state.ended_sessions)
    if (state.producers.at(id).is_ended)
      ended.push_back(id);
  sort_unique(ended);
  auto surplus = surplus_sessions(state, ended, forgotten_until);
  ended.insert(ended.end(), surplus.begin(), surplus.end());
  for (const auto& [tenant, until] : forgotten_until)
    // After that time the ids alone show that such sessions are too old.
    if (until + limits::producer_session_idle_max > c.at)
      c.forgotten.push_back({tenant, until});
  sort_unique(ended);
  c.producers = used_sessions(state, ended);
  c.ended_producers = std::move(ended);
}

void settle_sessions(shard_state& state, const snapshot_taken& c) {
  for (const auto& id : state.dirty_producers)
    state.producers.at(id).dirty = false;
  state.dirty_producers.clear();
  for (const auto& id : c.ended_producers) {
    auto at = state.producers.find(id);
    bool is_over = at->second.is_ended || end_of(id, at->second.last_used) <= c.at;
    state.sessions_forgotten += is_over ? 0 : 1;
    leave_order(state, id, at->second);
    state.producers.erase(at);
  }
  state.ended_sessions.clear();
  state.sessions_forgotten_until.clear();
  restore_forgotten(state, c.forgotten);
}

void restore_session(shard_state& state, producer_record record) {
  auto& session = state.producers[record.producer];
  session.answered_below = record.answered_below;
  session.last_used = record.last_used;
  session.tenant = std::move(record.tenant);
  for (auto& answer : record.answers)
    session.answers.emplace(answer.number, std::move(answer.answer));
  if (!is_internal(record.producer))
    enter_order(state, record.producer, session);
}

void restore_forgotten(shard_state& state, const std::vector<forgotten_sessions>& forgotten) {
  for (const auto& of : forgotten)
    state.sessions_forgotten_until[of.tenant] = of.created_until;
}

} // namespace codeq::core
