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

/// Bounds how many log lines each owner causes in an interval: strangers could otherwise fill the
/// disk. Memory: at most 1,024 owners. When as many have logged within an interval, all further
/// ones together have the lines of one owner, since a stranger may have any number of addresses.
/// Thread-safe.
class line_pace {
public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit line_pace(
    std::uint32_t lines, time_point::duration interval = std::chrono::seconds{1})
    : lines_(lines), interval_(interval) {}

  /// The number of lines of the owner that were left out before this one; empty when this one is to
  /// be left out, too.
  [[nodiscard]] std::optional<std::uint64_t> take(std::string_view owner, time_point now);

private:
  struct count {
    time_point begin{};
    std::uint32_t lines = 0;
    std::uint64_t left_out = 0;
  };

  [[nodiscard]] count& count_of(std::string_view owner, time_point now);

  std::uint32_t lines_;
  time_point::duration interval_;
  std::mutex mutex_;
  std::map<std::string, count, std::less<>> owners_;
  /// The shared count of all owners beyond the maximum.
  count others_{};
  /// When owners that had logged nothing for an interval were last forgotten.
  time_point swept_{};
};

} // namespace codeq::observe
