// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"
#include "core/blocks/segment_block.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace codeq::core {

/// Limits of the unpacked segments. Tests use smaller ones.
struct paging_limits {
  /// Weight that a snapshot leaves unpacked: a segment counts `segment_weight`, and each of its
  /// touched tasks 1.
  std::size_t weight_kept = tuning::unpacked_weight_kept;
  /// Weight at which a snapshot is due.
  std::size_t weight_max = tuning::unpacked_weight_max;
  std::uint32_t block_segments_max = tuning::block_segments_max;
  std::size_t block_tasks_max = tuning::block_tasks_max;
  /// A segment is sparse when this part of its tasks is left, or less.
  std::uint32_t sparse_part = tuning::sparse_part;
  /// Its tasks are copied only if each is dead or waits for its retry for so long.
  duration copied_wait_min = std::chrono::minutes(1);
};

/// All segments of a shard that contain live or dead tasks. Recently used segments are unpacked;
/// each snapshot packs the changed ones into blocks and keeps only the oldest segments unpacked,
/// within the limits. A look-up of a task unpacks its segment, which callers do not notice. A
/// reference stays valid until the next `install`.
class segment_table {
public:
  /// Greater than every sequence.
  static constexpr sequence no_end = std::numeric_limits<sequence>::max();

  /// Contribution of an untouched segment to `weight`.
  static constexpr std::size_t segment_weight = 8;

  /// The segment that contains a task, or null.
  [[nodiscard]] segment* find(sequence seq);

  /// The segment that begins with this task; null when it is packed or does not exist.
  [[nodiscard]] segment* find_unpacked(sequence first) {
    auto at = unpacked_.find(first);
    return at == unpacked_.end() ? nullptr : &at->second;
  }

  [[nodiscard]] bool is_unpacked(sequence first) const { return unpacked_.contains(first); }

  /// The segment that begins with this task. @pre it exists
  [[nodiscard]] segment& at(sequence first);

  /// Calls `visit` for the segment that begins with this task, if it exists; unpacks it for the
  /// duration of the call only.
  template <typename Visit>
  void peek(sequence first, Visit visit) const {
    if (auto at = unpacked_.find(first); at != unpacked_.end())
      visit(at->second);
    else if (auto packed = read_packed(first))
      visit(*packed);
  }

  /// Adds a segment. @pre it is not in the table
  segment& add(segment s);

  /// Removes a closed segment; its block contains it until the `install` of the same snapshot.
  void erase(sequence first) { unpacked_.erase(first); }

  /// Calls `visit` for the segments that have tasks from `from` on and begin before `below`, in
  /// ascending order, until it returns false. Segments are unpacked for the duration of the call
  /// only.
  void walk(sequence from, sequence below, const std::function<bool(const segment&)>& visit) const;

  /// As `walk`, in descending order.
  void
  walk_down(sequence from, sequence below, const std::function<bool(const segment&)>& visit) const;

  /// Calls `visit` for every segment, in ascending order.
  void for_each(const std::function<void(const segment&)>& visit) const {
    walk(0, no_end, [&](const segment& s) {
      visit(s);
      return true;
    });
  }

  /// Packs these segments, which are new or have changed since the last snapshot, into blocks to be
  /// written and installed. @pre they are in ascending order and unpacked; those without live or
  /// dead tasks are closed
  [[nodiscard]] std::vector<segment_block>
  pack(const std::vector<sequence>& changed, const queue_namer& name_of) const;

  /// Installs the result of `pack`, then keeps only the oldest segments unpacked. `number_of`
  /// returns a queue's number.
  void install(
    const std::vector<segment_block>& blocks,
    const std::function<std::uint32_t(const queue_address&)>& number_of);

  /// Adds a block from disk and calls `visit` for each of its segments. False when it is not a
  /// valid block.
  [[nodiscard]] bool restore(
    const segment_block& block,
    const std::function<std::uint32_t(const queue_address&)>& number_of,
    const std::function<void(segment&)>& visit);

  /// First tasks of segments that differ from their blocks but are not marked as changed: these
  /// changes would be lost.
  [[nodiscard]] std::vector<sequence> forgotten_changes() const;

  /// Records that `tasks` more tasks of unpacked segments have entries of their own.
  void note_touched(std::size_t tasks) noexcept { touched_ += tasks; }

  /// Weight of all unpacked segments.
  [[nodiscard]] std::size_t weight() const noexcept {
    return unpacked_.size() * segment_weight + touched_;
  }

  /// True when a snapshot is due because too much is unpacked.
  [[nodiscard]] bool is_heavy() const noexcept { return weight() >= limits_.weight_max; }

  [[nodiscard]] std::size_t unpacked_segments() const noexcept { return unpacked_.size(); }

  /// As of the last snapshot, including segments that were unpacked since.
  [[nodiscard]] std::size_t packed_segments() const noexcept { return packed_segments_; }

  [[nodiscard]] std::size_t packed_bytes() const noexcept { return packed_bytes_; }

  /// Sets the version of the blocks that are packed from now on.
  void set_block_version(std::uint64_t version) { block_version_ = version; }

  void set_limits(const paging_limits& limits) { limits_ = limits; }

  [[nodiscard]] const paging_limits& limits() const noexcept { return limits_; }

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

  /// The segment that begins with this task as its block contains it; empty when there is none.
  [[nodiscard]] std::optional<segment> read_packed(sequence first) const;

  /// Continues where the last look-up ended, if it was in the same block and before `seq`: the
  /// tasks of a lane are looked up in order, and a block should be read only once for all of them.
  [[nodiscard]] block_reader& reader_for(block_map::const_iterator packed, sequence seq);
  void put(const segment_block& taken, std::vector<std::uint32_t> queues);
  void remove(sequence first);

  /// Packs the segments from `from` on and before `end` into blocks; the first block begins at
  /// `from`.
  void pack_range(
    sequence from,
    sequence end,
    const queue_namer& name_of,
    std::vector<segment_block>& blocks) const;

  /// Adds the removal of old blocks that are not replaced by the blocks from `made` on.
  static void remove_others(
    block_map::const_iterator old,
    block_map::const_iterator end,
    std::size_t made,
    std::vector<segment_block>& blocks);
  void keep_oldest();

  paging_limits limits_;
  std::uint64_t block_version_ = block_version_newest;
  /// Ordered, because a task's segment is the last one that starts at or before it.
  std::map<sequence, segment> unpacked_;
  /// As of the last snapshot; unpacked segments take precedence over their packed form.
  block_map blocks_;
  std::optional<place> place_;
  std::size_t touched_ = 0;
  std::size_t packed_segments_ = 0;
  std::size_t packed_bytes_ = 0;
};

/// The segment that contains a task, or null. Logarithmic in the number of segments.
[[nodiscard]] inline segment* find_segment(segment_table& segments, sequence seq) {
  return segments.find(seq);
}

/// As `find_segment`, but also null for a purged task.
[[nodiscard]] inline segment* find_known(segment_table& segments, sequence seq) {
  auto* s = segments.find(seq);
  return s && !s->view(seq).gone ? s : nullptr;
}

} // namespace codeq::core
