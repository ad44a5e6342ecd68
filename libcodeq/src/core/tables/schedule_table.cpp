// SPDX-License-Identifier: Apache-2.0
#include "core/tables/schedule_table.hpp"

#include "codeq/limits.hpp"

#include "base/assert.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

number_pair place_of_look(timestamp when, std::uint64_t number) {
  auto ms = std::max<std::int64_t>(0, when.time_since_epoch().count());
  return {static_cast<std::uint64_t>(ms), number};
}

std::size_t bytes_of(const schedule_address& name, const schedule_definition& definition) {
  return name.tenant.size() + name.name.size() + definition.spec.size();
}

} // namespace

schedule_table::use schedule_table::use_of(std::string_view tenant) const {
  auto at = by_tenant_.find(tenant);
  return at == by_tenant_.end() ? use{} : at->second;
}

const schedule_entry* schedule_table::find(const schedule_address& name) const {
  auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : &at->second;
}

void schedule_table::put(
  const schedule_address& name, definition_ptr definition, schedule_progress progress) {
  auto [at, is_new] = entries_.try_emplace(name);
  auto& entry = at->second;
  auto& used = by_tenant_[name.tenant];
  if (is_new) {
    entry.number = ++numbers_;
    by_number_.emplace(entry.number, at);
    ++used.schedules;
  } else {
    forget_open(*at);
    bytes_ -= bytes_of(name, *entry.definition);
    used.bytes -= bytes_of(name, *entry.definition);
  }
  entry.definition = std::move(definition);
  entry.progress = std::move(progress);
  bytes_ += bytes_of(name, *entry.definition);
  used.bytes += bytes_of(name, *entry.definition);
  index_open(*at);
  set_look(*at, timestamp{});
}

schedule_table::map::value_type& schedule_table::existing(const schedule_address& name) {
  auto at = entries_.find(name);
  CODEQ_ASSERT(at != entries_.end());
  return *at;
}

schedule_progress& schedule_table::progress_of(const schedule_address& name) {
  return existing(name).second.progress;
}

void schedule_table::add_open(const schedule_address& name, open_occurrence added) {
  auto& entry = existing(name);
  index(added, entry.first);
  entry.second.progress.open.push_back(std::move(added));
}

void schedule_table::remove_open(const schedule_address& name, std::size_t place) {
  auto& open = existing(name).second.progress.open;
  forget(open.at(place));
  open.erase(open.begin() + static_cast<std::ptrdiff_t>(place));
}

void schedule_table::replace_open(
  const schedule_address& name, std::size_t place, open_occurrence by) {
  auto& entry = existing(name);
  auto& open = entry.second.progress.open.at(place);
  forget(open);
  open = std::move(by);
  index(open, entry.first);
}

void schedule_table::erase(const schedule_address& name) {
  auto at = entries_.find(name);
  if (at == entries_.end())
    return;
  forget_open(*at);
  set_look(*at, std::nullopt);
  by_number_.erase(at->second.number);
  auto bytes = bytes_of(name, *at->second.definition);
  bytes_ -= bytes;
  auto tenant = by_tenant_.find(name.tenant);
  tenant->second.bytes -= bytes;
  if (--tenant->second.schedules == 0)
    by_tenant_.erase(tenant);
  entries_.erase(at);
}

void schedule_table::look_at(const schedule_address& name, std::optional<timestamp> when) {
  auto at = entries_.find(name);
  CODEQ_ASSERT(at != entries_.end());
  set_look(*at, when);
}

void schedule_table::look_at_all() {
  for (auto& entry : entries_)
    set_look(entry, timestamp{});
}

std::optional<timestamp> schedule_table::next_look() const {
  if (looks_.empty())
    return std::nullopt;
  return timestamp{duration{static_cast<duration::rep>(looks_.front().first)}};
}

std::vector<schedule_address> schedule_table::due(timestamp now, std::size_t limit) const {
  std::vector<schedule_address> names;
  auto end = place_of_look(now, 0).first;
  looks_.for_each([&](const number_pair& look) {
    bool is_due = look.first <= end && names.size() < limit;
    if (is_due)
      names.push_back(by_number_.at(look.second)->first);
    return is_due;
  });
  return names;
}

