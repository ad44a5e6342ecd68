// SPDX-License-Identifier: Apache-2.0
#include "coordinator/replica/permit_wire.hpp"

#include "codeq/limits.hpp"

#include "encoding/limit_structs.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace codeq::coordinator {

namespace {

using ask = schema::NeighbourMessage::AskPermits;
using give = schema::NeighbourMessage::GivePermits;

/// Words of a permit, a return or a closure beside its limits, with the tenant's name.
constexpr std::size_t entry_words = 40;

template <class List>
capnp::uint count_of(const List& list) {
  return static_cast<capnp::uint>(list.size());
}

/// A permit, and the numbers of others that differ from it in nothing else.
struct same_permits {
  const core::permit* first = nullptr;
  std::vector<core::permit_number> further;
};

/// Slots of one queue are the same. A queue has thousands of them, and a list contains all: a
/// number each keeps it far below the limit of a frame.
std::vector<same_permits> gather_same(const std::vector<core::permit>& permits) {
  using slot = std::pair<queue_address, std::uint8_t>;
  std::map<slot, std::size_t> slots;
  std::vector<same_permits> gathered;
  for (const auto& one : permits) {
    if (core::is_slot(one)) {
      auto [at, is_new] =
        slots.try_emplace({core::queue_of_slot(one), one.priority}, gathered.size());
      if (!is_new) {
        gathered[at->second].further.push_back(one.number);
        continue;
      }
    }
    gathered.push_back({&one, {}});
  }
  return gathered;
}

void write(capnp::List<ask::Permit>::Builder out, const std::vector<same_permits>& permits) {
  for (capnp::uint i = 0; i < permits.size(); ++i) {
    const auto& one = *permits[i].first;
    out[i].setNumber(one.number);
    out[i].setTenant(one.tenant);
    encoding::write_limits(out[i].initUses(count_of(one.uses)), one.uses);
    out[i].setPriority(one.priority);
    const auto& numbers = permits[i].further;
    auto further = out[i].initFurther(count_of(numbers));
    for (capnp::uint k = 0; k < numbers.size(); ++k)
      further.set(k, numbers[k]);
  }
}

error wrong_limits() {
  return {errc::protocol_error, "a message about permits has limits that no task can have"};
}

bool is_valid(const std::vector<task_limit>& uses) {
  if (uses.empty() || uses.size() > limits::task_limits_max)
    return false;
  for (const auto& use : uses)
    if (
      use.name.empty() || use.key.size() > limits::limit_key_bytes_max || use.cost < 1
      || use.cost > limits::limit_cost_max)
      return false;
  return true;
}

result<std::vector<core::permit>> read(capnp::List<ask::Permit>::Reader in) {
  std::vector<core::permit> permits;
  permits.reserve(in.size());
  for (auto one : in) {
    permits.push_back(
      {one.getNumber(), one.getTenant().cStr(), encoding::read_limits(one.getUses()),
       one.getPriority()});
    if (!is_valid(permits.back().uses) || permits.back().number == 0)
      return wrong_limits();
    const auto first = permits.back();
    for (auto number : one.getFurther()) {
      if (number == 0 || !core::is_slot(first))
        return wrong_limits();
      permits.push_back(first);
      permits.back().number = number;
    }
  }
  return permits;
}

} // namespace

void write_permits(ask::Builder out, const core::ask_permits& c) {
  out.setSession(c.session);
  out.setNumber(c.number);
  out.setIsList(c.is_list);
  const auto held = gather_same(c.held);
  const auto wanted = gather_same(c.wanted);
  write(out.initHeld(count_of(held)), held);
  write(out.initWanted(count_of(wanted)), wanted);
  auto returned = out.initReturned(count_of(c.returned));
  for (capnp::uint i = 0; i < c.returned.size(); ++i) {
    const auto& one = c.returned[i];
    returned[i].setNumber(one.number);
    encoding::write_limits(returned[i].initCosts(count_of(one.costs)), one.costs);
    returned[i].setIsUnspent(one.is_unspent);
  }
  auto closed = out.initClosed(count_of(c.closed));
  for (capnp::uint i = 0; i < c.closed.size(); ++i) {
    closed[i].setTenant(c.closed[i].tenant);
    encoding::write_limits(closed[i].initUse(1), {c.closed[i].use});
    closed[i].setForMs(c.closed[i].lasting.count());
  }
}

void write_permits(give::Builder out, const core::give_permits& c) {
  out.setSession(c.session);
  out.setHeard(c.heard);
  auto given = out.initGiven(count_of(c.given));
  for (capnp::uint i = 0; i < c.given.size(); ++i)
    given.set(i, c.given[i]);
  out.setWantsList(c.wants_list);
  out.setCountsSlots(c.counts_slots);
}

std::size_t permit_words(const core::ask_permits& c) {
  std::size_t words = entry_words;
  for (const auto* permits : {&c.held, &c.wanted})
    for (const auto& one : gather_same(*permits))
      words += entry_words + encoding::limit_words(one.first->uses) + one.further.size();
  for (const auto& one : c.returned)
    words += entry_words + encoding::limit_words(one.costs);
  for (const auto& one : c.closed)
    words += entry_words + encoding::limit_words({one.use});
  return words;
}

result<core::command> read_permits(ask::Reader in, shard_id from) {
  core::ask_permits c{from, in.getSession(), in.getNumber(), in.getIsList()};
  auto held = read(in.getHeld());
  auto wanted = read(in.getWanted());
  if (!held || !wanted)
    return wrong_limits();
  c.held = std::move(*held);
  c.wanted = std::move(*wanted);
  for (auto one : in.getReturned())
    c.returned.push_back(
      {one.getNumber(), encoding::read_limits(one.getCosts()), one.getIsUnspent()});
  for (auto one : in.getClosed()) {
    auto use = encoding::read_limits(one.getUse());
    if (use.size() != 1 || !is_valid(use))
      return wrong_limits();
    c.closed.push_back({one.getTenant().cStr(), std::move(use.front()), duration{one.getForMs()}});
  }
  return core::command(std::move(c));
}

result<core::command> read_permits(give::Reader in, shard_id from) {
  core::give_permits c{from, in.getSession(), in.getHeard()};
  for (auto number : in.getGiven())
    c.given.push_back(number);
  c.wants_list = in.getWantsList();
  c.counts_slots = in.getCountsSlots();
  return core::command(std::move(c));
}

} // namespace codeq::coordinator
