// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replication/membership.hpp"

#include <map>

namespace codeq::replication {

/// A replica's own history: its last delta, and where each epoch began. Each replica keeps it on
/// its disk, in the same write as the deltas.
class epoch_index {
public:
  /// The last delta; number 0 is the empty history.
  [[nodiscard]] position last() const { return last_; }

  /// Whether the history has this delta. Within one epoch there is one history, since one primary
  /// numbers its deltas.
  [[nodiscard]] bool contains(position at) const;

  /// Adds the next delta. @pre its number follows `last`, and its epoch is not smaller
  void append(position at);

private:
  position last_;
  /// Epoch -> its first number.
  std::map<epoch_number, std::uint64_t> begins_;
};

} // namespace codeq::replication
