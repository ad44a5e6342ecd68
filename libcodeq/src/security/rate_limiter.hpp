// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "security/principal.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

namespace codeq::security {

/// The token buckets of all principals: one per token and scope, shared by all connections of the
/// token. A bucket fills by `per_second` up to `burst`. Thread-safe. Contains at most the
/// principals with a limit that were seen since `forget_idle` removed them.
class rate_limiter {
public:
  /// Takes `cost` from the bucket and returns zero; or takes nothing and returns how long to wait
  /// before the next try. A cost above the burst is accepted when the bucket is full and leaves the
  /// bucket in debt, so that no request is refused for ever.
  [[nodiscard]] duration
  take(const principal& who, rate_scope scope, std::uint64_t cost, monotonic_time now);

  /// Removes the buckets that are full again at `now`.
  void forget_idle(monotonic_time now);

private:
  struct bucket {
    rate limit;
    /// In thousandths; negative: debt.
    std::int64_t level = 0;
    monotonic_time filled_at{};
  };

  [[nodiscard]] static std::int64_t level_at(const bucket& b, monotonic_time now);

  std::mutex mutex_;
  std::map<token_digest, std::array<bucket, rate_scopes>> buckets_;
};

} // namespace codeq::security
