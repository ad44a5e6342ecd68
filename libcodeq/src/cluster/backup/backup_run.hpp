// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include <cstdint>
#include <vector>

/// Judges whether the backups of a cluster's coordinators are one of the cluster. Pure.
///
/// They fit together when nothing was handed over between shards from before the first of them was
/// started until the contents of all of them were fixed. Then what a shard has taken is sent in the
/// backup of the other one, and what it has not taken is kept there.
namespace codeq::cluster {

/// The state of each coordinator's backup, sorted by node.
using told_backups = std::vector<backup_status>;

/// Whether a backup of the cluster can begin, when `held` have told that nothing is handed over.
/// `status`: as asked after that. Errors: `unavailable`, `unsupported`, `already`.
[[nodiscard]] result<void> check_start(const cluster_status& status, const told_backups& held);

/// Whether the hold was one without a gap for the same coordinators. Errors: `unavailable`.
[[nodiscard]] result<void> check_hold(const told_backups& held, const told_backups& now);

/// Whether no backup of the coordinators that were held has failed, or is gone with its
/// coordinator. Errors: `unavailable`.
[[nodiscard]] result<void> check_backups(const told_backups& held, const told_backups& now);

/// True when the contents of all backups are settled, so that the hold may end.
[[nodiscard]] bool are_fixed(const told_backups& now);

[[nodiscard]] bool are_running(const told_backups& now);

/// The backup of the cluster. `status`: of before the backups were started, so that a copy that
/// belongs to it has at least the changes that the primary had then. Backups that are not done are
/// left out.
[[nodiscard]] cluster_backup
whole_of(const cluster_status& status, const told_backups& made, std::uint64_t run);

} // namespace codeq::cluster
