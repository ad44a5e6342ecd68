// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/shard/hand_over_hold.hpp"

#include <cstdint>
#include <mutex>

namespace codeq::coordinator {

/// The hold of all shards of a coordinator. Thread-safe.
class shared_hold final : public hand_over_hold {
public:
  /// `number`: random, so that the holds of a coordinator that was started anew are others.
  explicit shared_hold(std::uint64_t number) : number_(number) {}

  /// Begins a hold, or has the present one last until then. Returns the number of the hold, which
  /// is another one when the last one was over.
  std::uint64_t extend(monotonic_time until, monotonic_time now) {
    std::lock_guard lock(mutex_);
    if (now >= until_)
      ++number_;
    until_ = until;
    return number_;
  }

  void end() {
    std::lock_guard lock(mutex_);
    until_ = {};
  }

  [[nodiscard]] bool lasts(monotonic_time now) const override {
    std::lock_guard lock(mutex_);
    return now < until_;
  }

private:
  mutable std::mutex mutex_;
  std::uint64_t number_;
  monotonic_time until_{};
};

} // namespace codeq::coordinator
