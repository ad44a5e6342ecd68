// SPDX-License-Identifier: Apache-2.0
#include "schedule/rule.hpp"

#include "base/duration_text.hpp"
#include "base/nearest_name.hpp"
#include "base/rfc3339.hpp"
#include "schedule/choice.hpp"
#include "schedule/time_zone.hpp"

#include <array>
#include <utility>

namespace codeq::schedule {

namespace {

using std::chrono::seconds;

constexpr std::string_view every_prefix = "every ";
constexpr std::string_view default_zone = "UTC";
/// Maximum name of a zone. The longest one of the IANA database has 32 bytes.
constexpr std::size_t zone_bytes_max = 64;

error refusal(std::string_view field, const std::string& why) {
  return {errc::invalid_argument, std::string(field) + ": " + why};
}

std::string quoted(std::string_view text) {
  constexpr std::size_t shown_bytes_max = 40;
  return "`" + std::string(text.substr(0, shown_bytes_max)) + "`";
}

std::string zulu(sys_seconds when) {
  return base::to_rfc3339(timestamp{when.time_since_epoch()});
}

/// A time within the years for which occurrences are computed.
result<timestamp> parse_time(std::string_view field, std::string_view text) {
  auto when = base::parse_rfc3339(text);
  if (!when)
    return refusal(
      field, quoted(text) + " is not a date and time such as 2026-05-20T10:00:00Z");
  sys_seconds second{std::chrono::floor<seconds>(when->time_since_epoch())};
  if (second < computed_from || second > horizon)
    return refusal(
      field, quoted(text) + " is not within " + zulu(computed_from) + ".." + zulu(horizon));
  return *when;
}

result<std::optional<timestamp>> parse_bound(std::string_view field, std::string_view text) {
  if (text.empty())
    return std::optional<timestamp>{};
  auto when = parse_time(field, text);
  if (!when)
    return when.error();
  return std::optional(*when);
}

result<period> parse_period(const rule_fields& fields) {
  auto every = base::parse_duration(fields.every);
  if (!every)
    return refusal("every", every.error().context);
  if (*every < period_min || *every > period_max)
    return refusal(
      "every", quoted(fields.every) + " is not within " + base::format_duration(period_min) + ".."
                 + base::format_duration(period_max));
  if (*every % seconds{1} != duration{0})
    return refusal("every", quoted(fields.every) + " is not a whole number of seconds");
  period parsed{std::chrono::floor<seconds>(*every), {}};
  if (fields.anchor.empty())
    return parsed;
  auto anchor = parse_time("anchor", fields.anchor);
  if (!anchor)
    return anchor.error();
  auto since = anchor->time_since_epoch();
  if (since % seconds{1} != duration{0})
    return refusal("anchor", quoted(fields.anchor) + " is not a whole second");
  parsed.anchor = sys_seconds{std::chrono::floor<seconds>(since)};
  return parsed;
}

result<void> parse_when(const rule_fields& fields, rule& to) {
  if (fields.cron.empty() == fields.every.empty())
    return refusal(
      fields.cron.empty() ? "cron" : "every",
      fields.cron.empty() ? "is missing; give either cron or every"
                          : "cannot be combined with cron; give one of them");
  if (!fields.every.empty()) {
    auto parsed = parse_period(fields);
    if (!parsed)
      return parsed.error();
    to.when = *parsed;
    return {};
  }
  if (!fields.anchor.empty())
    return refusal("anchor", "belongs to every, and cron was given");
  auto parsed = cron_expression::parse(fields.cron);
  if (!parsed)
    return parsed.error();
  to.when = std::move(*parsed);
  return {};
}

result<void> parse_policies(const rule_fields& fields, rule& to) {
  if (!fields.gap.empty()) {
    auto gap = parse_choice<gap_policy>("gap", fields.gap, gap_names);
    if (!gap)
      return gap.error();
    to.gap = *gap;
  }
  if (!fields.fold.empty()) {
    auto fold = parse_choice<fold_policy>("fold", fields.fold, fold_names);
    if (!fold)
      return fold.error();
    to.fold = *fold;
  }
  return {};
}

result<void> parse_bounds(const rule_fields& fields, rule& to) {
  auto start = parse_bound("start", fields.start);
  if (!start)
    return start.error();
  auto end = parse_bound("end", fields.end);
  if (!end)
    return end.error();
  if (*start && *end && **start >= **end)
    return refusal("end", quoted(fields.end) + " is not after the start " + quoted(fields.start));
  to.start = *start;
  to.end = *end;
  return {};
}

result<void> parse_jitter(std::string_view text, rule& to) {
  if (text.empty())
    return {};
  auto jitter = base::parse_duration(text);
  if (!jitter)
    return refusal("jitter", jitter.error().context);
  if (*jitter > jitter_max)
    return refusal(
      "jitter", quoted(text) + " is not within 0.." + base::format_duration(jitter_max));
  to.jitter = *jitter;
  return {};
}

result<void> parse_zone(std::string_view text, rule& to) {
  if (text.size() > zone_bytes_max)
    return error{
      errc::too_large, "zone has " + std::to_string(text.size()) + " bytes, at most "
                         + std::to_string(zone_bytes_max) + " are allowed"};
  if (text.find_first_of("; \t\r\n") != std::string_view::npos)
    return refusal("zone", quoted(text) + " is not the name of a zone");
  if (!text.empty())
    to.zone = text;
  return {};
}

struct named_field {
  std::string_view name;
  std::string_view rule_fields::* place;
};

constexpr named_field named_fields[] = {
  {"anchor", &rule_fields::anchor}, {"zone", &rule_fields::zone},   {"gap", &rule_fields::gap},
  {"fold", &rule_fields::fold},     {"start", &rule_fields::start}, {"end", &rule_fields::end},
  {"jitter", &rule_fields::jitter},
};

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

error unknown_field(std::string_view name) {
  std::array<std::string_view, std::size(named_fields)> known;
  for (std::size_t i = 0; i < known.size(); ++i)
    known[i] = named_fields[i].name;
  auto near = base::nearest_name(name, known);
  auto hint = near ? "; did you mean " + std::string(*near) + "?" : std::string();
  return refusal("rule", quoted(name) + " is not a field" + hint);
}

result<void> read_field(std::string_view text, rule_fields& to) {
  auto equals = text.find('=');
  if (equals == std::string_view::npos)
    return refusal("rule", quoted(text) + " is not field=value");
  auto name = trim(text.substr(0, equals));
  auto value = trim(text.substr(equals + 1));
  for (const auto& each : named_fields) {
    if (each.name != name)
      continue;
    if (value.empty())
      return refusal(name, "has no value");
    if (!(to.*each.place).empty())
      return refusal(name, "is given twice");
    to.*each.place = value;
    return {};
  }
  return unknown_field(name);
}

} // namespace

result<rule> parse_rule(const rule_fields& fields) {
  rule parsed;
  for (auto part : {parse_when(fields, parsed), parse_zone(fields.zone, parsed),
                    parse_policies(fields, parsed), parse_bounds(fields, parsed),
                    parse_jitter(fields.jitter, parsed)})
    if (!part)
      return part.error();
  return parsed;
}

result<rule> parse_rule(std::string_view text) {
  if (text.size() > rule_bytes_max)
    return error{
      errc::too_large, "rule has " + std::to_string(text.size()) + " bytes, at most "
                         + std::to_string(rule_bytes_max) + " are allowed"};
  rule_fields fields;
  auto end = std::min(text.find(';'), text.size());
  auto when = trim(text.substr(0, end));
  if (when.starts_with(every_prefix))
    fields.every = trim(when.substr(every_prefix.size()));
  else
    fields.cron = when;
  while (end < text.size()) {
    auto begin = end + 1;
    end = std::min(text.find(';', begin), text.size());
    if (auto read = read_field(trim(text.substr(begin, end - begin)), fields); !read)
      return read.error();
  }
  return parse_rule(fields);
}

std::string to_string(const rule& r) {
  std::string text;
  if (const auto* cron = std::get_if<cron_expression>(&r.when)) {
    text = cron->text();
  } else {
    const auto& fixed = std::get<period>(r.when);
    text = std::string(every_prefix) + base::format_duration(fixed.every);
    if (fixed.anchor != sys_seconds{})
      text += "; anchor=" + zulu(fixed.anchor);
  }
  if (r.zone != default_zone)
    text += "; zone=" + r.zone;
  if (r.gap != gap_policy::shift)
    text += "; gap=" + std::string(to_string(r.gap));
  if (r.fold != fold_policy::first)
    text += "; fold=" + std::string(to_string(r.fold));
  if (r.start)
    text += "; start=" + base::to_rfc3339(*r.start);
  if (r.end)
    text += "; end=" + base::to_rfc3339(*r.end);
  if (r.jitter != duration{0})
    text += "; jitter=" + base::format_duration(r.jitter);
  return text;
}

std::string_view to_string(gap_policy policy) noexcept {
  return gap_names[static_cast<std::size_t>(policy)];
}

std::string_view to_string(fold_policy policy) noexcept {
  return fold_names[static_cast<std::size_t>(policy)];
}

} // namespace codeq::schedule
