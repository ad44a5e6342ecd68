// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/event.hpp"
#include "core/state/shard_state.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

/// Which outcomes, fates, histories and keys of closed tasks nobody needs any more, or has no space
/// for. They are dropped while the store rewrites its files, so that no task costs a deletion of
/// its own.
///
/// A history goes when neither the record of its task's segment nor that segment's fate is in the
/// store, and no copy or fate of the task alone. A segment goes in the write that brings its fate
/// and the copies, and a copy in the write that brings its fate. So when the look-ups find none of
/// them in this order, the fates were dropped, by the rule below and so as of a synced snapshot.
///
/// A key goes when its time was over at the horizon, or when the fate of the task that had it was
/// dropped for want of space: both were written at once.
///
/// The rule of the others: everything is judged as of one snapshot that is synced. A record may
/// go when
///  - it was written at or before that snapshot: recovery replays only what is behind its
///    snapshot, and no power cut can take it back to an earlier one;
///  - its retention had passed at the time of that snapshot, a shard time that is on the disk
///    with it and that no restart goes back behind; or there are too many of its kind;
///  - for an outcome, no live task had its latest text in it. Ended tasks do not hold an outcome,
///    also while others of their segment live: their results are kept for their retention. Dead
///    tasks have records of their own.
/// Records of later turns may point only to outcomes of their own or of the snapshot's state, so
/// what was not held then never is.
namespace codeq::storage {

/// A shard as of a snapshot.
struct shard_horizon {
  shard_id shard{};
  core::log_position through = 0;
  /// Shard time.
  timestamp at;
  /// Outcomes that live tasks need.
  core::position_set held;
};

/// Shares what is held with the state. @pre the state is the one that the snapshot was taken of
[[nodiscard]] shard_horizon
horizon_of(const core::shard_state& state, const core::snapshot_taken& snapshot);

/// The horizons of a store's shards.
using horizon_map = std::map<shard_id, std::shared_ptr<const shard_horizon>>;

/// What records are judged by.
struct retention_view {
  horizon_map horizons;
  /// What is older than this shard time goes before its retention has passed, for want of space.
  timestamp evicted_before{};
};

enum class verdict : std::uint8_t {
  keep,
  /// Its retention has passed.
  past,
  /// It is to make room.
  evicted,
};

/// Says whether the store has a record under a key, counting what cannot be read as there.
using record_lookup = std::function<bool(std::string_view key)>;

/// Whether a record may be dropped: an outcome, fate, history or key of a shard with a horizon.
/// What cannot be read is kept; so are histories when there is no lookup.
[[nodiscard]] verdict judge(
  const retention_view& view,
  std::string_view key,
  std::string_view value,
  const record_lookup& is_there = {});

/// Whether a record of this key takes the place of an older one, which must not come to light when
/// it is dropped.
[[nodiscard]] bool may_hide_older(std::string_view key);

/// Hands horizons from the journal's thread to those that rewrite files. Thread-safe.
class retention_horizons {
public:
  /// @pre the horizon's snapshot is synced, and is not before the one published last
  void publish(std::shared_ptr<const shard_horizon> horizon);

  /// Lets everything older go before its time. Never goes back.
  void evict_before(timestamp time);

  [[nodiscard]] retention_view view() const;

  /// Counts records that were dropped before their time.
  void count_evicted(std::uint64_t records) { evicted_ += records; }

  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

private:
  mutable std::mutex mutex_;
  retention_view view_;
  std::atomic<std::uint64_t> evicted_{0};
};

} // namespace codeq::storage
