// SPDX-License-Identifier: Apache-2.0
#include "core/state/invariants.hpp"

#include "core/state/key_invariants.hpp"
#include "core/state/task_index.hpp"
#include "core/state/task_outcomes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>

namespace codeq::core {

namespace {

struct recount {
  std::uint64_t gated = 0;
  std::uint64_t scheduled = 0;
  std::uint64_t ready = 0;
  std::uint64_t leased = 0;
  std::uint64_t dead = 0;
  decltype(queue_state::ready_by_priority) ready_by_priority{};
};

std::string name_of(const shard_state& state, sequence seq) {
  return "task " + to_string(state.id_of(seq));
}

void check_task(
  const shard_state& state, const segment& s, sequence seq, std::vector<std::string>& found) {
  auto entry = s.view(seq);
  if (value(entry.token) >= state.tokens.next)
    found.push_back("I3: " + name_of(state, seq) + " has a token that was never given");
  if (entry.attempt > s.settings.max_attempts)
    found.push_back("I6: " + name_of(state, seq) + " was charged more than max_attempts");
  if (entry.cancelling && entry.state != task_state::leased)
    found.push_back("I8: " + name_of(state, seq) + " is to be cancelled but is not leased");
  if (entry.gone && entry.state != task_state::cancelled)
    found.push_back("I8: " + name_of(state, seq) + " was purged but is not over");
  bool is_due = state.due.contains(place_of(s.eligible_at(seq), seq));
  if ((entry.state == task_state::scheduled) != is_due)
    found.push_back("I8: " + name_of(state, seq) + " is scheduled in one index only");
  if (seq >= state.sequences.next)
    found.push_back("I3: " + name_of(state, seq) + " has a sequence that was never given");
}

/// A queue's number, and a group's name within it.
using group_name = std::pair<std::uint32_t, std::string>;

void check_group(
  const shard_state& state,
  const group_name& name,
  const std::map<sequence, task_state>& members,
  std::vector<std::string>& found) {
  auto hash = state.names.of_group(name.first, name.second);
  auto open = members.begin()->first;
  for (const auto& [seq, is] : members)
    open = is == task_state::leased ? seq : open;
  for (const auto& [seq, is] : members) {
    if (!state.groups.members.contains(hash, seq))
      found.push_back("I8: " + name_of(state, seq) + " is not in its group");
    bool passes =
      seq == open ? is != task_state::gated : is_terminal(is) || is == task_state::gated;
    if (!passes)
      found.push_back("I7: " + name_of(state, seq) + " is on the wrong side of its group's gate");
  }
}

void check_groups(const shard_state& state, std::vector<std::string>& found) {
  std::map<group_name, std::map<sequence, task_state>> groups;
  state.segments.for_each([&](const segment& s) {
    auto entry = s.view(s.first);
    if (!s.group.empty() && keeps_place(s, entry))
      groups[{s.queue, s.group}].emplace(s.first, entry.state);
    else if (entry.state == task_state::gated)
      found.push_back("I8: " + name_of(state, s.first) + " is gated but has no group");
  });
  std::size_t places = 0;
  for (const auto& [name, members] : groups) {
    check_group(state, name, members, found);
    places += members.size();
  }
  if (places != state.groups.members.size())
    found.push_back("I8: the index of groups has tasks that have no place in one");
}

void check_follow_ups(const shard_state& state, std::vector<std::string>& found) {
  std::map<log_position, std::size_t> missing;
  for (const auto& [shard, records] : state.outgoing)
    for (const auto& [record, runs] : records)
      ++missing[record];
  for (auto record : state.delivered_follow_ups)
    missing.emplace(record, 0);
  if (missing != state.follow_up_records)
    found.push_back("I9: the follow-ups for other shards are counted wrongly");
}

void check_leases(const shard_state& state, std::vector<std::string>& found) {
  std::unordered_map<fencing_token, sequence> holders;
  std::size_t leased = 0;
  state.segments.for_each([&](const segment& s) {
    for (std::uint32_t i = 0; i < s.count; ++i) {
      auto entry = s.view(s.first + i);
      if (entry.state != task_state::leased)
        continue;
      ++leased;
      holders.emplace(entry.token, s.first + i);
    }
  });
  if (leased != state.leases.size())
    found.push_back(
      "I2: " + std::to_string(leased) + " tasks are leased, " + std::to_string(state.leases.size())
      + " leases are live");
  for (auto token : state.leases.tokens_of([](const live_grant&) { return true; })) {
    auto seq = state.leases.find(token)->seq;
    auto holder = holders.find(token);
    if (holder == holders.end() || holder->second != seq)
      found.push_back("I2: a lease of " + name_of(state, seq) + " is not its task's");
  }
}

void check_dead_ends(const shard_state& state, std::vector<std::string>& found) {
  packed_set ends;
  state.segments.for_each([&](const segment& s) {
    for (std::uint32_t i = 0; i < s.entries.size(); ++i)
      if (s.entries[i].state == task_state::dead && s.entries[i].retry_at != timestamp{})
        ends.insert(place_of(s.entries[i].retry_at, s.first + i));
  });
  if (!(ends == state.dead_ends))
    found.push_back("I8: other dead tasks are to go than those with a retention");
}

void check_outcomes(const shard_state& state, std::vector<std::string>& found) {
  std::map<log_position, std::uint64_t> needed;
  state.segments.for_each([&](const segment& s) {
    for (const auto& entry : s.entries)
      if (holds_outcome(entry))
        ++needed[entry.outcome];
  });
  if (state.held_outcomes.all() != std::vector<number_pair>(needed.begin(), needed.end()))
    found.push_back("I8: other outcome records are held than live tasks need");
  for (const auto& [outcome, holders] : needed)
    if (!state.held_outcomes.has_changed(outcome) && !state.held_at_snapshot.contains(outcome))
      found.push_back("I8: an outcome record that a live task needs would not be kept");
}

void check_checkpoints(const shard_state& state, std::vector<std::string>& found) {
  std::map<sequence, fencing_token> live;
  state.segments.for_each([&](const segment& s) {
    auto end = state.checkpoints.lower_bound(s.first + s.count);
    for (auto at = state.checkpoints.lower_bound(s.first); at != end; ++at) {
      auto entry = s.view(at->first);
      if (!is_terminal(entry.state))
        live.emplace(at->first, entry.token);
    }
  });
  for (const auto& [seq, mark] : state.checkpoints) {
    auto task = live.find(seq);
    if (task == live.end())
      found.push_back("I8: " + name_of(state, seq) + " has a checkpoint but is not live");
    else if (mark.token > task->second)
      found.push_back("I8: " + name_of(state, seq) + " has a checkpoint of no attempt of its own");
  }
}

void check_claimers(const shard_state& state, std::vector<std::string>& found) {
  std::map<std::uint32_t, std::size_t> listed;
  for (const auto& [peer, a] : state.attached) {
    for (auto queue : a.queues) {
      ++listed[queue];
      const auto& alike = state.queues[queue]->claimers.waiting_for(a.need());
      if (!alike.contains({a.arrival, peer}))
        found.push_back(
          "I11: queue " + state.queues[queue]->address.queue
          + " does not have a worker where it looks for it");
    }
  }
  for (std::uint32_t i = 0; i < state.queues.size(); ++i)
    if (state.queues[i]->claimers.size() != listed[i])
      found.push_back("I11: queue " + state.queues[i]->address.queue + " has other claimers");
}

/// Checks that every possible match is considered at the end of the next turn.
void check_matches(const shard_state& state, std::vector<std::string>& found) {
  for (const auto& queue : state.queues) {
    bool any_free = !queue->claimers.waiting_for(claimer_need::tasks).empty();
    if (queue->grantable() > 0 && any_free && !queue->is_stirred)
      found.push_back(
        "I11: queue " + queue->address.queue + " has ready tasks, free workers and no match");
  }
}

void check_purges(const shard_state& state, std::vector<std::string>& found) {
  purge_marks marks;
  for (const auto& queue : state.queues) {
    if (queue->totals.purged_below > 0)
      marks.emplace(queue->address, queue->totals.purged_below);
  }
  if (marks != (state.purged ? *state.purged : purge_marks{}))
    found.push_back("I9: the marks of purged queues differ from the queues' own");
}

void check_totals(const shard_state& state, std::vector<std::string>& found) {
  std::vector<std::uint32_t> changed;
  for (std::uint32_t i = 0; i < state.queues.size(); ++i)
    if (state.queues[i]->has_changed_totals)
      changed.push_back(i);
  auto listed = state.changed_totals;
  std::sort(listed.begin(), listed.end());
  if (listed != changed)
    found.push_back("I9: other totals are to be written than those that changed");
}

void write_entry(std::ostream& out, const task_entry& e, timestamp eligible_at, timestamp now) {
  auto state = e.state;
  auto due = state == task_state::scheduled ? eligible_at : timestamp{};
  if (state == task_state::scheduled && due <= now) {
    state = task_state::ready;
    due = {};
  }
  out << ' ' << to_string(state) << '/' << value(e.token) << '/' << e.attempt << '/' << e.outcome
      << '.' << e.outcome_index << '/' << due.time_since_epoch().count() << '/' << int{e.lost}
      << '/' << int{e.refunds} << '/' << e.notes << '/' << static_cast<int>(e.last_end)
      << (e.cancelling ? "/cancelling" : "") << (e.gone ? "/gone" : "");
}

void write_settings(std::ostream& out, const shard_state& state) {
  std::map<queue_address, const queue_settings*> all;
  for (const auto& queue : state.queues)
    all.emplace(queue->address, &queue->settings);
  for (const auto& [address, s] : all) {
    if (*s == queue_settings{})
      continue;
    const auto& config = s->config;
    const auto& d = config.defaults;
    out << address.tenant << '/' << address.queue << " settings " << d.max_attempts << ' '
        << static_cast<int>(d.retry.kind) << '/' << d.retry.base.count() << '/'
        << d.retry.cap.count() << ' ' << d.lease.count() << ' ' << d.run_timeout.count() << ' '
        << d.progress_timeout.count() << ' ' << d.retention.count() << ' '
        << d.dead_retention.count() << ' ' << static_cast<int>(d.when_dead) << " depth "
        << config.max_depth << " leased " << config.max_leased
        << (config.keep_payload ? " keeps" : "") << (s->paused ? " paused" : "") << '\n';
  }
}

void write_segment(std::ostream& out, const shard_state& state, const segment& s) {
  const auto& queue = *state.queues[s.queue];
  out << s.first << '+' << s.count << ' ' << queue.address.tenant << '/' << queue.address.queue
      << ':' << int{s.priority} << " kept " << s.kept << " at "
      << s.enqueued_at.time_since_epoch().count();
  for (std::uint32_t i = 0; i < s.count; ++i)
    write_entry(out, s.view(s.first + i), s.eligible_at(s.first + i), state.at);
  out << '\n';
}

} // namespace

std::vector<std::string> find_violations(const shard_state& state) {
  std::vector<std::string> found;
  std::map<std::uint32_t, recount> counts;
  state.segments.for_each([&](const segment& s) {
    auto& count = counts[s.queue];
    for (std::uint32_t i = 0; i < s.count; ++i) {
      check_task(state, s, s.first + i, found);
      auto is = s.view(s.first + i).state;
      count.gated += is == task_state::gated ? 1 : 0;
      count.scheduled += is == task_state::scheduled ? 1 : 0;
      count.ready += is == task_state::ready ? 1 : 0;
      count.leased += is == task_state::leased ? 1 : 0;
      count.dead += is == task_state::dead ? 1 : 0;
      count.ready_by_priority[s.priority] += is == task_state::ready ? 1 : 0;
    }
  });
  for (auto first : state.segments.forgotten_changes())
    found.push_back("I12: what happened to " + name_of(state, first) + " would not be written");
  check_leases(state, found);
  check_claimers(state, found);
  check_matches(state, found);
  check_groups(state, found);
  find_key_violations(state, found);
  check_purges(state, found);
  check_totals(state, found);
  check_follow_ups(state, found);
  check_outcomes(state, found);
  check_dead_ends(state, found);
  check_checkpoints(state, found);
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    const auto& queue = *state.queues[i];
    const auto& count = counts[i];
    bool agrees = queue.gated == count.gated && queue.scheduled == count.scheduled
                  && queue.ready == count.ready && queue.leased == count.leased
                  && queue.dead == count.dead && queue.ready_by_priority == count.ready_by_priority;
    if (!agrees)
      found.push_back(
        "I9: the counters of queue " + queue.address.queue + " differ from a recount");
  }
  return found;
}

