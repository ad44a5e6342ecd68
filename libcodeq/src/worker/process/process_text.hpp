// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

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

/// For example "killed by signal 9 (Killed)".
[[nodiscard]] std::string killed_by(int signal);

/// `preface: errors`, without a trailing newline; only the preface when `errors` is empty.
[[nodiscard]] std::string with_errors(std::string preface, const std::string& errors);

} // namespace codeq::worker
