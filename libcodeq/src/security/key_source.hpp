// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "security/jwk_set.hpp"

#include <functional>
#include <memory>
#include <mutex>

namespace codeq::security {

/// When the keys of an issuer are read again: `interval` after the last time, or `pause` after it
/// when that failed or when a token named an unknown key. Pure.
class refresh_schedule {
public:
  /// @pre `interval` is positive
  explicit refresh_schedule(duration interval);

  /// The time of the next refresh; in the past when it is due.
  [[nodiscard]] monotonic_time next() const noexcept;

  void done(bool is_good, monotonic_time now) noexcept;

  /// A token named an unknown key.
  void hurry() noexcept { is_urgent_ = true; }

private:
  duration interval_;
  duration pause_;
  bool is_urgent_ = false;
  monotonic_time last_{};
};

/// The current keys of an issuer. Keys stay in use when a refresh fails, until they are older than
/// `stale_after`. Thread-safe.
class key_source {
public:
  /// `wanted` is called on any thread when a token names a key that is not known.
  key_source(duration stale_after, std::function<void()> wanted)
    : stale_after_(stale_after), wanted_(std::move(wanted)) {}

  /// The keys; null when there are none, or only stale ones, at wall-clock time `now`.
  [[nodiscard]] std::shared_ptr<const jwk_set> current(timestamp now) const;

  /// Takes the keys that were read at `now`. Returns whether they differ from those before.
  bool replace(jwk_set keys, timestamp now);

  /// A token named a key that is not among the current ones.
  void want_refresh() const { wanted_(); }

private:
  duration stale_after_;
  std::function<void()> wanted_;
  mutable std::mutex mutex_;
  std::shared_ptr<const jwk_set> keys_;
  timestamp read_at_{};
};

} // namespace codeq::security
