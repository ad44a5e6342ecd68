// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <vector>

/// How recovery fills the indexes of a shard: as turns do, but those that have an element per
/// waiting task at once.
namespace codeq::core {

/// What recovery gathers to fill the indexes of times at once.
struct gathered_index {
  std::vector<number_pair> due;
  std::vector<number_pair> dead_ends;
  /// Outcomes, each with how many tasks hold it; one comes again when others lie between.
  std::vector<number_pair> outcomes;
  /// Of tasks that have ended: a closed task may have had one of them later.
  std::vector<task_key> ended_keys;
};

/// Puts every task of a recovered segment into the index that fits its state, or gathers it.
void index_segment(shard_state& state, segment& s, gathered_index& gathered);

/// Puts a segment into its lane and its key, if it has one, and indexes it; `s` is a copy of what
/// is packed in a block.
void restore_segment(shard_state& state, segment& s, gathered_index& gathered);

/// Fills the indexes with what was gathered of all segments. @pre they are empty
void fill_indexes(shard_state& state, gathered_index gathered);

} // namespace codeq::core
