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

/// One turn of a shard, as it is written by the journal.
struct turn_writes {
  shard_id shard{};
  std::vector<core::event> events;
  std::shared_ptr<const storage::write_set> writes;
  /// Horizon of the snapshot among the events; null without one.
  std::shared_ptr<const storage::shard_horizon> horizon{};
};

/// The coordinator's disk: the reference store, and in addition every durable event. So the state
/// that recovery makes of the store can be compared with the state of a follower that applied the
/// events.
class sim_disk {
public:
  explicit sim_disk(world& all) : world_(all) {}

  [[nodiscard]] storage::memory_store& store() { return store_; }

  void commit(std::vector<turn_writes> group, storage::durability mode);

  /// Makes everything written so far durable.
  void sync();

  /// Allows records behind the horizon to be dropped.
  void publish(std::shared_ptr<const storage::shard_horizon> horizon);

  /// Rewrites the store's files without records whose retention has passed.
  void compact();

  /// Loses a random part of the unsynced writes. Returns the moment of the first loss: anything
  /// seen before it still holds.
  virtual_time cut_power();

  /// True at the first start after a power cut that may have taken confirmed writes.
  [[nodiscard]] bool take_may_have_lost() { return std::exchange(may_have_lost_, false); }

  /// False while a power cut may lose the record of the task.
  [[nodiscard]] bool is_synced(const task_id& task) const;

  /// Every durable event, in the order of the writes.
  [[nodiscard]] const std::vector<std::pair<shard_id, core::event>>& events() const {
    return events_;
  }

  /// State of a follower that has applied every durable event of the shard.
  [[nodiscard]] std::unique_ptr<core::shard_state>
  follow(shard_id shard, std::uint32_t epoch) const;

private:
  /// Checks that writes in `os` mode are synced in time.
  void check_synced() const;

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
  bool may_have_lost_ = false;
};

} // namespace codeq::sim
