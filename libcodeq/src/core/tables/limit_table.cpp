// SPDX-License-Identifier: Apache-2.0
#include "core/tables/limit_table.hpp"

#include "codeq/limits.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

namespace {

/// Occurs in the refusals because of limit keys only.
constexpr std::string_view of_limit_keys = " limit keys on this shard";

limit_key_info describe(const std::string& key, const limit_keys::key_counts& counts) {
  limit_key_info info;
  info.key = key;
  info.leased = counts.leased;
  info.held = counts.held;
  info.next_start = counts.next_start;
  info.closed_until = counts.closed_until;
  return info;
}

} // namespace

std::optional<std::uint32_t> limit_table::known_number(const limit_address& name) const {
  auto at = numbers_.find(name);
  return at == numbers_.end() ? std::nullopt : std::optional(at->second);
}

std::uint32_t limit_table::number_of(const limit_address& name) {
  auto [at, is_new] = numbers_.try_emplace(name, next_number_);
  if (is_new) {
    keys_.assign(next_number_, name.tenant);
    names_.emplace(next_number_, name);
    undefined_.push_back(next_number_++);
  }
  return at->second;
}

void limit_table::define(
  const limit_address& name,
  const std::optional<limit_definition>& definition,
  timestamp now) {
  bool was_defined = find(name) != nullptr;
  if (!definition && !was_defined)
    return;
  auto number = number_of(name);
  if (definition) {
    keys_.set(number, *definition, now);
    std::erase(undefined_, number);
  } else {
    keys_.remove(number);
    undefined_.push_back(number);
  }
  auto& count = defined_[name.tenant];
  count += definition ? 1 : 0;
  count -= was_defined ? 1 : 0;
  if (count == 0)
    defined_.erase(name.tenant);
}

const limit_definition* limit_table::find(const limit_address& name) const {
  auto number = known_number(name);
  return number ? keys_.find(*number) : nullptr;
}

bool limit_table::is_defined(std::string_view tenant, std::string_view name) const {
  return find({std::string(tenant), std::string(name)}) != nullptr;
}

std::size_t limit_table::defined_by(const std::string& tenant) const {
  auto at = defined_.find(tenant);
  return at == defined_.end() ? 0 : at->second;
}

bool limit_table::is_out_of_keys(const std::string& tenant) const {
  return keys_.keys_of(tenant) >= limits::limit_keys_max;
}

result<void> limit_table::check_new(
  const std::string& tenant, const std::vector<task_limit>& uses) const {
  for (const auto& use : uses) {
    auto number = known_number({tenant, use.name});
    if (!number || !keys_.find(*number))
      return error{
        errc::unknown_limit,
        "limits: tenant \"" + tenant + "\" has no limit \"" + use.name
          + "\"; define it first: codeqctl limit set " + use.name};
    // The sum of all tenants is a bound of one tenant's.
    if (keys_.size() < limits::limit_keys_max || keys_.is_in_use({*number, use.key}))
      continue;
    if (auto keys = keys_.keys_of(tenant); keys >= limits::limit_keys_max)
      return error{
        errc::queue_full,
        "limits: tenant \"" + tenant + "\" uses " + std::to_string(keys)
          + std::string(of_limit_keys) + " and would use another one of limit \"" + use.name
          + "\"; the limit is " + std::to_string(limits::limit_keys_max)};
  }
  return {};
}

bool is_of_limit_keys(const error& reason) {
  return reason.code == errc::queue_full
         && reason.context.find(of_limit_keys) != std::string::npos;
}

limit_place limit_table::place_of(const std::string& tenant, const task_limit& use) {
  return {number_of({tenant, use.name}), use.key};
}

limited_task limit_table::describe(
  const std::string& tenant, const std::vector<task_limit>& uses, limited_task task) {
  task.uses.reserve(uses.size());
  for (const auto& use : uses)
    task.uses.push_back({place_of(tenant, use), use.cost});
  return task;
}

limited_task limit_table::find_task(
  const std::string& tenant, const std::vector<task_limit>& uses, limited_task task) const {
  for (const auto& use : uses)
    if (auto number = known_number({tenant, use.name}))
      task.uses.push_back({{*number, use.key}, use.cost});
  return task;
}

