// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "core/commands/effect.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace codeq::coordinator {

/// Holds back, in `os` mode, what a shard of a cluster tells others of their follow-ups, until
/// these are synced on all replicas: the others forget them then, and their disks may outlive the
/// disks here. A sync covers all turns before it, so only some turns are synced: the first with
/// follow-ups, and while more of them come one in each `pace`. Numbers are those of commits. Pure;
/// holds as many as the windows of the other shards allow.
class synced_confirmations {
public:
  /// `pace`: 0 when every turn is synced.
  explicit synced_confirmations(duration pace) : pace_(pace) {}

  /// The turn has follow-ups of another shard.
  void note_taken() noexcept { is_wanted_ = pace_ > duration{0}; }

  /// A turn is committed as `number`. Returns true when it has to be synced on all replicas.
  [[nodiscard]] bool submit(std::uint64_t number, monotonic_time now);

  /// The effect may be carried out, since everything up to `committed` is committed.
  void add(core::follow_ups_taken taken, std::uint64_t committed);

  /// Takes the confirmations that are synced. `committed`: the last turn that is committed.
  [[nodiscard]] std::vector<core::follow_ups_taken> take(std::uint64_t committed);

  /// When a turn has to come, also without work for it; empty: never.
  [[nodiscard]] std::optional<monotonic_time> next_look() const;

private:
  struct held {
    core::follow_ups_taken taken;
    /// A sync of this turn covers it, or one of a later turn.
    std::uint64_t commit = 0;
  };

  duration pace_;
  std::deque<held> held_;
  /// Synced turns that are not committed.
  std::deque<std::uint64_t> syncs_;
  /// The last of them, and the last one that is committed.
  std::uint64_t asked_ = 0;
  std::uint64_t synced_ = 0;
  bool is_wanted_ = false;
  /// The next turn is not synced earlier.
  monotonic_time next_sync_{};
};

} // namespace codeq::coordinator
