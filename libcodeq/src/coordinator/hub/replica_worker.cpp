// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/replica_worker.hpp"

#include <caf/send.hpp>

namespace codeq::coordinator {

replica_worker_actor::behavior_type replica_worker(replica_worker_actor::pointer self) {
  self->set_default_handler(caf::drop);
  return {
    [](const replica_work& m) { caf::anon_send(m.from, m.run()); },
  };
}

} // namespace codeq::coordinator
