// SPDX-License-Identifier: Apache-2.0
#include "ctl/progress_bar.hpp"

#include "ctl/text.hpp"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

namespace codeq::ctl {

namespace {

constexpr std::size_t bar_width = 30;
constexpr std::size_t line_width = 79;
constexpr auto erase_line = "\r\033[K";

/// The text of the bar: `[####      ] 2 of 5  note`, no wider than most terminals.
std::string bar_text(std::size_t done, std::size_t total, const std::string& note) {
  auto filled = total == 0 ? 0 : std::min(done, total) * bar_width / total;
  auto text = "[" + std::string(filled, '#') + std::string(bar_width - filled, ' ') + "] "
              + std::to_string(done) + " of " + std::to_string(total);
  if (!note.empty())
    text += "  " + in_one_line(note);
  return text.substr(0, line_width);
}

} // namespace

progress_bar::progress_bar(bool has_progress)
  : is_shown_(has_progress && isatty(STDERR_FILENO) == 1) {
}

progress_bar::~progress_bar() {
  clear();
}

void progress_bar::draw(std::size_t done, std::size_t total, const std::string& note) {
  if (!is_shown_)
    return;
  std::lock_guard lock(mutex_);
  std::fprintf(stderr, "%s%s", erase_line, bar_text(done, total, note).c_str());
  std::fflush(stderr);
}

void progress_bar::clear() {
  if (!is_shown_)
    return;
  std::lock_guard lock(mutex_);
  std::fputs(erase_line, stderr);
  std::fflush(stderr);
}

} // namespace codeq::ctl
