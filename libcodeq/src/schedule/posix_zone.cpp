// SPDX-License-Identifier: Apache-2.0
#include "schedule/posix_zone.hpp"

#include <string>

namespace codeq::schedule {

namespace {

using std::chrono::days;
using std::chrono::local_days;
using std::chrono::seconds;

constexpr int offset_hours_max = 24;
/// Version 3 of zone files allows a week.
constexpr int time_hours_max = 167;

/// Reads a text from left to right; after a mistake all reads fail.
class text_reader {
public:
  explicit text_reader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool failed() const noexcept { return failed_; }

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

  [[nodiscard]] bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }

  bool skip(char c) {
    if (!next_is(c))
      return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) { failed_ = !skip(c) || failed_; }

  /// `CET`, or `<+01>`.
  void name() {
    auto end = next_is('<') ? rest_.find('>') : rest_.find_first_of("+-0123456789,");
    std::size_t min = next_is('<') ? 1 : 3;
    if (end == std::string_view::npos)
      end = next_is('<') ? 0 : rest_.size();
    failed_ = end < min || failed_;
    rest_.remove_prefix(std::min(rest_.size(), end + (next_is('<') ? 1 : 0)));
  }

  unsigned number(unsigned min, unsigned max) {
    unsigned value = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && digits < 4 && is_digit(rest_[digits]); ++digits)
      value = value * 10 + static_cast<unsigned>(rest_[digits] - '0');
    failed_ = digits == 0 || value < min || value > max || failed_;
    rest_.remove_prefix(digits);
    return value;
  }

  /// `[+-]hh[:mm[:ss]]`
  seconds time(int hours_max) {
    bool is_negative = skip('-');
    if (!is_negative)
      skip('+');
    int total = static_cast<int>(number(0, static_cast<unsigned>(hours_max))) * 3600;
    if (skip(':')) {
      total += static_cast<int>(number(0, 59)) * 60;
      if (skip(':'))
        total += static_cast<int>(number(0, 59));
    }
    return seconds{is_negative ? -total : total};
  }

  yearly_change change() {
    yearly_change read;
    if (skip('M')) {
      read.what = yearly_change::kind::weekday_of_month;
      read.month = number(1, 12);
      expect('.');
      read.week = number(1, 5);
      expect('.');
      read.day = number(0, 6);
    } else if (skip('J')) {
      read.day = number(1, 365);
    } else {
      read.what = yearly_change::kind::day_of_year;
      read.day = number(0, 365);
    }
    if (skip('/'))
      read.time = time(time_hours_max);
    return read;
  }

private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  std::string_view rest_;
  bool failed_ = false;
};

} // namespace

local_seconds yearly_change::in(std::chrono::year year) const {
  namespace chrono = std::chrono;
  local_days first{year / 1 / 1};
  switch (what) {
  case kind::julian: {
    constexpr unsigned february_28 = 59;
    auto leap = year.is_leap() && day > february_28 ? 1u : 0u;
    return first + days{day - 1 + leap} + time;
  }
  case kind::day_of_year:
    return first + days{day} + time;
  case kind::weekday_of_month:
    break;
  }
  chrono::weekday weekday{day};
  chrono::month in_month{month};
  if (week == 5)
    return local_days{year / in_month / weekday[chrono::last]} + time;
  return local_days{year / in_month / weekday[week]} + time;
}

result<posix_zone> posix_zone::parse(std::string_view text) {
  text_reader reader(text);
  posix_zone zone;
  reader.name();
  // The format counts offsets to the west.
  zone.standard = -reader.time(offset_hours_max);
  if (!reader.at_end()) {
    saving summer;
    reader.name();
    summer.offset = reader.next_is(',') ? zone.standard + std::chrono::hours{1}
                                        : -reader.time(offset_hours_max);
    reader.expect(',');
    summer.begin = reader.change();
    reader.expect(',');
    summer.end = reader.change();
    zone.summer = summer;
  }
  if (reader.failed() || !reader.at_end())
    return error{
      errc::corruption, "the footer `" + std::string(text.substr(0, 80)) + "` is not understood"};
  return zone;
}

} // namespace codeq::schedule
