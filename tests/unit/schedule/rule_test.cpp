// SPDX-License-Identifier: Apache-2.0
#include "schedule/rule.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace codeq::schedule {
namespace {

std::string canonical(const std::string& text) {
  auto parsed = parse_rule(text);
  return parsed ? to_string(*parsed) : parsed.error().context;
}

TEST(Rule, LineIsReadBack) {
  const std::pair<const char*, const char*> cases[] = {
    {"30 2 * * 1-5", "30 2 * * 1-5"},
    {"30 2 * * mon-fri; zone=Europe/Berlin", "30 2 * * 1-5; zone=Europe/Berlin"},
    {"@daily;zone=UTC;gap=shift;fold=first;jitter=0s", "0 0 * * *"},
    {"@daily ; jitter = 90s ; gap = skip ; fold = both",
     "0 0 * * *; gap=skip; fold=both; jitter=90s"},
    {"@daily; fold=last; end=2027-01-01T00:00:00+01:00; start=2026-01-01T00:00:00.5Z",
     "0 0 * * *; fold=last; start=2026-01-01T00:00:00.500Z; end=2026-12-31T23:00:00.000Z"},
    {"every 90s", "every 90s"},
    {"every 3600s; zone=+05:30", "every 1h; zone=+05:30"},
    {"every 7d; anchor=2026-01-05T08:00:00Z", "every 7d; anchor=2026-01-05T08:00:00.000Z"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(canonical(text), expected) << text;
    ASSERT_TRUE(parse_rule(expected)) << expected;
    EXPECT_EQ(*parse_rule(text), *parse_rule(expected)) << text;
  }
}

TEST(Rule, RefusalsOfALineNameFieldValueAndLimit) {
  const std::pair<const char*, const char*> cases[] = {
    {"", "cron: is missing; give either cron or every"},
    {"0 24 * * *", "cron field 2 (hours): 24 is not within 0..23"},
    {"@daily; zone", "rule: `zone` is not field=value"},
    {"@daily;", "rule: `` is not field=value"},
    {"@daily; zone=", "zone: has no value"},
    {"@daily; zone=UTC; zone=UTC", "zone: is given twice"},
    {"@daily; zoen=UTC", "rule: `zoen` is not a field; did you mean zone?"},
    {"@daily; zone=Europe Berlin", "zone: `Europe Berlin` is not the name of a zone"},
    {"@daily; gap=fill", "gap: `fill` is not shift or skip"},
    {"@daily; fold=none", "fold: `none` is not first, last or both"},
    {"@daily; anchor=2026-01-01T00:00:00Z", "anchor: belongs to every, and cron was given"},
    {"@daily; start=yesterday",
     "start: `yesterday` is not a date and time such as 2026-05-20T10:00:00Z"},
    {"@daily; start=1969-12-31T23:59:59Z",
     "start: `1969-12-31T23:59:59Z` is not within 1970-01-01T00:00:00.000Z.."
     "2200-01-01T00:00:00.000Z"},
    {"@daily; start=2026-01-02T00:00:00Z; end=2026-01-02T00:00:00Z",
     "end: `2026-01-02T00:00:00Z` is not after the start `2026-01-02T00:00:00Z`"},
    {"@daily; jitter=25h", "jitter: `25h` is not within 0..1d"},
    {"@daily; jitter=1", "jitter: `1` is not a duration; write a whole number and ms, s, m, h or "
                         "d, for example 500ms or 30s"},
    {"every 0s", "every: `0s` is not within 1s..3650d"},
    {"every 999ms", "every: `999ms` is not within 1s..3650d"},
    {"every 3651d", "every: `3651d` is not within 1s..3650d"},
    {"every 1500ms", "every: `1500ms` is not a whole number of seconds"},
    {"every 1s; anchor=2026-01-01T00:00:00.5Z",
     "anchor: `2026-01-01T00:00:00.5Z` is not a whole second"},
  };
  for (const auto& [text, expected] : cases) {
    auto parsed = parse_rule(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, errc::invalid_argument) << text;
    EXPECT_EQ(parsed.error().context, expected) << text;
  }
}

TEST(Rule, LongTextsAreRefused) {
  EXPECT_EQ(
    parse_rule("@daily; zone=" + std::string(65, 'A')).error(),
    (error{errc::too_large, "zone has 65 bytes, at most 64 are allowed"}));
  EXPECT_EQ(
    parse_rule(std::string(1025, ' ')).error(),
    (error{errc::too_large, "rule has 1025 bytes, at most 1024 are allowed"}));
}

TEST(Rule, FieldsTakeEitherCronOrAPeriod) {
  EXPECT_TRUE(parse_rule(rule_fields{.cron = "@daily"}));
  EXPECT_TRUE(parse_rule(rule_fields{.every = "1h"}));
  EXPECT_EQ(
    parse_rule(rule_fields{.cron = "@daily", .every = "1h"}).error().context,
    "every: cannot be combined with cron; give one of them");
}

} // namespace
} // namespace codeq::schedule
