// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "security/principal.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

namespace codeq::security {

/// The token buckets of all principals: one per token and scope, shared by all its connections.
/// A bucket fills by `per_second` up to `burst`. Thread-safe; holds at most as many principals as
/// bear a token with a limit and were seen since they were last forgotten.
class rate_limiter {
public:
  /// Takes `cost` from the bucket and returns zero, or returns how long to wait before asking again
  /// and takes nothing. More than a whole burst is let pass when the bucket is full, and leaves it
  /// in debt, so that nothing is refused for ever.
  [[nodiscard]] duration
  take(const principal& who, rate_scope scope, std::uint64_t cost, monotonic_time now);

  /// Forgets all whose buckets are full again at `now`.
  void forget_idle(monotonic_time now);

private:
  struct bucket {
    rate limit;
    /// In thousandths; negative is debt.
    std::int64_t level = 0;
    monotonic_time filled_at{};
  };

  [[nodiscard]] static std::int64_t level_at(const bucket& b, monotonic_time now);

  std::mutex mutex_;
  std::map<token_digest, std::array<bucket, rate_scopes>> buckets_;
};

} // namespace codeq::security
