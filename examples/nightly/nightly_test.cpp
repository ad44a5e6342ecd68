// SPDX-License-Identifier: Apache-2.0
#include "codeq/testing.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A folder of logs, and a clock that stands shortly before a night.
class Nightly : public testing::Test {
protected:
  Nightly() { fs::create_directories(folder); }

  ~Nightly() override { fs::remove_all(folder); }

  void log(const std::string& day, const std::string& lines) {
    std::ofstream(folder / (day + ".log")) << lines;
  }

  std::string report(const std::string& day) {
    std::stringstream text;
    text << std::ifstream(folder / (day + ".report")).rdbuf();
    return text.str();
  }

  codeq::schedule_spec spec(const std::string& rule) {
    codeq::schedule_spec nightly;
    nightly.rule = rule;
    nightly.task.queue = "nightly";
    nightly.task.payload = folder.string();
    nightly.task.retry = codeq::retry_policy{codeq::retry_kind::fixed, 1h, 1h};
    return nightly;
  }

  /// The day of the next occurrence, on the clock of its zone.
  static std::string day_of(const codeq::schedule_answer& answer) {
    return answer.schedule.next.at(0).nominal.substr(0, 10);
  }

  codeq::testing::testbed bed{codeq::testing::registered_handlers()};
  fs::path folder = fs::temp_directory_path() / ("nightly-" + std::to_string(::getpid()));
};

TEST_F(Nightly, EachNightSumsUpItsDay) {
  auto set = bed.set_schedule("nightly", spec("30 23 * * *; zone=Europe/Berlin"));
  ASSERT_TRUE(set) << to_string(set.error());
  auto day = day_of(*set);
  log(day, "error disk is full\ninfo started\ninfo stopped\n");

  bed.advance(24h);

  EXPECT_EQ(report(day), "error 1\ninfo 2\n");
  auto occurrences = bed.occurrences("nightly").value();
  ASSERT_EQ(occurrences.size(), 1u);
  EXPECT_EQ(occurrences[0].state, codeq::occurrence_state::completed);
}

TEST_F(Nightly, LateLogIsSummedUpByARetryOfTheSameDay) {
  auto set = bed.set_schedule("nightly", spec("30 23 * * *"));
  ASSERT_TRUE(set);
  auto day = day_of(*set);
  bed.advance(set->schedule.next.at(0).at - bed.now() + 1min);
  EXPECT_EQ(report(day), "");

  log(day, "info late\n");
  bed.advance(1h);

  EXPECT_EQ(report(day), "info 1\n");
}

TEST_F(Nightly, AWeekHasSevenOccurrences) {
  ASSERT_TRUE(bed.set_schedule("nightly", spec("@daily; zone=Asia/Kolkata")));

  bed.advance(7 * 24h);

  EXPECT_EQ(bed.occurrences("nightly").value().size(), 7u);
}

TEST_F(Nightly, IsOfASchedule) {
  auto task = bed.enqueue({.queue = "nightly", .payload = folder.string()}).value().id;

  EXPECT_EQ(bed.status(task).value().state, codeq::task_state::dead);
}

} // namespace
