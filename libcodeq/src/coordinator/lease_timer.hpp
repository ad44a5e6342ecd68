// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/coordinator_actors.hpp"
#include "coordinator/timing_wheel.hpp"

#include <unordered_map>

namespace codeq::coordinator {

/// One actor per lease: woken at the deadline it reports `lease_timeout` to its shard, nothing
/// more.
struct lease_timer_state {
  static constexpr const char* name = "lease_timer";
};

[[nodiscard]] actors::lease_timer_actor::behavior_type lease_timer(
  actors::lease_timer_actor::stateful_pointer<lease_timer_state> self,
  const actors::shard_internal_actor& shard,
  const core::task_lease& lease);

/// The timers of one shard's leases and the wheel that wakes them. A timer costs no scheduler time
/// until it is due, and ending a lease early is dropping a handle. Used by the shard's actor.
class lease_timers {
public:
  explicit lease_timers(monotonic_time now) : wheel_(now) {}

  /// Wakes the lease's timer at the deadline; makes the timer when the lease has none.
  void want(
    caf::actor_system& system,
    const actors::shard_internal_actor& shard,
    const core::timer_wanted& wanted);

  /// The lease ended; nothing happens when it had no timer.
  void drop(fencing_token token) { timers_.erase(token); }

  /// Wakes the timers whose time has come.
  void wake_due(monotonic_time now);

  /// When to call `wake_due` again.
  [[nodiscard]] std::optional<monotonic_time> next_look() const;

  /// Timer actors that live.
  [[nodiscard]] std::size_t size() const noexcept { return timers_.size(); }

private:
  timing_wheel wheel_;
  std::unordered_map<fencing_token, actors::lease_timer_actor> timers_;
};

} // namespace codeq::coordinator
