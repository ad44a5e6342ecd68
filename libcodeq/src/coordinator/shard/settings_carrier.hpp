// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace codeq::coordinator {

/// Decides when shard 0 of a cluster sends its settings of queues and limits to the other shards:
/// whenever they change, when a shard is served anew, and again until the shard has confirmed them.
/// Forgotten with the process; a new one begins with all shards. Pure.
class settings_carrier {
public:
  /// A shard that has not confirmed them for so long is sent them again. It may have no room for a
  /// queue until others end, so the time doubles up to `retry_max`.
  static constexpr duration retry{1000};
  static constexpr duration retry_max{32'000};

  /// Carries to the shards 1 to `shards` - 1.
  explicit settings_carrier(std::uint32_t shards);

  /// The version that is in force on the own shard; grows.
  void changed(std::uint64_t version) { version_ = version; }

  /// The shard has taken over what was sent with this version; 0: it may have other settings since.
  void confirmed(shard_id by, std::uint64_t version);

  /// The shard is served anew, or has a new connection: it may be sent the settings at once.
  void moved(shard_id to);

  /// The next shard to send the settings to; empty: none now.
  [[nodiscard]] std::optional<shard_id> next(monotonic_time now);

  /// When a shard may have to be sent them again; empty: all have confirmed them.
  [[nodiscard]] std::optional<monotonic_time> next_look() const;

  /// Number of shards that have not confirmed the version that is in force.
  [[nodiscard]] std::size_t missing() const;

private:
  struct target {
    std::uint64_t confirmed = 0;
    /// The version that was sent last, and when it counts as lost.
    std::uint64_t sent = 0;
    duration wait{0};
    monotonic_time lost_at{};
  };

  std::uint64_t version_ = 0;
  /// The version that all shards are known to have confirmed.
  std::uint64_t settled_ = 0;
  std::map<shard_id, target> targets_;
};

} // namespace codeq::coordinator
