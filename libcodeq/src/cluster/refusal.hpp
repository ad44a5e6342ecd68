// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "base/tuning.hpp"
#include "replication/membership.hpp"

#include <string>
#include <utility>

namespace codeq::cluster {

/// The error of a change of the cluster that its state does not allow; `words` say why.
inline error refused(std::string words) {
  return {errc::invalid_argument, std::move(words)};
}

/// Why an epoch beyond `replication::forceable_epoch_max` cannot be raised.
inline std::string
refused_epoch(const std::string& shard, replication::epoch_number epoch) {
  return "the epoch of " + shard + " is " + std::to_string(epoch) + ", too large to be raised by "
         + std::to_string(replication::forced_epochs) + ": the largest epoch is "
         + std::to_string(tuning::epoch_max);
}

} // namespace codeq::cluster
