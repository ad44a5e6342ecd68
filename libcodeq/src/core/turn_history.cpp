// SPDX-License-Identifier: Apache-2.0
#include "core/history.hpp"
#include "core/turn.hpp"

namespace codeq::core {

task_note
turn::begin_note(const segment& s, sequence seq, task_event::kind what, task_event::author by) {
  auto entry = s.view(seq);
  task_note note;
  note.seq = seq;
  note.segment = s.first;
  note.aside = s.aside;
  note.number = entry.notes;
  note.event.at = now_.shard;
  note.event.what = what;
  note.event.by = by;
  if (entry.state == task_state::leased) {
    const auto& grant = state_.leases.grant_at(state_.leases.find(entry.token)->grant);
    note.granted_at = grant.at;
    note.event.attempt = entry.attempt;
    note.event.token = entry.token;
    note.event.worker = grant.worker->name;
  }
  return note;
}

task_note turn::finish_note(task_note note, const segment& s) {
  note.event.state = s.view(note.seq).state;
  if (note.event.state == task_state::scheduled)
    note.event.until = s.eligible_at(note.seq);
  return note;
}

void turn::run(const tell_history& c) {
  inquiry why{inquiry::kind::history, c.peer, c.number, {}, {}};
  auto* s = find_known(state_.segments, c.seq);
  if (!s)
    return say_not_here(why, c.seq);
  effects_.emplace_back(task_described{why, view_of(*s, c.seq), std::nullopt});
}

} // namespace codeq::core
