// SPDX-License-Identifier: Apache-2.0
#include "core/state/producer_sessions.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace codeq::core {

namespace {

/// From then on the session is unknown. Not before its creation is too long ago, though its clock
/// may have been ahead, so that whoever names it later is refused.
timestamp end_of(const producer_id& producer, timestamp last_used) {
  return std::max(last_used, created_at(producer)) + limits::producer_session_idle_max;
}

std::string hours(duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::hours>(d).count()) + " hours";
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

result<void>
check_new_session(const shard_state& state, const producer_id& producer, timestamp now) {
  if (is_internal(producer))
    return {};
  auto created = created_at(producer);
  if (end_of(producer, created) <= now)
    return error{
      errc::session_expired,
      "the producer's session was created more than " + hours(limits::producer_session_idle_max)
        + " ago and is not known here"};
  if (created > now + limits::producer_session_ahead_max)
    return error{
      errc::invalid_argument,
      "the producer's session was created " + std::to_string((created - now).count())
        + " ms in the future; the limit is " + hours(limits::producer_session_ahead_max)};
  if (state.producers.size() >= limits::producer_sessions_per_shard_max)
    return error{
      errc::overloaded,
      "the shard knows " + std::to_string(state.producers.size())
        + " producer sessions already; the limit is "
        + std::to_string(limits::producer_sessions_per_shard_max)};
  return {};
}

void note_use(
  shard_state& state, const producer_id& producer, producer_session& session, timestamp at) {
  if (!std::exchange(session.dirty, true))
    state.dirty_producers.push_back(producer);
  at = std::max(at, session.last_used);
  if (!is_internal(producer)) {
    state.producer_ends.erase({end_of(producer, session.last_used), producer});
    state.producer_ends.emplace(end_of(producer, at), producer);
  }
  session.last_used = at;
}

producer_session& touch_session(shard_state& state, const request_id& request, timestamp at) {
  auto& session = state.producers[request.producer];
  session.answered_below = std::max(session.answered_below, request.answered_below);
  session.answers.erase(
    session.answers.begin(), session.answers.lower_bound(session.answered_below));
  note_use(state, request.producer, session, at);
  return session;
}

void remember_request(
  shard_state& state, const request_id& request, const seq_run& tasks, timestamp at) {
  auto& session = touch_session(state, request, at);
  if (request.number < session.answered_below)
    return;
  auto& runs = session.answers[request.number].tasks;
  if (!runs.empty() && runs.back().first + runs.back().count == tasks.first)
    runs.back().count += tasks.count;
  else
    runs.push_back(tasks);
}

std::vector<producer_record> used_sessions(const shard_state& state, timestamp now) {
  std::vector<producer_record> records;
  for (const auto& id : state.dirty_producers) {
    const auto* session = find_session(state, id, now);
    if (!session)
      continue;
    producer_record r{id, session->answered_below, session->last_used, {}};
    for (const auto& [number, answer] : session->answers)
      r.answers.push_back({number, answer});
    records.push_back(std::move(r));
  }
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return a.producer < b.producer;
  });
  return records;
}

std::vector<producer_id> ended_sessions(const shard_state& state, timestamp now) {
  std::vector<producer_id> ended;
  for (auto at = state.producer_ends.begin(); at != state.producer_ends.end() && at->first <= now;
       ++at)
    ended.push_back(at->second);
  std::sort(ended.begin(), ended.end());
  return ended;
}

void settle_sessions(shard_state& state, const snapshot_taken& c) {
  for (const auto& id : state.dirty_producers)
    state.producers.at(id).dirty = false;
  state.dirty_producers.clear();
  for (const auto& id : c.ended_producers) {
    auto at = state.producers.find(id);
    state.producer_ends.erase({end_of(id, at->second.last_used), id});
    state.producers.erase(at);
  }
}

void restore_session(shard_state& state, producer_record record) {
  auto& session = state.producers[record.producer];
  session.answered_below = record.answered_below;
  session.last_used = record.last_used;
  for (auto& answer : record.answers)
    session.answers.emplace(answer.number, std::move(answer.answer));
  if (!is_internal(record.producer))
    state.producer_ends.emplace(end_of(record.producer, session.last_used), record.producer);
}

} // namespace codeq::core
