// SPDX-License-Identifier: Apache-2.0
#include "core/checks/invariants.hpp"

#include "core/checks/fairness_invariants.hpp"
#include "core/checks/key_invariants.hpp"
#include "core/checks/limit_invariants.hpp"
#include "core/checks/schedule_invariants.hpp"
#include "core/queues/queue_limits.hpp"
#include "core/queues/queue_waits.hpp"
#include "core/state/queue_fairness.hpp"
#include "core/state/task_index.hpp"
#include "core/state/task_limits.hpp"
#include "core/state/task_outcomes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>
#include <utility>

namespace codeq::core {

namespace {

struct recount {
  /// Number of segments without asides.
  std::size_t segments = 0;
  std::uint64_t gated = 0;
  std::uint64_t scheduled = 0;
  std::uint64_t retrying = 0;
  std::uint64_t ready = 0;
  std::uint64_t leased = 0;
  std::uint64_t dead = 0;
  std::uint64_t blocking = 0;
  decltype(queue_state::ready_by_priority) ready_by_priority{};
};

std::string task_text(const shard_state& state, sequence seq) {
  return "task " + to_string(state.id_of(seq));
}

void check_task(
  const shard_state& state, const segment& s, sequence seq, std::vector<std::string>& found) {
  auto entry = s.view(seq);
  if (value(entry.token) >= state.tokens.next)
    found.push_back("I3: " + task_text(state, seq) + " has a token that was never given");
  if (entry.attempt > s.settings.max_attempts)
    found.push_back("I6: " + task_text(state, seq) + " was charged more than max_attempts");
  if (entry.cancelling && entry.state != task_state::leased)
    found.push_back("I8: " + task_text(state, seq) + " is to be cancelled but is not leased");
  if (entry.gone && entry.state != task_state::cancelled)
    found.push_back("I8: " + task_text(state, seq) + " was purged but is not over");
  bool is_due = state.due.contains(place_of(s.eligible_at(seq), seq));
  if ((entry.state == task_state::scheduled) != is_due)
    found.push_back("I8: " + task_text(state, seq) + " is scheduled in one index only");
  if (seq >= state.sequences.next)
    found.push_back("I3: " + task_text(state, seq) + " has a sequence that was never given");
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
      found.push_back("I8: " + task_text(state, seq) + " is not in its group");
    bool passes =
      seq == open ? is != task_state::gated : is_terminal(is) || is == task_state::gated;
    if (!passes)
      found.push_back("I7: " + task_text(state, seq) + " is on the wrong side of its group's gate");
  }
}

void check_groups(const shard_state& state, std::vector<std::string>& found) {
  std::map<group_name, std::map<sequence, task_state>> groups;
  state.segments.for_each([&](const segment& s) {
    auto entry = s.view(s.first);
    if (!s.group.empty() && keeps_place(s, entry))
      groups[{s.queue, s.group}].emplace(s.first, entry.state);
    else if (entry.state == task_state::gated)
      found.push_back("I8: " + task_text(state, s.first) + " is gated but has no group");
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
      found.push_back("I2: a lease of " + task_text(state, seq) + " is not its task's");
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
      found.push_back("I8: " + task_text(state, seq) + " has a checkpoint but is not live");
    else if (mark.token > task->second)
      found.push_back(
        "I8: " + task_text(state, seq) + " has a checkpoint of no attempt of its own");
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
  for (const auto& [arrival, i] : state.queues_by_arrival)
    if (state.queues[i]->claimers.size() != listed[i])
      found.push_back("I11: queue " + state.queues[i]->address.queue + " has other claimers");
}

/// Checks that each queue lists the workers that take no tasks of it for now.
void check_left_out(const shard_state& state, std::vector<std::string>& found) {
  std::unordered_map<queue_address, std::set<peer_id>> expected;
  for (const auto& [peer, a] : state.attached)
    for (const auto& queue : a.without)
      expected[queue].insert(peer);
  if (state.left_out_by != expected)
    found.push_back("I11: other workers are listed where they leave a queue out than do so");
}

/// Checks that each prefix lists its workers, and its queues that have ready tasks.
void check_prefixes(const shard_state& state, std::vector<std::string>& found) {
  std::map<const prefix_claims*, std::size_t> listed;
  for (const auto& [peer, a] : state.attached) {
    for (const auto& prefix : a.prefixes) {
      ++listed[prefix.claims];
      if (!prefix.claims->claimers.waiting_for(a.need()).contains({a.arrival, peer}))
        found.push_back(
          "I11: prefix " + prefix.name.queue + " does not have a worker where it looks for it");
    }
  }
  for (const auto& [name, claims] : state.prefixes) {
    std::set<std::pair<std::uint64_t, std::uint32_t>> busy;
    for (const auto& [arrival, i] : state.queues_by_arrival) {
      const auto& queue = *state.queues[i];
      bool is_of =
        queue.address.tenant == name.tenant && queue.address.queue.starts_with(name.queue);
      bool is_linked = std::count(queue.prefixes.begin(), queue.prefixes.end(), claims.get()) == 1;
      if (is_of != is_linked)
        found.push_back("I11: queue " + queue.address.queue + " is wrongly linked to a prefix");
      if (is_of && queue.ready > 0)
        busy.emplace(queue.served, i);
    }
    if (claims->busy != busy || claims->claimers.size() != listed[claims.get()])
      found.push_back("I11: prefix " + name.queue + " has other queues or claimers");
  }
}

/// True when a worker with credits that are kept for no other queue takes tasks of the queue.
bool has_taker(const shard_state& state, std::uint32_t index) {
  const auto& queue = *state.queues[index];
  auto may_take = [&](peer_id peer) {
    auto open = state.attached.at(peer).open_credits();
    return open > state.kept.kept_for_others(index, peer);
  };
  auto has_one = [&](const queue_claimers& claimers, bool by_prefix) {
    const auto& waiting = claimers.waiting_for(claimer_need::tasks);
    return std::any_of(waiting.begin(), waiting.end(), [&](const claimer& one) {
      bool is_left_out = by_prefix && !takes_by_prefix(state.attached.at(one.second), queue);
      return !is_left_out && may_take(one.second);
    });
  };
  return has_one(queue.claimers, false)
         || std::any_of(queue.prefixes.begin(), queue.prefixes.end(), [&](const auto* claims) {
              return has_one(claims->claimers, true);
            });
}

/// Checks that every possible match is considered at the end of the next turn.
void check_matches(const shard_state& state, std::vector<std::string>& found) {
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    const auto& queue = state.queues[index];
    bool is_missed = queue->grantable() > 0 && has_taker(state, index);
    if (is_missed && !queue->is_stirred)
      found.push_back(
        "I11: queue " + queue->address.queue + " has ready tasks, free workers and no match");
  }
}

void check_purges(const shard_state& state, std::vector<std::string>& found) {
  purge_marks marks;
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    const auto& queue = state.queues[index];
    if (queue->totals.purged_below > 0)
      marks.emplace(queue->address, queue->totals.purged_below);
  }
  for (const auto& [tenant, removed] : state.removed_marks)
    for (const auto& [name, mark] : removed)
      marks.emplace(queue_address{tenant, name}, mark.below);
  if (marks != (state.purged ? *state.purged : purge_marks{}))
    found.push_back("I9: the marks of purged queues differ from the queues' own");
}

/// Checks the lists of queues, and that every queue that is to go will go.
void check_queue_counts(const shard_state& state, std::vector<std::string>& found) {
  std::unordered_map<std::string, std::set<std::uint32_t>> of_tenant;
  std::set<std::uint32_t> indexes(state.free_queues.begin(), state.free_queues.end());
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    const auto& queue = *state.queues[index];
    auto named = state.queue_index.find(queue.address);
    if (named == state.queue_index.end() || named->second != index || queue.arrival != arrival)
      found.push_back("I8: queue " + queue.address.queue + " is not found by its name");
    if (queue.listed_end && !state.queue_ends.contains({*queue.listed_end, queue.address}))
      found.push_back("I8: queue " + queue.address.queue + " is not listed where it should be");
    bool is_idle = queue.depth() == 0 && queue.dead == 0 && queue.settings == queue_settings{};
    bool may_end = queue.totals.records_until != timestamp::max();
    // The snapshot that closes the queue's last segments lists it.
    bool is_listed = queue.listed_end || queue.has_changed_totals || !state.dirty.empty();
    if (is_idle && may_end && !is_listed)
      found.push_back("I8: queue " + queue.address.queue + " would never be removed");
    of_tenant[queue.address.tenant].insert(index);
    indexes.insert(index);
  }
  bool is_whole = indexes.size() == state.queues.size()
                  && indexes.size() == state.queue_index.size() + state.free_queues.size();
  if (!is_whole)
    found.push_back("I8: an index of queues is used twice or lost");
  if (of_tenant != state.tenant_queues)
    found.push_back("I9: the queues of a tenant are listed wrongly");
  for (const auto& [end, queue] : state.queue_ends) {
    auto removed = state.removed_marks.find(queue.tenant);
    bool is_mark = removed != state.removed_marks.end() && removed->second.contains(queue.queue);
    if (is_mark == state.queue_index.contains(queue))
      found.push_back("I8: " + queue.queue + " is to go, but is neither a queue nor a mark");
  }
}

