// SPDX-License-Identifier: Apache-2.0
#include "replication/epoch_index.hpp"

#include "base/assert.hpp"

#include <iterator>

namespace codeq::replication {

bool epoch_index::contains(position at) const {
  if (at.number == 0)
    return true;
  const auto begin = begins_.find(at.epoch);
  if (begin == begins_.end() || at.number < begin->second)
    return false;
  const auto next = std::next(begin);
  return next == begins_.end() ? at.number <= last_.number : at.number < next->second;
}

std::optional<epoch_number> epoch_index::append(position at) {
  CODEQ_ASSERT(at.number == last_.number + 1 && at.epoch >= last_.epoch);
  begins_.emplace(at.epoch, at.number);
  last_ = at;
  if (begins_.size() <= epochs_max)
    return std::nullopt;
  const auto forgotten = begins_.begin()->first;
  begins_.erase(begins_.begin());
  return forgotten;
}

} // namespace codeq::replication
