// SPDX-License-Identifier: Apache-2.0
#include "core/apply.hpp"
#include "core/task_keys.hpp"
#include "core/turn.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

task_view turn::view_of(segment& s, sequence seq) {
  task_view view;
  view.seq = seq;
  view.queue = state_.queue_of(s).address;
  view.priority = s.priority;
  view.max_attempts = s.settings.max_attempts;
  view.enqueued_at = s.enqueued_at;
  view.entry = s.view(seq);
  view.group = s.group;
  view.segment = s.first;
  view.aside = s.aside;
  view.replaced = s.replaced;
  view.key = s.key ? s.key->name : std::string();
  if (view.entry.state == task_state::scheduled)
    view.eligible_at = s.eligible_at(seq);
  if (view.entry.state == task_state::leased) {
    if (const auto* l = state_.leases.find(view.entry.token)) {
      const auto& grant = state_.leases.grant_at(l->grant);
      view.worker = grant.worker->name;
      view.granted_at = grant.at;
      view.lease_left = std::max(duration{0}, l->deadline - now_.steady);
    }
  }
  return view;
}

void turn::run(const describe_task& c) {
  inquiry why{inquiry::kind::status, c.peer, c.number, {}, {}, c.with_body};
  if (!c.key)
    return describe(why, c.seq);
  auto owner = owner_of(state_, *c.key, now_.shard);
  describe(why, owner ? owner->seq : 0);
}

void turn::run(const await_tasks& c) {
  for (auto seq : c.tasks) {
    auto* s = find_known(state_.segments, seq);
    if (!s || is_terminal(s->view(seq).state)) {
      describe({inquiry::kind::ending, c.peer, 0, {}, {}}, seq);
      continue;
    }
    if (state_.awaiting[c.peer].insert(seq).second)
      state_.awaited[seq].push_back(c.peer);
    if (c.with_progress)
      state_.watched.insert({seq, c.peer});
  }
}

void turn::describe(const inquiry& why, sequence seq) {
  auto* s = find_known(state_.segments, seq);
  if (!s)
    return say_not_here(why, seq);
  auto view = view_of(*s, seq);
  auto text = why.with_body ? std::nullopt : text_at_hand(view.entry);
  effects_.emplace_back(task_described{why, std::move(view), std::move(text)});
}

void turn::say_not_here(const inquiry& why, sequence seq) {
  effects_.emplace_back(task_not_here{why, seq, state_.purged});
}

std::optional<bytes> turn::text_at_hand(const task_entry& entry) const {
  if (entry.outcome == 0)
    return bytes{};
  for (const auto& record : ended_) {
    if (record.position == entry.outcome)
      return record.ends[entry.outcome_index].text;
  }
  return std::nullopt;
}

void turn::tell_awaiting(sequence seq) {
  auto waiters = state_.awaited.find(seq);
  if (waiters == state_.awaited.end())
    return;
  for (auto peer : waiters->second) {
    describe({inquiry::kind::ending, peer, 0, {}, {}}, seq);
    auto of_peer = state_.awaiting.find(peer);
    of_peer->second.erase(seq);
    state_.watched.erase({seq, peer});
    if (of_peer->second.empty())
      state_.awaiting.erase(of_peer);
  }
  state_.awaited.erase(waiters);
}

} // namespace codeq::core
