// SPDX-License-Identifier: Apache-2.0
#include "core/state/key_index.hpp"

#include <algorithm>
#include <cstring>

namespace codeq::core {

namespace {

constexpr std::size_t number_bytes = sizeof(std::uint32_t);

void append_number(key_id& id, std::uint32_t number) {
  char raw[number_bytes];
  std::memcpy(raw, &number, number_bytes);
  id.append(raw, number_bytes);
}

std::uint32_t number_at(const key_id& id, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, id.data() + at, number_bytes);
  return number;
}

key_holder holder_of(const retained_key& record) {
  return {record.since, record.seq};
}

} // namespace

key_id make_key_id(std::uint32_t queue, std::string_view group, std::string_view name) {
  key_id id;
  id.reserve(2 * number_bytes + group.size() + name.size());
  append_number(id, queue);
  append_number(id, static_cast<std::uint32_t>(group.size()));
  id.append(group);
  id.append(name);
  return id;
}

key_parts parts_of(const key_id& id) {
  auto rest = std::string_view(id).substr(2 * number_bytes);
  auto group_bytes = number_at(id, number_bytes);
  return {number_at(id, 0), rest.substr(0, group_bytes), rest.substr(group_bytes)};
}

void key_index::hold(const key_id& id, const key_holder& holder) {
  auto& of_key = holders_[id];
  std::erase_if(of_key, [&](const key_holder& h) { return h.seq == holder.seq; });
  of_key.insert(std::upper_bound(of_key.begin(), of_key.end(), holder), holder);
  drop_if_alone(id);
}

void key_index::release(const key_id& id, sequence seq) {
  auto at = holders_.find(id);
  if (at == holders_.end())
    return;
  std::erase_if(at->second, [&](const key_holder& h) { return h.seq == seq; });
  if (at->second.empty())
    holders_.erase(at);
  drop_if_alone(id);
}

void key_index::retain(const key_id& id, const retained_key& record) {
  retained_.insert_or_assign(id, record);
  drop_if_alone(id);
}

void key_index::recall(const key_id& id, const retained_key& record) {
  recalled_.insert_or_assign(id, record);
}

void key_index::forget(const key_id& id) {
  retained_.erase(id);
}

void key_index::drop_if_alone(const key_id& id) {
  auto closed = retained_.find(id);
  if (closed == retained_.end())
    return;
  auto at = holders_.find(id);
  if (at == holders_.end() || holder_of(closed->second) < at->second.front())
    retained_.erase(closed);
}

std::optional<key_holder> key_index::owner_of(const key_id& id, const key_horizon& horizon) const {
  std::optional<key_holder> owner;
  if (auto at = holders_.find(id); at != holders_.end())
    owner = at->second.back();
  for (const auto* closed : {&retained_, &recalled_}) {
    auto at = closed->find(id);
    if (at != closed->end() && horizon.counts(at->second))
      owner = owner ? std::max(*owner, holder_of(at->second)) : holder_of(at->second);
  }
  return owner;
}

} // namespace codeq::core
