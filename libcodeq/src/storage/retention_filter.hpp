// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/event.hpp"
#include "core/shard_state.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

/// Which outcomes and fates of a shard nobody needs any more. They are dropped while the store
/// rewrites its files, so that no task costs a deletion of its own.
///
/// The rule: everything is judged as of one checkpoint that is synced. A record may go when
///  - it was written at or before that checkpoint: recovery replays only what is behind its
///    checkpoint, and no power cut can take it back to an earlier one;
///  - its retention had passed at the time of that checkpoint, a shard time that is on the disk
///    with it and that no restart goes back behind;
///  - for an outcome, no live task had its latest text in it. Ended tasks do not hold an outcome,
///    also while others of their segment live: their results are kept for their retention. Dead
///    tasks have records of their own.
/// Records of later turns may point only to outcomes of their own or of the checkpoint's state, so
/// what was not held then never is.
namespace codeq::storage {

/// A shard as of a checkpoint.
struct shard_horizon {
  core::log_position through = 0;
  /// Shard time.
  timestamp at;
  /// Outcomes that live tasks need, ascending.
  std::vector<core::log_position> held;
};

/// @pre the state is the one that the checkpoint was taken of
[[nodiscard]] shard_horizon
horizon_of(const core::shard_state& state, const core::checkpoint_taken& checkpoint);

/// The horizons of a store's shards.
using horizon_map = std::map<shard_id, std::shared_ptr<const shard_horizon>>;

/// True when the record may be dropped: an outcome or fate of a shard with a horizon that is past
/// it. Pure. What cannot be read is kept.
[[nodiscard]] bool
may_drop(const horizon_map& horizons, std::string_view key, std::string_view value);

/// Hands horizons from the journal's thread to those that rewrite files. Thread-safe.
class retention_horizons {
public:
  /// @pre the horizon's checkpoint is synced, and is not before the one published last
  void publish(shard_id shard, std::shared_ptr<const shard_horizon> horizon);

  [[nodiscard]] horizon_map all() const;

private:
  mutable std::mutex mutex_;
  horizon_map horizons_;
};

} // namespace codeq::storage
