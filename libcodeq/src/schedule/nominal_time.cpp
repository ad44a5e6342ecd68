// SPDX-License-Identifier: Apache-2.0
#include "schedule/nominal_time.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace codeq::schedule {

namespace {

/// Makes unsigned order of signed numbers.
constexpr std::uint64_t sign_bit = 1ull << 63;

void append(std::string& to, local_seconds part) {
  auto bits = static_cast<std::uint64_t>(part.time_since_epoch().count()) ^ sign_bit;
  for (int shift = 56; shift >= 0; shift -= 8)
    to.push_back(static_cast<char>(bits >> shift & 0xff));
}

} // namespace

std::string encode(const nominal_time& when) {
  std::string bytes;
  append(bytes, when.order);
  append(bytes, when.local);
  return bytes;
}

local_seconds limited(local_seconds when) {
  using namespace std::chrono_literals;
  constexpr std::chrono::local_days first{1969y / 1 / 1};
  constexpr std::chrono::local_days last{2201y / 1 / 1};
  return std::clamp<local_seconds>(when, first, last);
}

std::string to_text(local_seconds when) {
  auto day = std::chrono::floor<std::chrono::days>(when);
  std::chrono::year_month_day date{day};
  std::chrono::hh_mm_ss time{when - day};
  std::array<char, 64> text{};
  std::snprintf(
    text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
    static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
    static_cast<int>(time.seconds().count()));
  return text.data();
}

std::string to_string(const nominal_time& when) {
  return to_text(when.local) + (when.is_second() ? " second" : "");
}

} // namespace codeq::schedule