std::string durable_text(const shard_state& state) {
  std::ostringstream out;
  state.segments.for_each([&](const segment& s) { write_segment(out, state, s); });
  std::map<queue_address, queue_totals> totals;
  for (const auto& queue : state.queues)
    totals.emplace(queue->address, queue->totals);
  for (const auto& [address, t] : totals) {
    if (t.completed + t.dead + t.cancelled + t.lost + t.purged_below > 0)
      out << address.tenant << '/' << address.queue << ' ' << t.completed << ' ' << t.dead << ' '
          << t.cancelled << ' ' << t.lost << " purged below " << t.purged_below << '\n';
  }
  write_settings(out, state);
  std::map<producer_id, const producer_session*> producers;
  for (const auto& [id, session] : state.producers)
    producers.emplace(id, &session);
  for (const auto& [id, session] : producers) {
    out << "producer " << id.high << '-' << id.low << " below " << session->answered_below << ':';
    for (const auto& [number, answer] : session->answers) {
      out << ' ' << number;
      for (const auto& run : answer.tasks)
        out << ',' << run.first << '+' << run.count;
      for (auto kind : answer.kinds)
        out << ' ' << to_string(kind);
    }
    out << '\n';
  }
  write_keys(out, state);
  for (const auto& [record, missing] : state.follow_up_records)
    out << "follow-ups of " << record << '\n';
  for (const auto& [seq, mark] : state.checkpoints)
    out << "checkpoint of " << seq << ' ' << value(mark.token) << '/' << mark.number << '\n';
  return out.str();
}

} // namespace codeq::core
