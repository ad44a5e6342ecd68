// SPDX-License-Identifier: Apache-2.0
#include "etcd/history.hpp"

#include <algorithm>

namespace codeq::etcd {

history::verdict
history::note(const header& answer, bool is_decision, std::uint64_t at_sending) {
  if (known_.cluster_id == 0)
    known_.cluster_id = answer.cluster_id;
  if (answer.cluster_id != known_.cluster_id) {
    replaced_because_ = "etcd has cluster id " + std::to_string(answer.cluster_id) + ", but "
                        + std::to_string(known_.cluster_id) + " is known";
    return verdict::replaced;
  }
  if (is_decision && answer.revision < at_sending) {
    replaced_because_ = "etcd is at revision " + std::to_string(answer.revision) + ", but was at "
                        + std::to_string(at_sending) + " before";
    return verdict::replaced;
  }
  if (!replaced_because_.empty())
    return verdict::replaced;
  if (answer.revision < at_sending)
    return verdict::stale;
  known_.revision = std::max(known_.revision, answer.revision);
  return verdict::fits;
}

} // namespace codeq::etcd
