// SPDX-License-Identifier: Apache-2.0
#include "coordinator/replica/permit_wire.hpp"

#include "codeq/limits.hpp"

#include "encoding/limit_structs.hpp"
#include "protocol/shared_data.hpp"

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
    out[i].setQueue(one.turn.queue);
    out[i].setFairnessKey(protocol::data_of(one.turn.fairness_key));
    out[i].setKeyWeight(one.turn.key_weight);
    out[i].setGroupWeight(one.turn.group_weight);
    out[i].setCostMs(one.turn.cost);
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

bool is_valid(const core::permit_turn& turn) {
  const auto is_weight = [](std::uint32_t weight) {
    return weight >= 1 && weight <= limits::fairness_weight_max;
  };
  return turn.queue.size() <= limits::name_bytes_max
         && turn.fairness_key.size() <= limits::fairness_key_bytes_max
         && is_weight(turn.key_weight) && is_weight(turn.group_weight) && turn.cost >= 1;
}

result<std::vector<core::permit>> read(capnp::List<ask::Permit>::Reader in) {
  std::vector<core::permit> permits;
  permits.reserve(in.size());
  for (auto one : in) {
    permits.push_back(
      {one.getNumber(), one.getTenant().cStr(), encoding::read_limits(one.getUses()),
       one.getPriority()});
    permits.back().turn = {
      one.getQueue().cStr(), protocol::string_of(one.getFairnessKey()), one.getKeyWeight(),
      one.getGroupWeight(), one.getCostMs()};
    if (!is_valid(permits.back().uses) || permits.back().number == 0)
      return wrong_limits();
    if (!is_valid(permits.back().turn))
      return error{errc::protocol_error, "a permit has a turn that no task can have"};
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

schema::NeighbourMessage::DepthAnswer to_schema(core::depth_answer answer) {
  switch (answer) {
  case core::depth_answer::none:
    return schema::NeighbourMessage::DepthAnswer::NONE;
  case core::depth_answer::full:
    return schema::NeighbourMessage::DepthAnswer::FULL;
  case core::depth_answer::uncounted:
    return schema::NeighbourMessage::DepthAnswer::UNCOUNTED;
  }
  return schema::NeighbourMessage::DepthAnswer::NONE;
}

/// An answer that this version does not know is none; the question is asked again.
core::depth_answer from_schema(schema::NeighbourMessage::DepthAnswer answer) {
  switch (answer) {
  case schema::NeighbourMessage::DepthAnswer::NONE:
    return core::depth_answer::none;
  case schema::NeighbourMessage::DepthAnswer::FULL:
    return core::depth_answer::full;
  case schema::NeighbourMessage::DepthAnswer::UNCOUNTED:
    return core::depth_answer::uncounted;
  }
  return core::depth_answer::none;
}

void write(
  capnp::List<schema::NeighbourMessage::DepthLevel>::Builder out,
  const std::vector<core::depth_level>& levels) {
  for (capnp::uint i = 0; i < levels.size(); ++i) {
    const auto& one = levels[i];
    out[i].setTenant(one.queue.tenant);
    out[i].setQueue(one.queue.queue);
    out[i].setLife(one.life);
    out[i].setMaximum(one.maximum);
    out[i].setLevel(one.level);
    out[i].setGranted(one.granted);
    out[i].setWants(one.wants);
    out[i].setAsk(one.ask);
    out[i].setRecall(one.recall);
  }
}

void write(
  capnp::List<schema::NeighbourMessage::DepthGrant>::Builder out,
  const std::vector<core::depth_grant>& grants) {
  for (capnp::uint i = 0; i < grants.size(); ++i) {
    const auto& one = grants[i];
    out[i].setTenant(one.queue.tenant);
    out[i].setQueue(one.queue.queue);
    out[i].setLife(one.life);
    out[i].setGranted(one.granted);
    out[i].setRecall(one.recall);
    out[i].setAnswer(to_schema(one.answer));
    out[i].setAsk(one.ask);
    out[i].setLeft(one.left);
    out[i].setIsAnySilent(one.is_any_silent);
  }
}

/// Words of a recall beside its key.
constexpr std::size_t recall_words =
  6 + 2 * (limits::name_bytes_max / sizeof(std::uint64_t) + 2);

void write(
  capnp::List<give::Recall>::Builder out, const std::vector<core::permit_recall>& recalled) {
  for (capnp::uint i = 0; i < recalled.size(); ++i) {
    out[i].setTenant(recalled[i].tenant);
    out[i].setLimit(recalled[i].limit);
    out[i].setKey(protocol::data_of(recalled[i].key));
  }
}

result<std::vector<core::permit_recall>> read(capnp::List<give::Recall>::Reader in) {
  std::vector<core::permit_recall> recalled;
  for (auto one : in) {
    recalled.push_back(
      {one.getTenant().cStr(), one.getLimit().cStr(), protocol::string_of(one.getKey())});
    if (recalled.back().limit.empty() || recalled.back().key.size() > limits::limit_key_bytes_max)
      return wrong_limits();
  }
  return recalled;
}

/// Words of a level or a grant with the names of its queue.
constexpr std::size_t depth_words = 8 + 2 * (limits::name_bytes_max / sizeof(std::uint64_t) + 2);

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
  write(out.initLevels(count_of(c.levels)), c.levels);
  out.setRecall(c.recall);
}

void write_permits(give::Builder out, const core::give_permits& c) {
  out.setSession(c.session);
  out.setHeard(c.heard);
  auto given = out.initGiven(count_of(c.given));
  for (capnp::uint i = 0; i < c.given.size(); ++i)
    given.set(i, c.given[i]);
  out.setWantsList(c.wants_list);
  out.setCountsSlots(c.counts_slots);
  write(out.initDepths(count_of(c.depths)), c.depths);
  out.setCountsDepths(c.counts_depths);
  write(out.initRecalled(count_of(c.recalled)), c.recalled);
  out.setRecall(c.recall);
}

std::size_t permit_words(const core::ask_permits& c) {
  std::size_t words = entry_words;
  for (const auto* permits : {&c.held, &c.wanted})
    for (const auto& one : gather_same(*permits))
      words += entry_words + encoding::limit_words(one.first->uses) + one.further.size()
               + (one.first->turn.queue.size() + one.first->turn.fairness_key.size())
                   / sizeof(std::uint64_t)
               + 2;
  for (const auto& one : c.returned)
    words += entry_words + encoding::limit_words(one.costs);
  for (const auto& one : c.closed)
    words += entry_words + encoding::limit_words({one.use});
  return words + c.levels.size() * depth_words;
}

std::size_t permit_words(const core::give_permits& c) {
  auto words = c.given.size() + c.depths.size() * depth_words;
  for (const auto& one : c.recalled)
    words += recall_words + one.key.size() / sizeof(std::uint64_t) + 2;
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
  for (auto one : in.getLevels()) {
    if (one.getLife() == 0 || one.getMaximum() == 0)
      return error{errc::protocol_error, "a level of a queue's tasks without a life or maximum"};
    c.levels.push_back(
      {{one.getTenant().cStr(), one.getQueue().cStr()}, one.getLife(), one.getMaximum(),
       one.getLevel(), one.getGranted(), one.getWants(), one.getAsk(), one.getRecall()});
  }
  c.recall = in.getRecall();
  return core::command(std::move(c));
}

result<core::command> read_permits(give::Reader in, shard_id from) {
  core::give_permits c{from, in.getSession(), in.getHeard()};
  for (auto number : in.getGiven())
    c.given.push_back(number);
  c.wants_list = in.getWantsList();
  c.counts_slots = in.getCountsSlots();
  for (auto one : in.getDepths())
    c.depths.push_back(
      {{one.getTenant().cStr(), one.getQueue().cStr()}, one.getLife(), one.getGranted(),
       one.getRecall(), from_schema(one.getAnswer()), one.getAsk(), one.getLeft(),
       one.getIsAnySilent()});
  c.counts_depths = in.getCountsDepths();
  auto recalled = read(in.getRecalled());
  if (!recalled)
    return recalled.error();
  c.recalled = std::move(*recalled);
  c.recall = in.getRecall();
  return core::command(std::move(c));
}

} // namespace codeq::coordinator
