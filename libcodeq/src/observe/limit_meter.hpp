// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace codeq::observe {

/// An event of reaching a limit.
struct met_limit {
  /// Name of the constant, for example `http_enqueues_open_max`.
  std::string_view name;
  std::uint64_t max = 0;
  /// Who reached it: the kind, `tenant` or `remote`, and the name.
  std::string_view kind;
  std::string_view who;
};

/// Counts how often each limit was reached, and logs it: at most one line per second for each pair
/// of limit and name. Thread-safe.
class limit_meter {
public:
  void note(const met_limit& met);

  /// Number of times that each limit was reached since the start, by name.
  [[nodiscard]] std::map<std::string, std::uint64_t> counts() const;

private:
  struct history {
    std::chrono::steady_clock::time_point next_line{};
    std::uint64_t unlogged = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_;
  std::map<std::pair<std::string, std::string>, history> histories_;
};

} // namespace codeq::observe
