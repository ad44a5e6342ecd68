// SPDX-License-Identifier: Apache-2.0
#include "base/assert.hpp"
#include "base/tuning.hpp"
#include "core/queues/fairness_header.hpp"
#include "core/queues/queue_limits.hpp"
#include "core/queues/queue_rules.hpp"
#include "core/state/apply.hpp"
#include "core/state/producer_sessions.hpp"
#include "core/state/queue_depths.hpp"
#include "core/state/task_keys.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace codeq::core {

namespace {

bool any_has_key(const std::vector<enqueue_run>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const enqueue_run& r) { return !r.key.empty(); });
}

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

result<std::vector<depth_need>> turn::check(const enqueue& c) const {
  if (auto ok = check_session(c); !ok)
    return ok.error();
  if (!c.allowed)
    return c.allowed.error();
  return check_queues(state_, c.runs);
}

result<void> turn::check_session(const enqueue& c) const {
  const auto& request = c.request;
  const auto* known = find_session(state_, request.producer, now_.shard);
  if (!known)
    return check_new_session(state_, request.producer, tenant_of(c.runs), now_.shard);
  const auto& session = *known;
  if (auto ok = check_tenant(state_, request.producer, session, tenant_of(c.runs), now_.shard); !ok)
    return ok;
  if (request.number < session.answered_below)
    return error{
      errc::session_expired,
      "request " + std::to_string(request.number) + " is below the producer's own answered_below "
        + std::to_string(session.answered_below)};
  if (
    session.answers.size() >= limits::producer_requests_max
    && request.answered_below <= session.answers.begin()->first)
    return error{
      errc::overloaded,
      "the producer has " + std::to_string(session.answers.size())
        + " requests at this shard whose answers it has not acknowledged; the limit is "
        + std::to_string(limits::producer_requests_max)};
  return {};
}

const request_answer* turn::known_answer(const request_id& request) const {
  const auto* session = find_session(state_, request.producer, now_.shard);
  if (!session)
    return nullptr;
  auto answer = session->answers.find(request.number);
  return answer == session->answers.end() ? nullptr : &answer->second;
}

void turn::run(const enqueue& c) {
  if (const auto* known = known_answer(c.request)) {
    enqueue_answered answer{c.peer, c.request.number, known->tasks};
    answer.kinds = known->kinds;
    effects_.emplace_back(std::move(answer));
    return;
  }
  if (state_.parked.contains(c.request))
    return state_.parked.answer_to(c.request, c.peer);
  auto needs = check(c);
  if (!needs)
    return refuse(c, needs.error());
  auto wait = find_wait(*needs, std::nullopt);
  if (!wait)
    return refuse(c, wait.error());
  if (!*wait)
    return add_and_answer(c);
  park({c, now_.steady + parked_enqueues::wait_max, 0, recalled_for(state_, c.runs)}, **wait);
}

void turn::refuse(const enqueue& c, const error& reason) {
  enqueue_answered answer{c.peer, c.request.number, {}};
  answer.allowed = reason;
  answer.tenant = c.runs.empty() ? std::string() : tenant_of(c.runs);
  effects_.emplace_back(std::move(answer));
}

void turn::add_and_answer(const enqueue& c) {
  auto given = add(c.request, c.runs);
  enqueue_answered answer{
    c.peer, c.request.number, std::move(given.tasks), std::move(given.kinds)};
  if (c.shows_tasks)
    show_created(answer);
  effects_.emplace_back(std::move(answer));
}

void turn::show_created(enqueue_answered& answer) {
  std::size_t task = 0;
  for (const auto& run : answer.tasks) {
    for (auto seq = run.first; seq < run.first + run.count; ++seq, ++task)
      if (answer.kinds.empty() || answer.kinds[task] == enqueue_kind::created)
        answer.shown.push_back(view_of(*find_segment(state_.segments, seq), seq));
  }
}

void turn::run(const end_session& c) {
  end_session_of(state_, c.producer);
}

request_answer turn::add(const request_id& request, const std::vector<enqueue_run>& runs) {
  joined_from_ = 0;
  if (any_has_key(runs))
    return add_keyed(request, runs);
  for (const auto& r : runs)
    add_run(r, &request);
  return *known_answer(request);
}

