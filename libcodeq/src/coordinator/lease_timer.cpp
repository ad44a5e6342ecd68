// SPDX-License-Identifier: Apache-2.0
#include "coordinator/lease_timer.hpp"

namespace codeq::coordinator {

actors::lease_timer_actor::behavior_type lease_timer(
  actors::lease_timer_actor::stateful_pointer<lease_timer_state> self,
  const actors::shard_internal_actor& shard,
  const core::task_lease& lease) {
  self->set_default_handler(caf::drop);
  return {
    [self, shard, lease](actors::lease_due) {
      self->send(shard, actors::lease_timeout{lease.seq, lease.token});
    },
  };
}

void lease_timers::want(
  caf::actor_system& system,
  const actors::shard_internal_actor& shard,
  const core::timer_wanted& wanted) {
  auto& timer = timers_[wanted.token];
  // Lazily initialised and hidden: it is not scheduled before its first message, and a lease that
  // ends early costs no more than its memory.
  if (!timer)
    timer = system.spawn<caf::lazy_init + caf::hidden>(
      lease_timer, shard, core::task_lease{wanted.seq, wanted.token});
  wheel_.add(wanted.token, wanted.deadline);
}

void lease_timers::wake_due(monotonic_time now) {
  for (auto token : wheel_.take_due(now)) {
    if (auto timer = timers_.find(token); timer != timers_.end())
      caf::anon_send(timer->second, actors::lease_due{});
  }
}

std::optional<monotonic_time> lease_timers::next_look() const {
  // The wheel may hold tokens whose leases ended; with no timer left there is nothing to wake.
  return timers_.empty() ? std::nullopt : wheel_.next_look();
}

} // namespace codeq::coordinator
