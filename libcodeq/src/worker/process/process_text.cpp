// SPDX-License-Identifier: Apache-2.0
#include "worker/process/process_text.hpp"

#include <algorithm>
#include <cstring>

namespace codeq::worker {

void tail::append(std::string_view text) {
  seen_ += text.size();
  text_.append(text);
  if (text_.size() > 2 * kept_)
    text_.erase(0, text_.size() - kept_);
}

std::string tail::text() const {
  if (seen_ <= kept_)
    return text_;
  return "[cut from " + std::to_string(seen_) + " bytes] ..."
         + text_.substr(text_.size() - std::min(text_.size(), kept_));
}

void line_reader::append(std::string_view text) {
  while (!text.empty()) {
    auto end = text.find('\n');
    auto part = text.substr(0, end);
    seen_ += part.size();
    line_.append(part.substr(0, line_bytes_max_ - line_.size()));
    if (end == std::string_view::npos)
      return;
    finish();
    text.remove_prefix(end + 1);
  }
}

void line_reader::finish() {
  if (line_.ends_with('\r'))
    line_.pop_back();
  if (seen_ > line_bytes_max_)
    line_ += "... [cut from " + std::to_string(seen_) + " bytes]";
  if (!line_.empty())
    told_(line_);
  line_.clear();
  seen_ = 0;
}

std::string killed_by(int signal) {
  return "killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

std::string with_errors(std::string preface, const std::string& errors) {
  auto end = errors.find_last_not_of("\r\n");
  return end == std::string::npos ? preface : preface + ": " + errors.substr(0, end + 1);
}

} // namespace codeq::worker
