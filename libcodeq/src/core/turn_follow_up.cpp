// SPDX-License-Identifier: Apache-2.0
#include "core/apply.hpp"
#include "core/queue_rules.hpp"
#include "core/routing.hpp"
#include "core/turn.hpp"

#include <utility>

namespace codeq::core {

result<void> turn::check(const lease_report& r) const {
  if (r.refusal.code != errc::none)
    return r.refusal;
  if (r.how != disposition::completed)
    return {};
  if (auto ok = check_new_queues(state_, r.follow_ups); !ok)
    return error{ok.error().code, "follow-up: " + ok.error().context};
  return {};
}

void turn::add_follow_ups(const lease_report& r) {
  // The answer to the completion does not tell which tasks they are.
  std::vector<seq_run> added;
  for (const auto& task : r.follow_ups) {
    if (task.shard == state_.id)
      add_or_meet(task.run, added);
    else
      append_follow_up(task);
  }
}

void turn::append_follow_up(const follow_up& task) {
  if (follow_ups_.empty())
    follow_ups_.push_back({state_.positions.take(1), now_.shard, {}});
  auto& record = follow_ups_.back();
  keep_follow_up(state_, record.position, task);
  body_bytes_ += task.run.tasks.body.size();
  record.tasks.push_back(task);
}

void turn::say_follow_ups() {
  if (state_.follow_up_records.empty())
    return;
  auto said = std::exchange(state_.outgoing_said, state_.follow_up_records.rbegin()->first);
  for (const auto& [shard, records] : state_.outgoing) {
    auto below = records.begin()->first;
    for (auto at = records.upper_bound(said); at != records.end(); ++at)
      effects_.emplace_back(deliver_follow_ups{shard, at->first, below, at->second});
  }
}

void turn::run(const take_follow_ups& c) {
  request_id request{producer_of(c.from), c.number, c.answered_below};
  auto session = state_.producers.find(request.producer);
  bool is_below = session != state_.producers.end() && c.number < session->second.answered_below;
  if (!is_below && !known_answer(request))
    add(request, c.runs);
  effects_.emplace_back(follow_ups_taken{c.from, c.number});
}

void turn::run(const confirm_follow_ups& c) {
  auto shard = state_.outgoing.find(c.by);
  if (shard == state_.outgoing.end() || shard->second.erase(c.number) == 0)
    return;
  if (shard->second.empty())
    state_.outgoing.erase(shard);
  if (--state_.follow_up_records.at(c.number) > 0)
    return;
  state_.delivered_follow_ups.push_back(c.number);
  // Not a record, but work for the next checkpoint, which would not come without any.
  ++state_.records_since_checkpoint;
}

} // namespace codeq::core
