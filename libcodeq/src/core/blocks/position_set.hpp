// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/seq_run.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace codeq::core {

/// An immutable set of log positions. A changed set shares most of its data with the old one, so
/// the copy that other threads read costs time proportional to the change, not to the set. It
/// consists of layers, each more than twice as large as the next; a layer contains the positions
/// that it adds to those before it and removes from them.
class position_set {
public:
  position_set() = default;

  /// @pre `all` is in ascending order
  explicit position_set(std::vector<log_position> all);

  /// Logarithmic in the size of each layer.
  [[nodiscard]] bool contains(log_position position) const;

  /// All positions, in ascending order. Linear in their number.
  [[nodiscard]] std::vector<log_position> all() const;

  /// There are not more positions than this.
  [[nodiscard]] std::size_t size_max() const;

  /// This set with `added` and without `removed`. Positions that are already in the set, or not in
  /// it, are allowed. Logarithmic in the size of the set per position, on average over many calls.
  /// @pre both are in ascending order; no position is in both
  [[nodiscard]] position_set
  changed(std::vector<log_position> added, std::vector<log_position> removed) const;

private:
  struct layer {
    std::vector<log_position> added;
    std::vector<log_position> removed;

    [[nodiscard]] std::size_t size() const { return added.size() + removed.size(); }
  };

  /// Merges two layers. The bottom layer removes nothing.
  static layer merge(const layer& lower, const layer& upper, bool is_bottom);

  /// Adds a layer on top, and merges lower layers that are not large enough for it.
  void push(layer top);

  std::vector<std::shared_ptr<const layer>> layers_;
};

} // namespace codeq::core
