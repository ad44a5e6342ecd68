// SPDX-License-Identifier: Apache-2.0
#include "schedule/cron.hpp"

#include "schedule/cron_field.hpp"

#include <bit>
#include <vector>

namespace codeq::schedule {

namespace {

using std::chrono::days;
using std::chrono::local_days;
using std::chrono::seconds;
using std::chrono::year_month;
using std::chrono::year_month_day;

constexpr std::uint32_t day_seconds = 86'400;

struct macro {
  std::string_view name;
  std::string_view text;
};

constexpr macro macros[] = {
  {"@yearly", "0 0 1 1 *"},  {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
  {"@weekly", "0 0 * * 0"},  {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
  {"@hourly", "0 * * * *"},
};

error refusal(std::string why) {
  return {errc::invalid_argument, "cron " + std::move(why)};
}

result<std::string_view> expand(std::string_view text) {
  for (const auto& each : macros)
    if (each.name == text)
      return each.text;
  if (text.starts_with('@'))
    return refusal(
      "`" + std::string(text.substr(0, 40))
      + "` is not @yearly, @annually, @monthly, @weekly, @daily, @midnight or @hourly");
  return text;
}

std::vector<std::string_view> split(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string_view> parts;
  for (auto at = text.find_first_not_of(blanks); at < text.size();
       at = text.find_first_not_of(blanks, at)) {
    auto end = std::min(text.find_first_of(blanks, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

/// The bits from `first` to `last`, both included. @pre last < 64
constexpr std::uint64_t bits_between(unsigned first, unsigned last) {
  return (~0ull >> (63 - last)) & (~0ull << first);
}

unsigned last_day(year_month month) {
  return static_cast<unsigned>((month / std::chrono::last).day());
}

/// True when a month of the set has a day of the set, in a leap year.
bool is_any_day_real(std::uint64_t day_bits, std::uint64_t month_bits) {
  for (unsigned month = 1; month <= 12; ++month) {
    auto last = last_day(std::chrono::year{2000} / std::chrono::month{month});
    if ((month_bits >> month & 1) != 0 && (day_bits & bits_between(1, last)) != 0)
      return true;
  }
  return false;
}

/// The lowest bit at or above `from`; empty when there is none.
std::optional<unsigned> lowest_from(std::uint64_t bits, unsigned from) {
  auto rest = from < 64 ? bits & (~0ull << from) : 0;
  return rest == 0 ? std::nullopt : std::optional(static_cast<unsigned>(std::countr_zero(rest)));
}

unsigned count_below(std::uint64_t bits, unsigned end) {
  return static_cast<unsigned>(std::popcount(end < 64 ? bits & ~(~0ull << end) : bits));
}

std::uint32_t second_of(local_seconds when, local_days day) {
  return static_cast<std::uint32_t>((when - day).count());
}

} // namespace

result<cron_expression> cron_expression::parse(std::string_view text) {
  if (text.size() > cron_bytes_max)
    return error{
      errc::too_large, "cron has " + std::to_string(text.size()) + " bytes, at most "
                         + std::to_string(cron_bytes_max) + " are allowed"};
  auto expanded = expand(text);
  if (!expanded)
    return expanded.error();
  auto parts = split(*expanded);
  if (parts.size() != 5 && parts.size() != 6)
    return refusal("has " + std::to_string(parts.size()) + " fields; it must have 5, or 6 with "
                   "seconds before the others");
  std::array<cron_field, 6> read{};
  read[0] = {"0", 1, false};
  auto kind = 6 - parts.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto field = parse_cron_field(parts[i], i + 1, cron_field_kinds[kind + i]);
    if (!field)
      return field.error();
    read[kind + i] = std::move(*field);
  }
  const auto& [second, minute, hour, day, month, weekday] = read;
  fields bits{
    second.bits, minute.bits, static_cast<std::uint32_t>(hour.bits),
    static_cast<std::uint32_t>(day.bits), static_cast<std::uint32_t>(month.bits),
    static_cast<std::uint32_t>((weekday.bits | weekday.bits >> 7) & 0x7f),
    !day.is_star && !weekday.is_star};
  if (!bits.either_day && !is_any_day_real(bits.days, bits.months))
    return refusal("never fires: no month of `" + month.text + "` has a day of `" + day.text + "`");
  std::string canonical = second.text == "0" ? "" : second.text + " ";
  canonical += minute.text + " " + hour.text + " " + day.text + " " + month.text + " "
               + weekday.text;
  return cron_expression(std::move(canonical), bits);
}

std::uint32_t cron_expression::days_of(year_month month) const {
  if ((bits_.months >> static_cast<unsigned>(month.month()) & 1) == 0)
    return 0;
  // Days 1, 8, 15, 22 and 29 have one weekday.
  constexpr std::uint32_t weekly = 0x20408102;
  auto first = std::chrono::weekday{local_days{month / 1}}.c_encoding();
  std::uint32_t by_weekday = 0;
  for (unsigned weekday = 0; weekday < 7; ++weekday)
    if ((bits_.weekdays >> weekday & 1) != 0)
      by_weekday |= weekly << ((weekday + 7 - first) % 7);
  auto matching = bits_.either_day ? bits_.days | by_weekday : bits_.days & by_weekday;
  return matching & static_cast<std::uint32_t>(bits_between(1, last_day(month)));
}

std::optional<std::uint32_t> cron_expression::second_from(std::uint32_t from) const {
  auto hour = lowest_from(bits_.hours, from / 3600);
  if (!hour)
    return std::nullopt;
  bool is_same_hour = *hour == from / 3600;
  auto minute = lowest_from(bits_.minutes, is_same_hour ? from / 60 % 60 : 0);
  bool is_same_minute = is_same_hour && minute && *minute == from / 60 % 60;
  auto second = lowest_from(bits_.seconds, is_same_minute ? from % 60 : 0);
  if (minute && !second) {
    minute = lowest_from(bits_.minutes, *minute + 1);
    second = lowest_from(bits_.seconds, 0);
  }
  if (!minute) {
    hour = lowest_from(bits_.hours, *hour + 1);
    minute = lowest_from(bits_.minutes, 0);
    second = lowest_from(bits_.seconds, 0);
  }
  return hour ? std::optional(*hour * 3600 + *minute * 60 + *second) : std::nullopt;
}

std::uint64_t cron_expression::seconds_before(std::uint32_t end) const {
  auto hour = end / 3600;
  auto minute = end / 60 % 60;
  std::uint64_t per_minute = count_below(bits_.seconds, 64);
  auto per_hour = count_below(bits_.minutes, 64) * per_minute;
  auto found = count_below(bits_.hours, hour) * per_hour;
  if ((bits_.hours >> hour & 1) != 0) {
    found += count_below(bits_.minutes, minute) * per_minute;
    if ((bits_.minutes >> minute & 1) != 0)
      found += count_below(bits_.seconds, end % 60);
  }
  return found;
}

bool cron_expression::matches_day(local_days day) const {
  year_month_day date{day};
  return (days_of({date.year(), date.month()}) >> static_cast<unsigned>(date.day()) & 1) != 0;
}

bool cron_expression::matches(local_seconds when) const {
  auto day = std::chrono::floor<days>(when);
  auto second = second_of(when, day);
  return matches_day(day) && second_from(second) == second;
}

std::optional<local_seconds>
cron_expression::next(local_seconds from, local_seconds until) const {
  if (from >= until)
    return std::nullopt;
  auto before = [until](local_seconds found) {
    return found < until ? std::optional(found) : std::nullopt;
  };
  auto day = std::chrono::floor<days>(from);
  if (auto second = second_from(second_of(from, day)); second && matches_day(day))
    return before(day + seconds{*second});
  year_month_day date{day + days{1}};
  year_month month{date.year(), date.month()};
  auto first = static_cast<unsigned>(date.day());
  for (; local_days{month / 1} < until; month += std::chrono::months{1}, first = 1) {
    if (auto found = lowest_from(days_of(month), first))
      return before(local_days{month / static_cast<int>(*found)} + seconds{*second_from(0)});
  }
  return std::nullopt;
}

std::uint64_t cron_expression::count(local_seconds from, local_seconds until) const {
  if (from >= until)
    return 0;
  auto first = std::chrono::floor<days>(from);
  auto last = std::chrono::floor<days>(until);
  std::uint64_t whole_days = 0;
  for (auto day = first; day < last;) {
    year_month_day date{day};
    year_month month{date.year(), date.month()};
    auto next = std::min(last, local_days{(month + std::chrono::months{1}) / 1});
    auto begin = static_cast<unsigned>(date.day());
    auto end = begin + static_cast<unsigned>((next - day).count());
    whole_days += static_cast<unsigned>(
      std::popcount(days_of(month) & static_cast<std::uint32_t>(bits_between(begin, end - 1))));
    day = next;
  }
  auto found = whole_days * seconds_before(day_seconds);
  if (matches_day(last))
    found += seconds_before(second_of(until, last));
  if (matches_day(first))
    found -= seconds_before(second_of(from, first));
  return found;
}

} // namespace codeq::schedule
