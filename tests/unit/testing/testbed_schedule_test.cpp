// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"
#include "codeq/testing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Schedules at the shard that ships, under a virtual clock.
class TestbedSchedule : public ::testing::Test {
protected:
  TestbedSchedule() {
    handlers.handle("q", [this](const task& attempt) {
      nominal.push_back(attempt.headers.at("codeq-nominal-time"));
      names.insert(attempt.headers.at("codeq-schedule"));
      return answer;
    });
  }

  testbed& bed() {
    if (!bed_)
      bed_.emplace(handlers);
    return *bed_;
  }

  static schedule_spec
  spec(const std::string& rule, overlap_policy overlap = overlap_policy::skip) {
    schedule_spec made;
    made.rule = rule;
    made.overlap = overlap;
    made.task.queue = "q";
    made.task.retry = retry_policy{retry_kind::fixed, 1h, 1h};
    return made;
  }

  schedule_result set(const schedule_spec& wanted, const std::string& name = "s") {
    auto answered = bed().set_schedule(name, wanted);
    EXPECT_TRUE(answered) << to_string(answered.error());
    return answered ? answered->what : schedule_result::unchanged;
  }

  std::string refusal(const schedule_spec& wanted) {
    auto answered = bed().set_schedule("s", wanted);
    return answered ? "" : to_string(answered.error());
  }

  std::vector<schedule_occurrence> occurrences(const std::string& name = "s") {
    auto found = bed().occurrences(name);
    EXPECT_TRUE(found) << to_string(found.error());
    return found ? std::move(*found) : std::vector<schedule_occurrence>();
  }

  std::vector<std::string> states(const std::string& name = "s") {
    std::vector<std::string> all;
    for (const auto& one : occurrences(name))
      all.emplace_back(to_string(one.state));
    return all;
  }

  handler_registry handlers;
  outcome answer = outcome::completed("done");
  std::vector<std::string> nominal;
  std::set<std::string> names;

private:
  std::optional<testbed> bed_;
};

TEST_F(TestbedSchedule, FiresAtEachOfItsTimesOnceWithItsNominalTime) {
  EXPECT_EQ(set(spec("every 1h")), schedule_result::created);

  bed().advance(24h);

  EXPECT_EQ(nominal.size(), 24u);
  EXPECT_EQ(std::set<std::string>(nominal.begin(), nominal.end()).size(), 24u);
  EXPECT_EQ(names, std::set<std::string>{"s"});
}

TEST_F(TestbedSchedule, FiresInTimeAndNeverEarly) {
  set(spec("every 10s"));

  bed().advance(1h);

  for (const auto& one : occurrences()) {
    EXPECT_GE(one.decided_at, one.when.at);
    EXPECT_LT(one.decided_at - one.when.at, 50ms);
  }
}

TEST_F(TestbedSchedule, EqualDefinitionIsUnchanged) {
  EXPECT_EQ(set(spec("every 1h")), schedule_result::created);
  EXPECT_EQ(set(spec("every 60m")), schedule_result::unchanged);
  EXPECT_EQ(set(spec("every 2h")), schedule_result::changed);
}

TEST_F(TestbedSchedule, ChangedRuleDoesNotFireATimeAgain) {
  set(spec("0 * * * *", overlap_policy::allow));
  bed().advance(90min);
  auto before = nominal;

  set(spec("0,30 * * * *", overlap_policy::allow));
  bed().advance(90min);

  for (const auto& one : before)
    EXPECT_EQ(std::count(nominal.begin(), nominal.end(), one), 1) << one;
  EXPECT_GT(nominal.size(), before.size());
}

TEST_F(TestbedSchedule, SkipsWhileATaskWaitsForItsRetry) {
  answer = outcome::failed("not yet");
  set(spec("every 10m"));

  bed().advance(31min);

  auto all = states();
  EXPECT_EQ(all.front(), "running");
  EXPECT_EQ(std::count(all.begin(), all.end(), "skipped_overlap"), 2);
}

TEST_F(TestbedSchedule, QueuedOccurrenceFiresWhenItsPredecessorEnds) {
  answer = outcome::failed("not yet");
  set(spec("every 10m", overlap_policy::queue_one));
  bed().advance(21min);
  answer = outcome::completed("done");

  bed().advance(1h);

  EXPECT_EQ(nominal[2], bed().occurrences("s").value()[1].when.nominal);
}

TEST_F(TestbedSchedule, PausedOneLeavesOutWhatWasDue) {
  set(spec("every 1h"));
  bed().advance(61min);
  ASSERT_TRUE(bed().change_schedule("s", schedule_action::pause));
  auto before = nominal.size();

  bed().advance(5h);
  ASSERT_TRUE(bed().change_schedule("s", schedule_action::resume));
  EXPECT_EQ(nominal.size(), before);
  bed().advance(1h);

  EXPECT_EQ(nominal.size(), before + 1);
}

TEST_F(TestbedSchedule, RunNowFiresOnce) {
  set(spec("@yearly"));

  ASSERT_TRUE(bed().change_schedule("s", schedule_action::run));

  EXPECT_EQ(nominal.size(), 1u);
  EXPECT_THAT(states(), ElementsAre("completed"));
}

TEST_F(TestbedSchedule, KeyedTasksGoThroughTheOutboxAndTheirEndsAreKnown) {
  auto keyed = spec("every 1h");
  keyed.task.key = "k";
  keyed.task.duplicate = on_duplicate::replace_ended;
  set(keyed);

  bed().advance(3h);

  EXPECT_THAT(states(), ElementsAre("completed", "completed", "completed"));
}

TEST_F(TestbedSchedule, RefusalsNameFieldValueAndLimit) {
  EXPECT_THAT(refusal(spec("0 25 * * *")), HasSubstr("25 is not within 0..23"));
  EXPECT_THAT(refusal(spec("every 1h; zone=Nowhere/City")), HasSubstr("Nowhere/City"));
  constexpr overlap_policy unknown{9};
  EXPECT_THAT(refusal(spec("every 1h", unknown)), HasSubstr("overlap: `unknown` is not allow, "));
  auto large = spec("every 1h");
  large.task.payload = std::string(limits::schedule_bytes_max, 'x');
  EXPECT_THAT(refusal(large), HasSubstr("65536"));
  auto deferred = spec("every 1h");
  deferred.task.delay = 1s;
  EXPECT_THAT(refusal(deferred), HasSubstr("delay"));
  auto own = spec("every 1h");
  own.task.headers["codeq-schedule"] = "mine";
  EXPECT_THAT(refusal(own), HasSubstr("codeq-schedule"));
}

TEST_F(TestbedSchedule, DeletedOneDoesNotFire) {
  set(spec("every 1h"));
  ASSERT_TRUE(bed().change_schedule("s", schedule_action::remove));

  bed().advance(3h);

  EXPECT_THAT(nominal, IsEmpty());
  EXPECT_EQ(bed().occurrences("s").error().code, errc::unknown_schedule);
}

TEST_F(TestbedSchedule, ManyOfTheSameMinuteFireWithinASecond) {
  auto many = spec("* * * * *", overlap_policy::allow);
  for (int i = 0; i < 2000; ++i)
    set(many, "s" + std::to_string(i));

  bed().advance(61s);

  EXPECT_GE(nominal.size(), 2000u);
  for (int i = 0; i < 2000; i += 100)
    for (const auto& one : occurrences("s" + std::to_string(i)))
      EXPECT_LT(one.decided_at - one.when.at, 1s);
}

} // namespace
} // namespace codeq::testing
