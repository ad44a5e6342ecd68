// SPDX-License-Identifier: Apache-2.0
#include "schedule/cron_field.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace codeq::schedule {

namespace {

/// A value, or a range with a step.
struct item {
  unsigned first = 0;
  unsigned last = 0;
  unsigned step = 1;
  bool is_star = false;
  bool is_range = false;
};

std::string limits_of(const cron_field_kind& kind) {
  return std::to_string(kind.min) + ".." + std::to_string(kind.max);
}

std::optional<unsigned> to_number(std::string_view text) {
  unsigned value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool is_whole = code == std::errc{} && end == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::optional<unsigned> value_of_name(std::string_view text, const cron_field_kind& kind) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  auto found = std::find(kind.names.begin(), kind.names.end(), name);
  if (found == kind.names.end())
    return std::nullopt;
  return kind.min + static_cast<unsigned>(found - kind.names.begin());
}

class field_parser {
public:
  field_parser(std::size_t number, const cron_field_kind& kind) : number_(number), kind_(kind) {}

  [[nodiscard]] result<item> parse_item(std::string_view text) const {
    auto slash = text.find('/');
    auto range = parse_range(text.substr(0, slash));
    if (!range || slash == std::string_view::npos)
      return range;
    auto step_text = text.substr(slash + 1);
    auto step = is_digits(step_text) ? to_number(step_text) : std::nullopt;
    auto max = std::max(kind_.max, 1u);
    if (!step || *step < 1 || *step > max)
      return refusal("step " + shown(step_text) + " is not within 1.." + std::to_string(max));
    if (!range->is_star && !range->is_range)
      range->last = kind_.max;
    range->is_range = true;
    range->step = *step;
    return range;
  }

private:
  [[nodiscard]] error refusal(const std::string& why) const {
    return {
      errc::invalid_argument,
      "cron field " + std::to_string(number_) + " (" + std::string(kind_.name) + "): " + why};
  }

  /// A number as it is; other text in quotes, and cut.
  [[nodiscard]] static std::string shown(std::string_view text) {
    constexpr std::size_t shown_bytes_max = 20;
    std::string cut(text.substr(0, shown_bytes_max));
    return is_digits(text) ? cut : "`" + cut + "`";
  }

  [[nodiscard]] result<unsigned> parse_value(std::string_view text) const {
    if (auto named = value_of_name(text, kind_))
      return *named;
    auto value = is_digits(text) ? to_number(text) : std::nullopt;
    if (value && *value >= kind_.min && *value <= kind_.max)
      return *value;
    if (is_digits(text))
      return refusal(shown(text) + " is not within " + limits_of(kind_));
    std::string names;
    if (!kind_.names.empty())
      names = " or a name from " + std::string(kind_.names.front()) + " to "
              + std::string(kind_.names.back());
    bool is_foreign = text.find_first_of("LW#?") != std::string_view::npos;
    return refusal(
      shown(text) + " is not a number within " + limits_of(kind_) + names
      + (is_foreign ? "; the signs L, W, # and ? are not supported" : ""));
  }

  [[nodiscard]] result<item> parse_range(std::string_view text) const {
    if (text == "*")
      return item{kind_.min, kind_.max, 1, true, false};
    auto dash = text.find('-');
    auto first = parse_value(text.substr(0, dash));
    if (!first)
      return first.error();
    if (dash == std::string_view::npos)
      return item{*first, *first, 1, false, false};
    auto last_text = text.substr(dash + 1);
    auto last = parse_value(last_text);
    if (!last)
      return last.error();
    // A week may end with its Sunday by name.
    bool is_end_of_week = kind_.max == 7 && *last == 0 && *first > 0 && !is_digits(last_text);
    if (is_end_of_week)
      last = kind_.max;
    if (*last < *first)
      return refusal("range " + shown(text) + " runs backwards");
    return item{*first, *last, 1, false, true};
  }

  std::size_t number_;
  const cron_field_kind& kind_;
};

std::string text_of(const item& each) {
  auto step = each.step == 1 ? "" : "/" + std::to_string(each.step);
  if (each.is_star)
    return "*" + step;
  auto first = std::to_string(each.first);
  return each.is_range ? first + "-" + std::to_string(each.last) + step : first;
}

} // namespace

result<cron_field>
parse_cron_field(std::string_view text, std::size_t number, const cron_field_kind& kind) {
  field_parser parser(number, kind);
  cron_field field;
  field.is_star = text.starts_with('*');
  for (std::size_t at = 0; at <= text.size();) {
    auto comma = std::min(text.find(',', at), text.size());
    auto each = parser.parse_item(text.substr(at, comma - at));
    if (!each)
      return each.error();
    for (auto value = each->first; value <= each->last; value += each->step)
      field.bits |= 1ull << value;
    field.text += (field.text.empty() ? "" : ",") + text_of(*each);
    at = comma + 1;
  }
  return field;
}

} // namespace codeq::schedule
