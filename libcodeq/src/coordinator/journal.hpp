// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/store_actors.hpp"
#include "coordinator/sync_pace.hpp"
#include "storage/record_codec.hpp"
#include "storage/task_store.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace codeq::coordinator {

/// What the journal has done since the start; read on any thread.
struct journal_meter {
  std::atomic<std::uint64_t> groups{0};
  /// Parts of shards in all groups together.
  std::atomic<std::uint64_t> parts{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> microseconds{0};
};

struct journal_options {
  std::shared_ptr<storage::task_store> store;
  storage::durability mode = storage::durability::sync;
  /// Called when the store failed; must not return. Nothing is answered from then on.
  std::function<void(const error&)> on_failure;
  /// Learns of synced checkpoints; null when nothing is ever dropped.
  std::shared_ptr<storage::retention_horizons> horizons{};
  /// Null when nobody asks.
  std::shared_ptr<journal_meter> meter{};
  /// The store's own record, as it is on the disk.
  storage::store_record identity{};
  /// Syncs the log in `os` mode; not used in `sync` mode.
  actors::log_syncer_actor syncer{};
};

/// What is written as one batch.
struct commit_group {
  std::vector<actors::commit_request> requests;
  std::size_t bytes = 0;

  [[nodiscard]] bool is_full() const;
};

/// The state of the journal: the groups that gather while it waits for the disk, and how much of
/// what it wrote is there.
class journal_state {
public:
  static constexpr const char* name = "journal";

  void start(actors::journal_actor::pointer self, journal_options options);

  /// Adds a shard's writes to the group; the first one makes the group be written as soon as what
  /// is queued already has joined it.
  void gather(actors::commit_request request);
  void write();

  /// Has everything committed so far synced, unless a sync is under way.
  void sync();

  /// Begins an epoch for a shard: durable before the shard hears of it, in both modes. Epochs are
  /// the store's, so that no two shards write different ones one after the other.
  void raise_epoch(const actors::raise_epoch& m);

private:
  /// True when commits are as far ahead of the disk as they may be; then a sync is under way.
  [[nodiscard]] bool waits_for_disk();
  void commit(commit_group group);
  void sync_at(std::optional<sync_pace::time_point> when);
  void synced(const result<void>& how);
  void publish(storage::horizon_map horizons);

  actors::journal_actor::pointer self_ = nullptr;
  journal_options options_;
  /// More than the one that gathers only while commits wait for the disk. What is unanswered bounds
  /// them: `producer_requests_max` of each producer, and the windows of workers.
  std::deque<commit_group> groups_;
  sync_pace pace_;
  /// The newest of each shard, of checkpoints that the sync under way does not cover, and of those
  /// that it covers.
  storage::horizon_map horizons_;
  storage::horizon_map covered_horizons_;
};

/// The only writer of the store: concatenates the writes of all shards into one batch, commits it,
/// then tells each shard up to which number it is durable. A failed write stops the process: it may
/// or may not be found after a restart, so nothing may be said about it.
[[nodiscard]] actors::journal_actor::behavior_type journal(
  actors::journal_actor::stateful_pointer<journal_state> self, const journal_options& options);

} // namespace codeq::coordinator
