// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "core/commands/event.hpp"
#include "core/commands/seq_run.hpp"
#include "core/state/shard_state.hpp"
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

/// Ends of tasks, counted.
struct end_counts {
  std::uint64_t completed = 0;
  std::uint64_t dead = 0;
  std::uint64_t cancelled = 0;
};

/// What is known of a shard while its records are checked one by one: the shard as the next start
/// would recover it, and what the records so far have told.
struct shard_facts {
  shard_id id{};
  const storage::task_store* store = nullptr;
  /// Null when the shard cannot be recovered; a finding says why.
  std::unique_ptr<core::shard_state> state;
  /// The position of the snapshot; 0 when there is none.
  core::log_position snapshot = 0;
  /// No position, sequence or token of the store reaches this number.
  std::uint64_t given_below = 0;

  // From the records.

  /// Behind the last task of the segments, of the blocks and of the fates seen so far.
  sequence next_segment = 0;
  sequence next_in_block = 0;
  sequence next_fate = 0;
  timestamp latest_grant;
  /// By retention: outcomes of a turn have the times of their last ends, in any order.
  std::map<duration, timestamp> latest_outcome;
  /// First token and count of each grant.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> granted;
  std::map<queue_address, end_counts> ended;
  /// Results and errors of ended tasks that are gone: by their retention, or to make room.
  std::uint64_t results_gone = 0;
  /// Entries of histories of tasks that nobody knows; the next rewriting of files drops them.
  std::uint64_t histories_left = 0;

  void count_end(const queue_address& queue, const core::task_entry& entry);

  /// True when there is a record under the key. What cannot be read counts as there: the scan over
  /// all records tells of it.
  [[nodiscard]] bool has(const std::string& key) const;

  /// The record of the segment, no aside, that holds the task.
  [[nodiscard]] std::optional<core::segment_appended> segment_of(sequence seq) const;

  /// The record of the segment or aside that starts with the task, without its bodies.
  [[nodiscard]] std::optional<core::segment_appended> record_of(sequence first) const;

  /// What the shard knows of the task; nothing when it does not know its segment. @pre there is a
  /// state
  [[nodiscard]] std::optional<core::task_entry> known(sequence seq) const;

  /// Whether the shard knows the task as one that was copied out of its segment. @pre as above
  [[nodiscard]] bool is_copied(sequence seq) const;

  /// The outcome at a position, or null.
  [[nodiscard]] const core::leases_ended* outcome_at(core::log_position position);

private:
  /// The one asked for last: neighbours tend to share it.
  std::optional<core::leases_ended> outcome_;
};

} // namespace codeq::maintenance
