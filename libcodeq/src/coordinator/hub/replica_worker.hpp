// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"

namespace codeq::coordinator {

/// Does the work for which replicas would have to wait, in order, on a thread of its own.
[[nodiscard]] replica_worker_actor::behavior_type
replica_worker(replica_worker_actor::pointer self);

} // namespace codeq::coordinator
