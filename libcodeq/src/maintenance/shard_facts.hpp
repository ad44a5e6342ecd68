// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "core/commands/event.hpp"
#include "core/commands/seq_run.hpp"
#include "core/state/shard_state.hpp"
#include "replication/membership.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/task_store.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::maintenance {

/// Numbers of ended tasks.
struct end_counts {
  std::uint64_t completed = 0;
  std::uint64_t dead = 0;
  std::uint64_t cancelled = 0;
};

/// State of a shard's verification: the shard as the next start would recover it, and facts from
/// the records that were checked so far.
struct shard_facts {
  shard_id id{};
  const storage::task_store* store = nullptr;
  /// Null when the shard cannot be recovered; a finding contains the reason.
  std::unique_ptr<core::shard_state> state;
  /// The records are a part of a copy that was not finished: nothing about them can be checked.
  bool is_partial = false;
  /// The position of the snapshot; 0 without one.
  core::log_position snapshot = 0;
  /// The last delta of the store's replica of the shard; 0 without one.
  replication::position replica_last;
  /// All positions, sequences and tokens in the store are below this number.
  std::uint64_t given_below = 0;

  // Facts from the records.

  /// The first sequence after the tasks of the segments, of the blocks and of the fates seen so
  /// far.
  sequence next_segment = 0;
  sequence next_in_block = 0;
  sequence next_fate = 0;
  /// The tasks of the asides, in ascending order.
  std::vector<sequence> asides;
  timestamp latest_grant;
  /// Keyed by retention: the outcomes of one turn have the times of their last ends, in any order.
  std::map<duration, timestamp> latest_outcome;
  /// First token and count of each grant.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> granted;
  std::map<queue_address, end_counts> ended;
  /// Number of results and errors of ended tasks that were removed: by their retention, or to make
  /// room.
  std::uint64_t results_gone = 0;
  /// Number of history entries of tasks that no longer exist; the next rewrite of files drops them.
  std::uint64_t histories_left = 0;

  void count_end(const queue_address& queue, const core::task_entry& entry);

  /// True when a record exists under the key. An unreadable record counts as existing, because the
  /// scan over all records reports it.
  [[nodiscard]] bool has(const std::string& key) const;

  /// The record of the segment or aside that starts with the task, without its bodies.
  [[nodiscard]] std::optional<core::segment_appended> record_of(sequence first) const;

  /// The task's entry in the recovered shard; empty when the shard does not have its segment. @pre
  /// there is a state
  [[nodiscard]] std::optional<core::task_entry> known(sequence seq) const;

  /// Whether the shard knows the task as one that was copied out of its segment. @pre as above
  [[nodiscard]] bool is_copied(sequence seq) const;

  /// The outcome at a position, or null.
  [[nodiscard]] const core::leases_ended* outcome_at(core::log_position position);

private:
  /// The latest outcome that was read: adjacent tasks often share it.
  std::optional<core::leases_ended> outcome_;
};

} // namespace codeq::maintenance
