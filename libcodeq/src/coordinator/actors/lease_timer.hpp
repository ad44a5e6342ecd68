// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "coordinator/actors/coordinator_actors.hpp"

#include <unordered_map>

namespace codeq::coordinator {

/// The actor of one lease, which gets it when an eighth of it, or `tuning::lease_timer_delay_max`,
/// is over, or at once when its run timeout is near. It decides no time: the shard's `timing_wheel`
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

/// The timers of a shard's leases, by token. Used by the actor of the shard.
class lease_timers {
public:
  /// Creates the lease's timer unless it exists. Returns true if it was created.
  bool make(shard_internal_actor::pointer self, const core::task_lease& lease);

  /// Has the timer send `core::expire_lease`, unless it was dropped.
  void fire(shard_internal_actor::pointer self, fencing_token token);

  /// Returns true if the timer existed.
  bool drop(fencing_token token) { return timers_.erase(token) > 0; }

private:
  std::unordered_map<fencing_token, lease_timer_actor> timers_;
};

} // namespace codeq::coordinator
