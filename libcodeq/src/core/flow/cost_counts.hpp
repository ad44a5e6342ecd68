// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace codeq::core {

/// Costs, of which the largest is known without a look at all of them. They are counted in classes
/// whose bounds differ by an eighth at most. Every operation takes constant time.
class cost_counts {
public:
  /// @pre the cost is positive
  void add(std::int64_t cost) {
    const auto at = class_of(cost);
    if (at >= counts_.size())
      counts_.resize(at + 1);
    ++counts_[at];
    ++size_;
  }

  /// @pre it was added
  void remove(std::int64_t cost) {
    --counts_[class_of(cost)];
    --size_;
    while (!counts_.empty() && counts_.back() == 0)
      counts_.pop_back();
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// At least the largest cost, and less than an eighth more; 1 when there is none.
  [[nodiscard]] std::int64_t largest() const {
    return counts_.empty() ? 1 : last_of(counts_.size() - 1);
  }

private:
  /// Number of classes between a power of two and the next one.
  static constexpr std::size_t classes = 8;

  /// Costs below `2 * classes` have a class each.
  [[nodiscard]] static std::size_t class_of(std::int64_t cost) {
    const auto value = static_cast<std::uint64_t>(cost);
    std::size_t shift = 0;
    while ((value >> shift) >= 2 * classes)
      ++shift;
    return shift * classes + static_cast<std::size_t>(value >> shift);
  }

  /// The largest cost of a class.
  [[nodiscard]] static std::int64_t last_of(std::size_t at) {
    const auto shift = at < 2 * classes ? std::size_t{0} : at / classes - 1;
    const auto first = static_cast<std::uint64_t>(at - shift * classes);
    return static_cast<std::int64_t>(((first + 1) << shift) - 1);
  }

  std::vector<std::uint32_t> counts_;
  std::size_t size_ = 0;
};

} // namespace codeq::core
