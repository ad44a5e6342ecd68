// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace codeq::observe {

/// Bounds how many log lines each owner causes: strangers could otherwise fill the disk. Memory: at
/// most 1,024 owners. When as many have logged within a second, all further ones together have the
/// lines of one owner, since a stranger may have any number of addresses. Thread-safe.
class line_pace {
public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit line_pace(std::uint32_t lines_per_second) : lines_per_second_(lines_per_second) {}

  /// The number of lines of the owner that were left out before this one; empty when this one is to
  /// be left out, too.
  [[nodiscard]] std::optional<std::uint64_t> take(std::string_view owner, time_point now);

private:
  struct second {
    time_point begin{};
    std::uint32_t lines = 0;
    std::uint64_t left_out = 0;
  };

  [[nodiscard]] second& second_of(std::string_view owner, time_point now);

  std::uint32_t lines_per_second_;
  std::mutex mutex_;
  std::map<std::string, second, std::less<>> owners_;
  /// The shared count of all owners beyond the maximum.
  second others_{};
  /// When owners that had logged nothing for a second were last forgotten.
  time_point swept_{};
};

} // namespace codeq::observe