const schedule_address* schedule_table::owner_of(shard_id shard, sequence task) const {
  auto at = by_task_.find({shard, task});
  return at == by_task_.end() ? nullptr : at->second;
}

std::map<std::uint32_t, schedule_address>
schedule_table::sent_in(shard_id shard, log_position record) const {
  std::map<std::uint32_t, schedule_address> senders;
  for (auto at = by_sent_.lower_bound({shard, record, 0}); at != by_sent_.end(); ++at) {
    auto [to, position, place] = at->first;
    if (to != shard || position != record)
      break;
    senders.emplace(place, *at->second);
  }
  return senders;
}

std::map<shard_id, std::vector<sequence>> schedule_table::tasks_elsewhere(shard_id own) const {
  std::map<shard_id, std::vector<sequence>> tasks;
  for (const auto& [place, name] : by_task_)
    if (place.first != own)
      tasks[place.first].push_back(place.second);
  return tasks;
}

void schedule_table::index(const open_occurrence& open, const schedule_address& name) {
  if (open.sent != 0)
    by_sent_.emplace(sent_place{open.entry.shard, open.sent, open.place}, &name);
  else
    by_task_.emplace(task_place{open.entry.shard, open.entry.task}, &name);
}

void schedule_table::forget(const open_occurrence& open) {
  if (open.sent != 0)
    by_sent_.erase({open.entry.shard, open.sent, open.place});
  else
    by_task_.erase({open.entry.shard, open.entry.task});
}

void schedule_table::index_open(const map::value_type& entry) {
  for (const auto& open : entry.second.progress.open)
    index(open, entry.first);
}

void schedule_table::forget_open(const map::value_type& entry) {
  for (const auto& open : entry.second.progress.open)
    forget(open);
}

void schedule_table::set_look(map::value_type& entry, std::optional<timestamp> when) {
  auto& next = entry.second.next;
  if (next == when)
    return;
  if (next)
    looks_.erase(place_of_look(*next, entry.second.number));
  next = when;
  if (next)
    looks_.insert(place_of_look(*next, entry.second.number));
}

result<void> check_room(
  const schedule_table& table, const schedule_address& name, const schedule_definition& wanted) {
  constexpr auto count_max = limits::schedules_per_shard_max;
  constexpr auto bytes_max = limits::schedule_bytes_per_shard_max;
  const auto* known = table.find(name);
  auto used = table.use_of(name.tenant);
  auto refuse = [&](const std::string& what) {
    return error{errc::too_large, "schedule \"" + name.name + "\" " + what};
  };
  if (!known && used.schedules >= limits::schedules_per_tenant_max)
    return refuse(
      "would be one more than the " + std::to_string(limits::schedules_per_tenant_max)
      + " schedules that tenant \"" + name.tenant + "\" may have on a shard");
  auto exceeds_share = [](std::size_t mine, std::size_t all, std::size_t max) {
    return all > max || mine > max - all;
  };
  auto text = [&](std::size_t mine, std::size_t all, std::size_t max, const std::string& unit) {
    return "would give tenant \"" + name.tenant + "\" " + std::to_string(mine) + unit
           + " of the shard's schedules; of " + std::to_string(max) + unit
           + ", all tenants would have " + std::to_string(all)
           + ", and a tenant may not have more than is free";
  };
  auto mine = used.schedules + 1;
  auto all = table.size() + 1;
  if (!known && exceeds_share(mine, all, count_max))
    return refuse(text(mine, all, count_max, ""));
  auto before = known ? bytes_of(name, *known->definition) : 0;
  auto after = bytes_of(name, wanted);
  if (after <= before)
    return {};
  mine = used.bytes - before + after;
  all = table.byte_size() - before + after;
  if (exceeds_share(mine, all, bytes_max))
    return refuse(text(mine, all, bytes_max, " bytes"));
  return {};
}

} // namespace codeq::core
