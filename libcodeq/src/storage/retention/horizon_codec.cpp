// SPDX-License-Identifier: Apache-2.0
#include "storage/retention/horizon_codec.hpp"

#include "storage/records/record_build.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace codeq::storage {

namespace {

constexpr std::size_t number_bytes = sizeof(std::uint64_t);
constexpr std::size_t head_bytes = 2 * number_bytes + 1;
constexpr unsigned varint_bits = 7;
constexpr std::uint8_t varint_more = 1u << varint_bits;

void append_number(std::string& to, std::uint64_t number) {
  for (std::size_t i = 0; i < number_bytes; ++i)
    to.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

std::uint64_t read_number(std::string_view bytes) {
  std::uint64_t number = 0;
  for (auto i = number_bytes; i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

void append_varint(std::string& to, std::uint64_t number) {
  for (; number >= varint_more; number >>= varint_bits)
    to.push_back(static_cast<char>(number | varint_more));
  to.push_back(static_cast<char>(number));
}

/// Takes a number from the front; empty when there is none.
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += varint_bits) {
    auto next = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    number |= std::uint64_t{next & (varint_more - 1u)} << shift;
    if (next < varint_more)
      return number;
  }
  return std::nullopt;
}

/// Empty when it takes too many bytes.
std::optional<std::string> pack_held(const core::position_set& held) {
  if (held.size_max() > packed_horizon_bytes_max)
    return std::nullopt;
  std::string packed;
  core::log_position before = 0;
  for (auto position : held.all()) {
    append_varint(packed, position - std::exchange(before, position));
    if (packed.size() > packed_horizon_bytes_max)
      return std::nullopt;
  }
  return packed;
}

} // namespace

std::string pack(const shard_horizon& horizon) {
  auto held = horizon.is_held_known ? pack_held(horizon.held) : std::nullopt;
  std::string packed;
  append_number(packed, horizon.through);
  append_number(packed, static_cast<std::uint64_t>(horizon.at.time_since_epoch().count()));
  packed.push_back(held ? 1 : 0);
  return packed + held.value_or(std::string{});
}

result<shard_horizon> unpack_horizon(std::string_view packed, shard_id shard) {
  if (packed.size() < head_bytes)
    return mismatch("a horizon that is cut off");
  shard_horizon horizon;
  horizon.shard = shard;
  horizon.through = read_number(packed);
  auto at = read_number(packed.substr(number_bytes));
  horizon.at = timestamp{duration{static_cast<duration::rep>(at)}};
  horizon.is_held_known = packed[head_bytes - 1] != 0;
  packed.remove_prefix(head_bytes);
  std::vector<core::log_position> held;
  core::log_position before = 0;
  while (!packed.empty()) {
    auto distance = take_varint(packed);
    if (!distance)
      return mismatch("a horizon with a broken number");
    before += *distance;
    held.push_back(before);
  }
  horizon.held = core::position_set(std::move(held));
  return horizon;
}

} // namespace codeq::storage
