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

/// Decides which outcomes, fates, histories, headers and keys of closed tasks, and which entries of
/// the audit log, may be dropped, because they are no longer needed or because there is no space
/// for them. They are dropped while the store rewrites its files, so that no task costs a deletion
/// of its own.
///
/// A history is dropped when the store contains neither the record of its task's segment nor that
/// segment's fate, and no copy of the task nor the copy's fate. A segment is removed in the write
/// that adds its fate and the copies; a copy is removed in the write that adds its fate. So if they
/// are looked up in this order and none is found, then the fates were dropped, by the rule below
/// and thus as of a synced snapshot.
///
/// The headers of a segment, or of a single task, are dropped by the same rule.
///
/// A key is dropped when it had expired at the horizon, or when the fate of its task was dropped to
/// free space: both were written together.
///
/// An entry of the audit log, which recovery does not need, is dropped when it is older than
/// `limits::audit_retention` at the horizon, or earlier when the log is too large.
///
/// The rule for the others: every record is judged as of one snapshot that is synced. A record may
/// be dropped when
///  - it was written at or before that snapshot: recovery replays only the records after its
///    snapshot, and no power cut can take it back to an earlier one;
///  - its retention had passed at the time of that snapshot, a shard time that is on disk with it
///    and that no restart goes back behind; or there are too many records of its kind;
///  - for an outcome, no live task had its latest text in it. Ended tasks do not hold an outcome,
///    even while other tasks of their segment live: their results are kept for their retention.
///    Dead tasks have records of their own.
/// Records of later turns refer only to outcomes of their own turn or of the snapshot's state, so
/// an outcome that was not held then will never be needed.
namespace codeq::storage {

/// A shard as of a snapshot.
struct shard_horizon {
  shard_id shard{};
  core::log_position through = 0;
  /// Shard time.
  timestamp at;
  /// Outcomes that live tasks need.
  core::position_set held;
  /// False: it is not known which ones those are, so all outcomes are kept.
  bool is_held_known = true;
};

/// Shares the set of held outcomes with the state. @pre `snapshot` was taken of `state`
[[nodiscard]] shard_horizon
horizon_of(const core::shard_state& state, const core::snapshot_taken& snapshot);

/// The horizons of a store's shards.
using horizon_map = std::map<shard_id, std::shared_ptr<const shard_horizon>>;

/// The parameters by which records are judged.
struct retention_view {
  horizon_map horizons;
  /// Records older than this shard time are dropped before their retention has passed, to free
  /// space.
  timestamp evicted_before{};
  /// The same for the audit log.
  timestamp audits_evicted_before{};
};

enum class verdict : std::uint8_t {
  keep,
  /// The record's retention has passed.
  past,
  /// The record is dropped to free space.
  evicted,
};

/// Returns true when the store has a record under the key, even an unreadable one.
using record_lookup = std::function<bool(std::string_view key)>;

/// Judges whether a record may be dropped: an outcome, fate, history, headers, key or audit record
/// of a shard with a horizon. Unreadable records are kept; so are histories and headers when there
/// is no `is_there`.
[[nodiscard]] verdict judge(
  const retention_view& view,
  std::string_view key,
  std::string_view value,
  const record_lookup& is_there = {});

/// True when a record with this key may have overwritten an older one, which must not become
/// visible when the record is dropped.
[[nodiscard]] bool may_hide_older(std::string_view key);

/// Passes horizons from the journal's thread to the threads that rewrite files. Thread-safe.
class retention_horizons {
public:
  /// @pre the horizon's snapshot is synced and not older than the one published before
  void publish(std::shared_ptr<const shard_horizon> horizon);

  /// Nothing of the shard may be dropped until another horizon is published.
  void forget(shard_id shard);

  /// Allows older records to be dropped before their retention has passed. The time never goes
  /// back.
  void evict_before(timestamp time);

  /// The same for the audit log.
  void evict_audits_before(timestamp time);

  [[nodiscard]] retention_view view() const;

  /// Counts records that were dropped before their retention had passed.
  void count_evicted(std::uint64_t records) { evicted_ += records; }

  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

private:
  mutable std::mutex mutex_;
  retention_view view_;
  std::atomic<std::uint64_t> evicted_{0};
};

} // namespace codeq::storage
