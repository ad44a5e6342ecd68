// SPDX-License-Identifier: Apache-2.0
#include "core/checks/limit_invariants.hpp"

#include "core/state/task_limits.hpp"

#include <cstddef>
#include <map>
#include <utility>

namespace codeq::core {

namespace {

/// A limit key of a tenant.
using key_name = std::pair<limit_address, std::string>;

struct queue_recount {
  std::uint64_t held = 0;
  std::uint64_t limited = 0;
};

std::string text_of(const key_name& key) {
  return "key '" + key.second + "' of limit " + key.first.name;
}

/// Compares the slots of all keys with the leases, and the other way round.
void check_slots(
  const shard_state& state,
  std::map<key_name, std::uint64_t> leased,
  std::vector<std::string>& found) {
  state.limits.for_each_number([&](const limit_address& name, std::uint32_t number) {
    state.limits.keys().for_each_key(
      number, {}, [&](const std::string& key, const limit_keys::key_counts& counts) {
        auto at = leased.find({name, key});
        auto expected = at == leased.end() ? 0 : at->second;
        if (counts.leased != expected)
          found.push_back(
            "8.1: " + text_of({name, key}) + " has " + std::to_string(counts.leased)
            + " slots taken and " + std::to_string(expected)
            + " leases and permits");
        if (at != leased.end())
          leased.erase(at);
        return true;
      });
  });
  for (const auto& [key, count] : leased)
    found.push_back("8.1: " + text_of(key) + " has leases but no slots taken");
}

/// Compares the number of keys of each tenant with those of its limits.
void check_keys(const shard_state& state, std::vector<std::string>& found) {
  std::map<std::string, std::size_t> of_tenants;
  const auto& keys = state.limits.keys();
  state.limits.for_each_number([&](const limit_address& name, std::uint32_t number) {
    of_tenants[name.tenant] += keys.sums_of(number).keys;
  });
  for (const auto& [tenant, counted] : of_tenants)
    if (keys.keys_of(tenant) != counted)
      found.push_back("I9: the limit keys of tenant " + tenant + " differ from a recount");
}

/// Compares the slots of queues that other shards have with their permits, and the slots that this
/// shard has spent with its leases.
void check_lent(const shard_state& state, std::vector<std::string>& found) {
  std::map<queue_address, std::uint64_t> lent;
  for (const auto& [asker, has] : state.lent.askers())
    for (const auto& [number, booked] : has.booked)
      if (is_slot(booked))
        ++lent[queue_of_slot(booked)];
  state.lent.for_each_slot_line([&](const queue_address& name, const auto& line) {
    auto at = lent.find(name);
    if (line.lent != (at == lent.end() ? 0 : at->second))
      found.push_back("8.1: the lent slots of queue " + name.queue + " differ from a recount");
  });
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    const auto& queue = *state.queues[index];
    if (queue.lent != state.lent.lent_of(queue.address))
      found.push_back("8.1: queue " + queue.address.queue + " does not know its lent slots");
    if (queue.has_slots() && state.permits.spent_slots(index) != queue.leased)
      found.push_back(
        "8.1: queue " + queue.address.queue + " has " + std::to_string(queue.leased)
        + " leases and has spent " + std::to_string(state.permits.spent_slots(index))
        + " slots");
  }
}

/// Compares what is booked of queues with its sum, and the tasks of queues with their levels.
void check_depths(const shard_state& state, std::vector<std::string>& found) {
  state.depths.for_each([&](const queue_address& name, const depth_book::count& count) {
    std::uint64_t total = 0;
    for (const auto& [asker, booked] : count.booked)
      total += booked.booked;
    if (total != count.total)
      found.push_back(
        "max_depth: what is booked of queue " + name.queue + " differs from a recount");
  });
  const auto& desk = state.permits.depths();
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    const auto& queue = *state.queues[index];
    if (!desk.has_quota(index))
      continue;
    if (queue.settings.config.max_depth == 0 || queue.depth() > desk.level(index))
      found.push_back(
        "max_depth: queue " + queue.address.queue + " has " + std::to_string(queue.depth())
        + " tasks and a level of " + std::to_string(desk.level(index)));
  }
}

