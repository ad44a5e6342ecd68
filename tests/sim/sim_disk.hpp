// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/event.hpp"
#include "core/state/shard_state.hpp"
#include "sim/world.hpp"
#include "storage/memory/memory_store.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace codeq::sim {

/// One turn of a shard, as it goes to the journal.
struct turn_writes {
  shard_id shard{};
  std::vector<core::event> events;
  std::shared_ptr<const storage::write_set> writes;
  /// Of the snapshot among the events; null without one.
  std::shared_ptr<const storage::shard_horizon> horizon{};
};

/// The coordinator's disk: the reference store, and beside it every event that is durable, so that
/// what recovery makes of the store can be compared with what a follower would have made of them.
class sim_disk {
public:
  explicit sim_disk(world& all) : world_(all) {}

  [[nodiscard]] storage::memory_store& store() { return store_; }

  void commit(std::vector<turn_writes> group, storage::durability mode);

  /// Everything so far is on the disk.
  void sync();

  /// Records behind the horizon may be dropped from now on.
  void publish(std::shared_ptr<const storage::shard_horizon> horizon);

  /// Rewrites its files without what has passed its retention.
  void compact();

  /// Loses a random part of what is not synced. Returns the moment of the first loss: what was
  /// seen before it is still true.
  virtual_time cut_power();

  /// Every durable event, in the order of the writes.
  [[nodiscard]] const std::vector<std::pair<shard_id, core::event>>& events() const {
    return events_;
  }

  /// What a follower knows that applied every durable event of the shard.
  [[nodiscard]] std::unique_ptr<core::shard_state>
  follow(shard_id shard, std::uint32_t epoch) const;

private:
  struct commit_mark {
    virtual_time when;
    std::size_t events_before = 0;
  };

  world& world_;
  std::shared_ptr<storage::retention_horizons> horizons_ =
    std::make_shared<storage::retention_horizons>();
  storage::memory_store store_{horizons_};
  std::vector<std::pair<shard_id, core::event>> events_;
  std::vector<commit_mark> unsynced_;
};

} // namespace codeq::sim
