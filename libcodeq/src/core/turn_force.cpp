// SPDX-License-Identifier: Apache-2.0
#include "core/apply.hpp"
#include "core/turn.hpp"

namespace codeq::core {

namespace {

/// What a live task is after it; a cancelled lease may make another end of it.
task_state next_of(force_kind how) {
  switch (how) {
  case force_kind::revoke:
    return task_state::ready;
  case force_kind::complete:
    return task_state::completed;
  case force_kind::fail:
    return task_state::dead;
  }
  return task_state::ready;
}

} // namespace

void turn::run(const force& c) {
  auto* s = find_to_change(c.peer, c.number, c.seq);
  if (!s)
    return;
  change_answered answer{c.peer, c.number, c.seq, change_result::unchanged, s->view(c.seq).state};
  bool can =
    c.how == force_kind::revoke ? answer.state == task_state::leased : !is_terminal(answer.state);
  if (can) {
    end_by_force(*s, c);
    answer.result = change_result::changed;
    answer.state = s->view(c.seq).state;
  }
  effects_.emplace_back(answer);
}

void turn::end_by_force(segment& s, const force& c) {
  auto entry = s.view(c.seq);
  lease_end e{c.seq, entry.token, lease_end_kind::forced, false, next_of(c.how), {}, c.text};
  if (entry.state == task_state::leased) {
    // What its worker has not begun is not charged, whatever ends it.
    e.charged = c.how != force_kind::revoke && !state_.leases.find(entry.token)->queued;
    tell_holder(entry.token);
  }
  append_end(std::move(e));
}

void turn::tell_holder(fencing_token token) {
  const auto& l = *state_.leases.find(token);
  auto peer = state_.peer_of(*state_.leases.grant_at(l.grant).worker);
  if (!peer)
    return;
  // One message for all that a command takes from a holder.
  for (auto at = effects_.rbegin(); at != effects_.rend(); ++at) {
    auto* lost = std::get_if<leases_lost>(&*at);
    if (lost && lost->peer == *peer)
      return lost->leases.push_back({l.seq, token});
    if (!lost && !std::holds_alternative<timer_dropped>(*at))
      break;
  }
  effects_.emplace_back(leases_lost{*peer, {{l.seq, token}}});
}

} // namespace codeq::core
