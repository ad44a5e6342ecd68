// SPDX-License-Identifier: Apache-2.0
#include "core/tables/key_index.hpp"

#include <cstring>

namespace codeq::core {

namespace {

constexpr std::size_t number_bytes = sizeof(std::uint32_t);

void append_raw(key_id& id, std::uint32_t number) {
  char raw[number_bytes];
  std::memcpy(raw, &number, number_bytes);
  id.append(raw, number_bytes);
}

std::uint32_t number_at(const key_id& id, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, id.data() + at, number_bytes);
  return number;
}

} // namespace

key_id make_key_id(const key_parts& parts) {
  key_id id;
  id.reserve(2 * number_bytes + parts.group.size() + parts.name.size());
  append_raw(id, parts.queue);
  append_raw(id, static_cast<std::uint32_t>(parts.group.size()));
  id.append(parts.group);
  id.append(parts.name);
  return id;
}

key_parts parts_of(const key_id& id) {
  auto rest = std::string_view(id).substr(2 * number_bytes);
  auto group_bytes = number_at(id, number_bytes);
  return {number_at(id, 0), rest.substr(0, group_bytes), rest.substr(group_bytes)};
}

} // namespace codeq::core
