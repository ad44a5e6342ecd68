// SPDX-License-Identifier: Apache-2.0
#include "core/turn.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

namespace {

task_reason reason_to_wait(const segment& s, sequence seq) {
  auto retry_at = s.view(seq).retry_at;
  return s.not_before >= retry_at ? task_reason::deferred : task_reason::retry_waiting;
}

/// Why a task that may run by itself is not leased.
task_reason reason_of_ready(const shard_state& state, const queue_state& queue) {
  if (queue.settings.paused)
    return task_reason::queue_paused;
  if (queue.claimers.empty())
    return task_reason::no_worker;
  if (queue.lease_room() == 0)
    return task_reason::queue_at_max_leased;
  bool any_free = std::any_of(queue.claimers.begin(), queue.claimers.end(), [&](peer_id peer) {
    return state.attached.at(peer).credits > 0;
  });
  return any_free ? task_reason::next : task_reason::no_free_slots;
}

} // namespace

void turn::run(const explain_task& c) {
  auto* s = find_known(state_.segments, c.seq);
  if (!s)
    return say_not_here({inquiry::kind::explain, c.peer, c.number, {}, {}}, c.seq);
  task_explained e;
  e.peer = c.peer;
  e.number = c.number;
  e.view = view_of(*s, c.seq);
  const auto& queue = state_.queue_of(*s);
  e.queue = queue.settings;
  e.workers = static_cast<std::uint32_t>(queue.claimers.size());
  if (auto until = s->eligible_at(c.seq); !is_terminal(e.view.entry.state) && until > now_.shard)
    e.until = until;
  explain(e, *s);
  effects_.emplace_back(std::move(e));
}

void turn::explain(task_explained& e, const segment& s) {
  switch (e.view.entry.state) {
  case task_state::scheduled:
    // A task whose time came in this turn is as good as ready.
    e.reason = e.until > now_.shard ? reason_to_wait(s, e.view.seq)
                                    : reason_of_ready(state_, *state_.queues[s.queue]);
    return;
  case task_state::gated: {
    e.blocker = state_.groups.at({s.queue, s.group}).open;
    e.blocker_state = find_segment(state_.segments, e.blocker)->view(e.blocker).state;
    e.reason = e.blocker_state == task_state::dead ? task_reason::blocked : task_reason::gated;
    return;
  }
  case task_state::ready:
    e.reason = reason_of_ready(state_, *state_.queues[s.queue]);
    return;
  case task_state::leased: {
    const auto* l = state_.leases.find(e.view.entry.token);
    e.lease_left = std::max(duration{0}, l->deadline - now_.steady);
    e.reason = task_reason::leased;
    return;
  }
  case task_state::completed:
    e.reason = task_reason::completed;
    return;
  case task_state::dead:
    e.reason = task_reason::dead;
    return;
  case task_state::cancelled:
    e.reason = task_reason::cancelled;
    return;
  }
}

} // namespace codeq::core
