// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "cluster/catalogue.hpp"

#include <cstdint>
#include <optional>

/// The format of the records in the stores of one cluster. A store is copied as it is, so each
/// coordinator has to read what any other one writes.
namespace codeq::cluster {

/// Checks that a coordinator that reads formats up to `store_format_max` may be in the cluster.
/// Errors: `incompatible_store`, with what to do.
[[nodiscard]] result<void>
check_format(const cluster_record& cluster, std::uint32_t store_format_max);

/// The cluster's record with the newest format that all its coordinators read. Nothing while it has
/// that format, or while a coordinator with a copy is not there, which may be of an older version.
[[nodiscard]] std::optional<cluster_record> with_raised_format(const catalogue& known);

} // namespace codeq::cluster