std::vector<seq_run> turn::add_run(const enqueue_run& r, const request_id* marked) {
  std::vector<seq_run> added;
  const run_fairness fairness(state_, r);
  std::size_t next = 0;
  while (next < r.tasks.count()) {
    auto& open =
      segment_for(r, {fairness.of(next), limits_of(state_, r, next)}, r.tasks.sizes[next]);
    joined_from_ = static_cast<std::size_t>(&open - segments_.data());
    // As many tasks as fit, but at least one, however large it is. A segment with a deferred,
    // grouped, keyed or limited task has room for only that task.
    auto end = std::min<std::size_t>(r.tasks.count(), next + room_of(open));
    std::size_t last = next;
    std::uint64_t bytes = 0;
    do {
      bytes += r.tasks.sizes[last++];
    } while (last < end
             && open.body_bytes + bytes + r.tasks.sizes[last] <= tuning::segment_bytes_max
             && fairness.has_key(last, open.fairness.key));
    auto count = static_cast<std::uint32_t>(last - next);
    if (marked)
      open.requests.push_back({*marked, open.count, count});
    open.pieces.push_back(r.tasks.part(next, count));
    auto first = open.first + open.count;
    open.count += count;
    open.body_bytes += bytes;
    body_bytes_ += bytes;
    if (auto behind = open.first + open.count; behind > state_.sequences.next)
      state_.sequences.take(behind - state_.sequences.next);
    auto& grown = state_.segments.at(open.first);
    grow_segment(state_, grown, count, bytes);
    state_.queue_of(grown).activity.enqueued += count;
    note_depth(state_, grown.queue);
    if (marked)
      remember_request(state_, *marked, r.queue.tenant, {first, count}, now_.shard);
    added.push_back({first, count});
    next = last;
  }
  return added;
}

bool turn::is_untouched(sequence segment) const {
  return state_.segments.at(segment).entries.empty();
}

std::size_t turn::room_of(const segment_appended& s) const {
  if (s.is_aside())
    return 1;
  bool is_last = s.first == segments_.back().first;
  auto end = s.first + tuning::turn_lane_sequences;
  return is_last ? limits::enqueue_tasks_max : end - std::min(end, s.first + s.count);
}

std::vector<std::size_t>::iterator turn::find_lane(const enqueue_run& r, const std::string& key) {
  return std::find_if(open_lanes_.begin(), open_lanes_.end(), [&](std::size_t place) {
    const auto& open = segments_[place];
    return open.priority == r.priority && open.fairness.key == key && open.queue == r.queue;
  });
}

segment_appended& turn::segment_for(const enqueue_run& r, task_flow flow, std::size_t bytes) {
  bool deferred = r.not_before > now_.shard;
  auto settings = settings_of(state_, r);
  auto lane = find_lane(r, flow.fairness.key);
  bool is_plain = !deferred && r.group.empty() && r.key.empty() && flow.limits.empty();
  if (is_plain && lane != open_lanes_.end() && *lane >= joined_from_) {
    auto& open = segments_[*lane];
    bool is_like_it = open.settings == settings && open.fairness == flow.fairness;
    bool has_room = room_of(open) > 0 && is_untouched(open.first)
                    && open.body_bytes + bytes <= tuning::segment_bytes_max;
    if (is_like_it && has_room)
      return open;
  }
  if (lane != open_lanes_.end())
    open_lanes_.erase(lane);
  return open_segment(r, settings, std::move(flow), deferred ? r.not_before : timestamp{});
}

segment_appended& turn::open_segment(
  const enqueue_run& r,
  const task_settings& settings,
  task_flow flow,
  timestamp not_before) {
  keep_sequences();
  segment_appended opened;
  opened.position = state_.positions.take(1);
  opened.at = now_.shard;
  opened.first = state_.sequences.next;
  opened.queue = r.queue;
  opened.priority = r.priority;
  opened.settings = settings;
  opened.not_before = not_before;
  // A task with a key may be deferred later.
  opened.allow_promotion = (not_before != timestamp{} || !r.key.empty()) && r.allow_promotion;
  opened.group = r.group;
  opened.fairness = std::move(flow.fairness);
  opened.limits = std::move(flow.limits);
  opened.key = r.key;
  add_segment(state_, opened);
  if (!opened.is_aside())
    open_lanes_.push_back(segments_.size());
  if (open_lanes_.size() > tuning::turn_open_lanes_max)
    open_lanes_.erase(open_lanes_.begin());
  segments_.push_back(std::move(opened));
  return segments_.back();
}

void turn::keep_sequences() {
  bool is_open = !open_lanes_.empty() && open_lanes_.back() + 1 == segments_.size();
  if (!is_open)
    return;
  auto end = segments_.back().first + tuning::turn_lane_sequences;
  if (end > state_.sequences.next)
    state_.sequences.take(end - state_.sequences.next);
}

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
