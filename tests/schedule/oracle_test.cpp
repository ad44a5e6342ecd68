// SPDX-License-Identifier: Apache-2.0
#include "schedule/naive_plan.hpp"
#include "schedule/oracle.hpp"
#include "schedule/plan.hpp"
#include "schedule/zone_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>
#include <vector>

namespace codeq::test {
namespace {

using namespace schedule;
using namespace std::chrono_literals;

constexpr std::uint64_t occurrences_in_ci = 10'000'000;
constexpr std::uint64_t fixed_seed = 20'261'125;

/// One schedule with all its occurrences in a range of time.
struct random_case {
  std::string text;
  timetable times;
  std::vector<occurrence> all;
  time_range range;
};

struct totals {
  std::uint64_t schedules = 0;
  std::uint64_t occurrences = 0;
  std::uint64_t fired = 0;
  std::uint64_t skipped = 0;
  std::uint64_t crashes = 0;
  std::uint64_t doubled = 0;
  std::uint64_t missed = 0;
};

std::ostream& operator<<(std::ostream& to, const totals& all) {
  return to << all.schedules << " schedules, " << all.occurrences << " occurrences: fired "
            << all.fired << ", skipped by policy " << all.skipped << ", doubled " << all.doubled
            << ", missed " << all.missed << "; " << all.crashes << " crashes";
}

timestamp to_timestamp(sys_seconds when) {
  return timestamp{when.time_since_epoch()};
}

template <class T>
const T& pick_of(random_engine& random, const std::vector<T>& from) {
  return from[static_cast<std::size_t>(pick(random, 0, static_cast<int>(from.size()) - 1))];
}

/// A range of some days, most often one in which the zone's clocks change.
time_range pick_range(random_engine& random, const std::string& zone, bool is_fine) {
  auto changes = schedule_oracle::changes_of(zone);
  constexpr std::chrono::sys_days first{2000y / 1 / 1};
  sys_seconds middle = first + std::chrono::days{pick(random, 0, 36 * 365)};
  if (!changes.empty() && pick(random, 0, 3) > 0)
    middle = pick_of(random, changes) + pick(random, -3600, 3600) * 1s;
  // Before 1973 some offsets are no whole minutes, and the oracle walks minutes.
  if (!is_fine)
    middle = std::max<sys_seconds>(middle, std::chrono::sys_days{1973y / 3 / 1});
  auto half = is_fine ? std::chrono::hours{pick(random, 1, 30)} : std::chrono::hours{24 * 25};
  return {std::max(middle - half, sys_seconds{} + 72h), middle + half};
}

/// The mark before all nominal times of a range; without jitter, as one before it may be due in it.
nominal_time mark_before(const timetable& times, time_range range) {
  auto source = times.source();
  source.jitter = duration{0};
  return timetable::make(source, times.zone(), "test")->mark_at(to_timestamp(range.from) - 1s);
}

class OracleTest : public testing::Test {
protected:
  /// Compares each occurrence with the oracle's; the due times are those of the timetable, since
  /// the jitter is its own.
  std::vector<occurrence> compare(
    const timetable& times, const std::vector<expected_occurrence>& expected, time_range range) {
    std::vector<occurrence> all;
    auto next = times.next_after(mark_before(times, range));
    for (const auto& each : expected) {
      auto at = to_timestamp(each.at);
      auto latest = at + std::max(times.source().jitter, duration{1});
      if (!next || next->nominal.local != each.local || next->nominal.is_second() != each.is_second
          || next->due < at || next->due >= latest) {
        ADD_FAILURE() << "expected " << to_text(each.local) << (each.is_second ? " second" : "")
                      << " due " << to_string(at) << ", got "
                      << (next ? to_string(next->nominal) : "none");
        return all;
      }
      all.push_back(*next);
      next = times.next_after(next->nominal);
    }
    EXPECT_TRUE(!next || next->due >= to_timestamp(range.until)) << to_string(next->nominal);
    return all;
  }

  /// Compares what finds occurrences by time.
  void compare_searches(const random_case& one) {
    const auto& all = one.all;
    auto index = static_cast<std::size_t>(pick(random_, 0, static_cast<int>(all.size()) - 1));
    auto first = all.front().due;
    EXPECT_EQ(one.times.count(first, all[index].due), index);
    EXPECT_EQ(one.times.count(all[index].due, all[index].due + 1ms), 1u);
    auto last = one.times.last_of(first, all[index].due + 1ms, 7);
    auto size = std::min<std::size_t>(7, index + 1);
    ASSERT_EQ(last.size(), size);
    for (std::size_t i = 0; i < size; ++i)
      EXPECT_EQ(last[i], all[index + 1 - size + i]);
  }

  /// Lets the schedule run, with crashes, outages and steps of the clock, and compares what fires.
  void run(const random_case& one) {
    catch_up how{
      duration{std::chrono::minutes{pick(random_, 0, 300)}},
      static_cast<misfire_policy>(pick(random_, 0, 2))};
    auto begin = to_timestamp(one.range.from) - 1s;
    serving when{begin, begin};
    auto mark = mark_before(one.times, one.range);
    std::size_t decided = 0;
    std::set<nominal_time> recent;
    while (decided < one.all.size()) {
      move_clock(when);
      // The oracle knows nothing of what comes after its range.
      when.now = std::min(when.now, one.all.back().due);
      when.since = std::min(when.since, when.now);
      auto expected = decide_naively(one.all, decided, how, when);
      auto done = plan(one.times, mark, how, when);
      if (!is_equal(done, expected, one, decided))
        return;
      // The tasks and the mark are one write; without it nothing has happened.
      if (pick(random_, 1, 100) <= 15) {
        ++totals_.crashes;
        when.since = when.now;
        continue;
      }
      for (const auto& each : done.to_fire)
        totals_.doubled += recent.insert(each.nominal).second ? 0 : 1;
      while (recent.size() > 5000)
        recent.erase(recent.begin());
      totals_.fired += done.to_fire.size();
      totals_.skipped += done.skipped;
      mark = done.mark;
      decided = expected.decided;
    }
  }

