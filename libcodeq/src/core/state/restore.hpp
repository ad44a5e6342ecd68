// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"

#include <vector>

/// How recovery fills the indexes of a shard: in the same way as turns, except that indexes with an
/// element per waiting task are filled at once.
namespace codeq::core {

/// Elements gathered by recovery, to fill those indexes at once.
struct gathered_index {
  std::vector<number_pair> due;
  std::vector<number_pair> dead_ends;
  /// Outcomes, each with the number of tasks that hold it; an outcome occurs again when others are
  /// in between.
  std::vector<number_pair> outcomes;
  /// Keys of ended tasks: a closed task may have had one of them later.
  std::vector<task_key> ended_keys;
  /// Tasks with a key, by its hash.
  std::vector<number_pair> key_holders;
  /// Tasks that keep their place in a group, by the hash of its name, and those of them that are
  /// not gated.
  std::vector<number_pair> members;
  std::vector<number_pair> open_members;
};

/// Puts every task of a recovered segment into the index for its state, or gathers it.
void index_segment(shard_state& state, segment& s, gathered_index& gathered);

/// Adds a segment to its lane and indexes it; `s` is a copy of the segment in a block.
void restore_segment(shard_state& state, segment& s, gathered_index& gathered);

/// Fills the other indexes with the elements gathered from all segments, and chooses the open task
/// of every group. @pre they are empty
void fill_indexes(shard_state& state, gathered_index gathered);

} // namespace codeq::core
