// SPDX-License-Identifier: Apache-2.0
#include "base/rfc3339.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>

namespace codeq::base {

namespace {

/// Reads a text from left to right.
class cursor {
public:
  explicit cursor(std::string_view text) : rest_(text) {}

  /// Reads a number of exactly `digits` digits whose value is between `least` and `most`.
  bool number(std::size_t digits, int least, int most, int& to) {
    if (rest_.size() < digits)
      return false;
    const auto* end = rest_.data() + digits;
    if (rest_.front() < '0' || rest_.front() > '9')
      return false;
    auto [stop, failure] = std::from_chars(rest_.data(), end, to);
    if (failure != std::errc{} || stop != end || to < least || to > most)
      return false;
    rest_.remove_prefix(digits);
    return true;
  }

  bool one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos)
      return false;
    last_ = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }

  /// The character that `one_of` read last.
  [[nodiscard]] char last() const noexcept { return last_; }

  /// Reads the digits after a point as milliseconds; false when there is no digit.
  bool fraction(int& milliseconds) {
    int weight = 100;
    bool any = false;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; weight /= 10) {
      milliseconds += (rest_.front() - '0') * weight;
      rest_.remove_prefix(1);
      any = true;
    }
    return any;
  }

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

private:
  std::string_view rest_;
  char last_ = 0;
};

struct clock_fields {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

bool read_clock_fields(cursor& from, clock_fields& to) {
  return from.number(4, 1, 9999, to.year) && from.one_of("-") && from.number(2, 1, 12, to.month)
         && from.one_of("-") && from.number(2, 1, 31, to.day) && from.one_of("Tt ")
         && from.number(2, 0, 23, to.hour) && from.one_of(":") && from.number(2, 0, 59, to.minute)
         && from.one_of(":") && from.number(2, 0, 60, to.second);
}

/// Reads the zone as the minutes that it is ahead of UTC.
bool read_zone(cursor& from, int& minutes) {
  if (!from.one_of("Zz+-"))
    return false;
  if (from.last() == 'Z' || from.last() == 'z')
    return true;
  int sign = from.last() == '+' ? 1 : -1;
  int hour = 0;
  int minute = 0;
  if (!from.number(2, 0, 23, hour) || !from.one_of(":") || !from.number(2, 0, 59, minute))
    return false;
  minutes = sign * (hour * 60 + minute);
  return true;
}

/// Formats a time of any year.
std::string to_rfc3339_by_text(timestamp when) {
  // `to_string` gives `2026-05-20 10:00:00.123 UTC`; RFC 3339 differs in the separators.
  auto text = to_string(when);
  auto gap = text.find(' ');
  return text.substr(0, gap) + "T" + text.substr(gap + 1, 12) + "Z";
}

/// Overwrites zeros before `end` with the digits of a number.
void write_digits(std::string& text, std::size_t end, std::uint64_t number) {
  for (; number > 0; number /= 10)
    text[--end] = static_cast<char>('0' + number % 10);
}

} // namespace

std::string to_rfc3339(timestamp when) {
  namespace chrono = std::chrono;
  constexpr duration begin = chrono::sys_days{chrono::year{0} / 1 / 1}.time_since_epoch();
  constexpr duration end = chrono::sys_days{chrono::year{10'000} / 1 / 1}.time_since_epoch();
  auto since = when.time_since_epoch();
  // Years of more digits, which no clock shows, take the slower way.
  if (since < begin || since >= end)
    return to_rfc3339_by_text(when);
  auto days = chrono::floor<chrono::days>(since);
  const chrono::year_month_day date{chrono::sys_days{days}};
  const chrono::hh_mm_ss<duration> time{since - days};
  std::string text = "0000-00-00T00:00:00.000Z";
  write_digits(text, 4, static_cast<std::uint64_t>(int{date.year()}));
  write_digits(text, 7, unsigned{date.month()});
  write_digits(text, 10, unsigned{date.day()});
  write_digits(text, 13, static_cast<std::uint64_t>(time.hours().count()));
  write_digits(text, 16, static_cast<std::uint64_t>(time.minutes().count()));
  write_digits(text, 19, static_cast<std::uint64_t>(time.seconds().count()));
  write_digits(text, 23, static_cast<std::uint64_t>(time.subseconds().count()));
  return text;
}

std::optional<timestamp> parse_rfc3339(std::string_view text) {
  namespace chrono = std::chrono;
  cursor from(text);
  clock_fields fields;
  int milliseconds_of_second = 0;
  int zone_minutes = 0;
  bool is_read = read_clock_fields(from, fields)
                 && (!from.one_of(".") || from.fraction(milliseconds_of_second))
                 && read_zone(from, zone_minutes) && from.at_end();
  if (!is_read)
    return std::nullopt;
  chrono::year_month_day date{
    chrono::year{fields.year},
    chrono::month{static_cast<unsigned>(fields.month)},
    chrono::day{static_cast<unsigned>(fields.day)}};
  if (!date.ok())
    return std::nullopt;
  auto since = chrono::sys_days{date}.time_since_epoch() + chrono::hours{fields.hour}
               + chrono::minutes{fields.minute - zone_minutes} + chrono::seconds{fields.second}
               + chrono::milliseconds{milliseconds_of_second};
  return timestamp{chrono::duration_cast<duration>(since)};
}

} // namespace codeq::base
