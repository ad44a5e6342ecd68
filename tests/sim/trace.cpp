// SPDX-License-Identifier: Apache-2.0
#include "sim/trace.hpp"

namespace codeq::sim {

namespace {

constexpr std::size_t lines_kept = 40;

} // namespace

void trace::add(virtual_time when, const std::string& line) {
  lines_.push_back(std::to_string(when.count()) + " us: " + line);
  // FNV-1a.
  for (unsigned char c : lines_.back())
    hash_ = (hash_ ^ c) * 0x100000001b3ull;
  if (lines_.size() > lines_kept)
    lines_.pop_front();
}

std::string trace::tail() const {
  std::string all;
  for (const auto& line : lines_)
    all += line + '\n';
  return all;
}

} // namespace codeq::sim
