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
/// which needs about ten bytes per task, in memory and on disk. The bodies are stored elsewhere.
///
///   block    = version first time position entry queues kinds segments
///   entry    = token outcome outcome_index retry_at shape       what entries are compared with
///   shape    = state|flags last_end attempt notes lost refunds
///   queues   = count (tenant queue)*
///   kinds    = count (queue priority setting*)*
///   segments = count (size segment)*
///   segment  = first count kind flags enqueued_at appended body_bytes
///              [not_before] [group] [key since] [fairness key, weight]
///              [entry flags and the fields not implied]*
///
/// All fields are numbers and texts of `packed_numbers.hpp`; sequences, times, positions and tokens
/// are distances. Stored on disk: a change of the meaning needs another version.
namespace codeq::core {

/// Returns the queue that has this number within the shard.
using queue_namer = std::function<const queue_address&(std::uint32_t)>;

/// Packs segments in order.
class block_builder {
public:
  explicit block_builder(queue_namer name_of) : name_of_(std::move(name_of)) {}

  /// @pre `s` comes after the segments added before
  void add(const segment& s);

  [[nodiscard]] std::uint32_t segments() const noexcept { return segments_; }

  [[nodiscard]] std::size_t tasks() const noexcept { return tasks_; }

  /// The sequence of the first segment added. @pre there is one
  [[nodiscard]] sequence first() const noexcept { return first_; }

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

  void open(const segment& s);
  [[nodiscard]] std::size_t index_of(const kind& wanted);

  queue_namer name_of_;
  std::uint32_t segments_ = 0;
  std::size_t tasks_ = 0;
  sequence first_ = 0;
  sequence last_ = 0;
  timestamp time_;
  log_position position_ = 0;
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

  /// Where a segment's record is, and its tasks.
  struct place {
    std::string_view record;
    std::size_t end_of_record = 0;
    sequence first = 0;
    sequence end = 0;
  };

  void read_header();

  /// The place of the next segment; empty when there is none.
  [[nodiscard]] std::optional<place> look();

  /// Goes behind the segment that was looked at, which begins after `last_`.
  void pass(const place& at);

  /// Reads a segment and goes behind it.
  [[nodiscard]] segment read_segment(const place& at);

  std::string_view packed_;
  const std::vector<std::uint32_t>& queues_;
  std::uint32_t segments_ = 0;
  std::uint32_t read_ = 0;
  std::size_t at_ = 0;
  sequence last_ = 0;
  sequence end_ = 0;
  timestamp time_;
  log_position position_ = 0;
  task_entry typical_;
  std::vector<kind> kinds_;
  bool failed_ = false;
};

} // namespace codeq::core
