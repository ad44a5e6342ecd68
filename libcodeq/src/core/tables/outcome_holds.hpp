// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/blocks/packed_set.hpp"
#include "core/commands/seq_run.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace codeq::core {

/// Outcome records that contain the latest text of a live task, each with the number of such tasks.
/// The ends of one turn share a record, and most of them are retried before the next snapshot. So
/// changes are only counted, in constant time, and carried out at snapshots.
class outcome_holds {
public:
  /// A live task's latest text is now in the record.
  void add(log_position outcome) { change(outcome, 1); }

  /// It is not any more.
  void remove(log_position outcome) { change(outcome, -1); }

  /// Inserts these records, which count as of the last snapshot. @pre there is none yet, and
  /// `ascending` is in ascending order
  void assign(const std::vector<number_pair>& ascending) { settled_.assign(ascending); }

  /// The records that a snapshot adds and removes, in ascending order.
  struct changes {
    std::vector<log_position> added;
    std::vector<log_position> removed;
  };

  /// Carries out the changes since the last snapshot; the cost is proportional to them.
  changes settle();

  /// All records, in ascending order. Linear in their number.
  [[nodiscard]] std::vector<number_pair> all() const;

  /// True when the record's number of tasks differs from that of the last snapshot.
  [[nodiscard]] bool has_changed(log_position outcome) const { return changed_.contains(outcome); }

private:
  void change(log_position outcome, std::int64_t by);

  /// As of the last snapshot.
  packed_set settled_;
  /// The differences from then, none of them 0.
  std::unordered_map<log_position, std::int64_t> changed_;
};

} // namespace codeq::core
