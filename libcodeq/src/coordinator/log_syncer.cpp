// SPDX-License-Identifier: Apache-2.0
#include "coordinator/log_syncer.hpp"

namespace codeq::coordinator {

actors::log_syncer_actor::behavior_type log_syncer(
  actors::log_syncer_actor::pointer self, const std::shared_ptr<storage::task_store>& store) {
  self->set_default_handler(caf::drop);
  return {
    [store](actors::sync_log) { return actors::log_synced{store->sync_log()}; },
  };
}

} // namespace codeq::coordinator
