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
  /// Determines whether the batch must survive a power cut.
  storage::durability mode = storage::durability::sync;
  /// In place of turns: the store's own record in a higher epoch, for the shard that requested it.
  std::shared_ptr<const storage::write_set> identity{};
  std::uint32_t epoch = 0;
  shard_id epoch_for{};

  [[nodiscard]] bool is_full() const;
};

struct journal_options {
  storage::durability mode = storage::durability::sync;
  /// The store's own record, as it is on disk.
  storage::store_record identity{};
};

/// The journal's interface to its driver. Calls return before they call the journal back.
class journal_port {
public:
  using time_point = sync_pace::time_point;

  virtual ~journal_port() = default;

  /// Writes a group with the durability of its mode; answered by `written`. One at a time.
  virtual void begin_write(const commit_group& group) = 0;

  /// Syncs everything written so far; answered by `synced`. One at a time.
  virtual void begin_sync() = 0;

  /// All commits of the shard up to this number are durable.
  virtual void committed(shard_id shard, std::uint64_t number) = 0;

  /// The store is durably in this epoch.
  virtual void epoch_raised(shard_id shard, std::uint32_t epoch) = 0;

  /// Records behind this horizon may be dropped: its snapshot is synced.
  virtual void publish_horizon(std::shared_ptr<const storage::shard_horizon> horizon) = 0;

  /// Nothing of the shard may be dropped until another horizon of it is published.
  virtual void forget_horizon(shard_id shard) = 0;

  /// Requests a call of `write` after the messages that the journal has already been sent.
  virtual void write_soon() = 0;

  /// Requests a call of `sync` after `wait`.
  virtual void sync_after(sync_pace::time_point::duration wait) = 0;

  /// The store failed: it is unknown whether a write will be found after a restart, so nothing may
  /// be confirmed. Must end the process, or at least never call the journal again.
  virtual void fail(const error& reason) = 0;
};

/// The only writer of the store: gathers the writes of all shards into groups, writes one group at
/// a time, then notifies each shard up to which number its commits are durable. In `os` mode it
/// syncs the log after the commits, and lets commits wait when the disk falls behind. Uses no
/// actor, clock or disk: its driver calls it from one thread and passes the time.
class journal {
public:
  using time_point = sync_pace::time_point;

  /// @pre `port` outlives the journal
  journal(journal_options options, journal_port& port);

  /// Adds a turn to the group. The first one requests the write, which happens after the turns that
  /// are already queued have joined the group. A turn that `is_synced` has its group synced in both
  /// modes.
  void gather(turn_commit turn, time_point now);

  void write(time_point now);

  /// The current group is durable; or an error, after which that is unknown.
  void written(const result<void>& how, time_point now);

  /// Syncs everything committed so far, unless a sync is in progress.
  void sync();

  /// The current sync is done; or an error, after which that is unknown.
  void synced(const result<void>& how, time_point now);

  /// Begins an epoch for a shard. It is durable before the shard is notified, in both modes. Epochs
  /// belong to the store, so that no two shards write different ones one after the other.
  void raise_epoch(shard_id shard, time_point now);

private:
  /// True when commits are as far ahead of the disk as allowed; a sync is then in progress.
  [[nodiscard]] bool waits_for_disk(time_point now);
  [[nodiscard]] commit_group& open_group();
  void sync_at(std::optional<time_point> when, time_point now);
  void publish(storage::horizon_map horizons);
  /// Also those of turns that are not synced yet.
  void forget_horizons(shard_id shard);

  journal_options options_;
  journal_port& port_;
  /// Groups that wait to be written. Bounded by unanswered requests: `producer_requests_max` of
  /// each producer, and the windows of workers.
  std::deque<commit_group> groups_;
  std::optional<commit_group> writing_;
  time_point writing_since_{};
  sync_pace pace_;
  /// The newest horizon of each shard: those of snapshots that the current sync does not cover, and
  /// those that it covers.
  storage::horizon_map horizons_;
  storage::horizon_map covered_horizons_;
};

} // namespace codeq::coordinator
