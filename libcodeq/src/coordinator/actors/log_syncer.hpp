// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"
#include "storage/task_store.hpp"

#include <memory>

namespace codeq::coordinator {

/// Syncs the log in `os` mode on a thread of its own, since that may take a second, and the journal
/// shares the thread of the sockets.
[[nodiscard]] log_syncer_actor::behavior_type
log_syncer(log_syncer_actor::pointer self, const std::shared_ptr<storage::task_store>& store);

} // namespace codeq::coordinator
