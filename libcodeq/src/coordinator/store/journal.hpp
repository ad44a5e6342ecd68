// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "coordinator/shard/shard_messages.hpp"
#include "coordinator/store/sync_pace.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/task_store.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// The writes of one batch.
struct commit_group {
  std::vector<turn_commit> turns;
  std::size_t bytes = 0;
  /// Whether a power cut may take it back.
  storage::durability mode = storage::durability::sync;
  /// Instead of turns: the store's own record in a higher epoch, for the shard that asked for it.
  std::shared_ptr<const storage::write_set> identity{};
  std::uint32_t epoch = 0;
  shard_id epoch_for{};

  [[nodiscard]] bool is_full() const;
};

struct journal_options {
  storage::durability mode = storage::durability::sync;
  /// The store's own record, as it is on the disk.
  storage::store_record identity{};
};

/// The outside of the journal. No call leads back into the journal before it has returned.
class journal_port {
public:
  using time_point = sync_pace::time_point;

  virtual ~journal_port() = default;

  /// Writes a group, durably as its mode says; answered by `written`. One at a time.
  virtual void begin_write(const commit_group& group) = 0;

  /// Brings everything written so far to the disk; answered by `synced`. One at a time.
  virtual void begin_sync() = 0;

  /// Everything up to this number of the shard's commits is durable.
  virtual void committed(shard_id shard, std::uint64_t number) = 0;

  /// The store is durably in this epoch.
  virtual void epoch_raised(shard_id shard, std::uint32_t epoch) = 0;

  /// Records behind this horizon may be dropped: its snapshot is synced.
  virtual void publish_horizon(std::shared_ptr<const storage::shard_horizon> horizon) = 0;

  /// Asks for `write` behind what the journal was sent before.
  virtual void write_soon() = 0;

  /// Asks for `sync` after so long.
  virtual void sync_after(sync_pace::time_point::duration wait) = 0;

  /// The store failed: what was written may or may not be found after a restart, so nothing may be
  /// said about it. Must end the process, or at least never call the journal again.
  virtual void fail(const error& reason) = 0;
};

/// The only writer of the store: gathers the writes of all shards into groups, has one group
/// written at a time, then tells each shard up to which number it is durable. In `os` mode it has
/// the log synced behind the commits, and lets commits wait when the disk falls behind. Knows no
/// actor, clock or disk: its driver calls it from one thread, with the time of each call.
class journal {
public:
  using time_point = sync_pace::time_point;

  /// @pre `port` outlives the journal
  journal(journal_options options, journal_port& port);

  /// Adds a turn to the group; the first one makes the group be written as soon as what is queued
  /// already has joined it.
  void gather(turn_commit turn, time_point now);

  void write(time_point now);

  /// The group under way is durable, or why nobody can tell.
  void written(const result<void>& how, time_point now);

  /// Has everything committed so far synced, unless a sync is under way.
  void sync();

  /// The sync under way is done, or why nobody can tell.
  void synced(const result<void>& how, time_point now);

  /// Begins an epoch for a shard: durable before the shard hears of it, in both modes. Epochs are
  /// the store's, so that no two shards write different ones one after the other.
  void raise_epoch(shard_id shard, time_point now);

private:
  /// True when commits are as far ahead of the disk as they may be; then a sync is under way.
  [[nodiscard]] bool waits_for_disk(time_point now);
  [[nodiscard]] commit_group& open_group();
  void sync_at(std::optional<time_point> when, time_point now);
  void publish(storage::horizon_map horizons);

  journal_options options_;
  journal_port& port_;
  /// Groups that wait to be written. Unanswered requests bound it: `producer_requests_max` of each
  /// producer, and the windows of workers.
  std::deque<commit_group> groups_;
  std::optional<commit_group> writing_;
  time_point writing_since_{};
  sync_pace pace_;
  /// The newest of each shard, of snapshots that the sync under way does not cover, and of those
  /// that it covers.
  storage::horizon_map horizons_;
  storage::horizon_map covered_horizons_;
};

} // namespace codeq::coordinator
