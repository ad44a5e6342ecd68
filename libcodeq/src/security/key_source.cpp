// SPDX-License-Identifier: Apache-2.0
#include "security/key_source.hpp"

#include "security/access_limits.hpp"

#include <algorithm>
#include <utility>

namespace codeq::security {

refresh_schedule::refresh_schedule(duration interval)
  : interval_(interval), pause_(std::min(interval, limits::jwks_refresh_pause)) {
}

monotonic_time refresh_schedule::next() const noexcept {
  return last_ + (is_urgent_ ? pause_ : interval_);
}

void refresh_schedule::done(bool is_good, monotonic_time now) noexcept {
  last_ = now;
  is_urgent_ = !is_good;
}

std::shared_ptr<const jwk_set> key_source::current(timestamp now) const {
  std::lock_guard lock(mutex_);
  return now - read_at_ < stale_after_ ? keys_ : nullptr;
}

bool key_source::replace(jwk_set keys, timestamp now) {
  std::lock_guard lock(mutex_);
  read_at_ = now;
  if (keys_ && *keys_ == keys)
    return false;
  keys_ = std::make_shared<const jwk_set>(std::move(keys));
  return true;
}

} // namespace codeq::security
