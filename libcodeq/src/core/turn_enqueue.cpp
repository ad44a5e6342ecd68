// SPDX-License-Identifier: Apache-2.0
#include "core/apply.hpp"
#include "core/producer_sessions.hpp"
#include "core/turn.hpp"

#include <algorithm>

namespace codeq::core {

error turn::refusal_of(const enqueue& c) const {
  for (const auto& r : c.runs) {
    if (!state_.has_room_for(r.queue))
      return {
        errc::too_large,
        "queue \"" + r.queue.queue + "\" would be one more than the "
          + std::to_string(limits::queues_per_tenant_max) + " queues that tenant \""
          + r.queue.tenant + "\" may have"};
  }
  const auto* known = find_session(state_, c.request.producer, now_.shard);
  if (!known)
    return refusal_of_new_session(state_, c.request.producer, now_.shard);
  const auto& session = *known;
  if (c.request.number < session.answered_below)
    return {
      errc::session_expired,
      "request " + std::to_string(c.request.number) + " is below the producer's own answered_below "
        + std::to_string(session.answered_below)};
  if (
    session.answers.size() >= limits::producer_requests_max
    && c.request.answered_below <= session.answers.begin()->first)
    return {
      errc::overloaded,
      "the producer has " + std::to_string(session.answers.size())
        + " requests at this shard whose answers it has not acknowledged; the limit is "
        + std::to_string(limits::producer_requests_max)};
  return {};
}

const std::vector<seq_run>* turn::known_answer(const request_id& request) const {
  const auto* session = find_session(state_, request.producer, now_.shard);
  if (!session)
    return nullptr;
  auto answer = session->answers.find(request.number);
  return answer == session->answers.end() ? nullptr : &answer->second;
}

void turn::run(const enqueue& c) {
  enqueue_answered answer{c.peer, c.request.number, {}};
  if (const auto* known = known_answer(c.request)) {
    answer.tasks = *known;
  } else if (answer.refusal = refusal_of(c); answer.refusal.code == errc::none) {
    for (const auto& r : c.runs)
      add_run(c.request, r);
    answer.tasks = *known_answer(c.request);
  }
  effects_.emplace_back(std::move(answer));
}

void turn::add_run(const request_id& request, const enqueue_run& r) {
  std::size_t next = 0;
  while (next < r.tasks.count()) {
    auto& open = segment_for(r, r.tasks.sizes[next]);
    // As many tasks as fit: an aside is alone, a large task too.
    std::size_t last = next;
    std::uint64_t bytes = 0;
    do {
      bytes += r.tasks.sizes[last++];
    } while (last < r.tasks.count() && !open.is_aside()
             && open.body_bytes + bytes + r.tasks.sizes[last] <= limits::segment_bytes_max);
    auto count = static_cast<std::uint32_t>(last - next);
    open.requests.push_back({request, open.count, count});
    open.pieces.push_back(r.tasks.part(next, count));
    open.count += count;
    open.body_bytes += bytes;
    body_bytes_ += bytes;
    auto first = state_.sequences.take(count);
    grow_segment(state_, state_.segments.at(open.first), count, bytes);
    remember_request(state_, request, {first, count}, now_.shard);
    next = last;
  }
}

bool turn::is_untouched(sequence segment) const {
  return state_.segments.at(segment).entries.empty();
}

segment_appended& turn::segment_for(const enqueue_run& r, std::size_t bytes) {
  bool deferred = r.not_before > now_.shard;
  if (!segments_.empty() && !deferred && r.group.empty()) {
    auto& last = segments_.back();
    bool fits = last.queue == r.queue && last.priority == r.priority && last.settings == r.settings
                && !last.is_aside() && is_untouched(last.first)
                && last.body_bytes + bytes <= limits::segment_bytes_max;
    if (fits)
      return last;
  }
  segment_appended opened;
  opened.position = state_.positions.take(1);
  opened.at = now_.shard;
  opened.first = state_.sequences.next;
  opened.queue = r.queue;
  opened.priority = r.priority;
  opened.settings = r.settings;
  opened.not_before = deferred ? r.not_before : timestamp{};
  opened.allow_promotion = deferred && r.allow_promotion;
  opened.group = r.group;
  add_segment(state_, opened);
  segments_.push_back(std::move(opened));
  return segments_.back();
}

} // namespace codeq::core
