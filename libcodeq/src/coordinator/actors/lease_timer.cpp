// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/lease_timer.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>

namespace codeq::coordinator {

lease_timer_actor::behavior_type lease_timer(
  lease_timer_actor::stateful_pointer<lease_timer_state> self,
  const shard_internal_actor& shard,
  const core::task_lease& lease) {
  self->set_default_handler(caf::drop);
  return {
    [self, shard, lease](lease_due) {
      self->send(shard, shard_command{core::expire_lease{lease.seq, lease.token}});
    },
  };
}

bool lease_timers::make(shard_internal_actor::pointer self, const core::task_lease& lease) {
  auto& timer = timers_[lease.token];
  if (timer)
    return false;
  // Lazily initialised and hidden: the actor is not scheduled before its first message, and a lease
  // that ends early costs no more than its memory.
  timer = self->system().spawn<caf::lazy_init + caf::hidden>(
    lease_timer, caf::actor_cast<shard_internal_actor>(self), lease);
  return true;
}

void lease_timers::fire(shard_internal_actor::pointer self, fencing_token token) {
  if (auto timer = timers_.find(token); timer != timers_.end())
    self->send(timer->second, lease_due{});
}

} // namespace codeq::coordinator