/// Compares the held tasks of each queue with those of its limits, and these with those of the
/// limits' keys.
void check_holding(const shard_state& state, std::vector<std::string>& found) {
  const auto& keys = state.limits.keys();
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    const auto& queue = *state.queues[index];
    std::uint64_t named = 0;
    for (const auto& [limit, of] : state.permits.awaited_of(index).limits())
      named += of.tasks;
    keys.for_each_holding(index, [&](std::uint32_t limit, std::uint64_t held) {
      named += held;
      std::uint64_t counted = 0;
      keys.for_each_key(limit, {}, [&](const std::string& key, const limit_keys::key_counts&) {
        counted += keys.held_of({limit, key}, index);
        return true;
      });
      if (counted != held)
        found.push_back(
          "I9: the tasks of queue " + queue.address.queue + " that limit "
          + state.limits.name_of(limit).name + " holds differ from a recount");
    });
    if (named != queue.held)
      found.push_back(
        "I9: limits hold " + std::to_string(named) + " of the " + std::to_string(queue.held)
        + " held tasks of queue " + queue.address.queue);
  }
}

} // namespace

void find_limit_violations(const shard_state& state, std::vector<std::string>& found) {
  std::map<key_name, std::uint64_t> leased;
  std::map<std::uint32_t, queue_recount> counts;
  state.segments.for_each([&](const segment& s) {
    if (!s.limits)
      return;
    auto is = s.view(s.first).state;
    const auto& tenant = state.queues[s.queue]->address.tenant;
    if (is == task_state::leased)
      for (const auto& use : *s.limits)
        if (!state.permits.owner_elsewhere(tenant, use))
          ++leased[{{tenant, use.name}, use.key}];
    bool held = is_held(state, s);
    if (held && is != task_state::ready)
      found.push_back(
        "I8: task " + to_string(state.id_of(s.first)) + " is held back but is not ready");
    auto& count = counts[s.queue];
    count.held += held ? 1 : 0;
    count.limited += is == task_state::ready && !held ? 1 : 0;
  });
  for (const auto& [asker, has] : state.lent.askers())
    for (const auto& [number, booked] : has.booked)
      for (const auto& use : booked.uses)
        if (!is_slot(booked))
          ++leased[{{booked.tenant, use.name}, use.key}];
  check_lent(state, found);
  check_depths(state, found);
  check_slots(state, std::move(leased), found);
  check_keys(state, found);
  check_holding(state, found);
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    const auto& queue = *state.queues[index];
    const auto& count = counts[index];
    if (queue.held != count.held || queue.limited != count.limited)
      found.push_back(
        "I9: the held tasks of queue " + queue.address.queue + " differ from a recount");
  }
}

void write_limits(std::ostream& out, const shard_state& state) {
  state.limits.for_each([&](const limit_address& name, const limit_definition& definition) {
    out << "limit " << name.tenant << '/' << name.name;
    if (definition.concurrency)
      out << " concurrency " << *definition.concurrency;
    if (const auto& rate = definition.rate)
      out << " rate " << rate->count << '/' << rate->period.count() << " burst " << rate->burst;
    out << '\n';
  });
  for (const auto& mark : state.limits.marks())
    out << "limit key " << mark.limit.tenant << '/' << mark.limit.name << ' ' << mark.key
        << " paid at " << mark.paid_at << " closed until "
        << mark.closed_until.time_since_epoch().count() << '\n';
  for (const auto& [asker, has] : state.lent.askers())
    for (const auto& [number, booked] : has.booked) {
      out << "permit " << number << " of shard " << value(asker) << ':';
      for (const auto& use : booked.uses)
        out << ' ' << booked.tenant << '/' << use.name << ' ' << use.key;
      out << '\n';
    }
  if (auto at = state.limits.used_up_at(); at != timestamp{})
    out << "limits used up at " << at.time_since_epoch().count() << '\n';
}

} // namespace codeq::core
