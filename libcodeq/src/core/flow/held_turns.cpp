// SPDX-License-Identifier: Apache-2.0
#include "core/flow/held_turns.hpp"

#include "base/tuning.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace codeq::core {

namespace {

/// The part of the run time that a key gets, by the tasks that it is enough for. `in_group`: the
/// weights of all keys of its group.
double pace_of(const fair_terms& of, std::uint64_t in_group) {
  auto share = static_cast<double>(of.weights.group) * of.weights.key;
  return share / static_cast<double>(in_group) / static_cast<double>(of.cost);
}

} // namespace

terms_of_key terms_in(const fair_terms_of& terms_of, std::uint32_t queue) {
  if (!terms_of)
    return [](std::string_view) { return fair_terms{}; };
  return [&terms_of, queue](std::string_view key) { return terms_of(queue, key); };
}

std::size_t
count_before(const held_turns::costs_of_tasks& tasks, sequence seq, std::size_t most) {
  std::size_t count = 0;
  for (auto at = tasks.begin(); at != tasks.end() && at->first < seq && count < most; ++at)
    ++count;
  return count;
}

void held_turns::adopt(costs_of_tasks tasks, std::string_view key) {
  if (tasks.empty())
    return;
  auto who = keys_.take(key, tasks.size());
  // Its own weights count from its next turn on.
  order_.add(who, 1);
  tasks_.resize(std::max<std::size_t>(tasks_.size(), who.key + 1));
  size_ += tasks.size();
  tasks_[who.key] = std::move(tasks);
}

bool held_turns::insert(
  sequence seq, std::uint32_t cost, std::string_view key, const fair_terms& terms) {
  if (contains(seq, key))
    return false;
  auto who = keys_.take(key);
  if (!order_.contains(who))
    order_.add(who, terms.weights.key, terms.weights.group);
  tasks_.resize(std::max<std::size_t>(tasks_.size(), who.key + 1));
  tasks_[who.key].emplace(seq, cost);
  ++size_;
  return true;
}

void held_turns::leave(fair_key who) {
  --size_;
  if (tasks_[who.key].empty())
    order_.remove(who);
  constexpr std::size_t no_idle_keys = 0;
  keys_.drop(who, no_idle_keys);
  if (keys_.is_sparse())
    renumber();
}

void held_turns::renumber() {
  held_turns fresh;
  keys_.for_each_active([&](fair_key who) {
    fresh.adopt(std::move(tasks_[who.key]), keys_.name_of(who));
  });
  *this = std::move(fresh);
}

bool held_turns::erase(sequence seq, std::string_view key) {
  auto who = keys_.find(key);
  if (!who || tasks_[who->key].erase(seq) == 0)
    return false;
  leave(*who);
  return true;
}

bool held_turns::contains(sequence seq, std::string_view key) const {
  auto who = keys_.find(key);
  return who && tasks_[who->key].contains(seq);
}

fair_key held_turns::next(const terms_of_key& terms) {
  return order_.next([&](fair_key who) { return terms(keys_.name_of(who)).cost; }).who;
}

std::uint32_t held_turns::next_cost(const terms_of_key& terms) {
  return tasks_[next(terms).key].begin()->second;
}

std::uint32_t held_turns::some_cost() const {
  auto some =
    std::find_if(tasks_.begin(), tasks_.end(), [](const auto& of) { return !of.empty(); });
  return some->begin()->second;
}

held_turns::taken held_turns::take_next(const terms_of_key& terms) {
  auto who = next(terms);
  auto now = terms(keys_.name_of(who));
  order_.charge(who, now.cost);
  order_.set_key_weight(who, now.weights.key);
  order_.set_group_weight(who.group, now.weights.group);
  auto first = tasks_[who.key].extract(tasks_[who.key].begin());
  taken got{first.key(), first.mapped(), now.cost};
  leave(who);
  return got;
}

void held_turns::settle(std::string_view key, std::int64_t difference) {
  if (auto who = keys_.find(key))
    order_.settle(*who, difference);
}

std::size_t
held_turns::before(sequence seq, std::string_view key, const terms_of_key& terms) const {
  constexpr auto most = tuning::turns_counted_max;
  if (keys_.active() > most)
    return most;
  std::unordered_map<std::uint32_t, std::uint64_t> in_group;
  keys_.for_each_active([&](fair_key one) {
    in_group[one.group] += terms(keys_.name_of(one)).weights.key;
  });
  auto who = *keys_.find(key);
  auto earlier = count_before(tasks_[who.key], seq, most);
  auto pace = pace_of(terms(key), in_group[who.group]);
  auto all = earlier;
  keys_.for_each_active([&](fair_key one) {
    if (one == who)
      return;
    auto turns = pace_of(terms(keys_.name_of(one)), in_group[one.group]) / pace;
    auto meanwhile = static_cast<double>(earlier + 1) * turns;
    all += static_cast<std::size_t>(
      std::min(static_cast<double>(tasks_[one.key].size()), meanwhile));
  });
  return std::min(all, most);
}

} // namespace codeq::core
