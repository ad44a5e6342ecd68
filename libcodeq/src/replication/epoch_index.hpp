// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replication/membership.hpp"

#include <cstddef>
#include <map>
#include <optional>

namespace codeq::replication {

/// A replica's own history: its last delta, and where each epoch began. Each replica keeps it on
/// its disk, in the same write as the deltas.
class epoch_index {
public:
  /// Epochs before the latest ones are forgotten: a replica that is so far behind is copied.
  static constexpr std::size_t epochs_max = 64;

  epoch_index() = default;

  /// As read from a disk. @pre `begins` belongs to the history that ends with `last`
  epoch_index(std::map<epoch_number, std::uint64_t> begins, position last)
    : last_(last), begins_(std::move(begins)) {}

  friend bool operator==(const epoch_index&, const epoch_index&) = default;

  /// The last delta; number 0 is the empty history.
  [[nodiscard]] position last() const { return last_; }

  /// Epoch -> its first number.
  [[nodiscard]] const std::map<epoch_number, std::uint64_t>& begins() const { return begins_; }

  /// Whether the history has this delta. Within one epoch there is one history, since one primary
  /// numbers its deltas. False for deltas of forgotten epochs.
  [[nodiscard]] bool contains(position at) const;

  /// Adds the next delta. Returns the epoch that is forgotten, if one is. @pre its number follows
  /// `last`, and its epoch is not smaller
  std::optional<epoch_number> append(position at);

private:
  position last_;
  std::map<epoch_number, std::uint64_t> begins_;
};

} // namespace codeq::replication
