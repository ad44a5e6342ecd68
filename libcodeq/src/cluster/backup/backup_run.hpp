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

/// Why no backup of the cluster can begin, although `held` have told that nothing is handed over;
/// none when it can. `status`: as asked after that.
[[nodiscard]] error flaw_at_start(const cluster_status& status, const told_backups& held);

/// Why the hold was not one without a gap for the same coordinators; none when it was.
[[nodiscard]] error flaw_of_hold(const told_backups& held, const told_backups& now);

/// Why the backup of one of the coordinators that were held failed, or is gone with it; none
/// otherwise.
[[nodiscard]] error flaw_of_backups(const told_backups& held, const told_backups& now);

/// True when the contents of all backups are settled, so that the hold may end.
[[nodiscard]] bool are_fixed(const told_backups& now);

[[nodiscard]] bool are_running(const told_backups& now);

/// The backup of the cluster. `status`: of before the backups were started, so that a copy that
/// belongs to it has at least the changes that the primary had then. Backups that are not done are
/// left out.
[[nodiscard]] cluster_backup
whole_of(const cluster_status& status, const told_backups& made, std::uint64_t run);

} // namespace codeq::cluster