  void move_clock(serving& when) {
    auto some = [&](duration most) {
      auto exponent = std::uniform_real_distribution<double>(0, std::log(most.count()))(random_);
      return duration{static_cast<duration::rep>(std::exp(exponent))};
    };
    switch (pick(random_, 0, 19)) {
    case 0: // The shard is not served for a while.
      when.now += some(48h);
      when.since = when.now;
      return;
    case 1: // The clock is set back.
      when.now -= some(3h);
      return;
    case 2: // The same, at a restart.
      when.now -= some(3h);
      when.since = when.now;
      return;
    default:
      when.now += some(8h);
    }
  }

  bool is_equal(
    const planned& done, const naive_plan& expected, const random_case& one, std::size_t decided) {
    bool is_same = done.to_fire == expected.to_fire && done.skipped == expected.skipped.size();
    auto named = std::min(expected.skipped.size(), skipped_named_max);
    is_same = is_same
              && std::equal(
                done.newest_skipped.begin(), done.newest_skipped.end(),
                expected.skipped.end() - static_cast<std::ptrdiff_t>(named),
                expected.skipped.end());
    if (is_same && expected.decided < one.all.size())
      is_same = done.next == one.all[expected.decided];
    if (!is_same) {
      ++totals_.missed;
      ADD_FAILURE() << "plan fires " << done.to_fire.size() << " and skips " << done.skipped
                    << ", expected " << expected.to_fire.size() << " and "
                    << expected.skipped.size() << ", from occurrence " << decided;
    }
    return is_same;
  }

  /// Makes a schedule of a zone, compares its occurrences and lets it run.
  void check(const std::string& zone, const time_range* given = nullptr) {
    bool is_fine = !given && pick(random_, 0, 3) == 0;
    auto cron = make_random_cron(random_, is_fine);
    auto range = given ? *given : pick_range(random_, zone, cron.has_seconds());
    auto gap = static_cast<gap_policy>(pick(random_, 0, 1));
    auto fold = static_cast<fold_policy>(pick(random_, 0, 2));
    auto text = cron.text() + "; zone=" + zone + "; gap=" + std::string(to_string(gap))
                + "; fold=" + std::string(to_string(fold));
    if (pick(random_, 0, 3) == 0)
      text += "; jitter=" + std::to_string(pick(random_, 1, 100'000)) + "ms";
    SCOPED_TRACE(text);
    auto parsed = parse_rule(text);
    auto times = parsed ? timetable::make(*parsed, zones_.find(zone).value(), text)
                        : result<timetable>(parsed.error());
    if (!times) {
      // A day that no month has; the parser's own tests cover it.
      ASSERT_NE(times.error().context.find("never fires"), std::string::npos);
      return;
    }
    random_case one{text, *times, {}, range};
    one.all = compare(*times, oracle_.walk(zone, cron, gap, fold, range), range);
    ++totals_.schedules;
    totals_.occurrences += one.all.size();
    if (one.all.empty() || HasFailure())
      return;
    compare_searches(one);
    run(one);
  }

  std::vector<std::string> known_zones() {
    auto names = zones_.names();
    std::erase_if(names, [](const std::string& name) { return !schedule_oracle::knows(name); });
    return names;
  }

  static std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
    const char* given = std::getenv(variable);
    return given ? std::strtoull(given, nullptr, 10) : otherwise;
  }

  std::uint64_t seed_ = number_of("CODEQ_SEED", fixed_seed);
  random_engine random_{seed_};
  zone_store zones_;
  schedule_oracle oracle_;
  totals totals_;
};

TEST_F(OracleTest, OccurrencesOfAllZonesAreThoseOfTheOracle) {
  std::cout << "CODEQ_SEED=" << seed_ << '\n';
  auto names = known_zones();
  ASSERT_GT(names.size(), 400u);

  for (std::size_t i = 0; i < names.size() || totals_.occurrences < occurrences_in_ci; ++i) {
    check(names[i % names.size()]);
    if (HasFailure())
      break;
  }

  std::cout << totals_ << '\n';
  EXPECT_EQ(totals_.doubled, 0u);
  EXPECT_EQ(totals_.missed, 0u);
}

TEST_F(OracleTest, TenYearsOfManySchedulesAreThoseOfTheOracle) {
  auto schedules = number_of("CODEQ_SCHEDULES", 0);
  if (schedules == 0)
    GTEST_SKIP() << "runs with CODEQ_SCHEDULES, which tests/run.sh --soak-schedules sets";
  std::cout << "CODEQ_SEED=" << seed_ << '\n';
  auto names = known_zones();
  const time_range years{
    std::chrono::sys_days{2026y / 1 / 1}, std::chrono::sys_days{2036y / 1 / 1}};

  for (std::uint64_t i = 0; i < schedules && !HasFailure(); ++i)
    check(names[i % names.size()], &years);

  std::cout << totals_ << '\n';
  EXPECT_EQ(totals_.doubled, 0u);
  EXPECT_EQ(totals_.missed, 0u);
}

} // namespace
} // namespace codeq::test
