// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "base/clock.hpp"

namespace codeq::client {

/// The coordinator's shard time as estimated by a client: the time received when the latest
/// connection began, plus the time that has passed since. Used from one thread.
class server_time {
public:
  void note(timestamp said) {
    said_ = said;
    heard_ = clock_.now().steady;
  }

  [[nodiscard]] timestamp now() { return said_ + (clock_.now().steady - heard_); }

private:
  /// Only its monotonic time is used.
  base::system_clock clock_{timestamp{}};
  timestamp said_;
  monotonic_time heard_;
};

} // namespace codeq::client
