// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

namespace codeq::ctl {

/// One line on standard error that is drawn over and over; nothing at all when standard error is
/// not a terminal, or when nobody tells progress. Safe between threads.
class progress_bar {
public:
  explicit progress_bar(bool has_progress);
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// `done` of `total`, and what to say beside it.
  void draw(std::size_t done, std::size_t total, const std::string& note);

  /// Takes the line away, so that others can be printed.
  void clear();

  [[nodiscard]] bool is_shown() const noexcept { return is_shown_; }

private:
  bool is_shown_;
  std::mutex mutex_;
};

} // namespace codeq::ctl
