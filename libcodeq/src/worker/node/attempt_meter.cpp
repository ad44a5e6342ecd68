// SPDX-License-Identifier: Apache-2.0
#include "worker/node/attempt_meter.hpp"

namespace codeq::worker {

void attempt_meter::ended(const std::string& queue, disposition how, duration ran) {
  auto& counts = of(queue);
  ++counts.ended[static_cast<std::size_t>(how)];
  counts.run.add(ran);
}

base::attempt_counts& attempt_meter::of(const std::string& queue) {
  if (auto known = counts_.find(queue); known != counts_.end())
    return known->second;
  bool has_place = counts_.size() < metered_queues_max;
  return counts_[has_place ? queue : std::string(base::all_others)];
}

} // namespace codeq::worker