void check_totals(const shard_state& state, std::vector<std::string>& found) {
  std::vector<std::uint32_t> changed;
  for (const auto& [arrival, i] : state.queues_by_arrival)
    if (state.queues[i]->has_changed_totals)
      changed.push_back(i);
  std::sort(changed.begin(), changed.end());
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
  for (const auto& [arrival, index] : state.queues_by_arrival)
    all.emplace(state.queues[index]->address, &state.queues[index]->settings);
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
        << (config.keep_payload ? " keeps" : "") << " quarantine " << config.quarantine_after
        << " breaker "
        << config.pause_when_failing.percent << '/' << config.pause_when_failing.window.count()
        << (s->paused ? " paused " : "") << s->pause_reason;
    if (!config.limits.empty())
      out << " limits " << to_text(config.limits);
    if (!config.fairness_header.empty())
      out << " fairness " << config.fairness_header;
    for (const auto& [key, weight] : config.fairness_weights)
      out << " weight " << key << '=' << weight;
    out << '\n';
  }
}

void write_segment(std::ostream& out, const shard_state& state, const segment& s) {
  const auto& queue = *state.queues[s.queue];
  out << s.first << '+' << s.count << ' ' << queue.address.tenant << '/' << queue.address.queue
      << ':' << int{s.priority} << " kept " << s.kept << " at "
      << s.enqueued_at.time_since_epoch().count();
  if (s.fairness)
    out << " fairness " << s.fairness->key << '*' << s.fairness->weight;
  for (const auto& use : s.limit_uses())
    out << " limit " << use.name << ':' << use.key << '*' << use.cost;
  for (std::uint32_t i = 0; i < s.count; ++i)
    write_entry(out, s.view(s.first + i), s.eligible_at(s.first + i), state.at);
  out << '\n';
}

