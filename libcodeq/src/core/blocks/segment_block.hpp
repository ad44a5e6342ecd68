// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/blocks/segment.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Packed segments with the state of all their tasks. A shard keeps inactive segments in this form,
/// which needs three to ten bytes per task, in memory and on disk. The bodies are stored elsewhere.
///
///   block    = version first time position entry queues kinds segments
///   entry    = token outcome outcome_index retry_at shape       what entries are compared with
///   shape    = state|flags last_end attempt notes lost refunds
///   queues   = count (tenant queue)*
///   kinds    = count (queue priority same [setting*])*     same = 1: as the kind before
///   segments = count segment*
///   segment  = head [size details]
///   head     = marks [first] [count] [kind] [flags] [enqueued_at] [appended] [body_bytes]
///   details  = [not_before] [group] [key since] [fairness key, weight] [limits]
///              [entry flags and the fields not implied]*
///
/// A head leaves out what the one before implies; details are there if the flags say so. Blocks of
/// version 1 repeat the settings, and have a size, a whole head and the details of each segment.
///
/// All fields are numbers and texts of `packed_numbers.hpp`; sequences, times, positions and tokens
/// are distances: of a head, from the one before; of details, and of times and positions of version
/// 1, from the block's. Stored on disk: a change of the meaning needs another version.
namespace codeq::core {

/// The versions of blocks that are read.
inline constexpr std::uint64_t block_version_oldest = 1;
inline constexpr std::uint64_t block_version_newest = 2;

/// The fields that a block stores for every segment.
struct segment_head {
  sequence first = 0;
  std::uint64_t count = 0;
  /// Index in the block's kinds.
  std::uint64_t kind = 0;
  std::uint64_t flags = 0;
  timestamp enqueued_at;
  log_position appended = 0;
  std::uint64_t body_bytes = 0;

  /// The sequence after the segment's tasks.
  [[nodiscard]] sequence end() const noexcept { return first + count; }
};

/// Returns the queue that has this number within the shard.
using queue_namer = std::function<const queue_address&(std::uint32_t)>;

/// Packs segments in order.
class block_builder {
public:
  explicit block_builder(queue_namer name_of, std::uint64_t version = block_version_newest)
    : name_of_(std::move(name_of)), version_(version) {}

  /// @pre `s` comes after the segments added before
  void add(const segment& s);

  [[nodiscard]] std::uint32_t segments() const noexcept { return segments_; }

  [[nodiscard]] std::size_t tasks() const noexcept { return tasks_; }

  /// The sequence of the first segment added. @pre there is one
  [[nodiscard]] sequence first() const noexcept { return opening_.first; }

  /// Returns the block; the builder is empty afterwards.
  [[nodiscard]] std::string take();

private:
  /// Fields that many segments have in common.
  struct kind {
    std::uint32_t queue = 0;
    std::uint8_t priority = 0;
    task_settings settings;

    friend bool operator==(const kind&, const kind&) = default;
  };

  [[nodiscard]] segment_head head_of(const segment& s);
  [[nodiscard]] std::size_t index_of(const kind& wanted);
  [[nodiscard]] std::string details_of(const segment& s);

  queue_namer name_of_;
  std::uint64_t version_;
  std::uint32_t segments_ = 0;
  std::size_t tasks_ = 0;
  /// The values at which the block begins; the first head is compared with them.
  segment_head opening_;
  segment_head before_;
  std::optional<task_entry> typical_;
  std::vector<std::uint32_t> queues_;
  std::vector<kind> kinds_;
  std::string body_;
};

/// Reads the segments of a block, all in order or a single one.
class block_reader {
public:
  /// `queues`: the shard's numbers for the queues that the block names, in the same order.
  block_reader(std::string_view packed, const std::vector<std::uint32_t>& queues);

  /// The queues that a block names; empty when the bytes are not a block.
  [[nodiscard]] static std::optional<std::vector<queue_address>> queues_of(std::string_view packed);

  /// The next segment with tasks at `from` or beyond; empty when there is none.
  [[nodiscard]] std::optional<segment> next(sequence from = 0);

  /// The segment that contains `seq`; empty when it is not in the block, or before those that were
  /// read. Reads no other segment.
  [[nodiscard]] std::optional<segment> find(sequence seq);

  /// The first sequence after all tasks that were read or skipped so far; 0 at the beginning.
  [[nodiscard]] sequence end() const noexcept { return end_; }

  /// Number of segments in the block.
  [[nodiscard]] std::uint32_t segments() const noexcept { return segments_; }

  /// True when the bytes read so far are not a valid block.
  [[nodiscard]] bool failed() const noexcept { return failed_; }

private:
  struct kind {
    std::uint32_t queue = 0;
    std::uint8_t priority = 0;
    task_settings settings;
  };

  /// A segment that is not read yet.
  struct place {
    segment_head head;
    std::string_view details;
    std::size_t end_of_record = 0;
  };

  void read_header();

  /// The place of the next segment; empty when there is none.
  [[nodiscard]] std::optional<place> look();

  /// Goes behind the segment that was looked at.
  void pass(const place& at);

  /// Reads a segment and goes behind it.
  [[nodiscard]] segment read_segment(const place& at);

  std::string_view packed_;
  const std::vector<std::uint32_t>& queues_;
  std::uint32_t segments_ = 0;
  std::uint32_t read_ = 0;
  std::size_t at_ = 0;
  sequence end_ = 0;
  std::uint64_t version_ = 0;
  segment_head opening_;
  segment_head before_;
  task_entry typical_;
  std::vector<kind> kinds_;
  bool failed_ = false;
};

} // namespace codeq::core
