// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/commands/effect.hpp"
#include "core/commands/heartbeat_command.hpp"

#include <cstdint>
#include <deque>
#include <vector>

namespace codeq::coordinator {

/// Bounds the bodies of tasks that wait for a worker's connection: a shard has granted them, and
/// the socket has not accepted them yet. Each shard has an equal share of the bound, which its last
/// task may exceed. A claim returns the room that the socket has freed. Pure: the session notifies
/// it of events.
class delivery_window {
public:
  /// Tasks of one shard that have waited for too long.
  struct late_tasks {
    shard_id shard{};
    std::vector<core::lease_beat> leases;
  };

  delivery_window(std::size_t shard_count, std::uint64_t bytes_max);

  /// Takes the room that the next claim must return to the shard, or the room that it has
  /// initially.
  [[nodiscard]] std::int64_t take_room(shard_id shard);

  /// The shard's tasks were passed to the connection. `end`: total number of bytes passed to it,
  /// including these tasks.
  void sent(shard_id shard, const core::tasks_granted& granted, std::uint64_t end);

  /// Granted tasks of `bytes` bytes will not be sent.
  void dropped(shard_id shard, std::uint64_t bytes) { shares_[value(shard)].owed += bytes; }

  /// The shard begins anew: what it had granted does not count any more.
  void forget(shard_id shard);

  /// The socket has accepted `bytes` of all bytes passed to the connection.
  void written(std::uint64_t bytes);

  /// The shards that may run out of room unless a claim returns it. Linear in shards.
  [[nodiscard]] std::vector<shard_id> owed() const;

  /// True while a shard may run out of room unless the socket accepts more, or a claim returns
  /// room. Linear in shards.
  [[nodiscard]] bool is_filling() const;

  /// True when the socket has not accepted everything.
  [[nodiscard]] bool is_waiting() const noexcept { return !waiting_.empty(); }

  /// Returns the tasks that have waited since before the last call, each once.
  [[nodiscard]] std::vector<late_tasks> take_late();

private:
  struct run {
    sequence first = 0;
    fencing_token first_token{};
    std::uint32_t count = 0;
  };

  struct delivery {
    shard_id shard{};
    std::uint64_t bytes = 0;
    std::uint64_t end = 0;
    std::vector<run> runs;
    enum class age : std::uint8_t { fresh, seen, late } how_old = age::fresh;
  };

  struct share {
    /// Bytes of waiting deliveries.
    std::uint64_t waiting = 0;
    /// Room that a claim has to return.
    std::uint64_t owed = 0;
  };

  std::uint64_t share_bytes_;
  std::vector<share> shares_;
  std::deque<delivery> waiting_;
};

} // namespace codeq::coordinator
