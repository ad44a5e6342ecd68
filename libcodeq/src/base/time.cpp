// SPDX-License-Identifier: Apache-2.0
#include "codeq/time.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace codeq {

std::string to_string(timestamp when) {
  auto total = when.time_since_epoch().count();
  auto milliseconds = (total % 1000 + 1000) % 1000;
  auto seconds = static_cast<std::time_t>((total - milliseconds) / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M:%S", &parts);
  std::array<char, 64> text{};
  std::snprintf(
    text.data(), text.size(), "%s.%03d UTC", date.data(), static_cast<int>(milliseconds));
  return text.data();
}

} // namespace codeq
