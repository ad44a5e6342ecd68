// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

namespace codeq::ctl {

/// One line on standard error that is redrawn in place. Not shown when standard error is not a
/// terminal or no progress is reported. Thread-safe.
class progress_bar {
public:
  explicit progress_bar(bool has_progress);
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// Draws `done` of `total` with `note` beside it.
  void draw(std::size_t done, std::size_t total, const std::string& note);

  /// Removes the line, so that other output can be printed.
  void clear();

  [[nodiscard]] bool is_shown() const noexcept { return is_shown_; }

private:
  bool is_shown_;
  std::mutex mutex_;
};

} // namespace codeq::ctl
