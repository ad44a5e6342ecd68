// SPDX-License-Identifier: Apache-2.0
#include "coordinator/log_syncer.hpp"

namespace codeq::coordinator {

actors::log_syncer_actor::behavior_type
log_syncer(actors::log_syncer_actor::pointer self, const log_syncer_options& options) {
  self->set_default_handler(caf::drop);
  return {
    [options](actors::sync_log) {
      if (auto ok = options.store->sync_log(); !ok)
        options.on_failure(ok.error());
      return actors::log_synced{};
    },
  };
}

} // namespace codeq::coordinator
