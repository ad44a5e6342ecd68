// SPDX-License-Identifier: Apache-2.0
#include "base/assert.hpp"
#include "core/state/apply.hpp"
#include "core/state/producer_sessions.hpp"
#include "core/state/task_keys.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

constexpr auto by_producer = task_event::author::producer;

void append_run(std::vector<seq_run>& runs, const seq_run& run) {
  if (!runs.empty() && runs.back().first + runs.back().count == run.first)
    runs.back().count += run.count;
  else
    runs.push_back(run);
}

task_key key_of_run(const enqueue_run& r) {
  return {r.queue, r.group, r.key};
}

} // namespace

void turn::run(const recall_keys& c) {
  recall(state_, c);
}

request_answer turn::add_keyed(const request_id& request, const std::vector<enqueue_run>& runs) {
  request_answer answer;
  for (const auto& r : runs) {
    auto kind = add_or_meet(r, answer.tasks);
    answer.kinds.insert(answer.kinds.end(), r.tasks.count(), kind);
  }
  bool all_created = std::all_of(answer.kinds.begin(), answer.kinds.end(), [](enqueue_kind kind) {
    return kind == enqueue_kind::created;
  });
  if (all_created)
    answer.kinds.clear();
  // A duplicate adds no segment from which its answer could be restored.
  answered_request answered{request, tenant_of(runs), answer};
  remember_answer(state_, answered, now_.shard);
  open_changes().answers.push_back(std::move(answered));
  return answer;
}

enqueue_kind turn::add_or_meet(const enqueue_run& r, std::vector<seq_run>& tasks) {
  auto owner = r.key.empty() ? std::nullopt : owner_of(state_, key_of_run(r), now_.shard);
  auto kind = owner ? meet_owner(r, owner->seq) : enqueue_kind::created;
  if (kind != enqueue_kind::created) {
    append_run(tasks, {owner->seq, 1});
    return kind;
  }
  for (const auto& run : add_run(r, nullptr))
    append_run(tasks, run);
  return kind;
}

enqueue_kind turn::meet_owner(const enqueue_run& r, sequence seq) {
  CODEQ_ASSERT(r.tasks.count() == 1);
  auto* s = find_segment(state_.segments, seq);
  bool is_over = !s || is_terminal(s->view(seq).state);
  bool is_leased = !is_over && s->view(seq).state == task_state::leased;
  auto kind = enqueue_kind::existing;
  switch (r.duplicate) {
  case on_duplicate::reject:
    return enqueue_kind::duplicate;
  case on_duplicate::existing:
    break;
  case on_duplicate::replace_ended:
    if (is_over)
      return enqueue_kind::created;
    break;
  case on_duplicate::defer:
  case on_duplicate::promote:
    if (is_over)
      return enqueue_kind::created;
    kind = is_leased ? enqueue_kind::running : reschedule(r, *s);
    break;
  }
  if (r.replace_payload && !is_over && !is_leased)
    replace_body(r, *s);
  return kind;
}

enqueue_kind turn::reschedule(const enqueue_run& r, const segment& s) {
  // A time in the past counts as now.
  auto before = std::max(s.not_before, now_.shard);
  auto wanted = std::max(r.not_before, now_.shard);
  bool may_be_sooner = r.duplicate == on_duplicate::promote && s.allow_promotion;
  if (wanted == before || (wanted < before && !may_be_sooner))
    return enqueue_kind::unchanged;
  auto not_before = wanted > now_.shard ? wanted : timestamp{};
  auto retry_at = s.view(s.first).retry_at;
  append_change({s.first, change_kind::rescheduled, not_before, retry_at}, by_producer);
  return wanted > before ? enqueue_kind::deferred : enqueue_kind::promoted;
}

void turn::replace_body(const enqueue_run& r, const segment& s) {
  task_change change{s.first, change_kind::body_replaced};
  change.body = r.tasks.body;
  change.body_bytes = r.tasks.sizes.front();
  body_bytes_ += change.body_bytes;
  append_change(std::move(change), by_producer);
}

std::optional<sequence> turn::find_named(
  peer_id peer, std::uint64_t number, sequence seq, const std::shared_ptr<const task_key>& key) {
  if (!key)
    return seq;
  if (auto owner = owner_of(state_, *key, now_.shard))
    return owner->seq;
  effects_.emplace_back(change_answered{peer, number, 0, change_result::not_found});
  return std::nullopt;
}

bool turn::is_key_taken(const segment& s) const {
  if (!s.key)
    return false;
  auto owner = owner_of(state_, s, now_.shard);
  if (!owner || owner->seq == s.first)
    return false;
  const auto* other = find_segment(state_.segments, owner->seq);
  return other && !is_terminal(other->view(owner->seq).state);
}

} // namespace codeq::core
