// SPDX-License-Identifier: Apache-2.0
#include "schedule/plan.hpp"
#include "schedule/zone_store.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <string>
#include <vector>

namespace codeq::bench {

namespace {

constexpr timestamp now{std::chrono::hours{24 * 365 * 56}};

schedule::timetable times_of(const std::string& line) {
  static schedule::zone_store zones;
  auto rule = schedule::parse_rule(line).value();
  auto zone = zones.find(rule.zone).value();
  return schedule::timetable::make(std::move(rule), std::move(zone), "bench/schedule").value();
}

/// Each iteration finds the occurrence after the one before.
void next_after(benchmark::State& state, const char* line) {
  auto times = times_of(line);
  auto first = times.mark_at(now);
  auto mark = first;
  for (auto _ : state) {
    auto next = times.next_after(mark);
    mark = next ? next->nominal : first;
    benchmark::DoNotOptimize(mark);
  }
}

/// Each iteration decides for a schedule of every second that was not served for a year.
void plan_after_a_year(benchmark::State& state) {
  auto times = times_of("* * * * * *; zone=Europe/Berlin");
  auto mark = times.mark_at(now);
  auto later = now + std::chrono::hours{24 * 365};
  for (auto _ : state)
    benchmark::DoNotOptimize(schedule::plan(times, mark, {}, {later, later}));
}

/// Each iteration fires 100,000 schedules with periods once.
void hundred_thousand_periods(benchmark::State& state) {
  std::vector<schedule::timetable> all;
  std::vector<schedule::nominal_time> marks;
  for (int i = 0; i < 100'000; ++i) {
    all.push_back(times_of("every " + std::to_string(60 + i) + "s"));
    marks.push_back(all.back().mark_at(now));
  }
  for (auto _ : state)
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto due = all[i].next_after(marks[i])->due;
      marks[i] = schedule::plan(all[i], marks[i], {}, {now, due}).mark;
    }
}

BENCHMARK_CAPTURE(next_after, every, "every 90s");
BENCHMARK_CAPTURE(next_after, minutes, "*/5 * * * *; zone=Europe/Berlin");
BENCHMARK_CAPTURE(next_after, daily, "30 2 * * 1-5; zone=America/New_York");
BENCHMARK_CAPTURE(next_after, daily_with_jitter, "30 2 * * *; zone=America/New_York; jitter=5m");
BENCHMARK_CAPTURE(next_after, leap_days, "0 0 29 2 *; zone=Europe/Berlin");
BENCHMARK(plan_after_a_year);
BENCHMARK(hundred_thousand_periods)->Unit(benchmark::kMillisecond);

} // namespace

} // namespace codeq::bench
