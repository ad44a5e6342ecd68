// SPDX-License-Identifier: Apache-2.0
#include "schedule/zone_file.hpp"

#include "base/rfc3339.hpp"
#include "unit/schedule/zone_bytes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace codeq::schedule {
namespace {

constexpr std::int32_t hour = 3600;

time_zone decoded(const zone_bytes& file) {
  auto zone = decode_zone_file("Test/Zone", file.text());
  return zone ? *zone : throw std::runtime_error(zone.error().context);
}

std::string local(const time_zone& zone, const std::string& when) {
  return zone.text_of(base::parse_rfc3339(when).value());
}

std::string refusal(const std::string& bytes) {
  auto zone = decode_zone_file("Test/Zone", bytes);
  if (zone)
    return "";
  EXPECT_EQ(zone.error().code, errc::corruption);
  return zone.error().context;
}

TEST(ZoneFile, TransitionsGiveTheOffsets) {
  zone_bytes file;
  file.offsets = {hour, -2 * hour - 1800};
  file.turns = {{-100, 0}, {1'000'000'000, 1}, {1'100'000'000, 0}};
  auto zone = decoded(file);

  EXPECT_EQ(zone.name(), "Test/Zone");
  EXPECT_EQ(zone.spans().size(), 3u);
  EXPECT_EQ(local(zone, "2001-09-09T01:46:39Z"), "2001-09-09T02:46:39+01:00");
  EXPECT_EQ(local(zone, "2001-09-09T01:46:40.250Z"), "2001-09-08T23:16:40.250-02:30");
  EXPECT_EQ(local(zone, "2150-01-01T00:00:00Z"), "2150-01-01T01:00:00+01:00");
}

TEST(ZoneFile, TransitionsWithoutAChangeOfTheOffsetAreOneSpan) {
  zone_bytes file;
  file.offsets = {hour, hour};
  file.turns = {{100, 1}, {200, 0}};

  EXPECT_EQ(decoded(file).spans().size(), 1u);
}

TEST(ZoneFile, FooterGivesTheYearsAfterTheTransitions) {
  zone_bytes file;
  file.offsets = {hour};
  file.footer = "CET-1CEST,M3.5.0,M10.5.0/3";
  auto zone = decoded(file);

  EXPECT_EQ(local(zone, "2150-03-29T00:59:59Z"), "2150-03-29T01:59:59+01:00");
  EXPECT_EQ(local(zone, "2150-03-29T01:00:00Z"), "2150-03-29T03:00:00+02:00");
  EXPECT_EQ(local(zone, "2150-10-25T01:00:00Z"), "2150-10-25T02:00:00+01:00");
  EXPECT_EQ(local(zone, "1970-06-01T00:00:00Z"), "1970-06-01T02:00:00+02:00");
}

TEST(ZoneFile, FooterHoldsOnlyAfterTheLastTransition) {
  zone_bytes file;
  file.offsets = {0, hour};
  file.turns = {{1'800'000'000, 1}}; // 2027-01-15
  file.footer = "CET-1CEST,M3.5.0,M10.5.0/3";
  auto zone = decoded(file);

  EXPECT_EQ(local(zone, "2026-07-01T00:00:00Z"), "2026-07-01T00:00:00+00:00");
  EXPECT_EQ(local(zone, "2027-02-01T00:00:00Z"), "2027-02-01T01:00:00+01:00");
  EXPECT_EQ(local(zone, "2027-07-01T00:00:00Z"), "2027-07-01T02:00:00+02:00");
}

TEST(ZoneFile, EachFormOfAFooterIsRead) {
  struct one {
    const char* footer;
    const char* when;
    const char* expected;
  };
  const one cases[] = {
    {"UTC0", "2100-07-01T00:00:00Z", "2100-07-01T00:00:00+00:00"},
    {"<+0530>-5:30", "2100-07-01T00:00:00Z", "2100-07-01T05:30:00+05:30"},
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2100-03-27T23:59:59Z", "2100-03-27T21:59:59-02:00"},
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2100-03-28T01:00:00Z", "2100-03-28T00:00:00-01:00"},
    {"IST-1GMT0,M10.5.0,M3.5.0/1", "2100-01-01T00:00:00Z", "2100-01-01T00:00:00+00:00"},
    {"IST-1GMT0,M10.5.0,M3.5.0/1", "2100-07-01T00:00:00Z", "2100-07-01T01:00:00+01:00"},
    {"AAA3BBB,J60/0,J300/24", "2096-03-01T03:00:00Z", "2096-03-01T01:00:00-02:00"},
    {"AAA3BBB,J60/0,J300/24", "2096-03-01T02:59:59Z", "2096-02-29T23:59:59-03:00"},
    {"AAA3BBB,59/0,299", "2096-02-29T03:00:00Z", "2096-02-29T01:00:00-02:00"},
    {"EST5EDT,0/0,J365/25", "2100-01-01T05:00:00Z", "2100-01-01T01:00:00-04:00"},
    {"XXX-3<+04>-4,M3.4.4/50,M10.4.4/50", "2100-03-26T23:00:00Z", "2100-03-27T03:00:00+04:00"},
  };
  for (const auto& each : cases) {
    zone_bytes file;
    file.footer = each.footer;
    EXPECT_EQ(local(decoded(file), each.when), each.expected) << each.footer;
  }
}

TEST(ZoneFile, DamagedOnesAreRefused) {
  zone_bytes sound;
  sound.turns = {{100, 0}, {200, 0}};
  auto bytes = sound.text();
  ASSERT_EQ(refusal(bytes), "");

  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(refusal(bytes.substr(0, size)), "") << size;
  for (std::size_t i = 20; i < 44; ++i) {
    auto huge = bytes;
    huge[i] = '\xff';
    EXPECT_NE(refusal(huge), "") << i;
  }
  auto old = bytes;
  old[4] = '\0';
  EXPECT_EQ(refusal(old), "not a usable zone file: it has version 1, at least 2 is needed");
}

TEST(ZoneFile, ContentsThatMakeNoSenseAreRefused) {
  auto with = [](auto change) {
    zone_bytes file;
    change(file);
    return refusal(file.text());
  };

  EXPECT_EQ(
    with([](zone_bytes& file) { file.turns = {{200, 0}, {100, 0}}; }),
    "not a usable zone file: transition 1 is out of order or has no type");
  EXPECT_EQ(
    with([](zone_bytes& file) { file.turns = {{200, 1}}; }),
    "not a usable zone file: transition 0 is out of order or has no type");
  EXPECT_EQ(
    with([](zone_bytes& file) { file.offsets = {26 * hour}; }),
    "not a usable zone file: offset 93600 s is not within 26 hours");
  EXPECT_EQ(
    with([](zone_bytes& file) { file.offsets.clear(); }),
    "not a usable zone file: it has no type of local time");
  EXPECT_EQ(
    with([](zone_bytes& file) { file.leaps = 1; }),
    "not a usable zone file: it counts leap seconds");
  for (const char* footer :
       {"C-1", "CET", "CET-25", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,J0,J1", "CET-1CEST,0/168,1", "<+01-1", "CET-1\n"})
    EXPECT_NE(with([&](zone_bytes& file) { file.footer = footer; }), "") << footer;
}

TEST(ZoneWithoutFile, UtcAndOffsetsAreKnown) {
  EXPECT_EQ(local(*zone_without_file("UTC"), "2026-01-01T00:00:00Z"), "2026-01-01T00:00:00+00:00");
  EXPECT_EQ(
    local(*zone_without_file("+05:45"), "2026-01-01T00:00:00Z"), "2026-01-01T05:45:00+05:45");
  EXPECT_EQ(
    local(*zone_without_file("-03:30"), "2026-01-01T00:00:00Z"), "2025-12-31T20:30:00-03:30");
  for (const char* name : {"", "utc", "+5:45", "+24:00", "+05:60", "05:45", "+0545", "+05:4x"})
    EXPECT_FALSE(zone_without_file(name)) << name;
}

} // namespace
} // namespace codeq::schedule
