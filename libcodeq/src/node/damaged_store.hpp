// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"
#include "codeq/result.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

/// A coordinator whose store is damaged ends. In a cluster it marks the store first, and its next
/// start replaces the store by an empty one, which gets copies again, unless the cluster needs the
/// data of the store.
namespace codeq::node {

/// As many damaged stores are kept beside the store; with more of them, the disk has to be looked
/// at before a coordinator uses it again.
inline constexpr std::size_t damaged_stores_max = 3;

/// The coordinator of a store.
struct store_owner {
  std::filesystem::path data;
  /// Empty: it is alone.
  std::string cluster;
  /// Its name in the cluster.
  std::string node;
};

[[nodiscard]] store_owner owner_of(const coordinator_node_options& options);

/// Adds to an error of a damaged store what an operator can do; others stay as they are.
[[nodiscard]] error advise_on_damage(error why, const store_owner& owner);

/// Marks a store that was open in a cluster for the next start when the error says that it is
/// damaged. Returns the error and what follows from it: `unavailable` when the store is marked,
/// since a restart helps; else as `advise_on_damage`.
[[nodiscard]] error note_damage(error why, const store_owner& owner);

/// A function that ends the process because its store failed: nothing may be answered any more,
/// since memory may be ahead of the disk. It marks a damaged store of a cluster first. Thread-safe.
[[nodiscard]] std::function<void(const error& reason)>
end_on_failure(const coordinator_node_options& options);

/// Renames the directory of a store, with a time in its name, and creates an empty one in its
/// place; both are synced. Returns the directory that has the store now. Errors: `invalid_argument`
/// when a restart does not help, else `unavailable`. @pre no process has the store open
[[nodiscard]] result<std::filesystem::path> set_aside(const std::filesystem::path& data);

/// The damaged stores that were set aside beside the store, sorted.
[[nodiscard]] std::vector<std::filesystem::path>
stores_set_aside(const std::filesystem::path& data);

/// Sets a store that is marked as damaged aside, so that the coordinator starts with an empty one.
/// Before that, waits until other coordinators serve all shards of which it has a copy, and its
/// copies do not count as in sync any more. Does nothing without a mark. Errors: `corruption` names
/// the shards whose last copy in sync the store has, or says that there are `damaged_stores_max`
/// already; `unavailable` names the shards that others do not serve in time; as `cluster_door` and
/// `set_aside`. @pre the coordinator is one of a cluster; the directory exists
[[nodiscard]] result<void> replace_damaged_store(const coordinator_node_options& options);

} // namespace codeq::node
