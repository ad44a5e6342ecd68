// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/event.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
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

/// Which task has a key: of all its holders, in memory and closed, the one that became live last.
/// The others are kept because the key falls back to them when that one is removed. Constant time
/// but for the few holders of one key.
class key_index {
public:
  key_index() = default;
  key_index(const key_index&) = delete;
  key_index& operator=(const key_index&) = delete;

  /// Adds a holder, or moves the one with that sequence to its new place.
  void hold(const key_id& id, const key_holder& holder);

  /// Takes a holder out. Nothing when it is not one.
  void release(const key_id& id, sequence seq);

  /// Keeps a closed holder, in place of the one kept before.
  void retain(const key_id& id, const retained_key& record);

  /// Forgets the closed holder. Nothing when there is none.
  void forget(const key_id& id);

  /// The task that has the key, or nothing. Closed ones whose time is over do not count.
  [[nodiscard]] std::optional<key_holder> owner_of(const key_id& id, timestamp now) const;

  /// The keys, at most `limit`, whose closed holders have no time left; the first to end first.
  [[nodiscard]] std::vector<key_id> expired(timestamp now, std::size_t limit) const;

  [[nodiscard]] std::size_t retained_count() const noexcept { return retained_.size(); }

  /// All holders in memory, in no order that may be seen.
  [[nodiscard]] const std::unordered_map<key_id, std::vector<key_holder>>&
  holders() const noexcept {
    return holders_;
  }

  /// All closed holders, in no order that may be seen.
  [[nodiscard]] const std::unordered_map<key_id, retained_key>& retained() const noexcept {
    return retained_;
  }

private:
  /// Ascending.
  std::unordered_map<key_id, std::vector<key_holder>> holders_;
  std::unordered_map<key_id, retained_key> retained_;
  /// The closed holders by the end of their time; points to the keys of `retained_`, which stay in
  /// their place.
  std::map<std::pair<timestamp, sequence>, const key_id*> ends_;
};

} // namespace codeq::core
