// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/seq_run.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace codeq::core {

/// A set of log positions that is never changed, only replaced by one that shares most of it: the
/// copy that other threads read costs what changed, not what there is. Layers, each more than twice
/// as large as the next, say what they add to those before them and what they take out.
class position_set {
public:
  position_set() = default;

  /// @pre they ascend
  explicit position_set(std::vector<log_position> all);

  /// Logarithmic in the positions of each layer.
  [[nodiscard]] bool contains(log_position position) const;

  /// The same set, with `added` and without `removed`; those may be in the set already, or not.
  /// Logarithmic in the whole for each position named, on average over many calls.
  /// @pre each ascends; none is in both
  [[nodiscard]] position_set
  changed(std::vector<log_position> added, std::vector<log_position> removed) const;

private:
  struct layer {
    std::vector<log_position> added;
    std::vector<log_position> removed;

    [[nodiscard]] std::size_t size() const { return added.size() + removed.size(); }
  };

  /// Both as one layer, at the bottom or not; what the bottom takes out was never there.
  static layer merge(const layer& lower, const layer& upper, bool is_bottom);

  /// Puts a layer on top, and merges those that are not large enough for it.
  void push(layer top);

  std::vector<std::shared_ptr<const layer>> layers_;
};

} // namespace codeq::core
