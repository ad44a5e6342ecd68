// SPDX-License-Identifier: Apache-2.0
#include "schedule/time_zone.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace codeq::schedule {

namespace {

using std::chrono::seconds;

std::optional<int> two_digits(std::string_view text, int max) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() != 2 || !is_digit(text[0]) || !is_digit(text[1]))
    return std::nullopt;
  int value = (text[0] - '0') * 10 + (text[1] - '0');
  return value <= max ? std::optional(value) : std::nullopt;
}

std::string offset_text(seconds offset) {
  auto size = offset.count() < 0 ? -offset.count() : offset.count();
  std::array<char, 32> text{};
  std::snprintf(
    text.data(), text.size(), "%c%02d:%02d", offset.count() < 0 ? '-' : '+',
    static_cast<int>(size / 3600), static_cast<int>(size / 60 % 60));
  std::string all = text.data();
  if (size % 60 != 0) {
    std::snprintf(text.data(), text.size(), ":%02d", static_cast<int>(size % 60));
    all += text.data();
  }
  return all;
}

} // namespace

time_zone::time_zone(std::string name, std::vector<zone_span> spans)
  : name_(std::move(name)), spans_(std::move(spans)) {
  CODEQ_ASSERT(
    !spans_.empty() && spans_.front().begin == computed_from && spans_.back().end == horizon);
}

time_zone time_zone::of_offset(std::string name, seconds offset) {
  return {std::move(name), {{computed_from, horizon, offset}}};
}

std::size_t time_zone::index_at(sys_seconds when) const {
  auto after = std::upper_bound(
    spans_.begin(), spans_.end(), when,
    [](sys_seconds each, const zone_span& span) { return each < span.begin; });
  return after == spans_.begin() ? 0 : static_cast<std::size_t>(after - spans_.begin()) - 1;
}

local_seconds time_zone::to_local(sys_seconds when) const {
  return local_seconds{when.time_since_epoch() + spans_[index_at(when)].offset};
}

std::string time_zone::text_of(timestamp when) const {
  sys_seconds second{std::chrono::floor<seconds>(when.time_since_epoch())};
  auto offset = spans_[index_at(second)].offset;
  auto text = to_text(local_seconds{second.time_since_epoch() + offset});
  auto milliseconds = (when.time_since_epoch() - second.time_since_epoch()).count();
  if (milliseconds != 0) {
    std::array<char, 16> fraction{};
    std::snprintf(fraction.data(), fraction.size(), ".%03d", static_cast<int>(milliseconds));
    text += fraction.data();
  }
  return text + offset_text(offset);
}

std::optional<time_zone> zone_without_file(std::string_view name) {
  if (name == "UTC" || name == "Z")
    return time_zone::of_offset(std::string(name), seconds{0});
  if (name.size() != 6 || (name[0] != '+' && name[0] != '-') || name[3] != ':')
    return std::nullopt;
  auto hours = two_digits(name.substr(1, 2), 23);
  auto minutes = two_digits(name.substr(4, 2), 59);
  if (!hours || !minutes)
    return std::nullopt;
  auto size = seconds{*hours * 3600 + *minutes * 60};
  return time_zone::of_offset(std::string(name), name[0] == '-' ? -size : size);
}

} // namespace codeq::schedule
