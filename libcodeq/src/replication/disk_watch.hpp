// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"
#include "replication/timing.hpp"

#include <algorithm>
#include <optional>

namespace codeq::replication {

/// Tells a disk that hangs from one that is slow, by the time that its writes take. When the disks
/// of all members are slow, a primary that gave up its epoch for that would be followed by one that
/// has to do the same, and so on.
class disk_watch {
public:
  /// A write has begun.
  void begin(monotonic_time now) {
    if (!since_)
      since_ = now;
  }

  /// A write has ended; `has_more`: others have not.
  void end(bool has_more, monotonic_time now) {
    if (since_)
      note(now - *since_, now);
    since_.reset();
    if (has_more)
      since_ = now;
  }

  /// The writes that have begun are not waited for any more.
  void forget_writes() { since_.reset(); }

  /// Whether no write has ended for `timing::hung_disk`, or for twice the time of the slowest write
  /// of late if that is longer; `longest` is enough in any case.
  [[nodiscard]] bool hangs(monotonic_time now, duration longest) const {
    return since_ && *since_ + std::clamp(2 * slowest_, timing::hung_disk, longest) < now;
  }

private:
  void note(duration took, monotonic_time now) {
    if (took < slowest_ && now < noted_ + timing::slow_disk_remembered)
      return;
    // Half of the old one: twice that is enough for each write that was not noted since.
    slowest_ = std::max(std::min(took, timing::slow_disk_at_start), slowest_ / 2);
    noted_ = now;
  }

  /// Since when the disk has ended no write, while one is under way.
  std::optional<monotonic_time> since_;
  /// The slowest write of late, and when it ended.
  duration slowest_{0};
  monotonic_time noted_{};
};

} // namespace codeq::replication
