// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/blocks/name_index.hpp"
#include "core/commands/event.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace codeq::core {

/// A key within the index: the queue's number within the shard, the group and the producer's key in
/// one string, which is different for different keys. Volatile, like the numbers of queues.
using key_id = std::string;

/// The parts of a `key_id`. The views refer to it, or to the names that it is made of.
struct key_parts {
  std::uint32_t queue = 0;
  std::string_view group;
  std::string_view name;

  friend bool operator==(const key_parts&, const key_parts&) = default;
};

[[nodiscard]] key_id make_key_id(const key_parts& parts);

[[nodiscard]] key_parts parts_of(const key_id& id);

/// A task in memory that has, or had, a key.
struct key_holder {
  /// See `held_key`.
  log_position since = 0;
  sequence seq = 0;

  friend auto operator<=>(const key_holder&, const key_holder&) = default;
};

/// The holders of keys. The owner of a key is the holder that became live last; the others are
/// kept, because the key falls back to them when the owner is removed.
///
/// Closed holders are in the store. The index contains only those that have an earlier holder in
/// memory, which must not get the key when it closes, and those recalled for the turn.
struct key_index {
  /// The holders in memory; their segments contain the keys.
  name_index holders;
  /// The same for keys that have several, so that their owner is found without reading the others:
  /// a producer may let any number of tasks of one key die.
  std::unordered_map<key_id, std::set<key_holder>> shared;
  /// The closed holders that are kept, in an order that must not be visible outside.
  std::unordered_map<key_id, retained_key> retained;
  /// The store's answers for keys of the turn.
  std::unordered_map<key_id, retained_key> recalled;
};

} // namespace codeq::core
