// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "storage/task_store.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {

using shared_write_set = std::shared_ptr<const storage::write_set>;

/// One commit, as the journal makes it.
using write_group = std::vector<shared_write_set>;

/// Expected content of a store.
using contents = std::map<std::string, std::string>;

/// A write set of puts only.
[[nodiscard]] inline shared_write_set
puts(const std::vector<std::pair<std::string, std::string>>& pairs) {
  auto set = std::make_shared<storage::write_set>();
  for (const auto& [key, value] : pairs)
    set->put(key, value);
  return set;
}

/// Reference implementation of a write set, to compare stores with.
inline void apply_to(contents& target, const storage::write_set& set) {
  for (const auto& operation : set.operations())
    if (operation.what == storage::write_set::kind::put)
      target[operation.key] = operation.value;
    else
      target.erase(operation.key);
}

inline void apply_to(contents& target, const write_group& group) {
  for (const auto& set : group)
    apply_to(target, *set);
}

/// All pairs of a store in [begin, end).
[[nodiscard]] inline result<contents> read_all(
  const storage::task_store& store,
  std::string_view begin = {},
  std::string_view end = "\xff\xff\xff\xff") {
  contents found;
  auto done = store.scan(begin, end, [&](std::string_view key, std::string_view value) {
    found.emplace(key, value);
    return true;
  });
  if (!done)
    return done.error();
  return found;
}

} // namespace codeq::test
