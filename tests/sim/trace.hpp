// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/timeline.hpp"

#include <cstdint>
#include <deque>
#include <string>

namespace codeq::sim {

/// Log of a run: the last lines for people, and a hash over all lines, by which two runs are
/// compared.
class trace {
public:
  void add(virtual_time when, const std::string& line);

  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

  /// The latest lines, oldest first.
  [[nodiscard]] std::string tail() const;

private:
  std::deque<std::string> lines_;
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
};

} // namespace codeq::sim
