// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/store_actors.hpp"
#include "storage/record_codec.hpp"
#include "storage/task_store.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
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
};

/// The state of the journal: the group that gathers while the one before is written.
class journal_state {
public:
  static constexpr const char* name = "journal";

  void start(actors::journal_actor::pointer self, journal_options options);

  /// Adds a shard's writes to the group; the first one makes the group be written as soon as what
  /// is queued already has joined it.
  void gather(actors::commit_request request);
  void write();
  void sync();

  /// Begins an epoch for a shard: durable before the shard hears of it, in both modes. Epochs are
  /// the store's, so that no two shards write different ones one after the other.
  void raise_epoch(const actors::raise_epoch& m);

private:
  /// Everything committed so far is on the disk.
  void publish_horizons();

  actors::journal_actor::pointer self_ = nullptr;
  journal_options options_;
  std::vector<actors::commit_request> group_;
  std::size_t group_bytes_ = 0;
  bool sync_armed_ = false;
  /// Committed, maybe not synced; in order.
  std::vector<std::shared_ptr<const storage::shard_horizon>> horizons_;
};

/// The only writer of the store, on a thread of its own: concatenates the writes of all shards into
/// one batch, commits it, then tells each shard up to which number it is durable. A failed write
/// stops the process: it may or may not be found after a restart, so nothing may be said about it.
[[nodiscard]] actors::journal_actor::behavior_type journal(
  actors::journal_actor::stateful_pointer<journal_state> self, const journal_options& options);

} // namespace codeq::coordinator
