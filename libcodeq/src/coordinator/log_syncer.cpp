// SPDX-License-Identifier: Apache-2.0
#include "coordinator/log_syncer.hpp"

namespace codeq::coordinator {

actors::log_syncer_actor::behavior_type
log_syncer(actors::log_syncer_actor::pointer self, const log_syncer_options& options) {
  self->set_default_handler(caf::drop);
  return {
    [options](actors::sync_log) -> caf::result<actors::log_synced> {
      auto ok = options.store->sync_log();
      if (ok)
        return actors::log_synced{};
      options.on_failure(ok.error());
      return caf::make_error(caf::sec::runtime_error, to_string(ok.error()));
    },
  };
}

} // namespace codeq::coordinator
