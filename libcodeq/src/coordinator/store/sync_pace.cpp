// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/sync_pace.hpp"

#include "base/tuning.hpp"

#include <utility>

namespace codeq::coordinator {

std::optional<sync_pace::time_point> sync_pace::committed(time_point now) {
  auto& since = is_syncing_ ? uncovered_since_ : unsynced_since_;
  if (since)
    return std::nullopt;
  since = now;
  if (is_syncing_)
    return std::nullopt;
  return now + tuning::os_sync_interval;
}

bool sync_pace::is_behind(time_point now) const {
  return unsynced_since_ && now >= *unsynced_since_ + tuning::os_unsynced_max;
}

bool sync_pace::begin() {
  if (is_syncing_ || !unsynced_since_)
    return false;
  is_syncing_ = true;
  return true;
}

std::optional<sync_pace::time_point> sync_pace::end() {
  is_syncing_ = false;
  unsynced_since_ = std::exchange(uncovered_since_, std::nullopt);
  if (!unsynced_since_)
    return std::nullopt;
  return *unsynced_since_ + tuning::os_sync_interval;
}

} // namespace codeq::coordinator
