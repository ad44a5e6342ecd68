// SPDX-License-Identifier: Apache-2.0
#include "base/duration_text.hpp"

#include <array>
#include <charconv>
#include <cstdint>

namespace codeq::base {

namespace {

struct unit {
  std::string_view name;
  std::int64_t milliseconds;
};

/// Largest first: `format_duration` uses the first unit that divides the value.
constexpr std::array units{
  unit{"d", 86'400'000}, unit{"h", 3'600'000}, unit{"m", 60'000}, unit{"s", 1'000}, unit{"ms", 1}};

/// A hundred years: far above every limit, and safe to multiply with.
constexpr std::int64_t milliseconds_max = 36'525ll * 86'400'000;

error refusal(std::string_view text) {
  return {
    errc::invalid_argument,
    "`" + std::string(text)
      + "` is not a duration; write a whole number and ms, s, m, h or d, "
        "for example 500ms or 30s"};
}

} // namespace

result<duration> parse_duration(std::string_view text) {
  std::int64_t count = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (code != std::errc{} || count < 0)
    return refusal(text);
  auto name = text.substr(static_cast<std::size_t>(end - text.data()));
  if (name.empty() && count == 0)
    return duration{0};
  for (const auto& u : units) {
    if (u.name != name)
      continue;
    if (count > milliseconds_max / u.milliseconds)
      return error{
        errc::invalid_argument, "`" + std::string(text) + "` is too long; at most 100 years"};
    return duration{count * u.milliseconds};
  }
  return refusal(text);
}

std::string format_duration(duration value) {
  if (value.count() == 0)
    return "0s";
  for (const auto& u : units) {
    if (value.count() % u.milliseconds == 0)
      return std::to_string(value.count() / u.milliseconds) + std::string(u.name);
  }
  return std::to_string(value.count()) + "ms";
}

} // namespace codeq::base