/// Number of segments in the lanes of the queue.
std::size_t segments_in_lanes(const queue_state& queue) {
  std::size_t all = 0;
  for (std::size_t priority = 0; priority < queue.lanes.size(); ++priority) {
    const auto* in_order = queue.lanes[priority].get();
    const auto* in_turns = queue.fair ? std::as_const(*queue.fair).lanes(priority) : nullptr;
    all += in_order ? in_order->segments() : 0;
    all += in_turns ? in_turns->segments() : 0;
  }
  return all;
}

/// The reasons why the queue's tasks wait have to sum to those that wait.
void check_waits(
  const shard_state& state,
  const queue_state& queue,
  const recount& count,
  std::vector<std::string>& found) {
  std::uint64_t explained = 0;
  for (const auto& [reason, tasks] : explain_queue(state, queue.address, state.steady).waiting)
    explained += tasks;
  auto waiting = count.scheduled + count.gated + count.ready;
  if (explained != waiting)
    found.push_back(
      "I9: of " + std::to_string(waiting) + " waiting tasks of queue " + queue.address.queue + " "
      + std::to_string(explained) + " are explained");
}

} // namespace

std::vector<std::string> find_violations(const shard_state& state) {
  std::vector<std::string> found;
  std::map<std::uint32_t, recount> counts;
  state.segments.for_each([&](const segment& s) {
    auto& count = counts[s.queue];
    count.segments += s.aside ? 0 : 1;
    for (std::uint32_t i = 0; i < s.count; ++i) {
      check_task(state, s, s.first + i, found);
      auto is = s.view(s.first + i).state;
      count.gated += is == task_state::gated ? 1 : 0;
      count.scheduled += is == task_state::scheduled ? 1 : 0;
      bool retries = waits_for_retry(s, s.view(s.first + i));
      count.retrying += is == task_state::scheduled && retries ? 1 : 0;
      count.ready += is == task_state::ready ? 1 : 0;
      count.leased += is == task_state::leased ? 1 : 0;
      count.dead += is == task_state::dead ? 1 : 0;
      count.blocking += is == task_state::dead && blocks_group(s) ? 1 : 0;
      bool in_lane = is == task_state::ready && !is_held(state, s);
      count.ready_by_priority[s.priority] += in_lane ? 1 : 0;
    }
  });
  for (auto first : state.segments.forgotten_changes())
    found.push_back("I12: what happened to " + task_text(state, first) + " would not be written");
  check_leases(state, found);
  check_claimers(state, found);
  check_left_out(state, found);
  check_prefixes(state, found);
  check_matches(state, found);
  check_groups(state, found);
  find_key_violations(state, found);
  find_schedule_violations(state, found);
  find_fairness_violations(state, found);
  find_limit_violations(state, found);
  check_purges(state, found);
  check_totals(state, found);
  check_queue_counts(state, found);
  check_follow_ups(state, found);
  check_outcomes(state, found);
  check_dead_ends(state, found);
  check_checkpoints(state, found);
  for (const auto& [arrival, i] : state.queues_by_arrival) {
    const auto& queue = *state.queues[i];
    const auto& count = counts[i];
    bool agrees = queue.gated == count.gated && queue.scheduled == count.scheduled
                  && queue.ready == count.ready && queue.leased == count.leased
                  && queue.retrying == count.retrying && queue.dead == count.dead
                  && queue.blocking == count.blocking
                  && queue.ready_by_priority == count.ready_by_priority;
    if (!agrees)
      found.push_back(
        "I9: the counters of queue " + queue.address.queue + " differ from a recount");
    if (segments_in_lanes(queue) > count.segments)
      found.push_back(
        "I8: the lanes of queue " + queue.address.queue + " have segments that are closed");
    check_waits(state, queue, count, found);
  }
  return found;
}

