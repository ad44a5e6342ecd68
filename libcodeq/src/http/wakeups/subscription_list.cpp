// SPDX-License-Identifier: Apache-2.0
#include "http/wakeups/subscription_list.hpp"

#include <functional>
#include <utility>

namespace codeq::http {

namespace {

bool is_due(const std::optional<monotonic_time>& told, duration interval, monotonic_time now) {
  return !told || now - *told >= interval;
}

/// The next ready queue that `fits`, after the one of the last turn; null when none does.
template <class Fits>
const std::pair<const std::string, std::uint64_t>*
next_queue(const std::map<std::string, std::uint64_t>& ready, const std::string& last, Fits fits) {
  auto begin = ready.upper_bound(last);
  for (auto at = begin; at != ready.end(); ++at)
    if (fits(at->first))
      return &*at;
  for (auto at = ready.begin(); at != begin; ++at)
    if (fits(at->first))
      return &*at;
  return nullptr;
}

} // namespace

void subscription_list::put(const subscription& s, task_id record) {
  auto at = all_.find(s.id);
  auto last = at == all_.end() ? turn{} : at->second.last;
  remove(s.id);
  all_.emplace(s.id, entry{s, record, std::move(last)});
  if (s.mode != delivery_mode::fanout)
    groups_[{s.tenant, s.group}].insert(s.id);
}

void subscription_list::remove(const std::string& id) {
  auto gone = all_.extract(id);
  if (gone.empty())
    return;
  group_name name{gone.mapped().what.tenant, gone.mapped().what.group};
  auto group = groups_.find(name);
  if (group == groups_.end() || group->second.erase(id) == 0 || !group->second.empty())
    return;
  groups_.erase(group);
  group_turns_.erase(name);
}

const subscription* subscription_list::find(const std::string& id) const {
  auto at = all_.find(id);
  return at == all_.end() ? nullptr : &at->second.what;
}

std::set<std::string> subscription_list::tenants() const {
  std::set<std::string> names;
  for (const auto& [id, e] : all_)
    names.insert(e.what.tenant);
  return names;
}

std::set<std::pair<std::string, std::string>> subscription_list::owners() const {
  std::set<std::pair<std::string, std::string>> names;
  for (const auto& [id, e] : all_)
    names.emplace(e.what.tenant, e.what.subject);
  return names;
}

std::vector<std::string>
subscription_list::of_owner(const std::string& tenant, const std::string& subject) const {
  std::vector<std::string> ids;
  for (const auto& [id, e] : all_)
    if (e.what.tenant == tenant && e.what.subject == subject)
      ids.push_back(id);
  return ids;
}

std::vector<std::string> subscription_list::of_shard(shard_id shard) const {
  std::vector<std::string> ids;
  for (const auto& [id, e] : all_)
    if (e.record.shard == shard)
      ids.push_back(id);
  return ids;
}

std::vector<std::string> subscription_list::expired(timestamp now) const {
  std::vector<std::string> ids;
  for (const auto& [id, e] : all_)
    if (e.what.expires_at <= now)
      ids.push_back(id);
  return ids;
}

std::vector<wakeup> subscription_list::take_due(
  const ready_queues& ready, monotonic_time now, const may_wake_function& may_wake) {
  const look by{now, may_wake};
  std::vector<wakeup> due;
  auto add = [&](std::optional<wakeup> one) {
    if (one)
      due.push_back(std::move(*one));
  };
  for (auto& [id, e] : all_) {
    auto at = ready.find(e.what.tenant);
    if (at != ready.end() && e.what.mode == delivery_mode::fanout)
      add(wake_one(e, at->second, by));
  }
  take_due_of_hash(ready, by, due);
  for (const auto& [name, members] : groups_) {
    auto at = ready.find(name.first);
    if (at != ready.end())
      add(wake_group(name, at->second, by));
  }
  return due;
}

std::optional<wakeup>
subscription_list::wake_one(entry& e, const queue_counts& ready, const look& by) {
  if (!is_due(e.last.told, e.what.min_interval, by.now))
    return std::nullopt;
  const auto* queue = next_queue(
    ready, e.last.queue, [&](const std::string& name) { return by.wakes(e.what, name); });
  if (!queue)
    return std::nullopt;
  e.last = {by.now, queue->first};
  return wakeup{e.what, queue->first, queue->second};
}

std::optional<wakeup> subscription_list::wake_group(
  const group_name& name, const queue_counts& ready, const look& by) {
  auto known = group_turns_.find(name);
  auto last = known == group_turns_.end() ? turn{} : known->second;
  const auto* queue = next_queue(ready, last.queue, [&](const std::string& candidate) {
    return next_of(name, candidate, by) != nullptr;
  });
  auto* member = queue ? next_of(name, queue->first, by) : nullptr;
  if (!member || !is_due(last.told, member->what.min_interval, by.now))
    return std::nullopt;
  member->last.told = by.now;
  group_turns_[name] = {by.now, queue->first};
  return wakeup{member->what, queue->first, queue->second};
}

subscription_list::entry*
subscription_list::next_of(const group_name& name, const std::string& queue, const look& by) {
  entry* next = nullptr;
  for (const auto& id : groups_.at(name)) {
    auto& e = all_.at(id);
    bool is_candidate = e.what.mode == delivery_mode::group && by.wakes(e.what, queue);
    if (is_candidate && (!next || e.last.told < next->last.told))
      next = &e;
  }
  return next;
}

const std::string* subscription_list::chosen_by_hash(
  const std::set<std::string>& members, const std::string& queue, const look& by) const {
  // The member with the highest hash of both names: when members come or go, only their own queues
  // move.
  const std::string* chosen = nullptr;
  std::uint64_t highest = 0;
  for (const auto& id : members) {
    const auto& what = all_.at(id).what;
    if (what.mode != delivery_mode::hash || !by.wakes(what, queue))
      continue;
    auto hash = std::hash<std::string>{}(id + "/" + queue);
    if (!chosen || hash > highest) {
      chosen = &id;
      highest = hash;
    }
  }
  return chosen;
}

subscription_list::owned_queues subscription_list::divide(
  const std::set<std::string>& members, const queue_counts& ready, const look& by) const {
  owned_queues owned;
  for (const auto& [queue, count] : ready) {
    if (const auto* chosen = chosen_by_hash(members, queue, by))
      owned[*chosen].emplace(queue, count);
  }
  return owned;
}

void subscription_list::take_due_of_hash(
  const ready_queues& ready, const look& by, std::vector<wakeup>& due) {
  for (const auto& [name, members] : groups_) {
    auto at = ready.find(name.first);
    if (at == ready.end())
      continue;
    for (const auto& [id, queues] : divide(members, at->second, by)) {
      if (auto one = wake_one(all_.at(id), queues, by))
        due.push_back(std::move(*one));
    }
  }
}

} // namespace codeq::http
