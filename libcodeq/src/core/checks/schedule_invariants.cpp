// SPDX-License-Identifier: Apache-2.0
#include "core/checks/schedule_invariants.hpp"

#include <ostream>

namespace codeq::core {

namespace {

std::string text_of(const schedule_address& name) {
  return name.tenant + '/' + name.name;
}

void write(std::ostream& out, const occurrence& o) {
  out << ' ' << o.number << ' ' << schedule::to_string(o.nominal) << " at "
      << o.at.time_since_epoch().count() << " decided " << o.decided_at.time_since_epoch().count()
      << ' ' << to_string(o.cause) << ' ' << to_string(o.state) << " x" << o.count << " task "
      << value(o.shard) << '/' << o.task << " ended " << o.ended_at.time_since_epoch().count();
}

bool is_indexed(const shard_state& state, const schedule_address& name, const open_occurrence& o) {
  if (o.sent == 0) {
    const auto* owner = state.schedules.owner_of(o.entry.shard, o.entry.task);
    return owner && *owner == name;
  }
  auto senders = state.schedules.sent_in(o.entry.shard, o.sent);
  auto sender = senders.find(o.place);
  return sender != senders.end() && sender->second == name;
}

} // namespace

void find_schedule_violations(const shard_state& state, std::vector<std::string>& found) {
  for (const auto& [name, entry] : state.schedules) {
    const auto& p = entry.progress;
    auto who = "I8: schedule " + text_of(name);
    for (const auto& open : p.open) {
      if (!is_indexed(state, name, open))
        found.push_back(who + " is not in the index of its task");
      if (open.entry.number >= p.occurrences)
        found.push_back(who + " has an open occurrence beyond its history");
    }
    if (p.waiting && p.waiting->number >= p.occurrences)
      found.push_back(who + " has a waiting occurrence beyond its history");
  }
}

void write_schedules(std::ostream& out, const shard_state& state) {
  for (const auto& [name, entry] : state.schedules) {
    const auto& p = entry.progress;
    out << "schedule " << text_of(name) << " of " << entry.definition->spec.size() << " bytes, "
        << to_string(entry.definition->overlap) << ", at "
        << schedule::to_string(p.mark) << ", " << p.occurrences << " entries"
        << (p.paused ? ", paused" : "") << '\n';
    if (p.waiting)
      out << "  waits: " << p.waiting->number << ' ' << schedule::to_string(p.waiting->nominal)
          << '\n';
    for (const auto& open : p.open) {
      out << "  open:";
      write(out, open.entry);
      out << " sent in " << open.sent << '+' << open.place
          << (open.is_unwanted ? ", unwanted" : "") << '\n';
    }
    if (p.latest) {
      out << "  latest:";
      write(out, *p.latest);
      out << '\n';
    }
  }
}

} // namespace codeq::core
