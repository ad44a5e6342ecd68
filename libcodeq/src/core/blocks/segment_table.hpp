// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "core/blocks/segment_block.hpp"

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace codeq::core {

/// How much of a shard's segments is unpacked. Tests have smaller ones.
struct paging_limits {
  /// What a snapshot leaves unpacked: a segment counts `segment_weight`, and each of its touched
  /// tasks 1.
  std::size_t weight_kept = limits::unpacked_weight_kept;
  /// A snapshot is due at this weight.
  std::size_t weight_max = limits::unpacked_weight_max;
  std::uint32_t block_segments_max = limits::block_segments_max;
  std::size_t block_tasks_max = limits::block_tasks_max;
  /// A segment is sparse when this part of its tasks is left, or less.
  std::uint32_t sparse_part = limits::sparse_part;
};

/// All segments of a shard that have a task to keep. Those that something happened to lately are as
/// they are; each snapshot packs what changed into blocks, and leaves unpacked what fits the
/// limits, the oldest first. Looking a task up unpacks its segment: whoever asks cannot tell.
/// A reference stays valid until the next `install`.
class segment_table {
public:
  /// Behind every task.
  static constexpr sequence no_end = std::numeric_limits<sequence>::max();

  /// What an untouched segment counts in `weight`.
  static constexpr std::size_t segment_weight = 8;

  /// The segment of a task, or null.
  [[nodiscard]] segment* find(sequence seq);

  /// The segment that begins with this task, or null when it is packed or not there.
  [[nodiscard]] segment* find_unpacked(sequence first) {
    auto at = unpacked_.find(first);
    return at == unpacked_.end() ? nullptr : &at->second;
  }

  /// The segment that begins with this task. @pre there is one
  [[nodiscard]] segment& at(sequence first);

  /// Adds a segment. @pre it is not in the table
  segment& add(segment s);

  /// Takes a closed segment out; its block has it until the `install` of the same snapshot.
  void erase(sequence first) { unpacked_.erase(first); }

  /// Calls `visit` for the segments that have tasks from `from` on and begin before `below`,
  /// ascending, until it returns false. Unpacks none for longer than the call.
  void walk(sequence from, sequence below, const std::function<bool(const segment&)>& visit) const;

  /// As `walk`, descending.
  void
  walk_down(sequence from, sequence below, const std::function<bool(const segment&)>& visit) const;

  /// Calls `visit` for every segment, ascending.
  void for_each(const std::function<void(const segment&)>& visit) const {
    walk(0, no_end, [&](const segment& s) {
      visit(s);
      return true;
    });
  }

  /// The blocks to write, and to install, when these segments have changed since the last time or
  /// are new. @pre they ascend and are unpacked; those without a task to keep are closed
  [[nodiscard]] std::vector<segment_block>
  pack(const std::vector<sequence>& changed, const queue_namer& name_of) const;

  /// Takes over what `pack` made, then keeps only the oldest segments unpacked. `number_of` finds a
  /// queue's number.
  void install(
    const std::vector<segment_block>& blocks,
    const std::function<std::uint32_t(const queue_address&)>& number_of);

  /// Takes over a block from the disk and calls `visit` for each of its segments. False when it is
  /// not a block.
  [[nodiscard]] bool restore(
    const segment_block& block,
    const std::function<std::uint32_t(const queue_address&)>& number_of,
    const std::function<void(segment&)>& visit);

  /// The first tasks of segments that are not marked as changed and yet differ from their blocks:
  /// what happened to them would be lost.
  [[nodiscard]] std::vector<sequence> forgotten_changes() const;

  /// Notes that so many tasks of an unpacked segment have entries of their own by now.
  void note_touched(std::size_t tasks) noexcept { touched_ += tasks; }

  /// How much is unpacked.
  [[nodiscard]] std::size_t weight() const noexcept {
    return unpacked_.size() * segment_weight + touched_;
  }

  /// True when so much is unpacked that a snapshot is to pack it.
  [[nodiscard]] bool is_heavy() const noexcept { return weight() >= limits_.weight_max; }

  [[nodiscard]] std::size_t unpacked_segments() const noexcept { return unpacked_.size(); }

  /// As of the last snapshot, also those that are unpacked.
  [[nodiscard]] std::size_t packed_segments() const noexcept { return packed_segments_; }

  [[nodiscard]] std::size_t packed_bytes() const noexcept { return packed_bytes_; }

  void set_limits(const paging_limits& limits) { limits_ = limits; }

  /// True when few enough of the segment's tasks are left for them to be copied out of it.
  [[nodiscard]] bool is_nearly_closed(const segment& s) const noexcept {
    return s.kept > 0 && s.kept <= s.count / limits_.sparse_part;
  }

private:
  struct block {
    bytes packed;
    /// See `block_reader`.
    std::vector<std::uint32_t> queues;
    std::uint32_t segments = 0;
  };

  using block_map = std::map<sequence, block>;

  /// Where the last look-up in a block ended.
  struct place {
    sequence block = 0;
    block_reader reader;
  };

  [[nodiscard]] block_map::const_iterator block_of(sequence seq) const;

  /// Reads on where the last look-up ended, if that was in the same block and before `seq`: the
  /// tasks of a lane are looked up in their order, and a block is to be read once for all of them.
  [[nodiscard]] block_reader& reader_for(block_map::const_iterator packed, sequence seq);
  void put(const segment_block& taken, std::vector<std::uint32_t> queues);
  void remove(sequence first);

  /// Packs the segments from `from` on and before `end` into blocks; the first begins at `from`.
  void pack_range(
    sequence from,
    sequence end,
    const queue_namer& name_of,
    std::vector<segment_block>& blocks) const;

  /// Adds the removal of those of the old blocks that are not among the blocks from `made` on.
  static void remove_others(
    block_map::const_iterator old,
    block_map::const_iterator end,
    std::size_t made,
    std::vector<segment_block>& blocks);
  void keep_oldest();

  paging_limits limits_;
  /// Ordered, because a task's segment is the last one that starts at or before it.
  std::map<sequence, segment> unpacked_;
  /// As of the last snapshot; what is unpacked counts before what is here.
  block_map blocks_;
  std::optional<place> place_;
  std::size_t touched_ = 0;
  std::size_t packed_segments_ = 0;
  std::size_t packed_bytes_ = 0;
};

/// The segment of a task, or null. Logarithmic in the number of segments.
[[nodiscard]] inline segment* find_segment(segment_table& segments, sequence seq) {
  return segments.find(seq);
}

/// As `find_segment`, but null also for a task that was purged: nobody knows it.
[[nodiscard]] inline segment* find_known(segment_table& segments, sequence seq) {
  auto* s = segments.find(seq);
  return s && !s->view(seq).gone ? s : nullptr;
}

} // namespace codeq::core
