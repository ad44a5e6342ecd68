// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/blocks/packed_set.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace codeq::core {

/// The hash of a group's or a key's name within the shard. Different names may have the same one.
/// Volatile, like the numbers of queues and the seed.
using name_hash = std::uint64_t;

/// Hashes names by XXH3 with a seed. With a random one nobody can choose names whose hashes are
/// equal, which would make all of them slow.
class name_hasher {
public:
  explicit name_hasher(std::uint64_t seed) : seed_(seed) {}

  /// `queue`: its number within the shard.
  [[nodiscard]] name_hash of_group(std::uint32_t queue, std::string_view group) const noexcept;

  [[nodiscard]] name_hash
  of_key(std::uint32_t queue, std::string_view group, std::string_view name) const noexcept;

private:
  std::uint64_t seed_;
};

/// Tasks by the hash of a name, in the order of their enqueue: about 17 bytes per task. Names may
/// have equal hashes, so a caller compares its name with that of each task found. Costs as in
/// `packed_set`, with short leaves.
class name_index {
public:
  /// Does nothing when the task is in the index.
  void insert(name_hash name, sequence seq) {
    if (!contains(name, seq))
      tasks_.insert({name, seq});
  }

  void erase(name_hash name, sequence seq) { tasks_.erase({name, seq}); }

  [[nodiscard]] bool contains(name_hash name, sequence seq) const {
    return tasks_.contains({name, seq});
  }

  /// The first task from `from` on; empty when there is none.
  [[nodiscard]] std::optional<sequence> next(name_hash name, sequence from) const {
    auto found = tasks_.first_from({name, from});
    return found && found->first == name ? std::optional(found->second) : std::nullopt;
  }

  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }

  [[nodiscard]] bool empty() const noexcept { return tasks_.empty(); }

  /// Inserts these pairs of a hash and a task at once. @pre the index is empty, and `ascending` is
  /// in ascending order
  void assign(const std::vector<number_pair>& ascending) { tasks_.assign(ascending); }

private:
  /// Names are looked up in random order, and each look-up reads a leaf.
  static constexpr std::size_t leaf_elements_max = 32;

  packed_set tasks_{leaf_elements_max};
};

} // namespace codeq::core
