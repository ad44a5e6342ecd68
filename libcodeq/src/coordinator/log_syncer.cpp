// SPDX-License-Identifier: Apache-2.0
#include "coordinator/log_syncer.hpp"

namespace codeq::coordinator {

namespace {

void sync(const log_syncer_options& options, const actors::sync_log& m) {
  if (auto ok = options.store->sync_log(); !ok)
    return options.on_failure(ok.error());
  for (const auto& horizon : m.horizons)
    options.horizons->publish(horizon);
}

} // namespace

actors::log_syncer_actor::behavior_type
log_syncer(actors::log_syncer_actor::pointer self, const log_syncer_options& options) {
  self->set_default_handler(caf::drop);
  return {
    [options](const actors::sync_log& m) { sync(options, m); },
  };
}

} // namespace codeq::coordinator
