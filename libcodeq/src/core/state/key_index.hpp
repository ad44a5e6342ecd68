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

/// A key within the index: the queue's number within the shard, the group and the producer's key in
/// one string, which is different for different keys. Volatile, like the numbers of queues.
using key_id = std::string;

[[nodiscard]] key_id
make_key_id(std::uint32_t queue, std::string_view group, std::string_view name);

/// The parts of a `key_id`; the views refer to it.
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

/// Decides which closed holders are still valid.
struct key_horizon {
  timestamp now;
  /// Tasks of the queue below this sequence were purged.
  sequence purged_below = 0;

  [[nodiscard]] bool counts(const retained_key& record) const noexcept {
    return record.expires_at > now && record.seq >= purged_below;
  }
};

/// The owner of each key: of all its holders, the task that became live last. The other holders are
/// kept, because the key falls back to them when the owner is removed. Constant time, except for
/// the few holders of one key.
///
/// Closed holders are in the store. The index contains only those that have an earlier holder in
/// memory, which must not get the key when it closes, and those recalled for the turn.
class key_index {
public:
  key_index() = default;
  key_index(const key_index&) = delete;
  key_index& operator=(const key_index&) = delete;

  /// Adds a holder, or updates the position of the holder with that sequence.
  void hold(const key_id& id, const key_holder& holder);

  /// Removes a holder; does nothing when it is not one.
  void release(const key_id& id, sequence seq);

  /// Keeps a closed holder, in place of the one kept before, while an earlier one is in memory.
  void retain(const key_id& id, const retained_key& record);

  /// Keeps the store's answer for a key until `forget_recalled`.
  void recall(const key_id& id, const retained_key& record);

  void forget_recalled() { recalled_.clear(); }

  /// Removes the closed holder; does nothing when there is none.
  void forget(const key_id& id);

  /// The task that has the key; empty when there is none.
  [[nodiscard]] std::optional<key_holder>
  owner_of(const key_id& id, const key_horizon& horizon) const;

  /// All holders in memory, in an order that must not be visible outside.
  [[nodiscard]] const std::unordered_map<key_id, std::vector<key_holder>>&
  holders() const noexcept {
    return holders_;
  }

  /// The closed holders that are kept, in an order that must not be visible outside.
  [[nodiscard]] const std::unordered_map<key_id, retained_key>& retained() const noexcept {
    return retained_;
  }

private:
  /// Removes a closed holder that has no earlier one in memory.
  void drop_if_alone(const key_id& id);

  /// In ascending order.
  std::unordered_map<key_id, std::vector<key_holder>> holders_;
  std::unordered_map<key_id, retained_key> retained_;
  std::unordered_map<key_id, retained_key> recalled_;
};

} // namespace codeq::core
