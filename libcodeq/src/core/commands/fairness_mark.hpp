// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace codeq::core {

/// The fairness key that a producer gave its tasks, and the weight that they give to the key.
struct fairness_mark {
  std::string key{};
  std::uint16_t weight = 1;

  /// True when the tasks differ from those without a fairness key.
  [[nodiscard]] bool is_set() const noexcept { return !key.empty() || weight != 1; }

  friend bool operator==(const fairness_mark&, const fairness_mark&) = default;
};

} // namespace codeq::core
