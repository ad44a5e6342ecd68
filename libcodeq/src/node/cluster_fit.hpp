// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"
#include "codeq/result.hpp"

#include "cluster/records.hpp"
#include "storage/task_store.hpp"

#include <cstdint>
#include <string>

/// Whether the options of a coordinator, and the store that it has, fit the cluster that it joins.
namespace codeq::node {

/// Copies of each shard in a new cluster, unless the options say how many.
inline constexpr std::uint32_t copies_default = 2;

/// The number of copies that is asked for and the cluster does not have, in words; empty when none
/// is asked for, or the cluster has it.
[[nodiscard]] std::string
other_replicas(const cluster_options& asked, const cluster::cluster_record& record);

/// Checks that a store with so many shards can have copies of the cluster's. Errors:
/// `incompatible_store`.
[[nodiscard]] result<void> check_shards(
  const coordinator_node_options& options,
  std::uint32_t stored,
  const cluster::cluster_record& record);

/// Checks that the store of a coordinator that is alone belongs to no cluster. Errors:
/// `incompatible_store`; of the store.
[[nodiscard]] result<void> check_alone(const storage::task_store& store);

} // namespace codeq::node
