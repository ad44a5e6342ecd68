// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

namespace codeq::coordinator {

/// While it lasts, the shards of a coordinator take no follow-ups from other shards, and drop none
/// that others have taken, so that backups of several coordinators whose contents are fixed
/// meanwhile fit together. Nothing is lost by that: follow-ups are sent until they are taken.
class hand_over_hold {
public:
  virtual ~hand_over_hold() = default;

  /// Called by the actors of all shards.
  [[nodiscard]] virtual bool lasts(monotonic_time now) const = 0;
};

} // namespace codeq::coordinator
