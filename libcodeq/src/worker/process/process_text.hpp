// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace codeq::worker {

/// The last bytes of a process's output.
class tail {
public:
  explicit tail(std::size_t kept) : kept_(kept) {}

  void append(std::string_view text);

  void clear() {
    seen_ = 0;
    text_.clear();
  }

  /// The kept text, with a mark in front when its beginning is missing.
  [[nodiscard]] std::string text() const;

private:
  std::size_t kept_;
  std::size_t seen_ = 0;
  std::string text_;
};

/// Splits what a process writes into lines. A line is cut with a mark beyond its limit.
class line_reader {
public:
  /// Called with each line that is not empty, without its end.
  using line_function = std::function<void(std::string_view line)>;

  line_reader(std::size_t line_bytes_max, line_function told)
    : line_bytes_max_(line_bytes_max), told_(std::move(told)) {}

  void append(std::string_view text);

  /// The process has ended: tells what is left as a line.
  void finish();

private:
  std::size_t line_bytes_max_;
  line_function told_;
  std::string line_;
  /// Bytes of the line, including those that were cut.
  std::size_t seen_ = 0;
};

/// For example "killed by signal 9 (Killed)".
[[nodiscard]] std::string killed_by(int signal);

/// `preface: errors`, without a trailing newline; only the preface when `errors` is empty.
[[nodiscard]] std::string with_errors(std::string preface, const std::string& errors);

} // namespace codeq::worker