std::vector<limit_key_mark> limit_table::take_marks() {
  std::vector<limit_key_mark> marks;
  for (auto& [at, paid_at, closed_until, is_over] : keys_.take_marks())
    marks.push_back({name_of(at.limit), at.key, paid_at, closed_until, is_over});
  return marks;
}

std::vector<limit_key_mark> limit_table::marks() const {
  std::vector<limit_key_mark> marks;
  for (auto& [at, paid_at, closed_until, is_over] : keys_.marks())
    marks.push_back({name_of(at.limit), at.key, paid_at, closed_until, is_over});
  return marks;
}

void limit_table::restore(const limit_key_mark& stored) {
  keys_.restore(
    {{number_of(stored.limit), stored.key}, stored.paid_at, stored.closed_until, stored.is_over});
}

void limit_table::use_up_all(timestamp at) {
  restore_used_up(at);
  is_used_up_new_ = true;
}

timestamp limit_table::take_used_up() {
  return std::exchange(is_used_up_new_, false) ? used_up_at_ : timestamp{};
}

void limit_table::restore_used_up(timestamp at) {
  used_up_at_ = at;
  keys_.use_up_all(at);
}

limit_info limit_table::describe(const limit_address& name) const {
  auto number = *known_number(name);
  limit_info info{name, *keys_.find(number)};
  auto sums = keys_.sums_of(number);
  info.keys = sums.keys;
  info.leased = sums.leased;
  info.held = sums.held;
  return info;
}

std::uint64_t limit_table::keys_above(
  const limit_address& name, const limit_definition& definition) const {
  std::uint64_t above = 0;
  auto number = known_number(name);
  if (!number || !definition.concurrency)
    return above;
  keys_.for_each_key(*number, {}, [&](const std::string&, const limit_keys::key_counts& counts) {
    above += counts.leased > *definition.concurrency ? 1 : 0;
    return true;
  });
  return above;
}

std::uint64_t
limit_table::held_permits_of(const limit_address& name, const std::string& key) const {
  auto number = known_number(name);
  return number ? keys_.held_permits_of({*number, key}) : 0;
}

std::uint64_t limit_table::room_by(
  const limit_definition& definition,
  const limit_address& name,
  const std::string& key,
  timestamp now) const {
  // No limit has number 0.
  return keys_.room_by(definition, {known_number(name).value_or(0), key}, now);
}

std::vector<limit_info>
limit_table::list(const std::string& tenant, const limit_part& part, bool& more) const {
  std::vector<limit_info> found;
  auto at = part.from_start ? numbers_.lower_bound({tenant, {}})
                            : numbers_.upper_bound({tenant, part.after});
  for (; at != numbers_.end() && at->first.tenant == tenant; ++at) {
    if (!keys_.find(at->second))
      continue;
    more = found.size() == part.limit;
    if (more)
      break;
    found.push_back(describe(at->first));
  }
  return found;
}

std::vector<limit_key_info> limit_table::list_keys(
  const limit_address& name, const limit_part& part, bool only_busy, bool& more) const {
  std::vector<limit_key_info> found;
  auto number = known_number(name);
  if (!number)
    return found;
  auto after = part.from_start ? std::nullopt : std::optional(part.after);
  constexpr auto passed_max = limits::idle_limit_keys_passed_max;
  std::size_t passed = 0;
  more = false;
  keys_.for_each_key(
    *number, after, [&](const std::string& key, const limit_keys::key_counts& counts) {
      bool is_over = passed == passed_max;
      bool is_idle = only_busy && counts.leased == 0 && counts.held == 0;
      if (is_idle && !is_over && ++passed < passed_max)
        return true;
      more = is_over || found.size() == part.limit;
      if (!more)
        found.push_back(core::describe(key, counts));
      return !more;
    });
  // The last key that was passed over is in the page only for the next one to begin behind it.
  if (passed == passed_max && !more)
    found.pop_back();
  return found;
}

limit_key_info
limit_table::describe_key(const limit_address& name, const std::string& key) const {
  auto number = known_number(name);
  return core::describe(key, number ? keys_.counts_of({*number, key}) : limit_keys::key_counts{});
}

void limit_table::forget_removed() {
  std::erase_if(undefined_, [&](std::uint32_t number) {
    bool is_over = keys_.sums_of(number).keys == 0;
    if (is_over) {
      keys_.unassign(number);
      numbers_.erase(names_.at(number));
      names_.erase(number);
    }
    return is_over;
  });
}

} // namespace codeq::core
