// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/log_syncer.hpp"

namespace codeq::coordinator {

log_syncer_actor::behavior_type
log_syncer(log_syncer_actor::pointer self, const std::shared_ptr<storage::task_store>& store) {
  self->set_default_handler(caf::drop);
  return {
    [store](sync_log) { return log_synced{store->sync_log()}; },
  };
}

} // namespace codeq::coordinator
