// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/event.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace codeq::core {

/// A key as the index knows it: the number of its queue within the shard, its group and the
/// producer's name in one string, different for different keys. Volatile, as queues' numbers are.
using key_id = std::string;

[[nodiscard]] key_id
make_key_id(std::uint32_t queue, std::string_view group, std::string_view name);

/// The parts of a `key_id`; the views are into it.
struct key_parts {
  std::uint32_t queue = 0;
  std::string_view group;
  std::string_view name;
};

[[nodiscard]] key_parts parts_of(const key_id& id);

/// A task in memory that has, or had, a key.
struct key_holder {
  /// See `held_key`.
  log_position since = 0;
  sequence seq = 0;

  friend auto operator<=>(const key_holder&, const key_holder&) = default;
};

/// From what on a closed holder counts.
struct key_horizon {
  timestamp now;
  /// Tasks of the queue below it were purged.
  sequence purged_below = 0;

  [[nodiscard]] bool counts(const retained_key& record) const noexcept {
    return record.expires_at > now && record.seq >= purged_below;
  }
};

/// Which task has a key: of all its holders, the one that became live last. The others are kept
/// because the key falls back to them when that one is removed. Constant time but for the few
/// holders of one key.
///
/// Closed holders are in the store. Here are only those behind whom an earlier holder is still in
/// memory, which must not take their place when it closes, and those recalled for the turn.
class key_index {
public:
  key_index() = default;
  key_index(const key_index&) = delete;
  key_index& operator=(const key_index&) = delete;

  /// Adds a holder, or moves the one with that sequence to its new place.
  void hold(const key_id& id, const key_holder& holder);

  /// Takes a holder out. Nothing when it is not one.
  void release(const key_id& id, sequence seq);

  /// Keeps a closed holder, in place of the one kept before, while an earlier one is in memory.
  void retain(const key_id& id, const retained_key& record);

  /// Keeps what the store holds of a key until `forget_recalled`.
  void recall(const key_id& id, const retained_key& record);

  void forget_recalled() { recalled_.clear(); }

  /// Forgets the closed holder. Nothing when there is none.
  void forget(const key_id& id);

  /// The task that has the key, or nothing.
  [[nodiscard]] std::optional<key_holder>
  owner_of(const key_id& id, const key_horizon& horizon) const;

  /// All holders in memory, in no order that may be seen.
  [[nodiscard]] const std::unordered_map<key_id, std::vector<key_holder>>&
  holders() const noexcept {
    return holders_;
  }

  /// The closed holders that are kept, in no order that may be seen.
  [[nodiscard]] const std::unordered_map<key_id, retained_key>& retained() const noexcept {
    return retained_;
  }

private:
  /// Forgets a closed holder that has no earlier one in memory.
  void drop_if_alone(const key_id& id);

  /// Ascending.
  std::unordered_map<key_id, std::vector<key_holder>> holders_;
  std::unordered_map<key_id, retained_key> retained_;
  std::unordered_map<key_id, retained_key> recalled_;
};

} // namespace codeq::core
