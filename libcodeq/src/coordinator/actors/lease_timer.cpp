// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/lease_timer.hpp"

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

} // namespace codeq::coordinator
