// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"

namespace codeq::coordinator {

/// The actor of one lease, which gets it when an eighth of it, or `tuning::lease_youth_max`, is
/// over, or at once when its run timeout is near. It decides no time: the shard's `timing_wheel`
/// finds that the deadline has passed, its driver sends `lease_due`, and the actor answers with
/// `core::expire_lease`. It uses no scheduler time until then; a lease that ends early drops the
/// actor's handle.
struct lease_timer_state {
  static constexpr const char* name = "lease_timer";
};

[[nodiscard]] lease_timer_actor::behavior_type lease_timer(
  lease_timer_actor::stateful_pointer<lease_timer_state> self,
  const shard_internal_actor& shard,
  const core::task_lease& lease);

} // namespace codeq::coordinator
