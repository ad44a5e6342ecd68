// SPDX-License-Identifier: Apache-2.0
#include "core/flow/permit_desk.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

/// The messages of the desk to the owners of limit keys.
namespace codeq::core {

namespace {

permit_turn turn_with(permit_turn turn, const fair_terms& terms) {
  constexpr std::int64_t cost_max = std::numeric_limits<std::uint32_t>::max();
  turn.key_weight = terms.weights.key;
  turn.group_weight = terms.weights.group;
  turn.cost = static_cast<std::uint32_t>(std::clamp<std::int64_t>(terms.cost, 1, cost_max));
  return turn;
}

} // namespace

void permit_desk::make_room(shard_id to, owner_state& owner) {
  const auto waiting = owner.tenants_without_room();
  if (waiting.empty())
    return;
  auto left = message_permits_max / 2;
  for (auto number : std::set<permit_number>(owner.asked)) {
    const auto& what = permit_of(number);
    if (is_slot(what) || !waiting.contains(what.tenant))
      continue;
    if (left-- == 0)
      return;
    give_back(to, {number, {}, true});
    recall(numbers_.at(number));
  }
}

std::vector<sequence> permit_desk::beyond_part(const line& of) const {
  const auto keys = of.queued.keys();
  const auto part = (of.asked_max + keys - 1) / keys;
  const auto next_priority = place_of(of.queued.next_priority(), 0).first;
  std::map<std::string_view, std::size_t> asked;
  for (const auto& [priority, seq] : of.asked)
    ++asked[tasks_.at(seq).turn.fairness_key];
  std::vector<sequence> beyond;
  // A permit of a higher priority than that of each waiting task would be asked for again at once.
  for (auto one = of.asked.rbegin(); one != of.asked.rend() && one->first >= next_priority; ++one)
    if (auto& count = asked[tasks_.at(one->second).turn.fairness_key]; count > part) {
      --count;
      beyond.push_back(one->second);
    }
  return beyond;
}

void permit_desk::make_turns(shard_id to, owner_state& owner) {
  auto returns = message_permits_max / 2;
  auto next = owner.full_turns.upper_bound(owner.last_turns);
  for (auto left = owner.full_turns.size(); left > 0; --left) {
    if (next == owner.full_turns.end())
      next = owner.full_turns.begin();
    // Recalls change the set.
    const auto name = *next;
    const auto beyond = beyond_part(owner.lines.at(name));
    if (beyond.size() > returns)
      return;
    returns -= beyond.size();
    owner.last_turns = name;
    for (auto seq : beyond) {
      give_back(to, {tasks_.at(seq).awaited().what.number, {}, true});
      // Its key has had its turn, so that the turn of another one comes.
      tasks_.at(seq).charged = 0;
      recall(seq);
    }
    next = owner.full_turns.upper_bound(name);
  }
}

bool permit_desk::has_news(const owner_state& owner) {
  bool may_ask = !owner.open_slots.empty() || owner.next_line();
  bool must_confirm = owner.recall != owner.recall_said;
  return !owner.is_listed || !owner.returns.empty() || !owner.closures.empty() || must_confirm
         || may_ask;
}

permit_number permit_desk::ask_first(
  shard_id to, owner_state& owner, const line_name& name, const fair_terms_of& terms_of) {
  auto& line = owner.lines.at(name);
  if (line.asked.size() >= line.asked_max) {
    auto last = line.asked.rbegin()->second;
    give_back(to, {tasks_.at(last).awaited().what.number, {}, true});
    recall(last);
  }
  const auto [seq, charged] = line.queued.take_next(terms_of);
  auto& task = tasks_.at(seq);
  task.is = stage::asked;
  task.charged = charged;
  auto number = take_number(seq);
  auto& what = task.awaited().what;
  what.number = number;
  what.turn = turn_with(task.turn, terms_in(terms_of, task.queue)(task.turn.fairness_key));
  owner.asked.insert(number);
  owner.count_out(what);
  if (task.had > 0)
    owner.keeping_said.insert(seq);
  if (is_slot_place(seq)) {
    owner.slots_said.insert(task.queue);
    owner.last_slots = name;
  } else {
    owner.last_line = name;
  }
  line.asked.insert(place_of(what.priority, seq));
  note_line(owner, name, line);
  return number;
}

std::vector<permit_number> permit_desk::ask_further(shard_id to, const fair_terms_of& terms_of) {
  auto& owner = owners_.at(to);
  std::vector<permit_number> fresh;
  // Neither slots nor limits wait for the others when there are many.
  while (!owner.open_slots.empty() && fresh.size() < message_permits_max / 2) {
    auto next = owner.open_slots.upper_bound(owner.last_slots);
    if (next == owner.open_slots.end())
      next = owner.open_slots.begin();
    fresh.push_back(ask_first(to, owner, line_name(*next), terms_of));
  }
  while (fresh.size() < message_permits_max) {
    auto next = owner.next_line();
    if (!next)
      break;
    fresh.push_back(ask_first(to, owner, *next, terms_of));
  }
  return fresh;
}

ask_permits permit_desk::list_for(shard_id to) const {
  ask_permits list;
  list.is_list = true;
  for (auto seq : having_) {
    const auto& task = tasks_.at(seq);
    for (std::size_t i = 0; i < task.had; ++i)
      if (task.parts[i].owner == to)
        list.held.push_back(task.parts[i].what);
  }
  for (auto& one : list.held)
    one.turn = {};
  return list;
}

const permit& permit_desk::permit_of(permit_number number) const {
  const auto& parts = tasks_.at(numbers_.at(number)).parts;
  return std::find_if(
           parts.begin(), parts.end(), [&](const part& one) { return one.what.number == number; })
    ->what;
}

std::vector<permit_closure>
permit_desk::say_closures(owner_state& owner, monotonic_time now) {
  std::erase_if(owner.closures, [&](const closing& one) { return one.until <= now; });
  owner.closures_said = owner.closures.size();
  std::vector<permit_closure> said;
  for (const auto& one : owner.closures) {
    said.push_back(one.what);
    said.back().lasting = one.until - now;
  }
  return said;
}

void permit_desk::add_again(owner_state& owner, std::set<permit_number>& wanted) {
  auto next = owner.asked.upper_bound(owner.asked_again);
  // Many are asked for again in parts, so that they cost little and leave room for what is new.
  for (; next != owner.asked.end() && wanted.size() < message_permits_max; ++next) {
    wanted.insert(*next);
    owner.asked_again = *next;
  }
  if (next == owner.asked.end())
    owner.asked_again = 0;
}

ask_permits permit_desk::ask_for(shard_id to, bool again, const fair_terms_of& terms_of) {
  ask_permits asked;
  auto fresh = ask_further(to, terms_of);
  std::set<permit_number> wanted(fresh.begin(), fresh.end());
  if (again)
    add_again(owners_.at(to), wanted);
  for (auto number : wanted)
    asked.wanted.push_back(permit_of(number));
  return asked;
}

std::vector<permit_desk::letter>
permit_desk::say(monotonic_time now, const fair_terms_of& terms_of) {
  std::vector<letter> letters;
  for (auto to : depths_.owners_to_tell(now))
    owners_.try_emplace(to);
  for (auto& [to, owner] : owners_) {
    bool is_late = owner.look <= now;
    if (owner.is_awaiting && !is_late)
      continue;
    if (owner.asked.empty())
      owner.ask_at = now + ask_again;
    bool again = owner.is_awaiting || owner.ask_at <= now;
    if (!owner.is_awaiting && !again && !has_news(owner) && !depths_.has_news(to))
      continue;
    if (!owner.is_listed) {
      forget_asked(owner);
    } else if (again && !owner.is_awaiting) {
      // Until an owner answers, each call would add to the permits that are to be returned.
      make_room(to, owner);
      make_turns(to, owner);
    }
    auto what = owner.is_listed ? ask_for(to, again, terms_of) : list_for(to);
    if (again)
      owner.ask_at = now + ask_again;
    owner.returns_said.clear();
    for (const auto& [number, returned] : owner.returns) {
      if (what.returned.size() == message_permits_max)
        break;
      owner.returns_said.push_back(number);
      what.returned.push_back(returned);
    }
    what.closed = say_closures(owner, now);
    what.recall = owner.recall_said = owner.recall;
    what.levels = depths_.say(to, now);
    what.from = own_;
    what.session = session_;
    what.number = ++owner.said;
    owner.was_list = what.is_list;
    bool is_repeated = std::exchange(owner.is_awaiting, true);
    if (!is_repeated)
      owner.unanswered_since = now;
    owner.wait = is_repeated ? std::min(2 * owner.wait, answer_wait_max) : answer_wait;
    owner.look = now + owner.wait;
    letters.push_back({to, std::move(what)});
  }
  return letters;
}

std::optional<monotonic_time> permit_desk::next_look() const {
  auto next = depths_.next_look();
  if (!unspent_.empty())
    next = next ? std::min(*next, unspent_.begin()->first) : unspent_.begin()->first;
  for (const auto& [to, owner] : owners_) {
    if (!owner.is_awaiting && owner.asked.empty())
      continue;
    auto look = owner.is_awaiting ? owner.look : owner.ask_at;
    next = next ? std::min(*next, look) : look;
  }
  return next;
}

} // namespace codeq::core