std::string durable_text(const shard_state& state) {
  std::ostringstream out;
  state.segments.for_each([&](const segment& s) { write_segment(out, state, s); });
  std::map<queue_address, queue_totals> totals;
  for (const auto& [arrival, index] : state.queues_by_arrival)
    totals.emplace(state.queues[index]->address, state.queues[index]->totals);
  for (const auto& [address, t] : totals)
    out << address.tenant << '/' << address.queue << ' ' << t.completed << ' ' << t.dead << ' '
        << t.cancelled << ' ' << t.lost << " purged below " << t.purged_below << " records until "
        << t.records_until.time_since_epoch().count() << " below " << t.records_below
        << " purged until " << t.purged_until.time_since_epoch().count() << '\n';
  for (const auto& [tenant, removed] : state.removed_marks)
    for (const auto& [name, mark] : removed)
      out << tenant << '/' << name << " is removed, purged below " << mark.below << " until "
          << mark.until.time_since_epoch().count() << '\n';
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
  write_schedules(out, state);
  write_limits(out, state);
  for (const auto& [record, missing] : state.follow_up_records)
    out << "follow-ups of " << record << '\n';
  for (const auto& [seq, mark] : state.checkpoints)
    out << "checkpoint of " << seq << ' ' << value(mark.token) << '/' << mark.number << '\n';
  return out.str();
}

} // namespace codeq::core
