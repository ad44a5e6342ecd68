// SPDX-License-Identifier: Apache-2.0
#include "ctl/command_line.hpp"
#include "unit/config/program_input.hpp"
#include "unit/ctl/recorded_api.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace codeq::ctl {
namespace {

using codeq::test::program_input;
using codeq::test::recorded_api;

/// Output and exit status of a command line whose requests `api` answers.
std::string shown(recorded_api& api, const program_input& input) {
  auto parsed = parse_command_line(input.line());
  auto* given = std::get_if<invocation>(&parsed);
  if (given == nullptr)
    return codeq::test::refusal(parsed);
  context with{api, given->json, false};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  auto status = given->run(with);
  auto out = testing::internal::GetCapturedStdout();
  return out + testing::internal::GetCapturedStderr() + "= " + std::to_string(status);
}

/// A file of schedules.
class ScheduleFile : public testing::Test {
protected:
  ~ScheduleFile() override { std::filesystem::remove(path_); }

  const char* with(const std::string& text) {
    std::ofstream(path_) << text;
    return path_.c_str();
  }

  recorded_api api;

private:
  std::filesystem::path path_ =
    std::filesystem::temp_directory_path() / ("schedules-" + std::to_string(::getpid()) + ".toml");
};

TEST(ScheduleCommands, OptionsOfTheRuleBecomeOneLine) {
  recorded_api api;

  shown(
    api,
    {{"schedule",
      "set",
      "s",
      "--cron",
      "30 2 * * *",
      "--zone",
      "Europe/Berlin",
      "--gap",
      "skip",
      "--queue",
      "q",
      "--payload",
      "p",
      "--overlap",
      "queue_one",
      "--catch-up",
      "2h",
      "--max-attempts",
      "3"}});

  EXPECT_EQ(api.asked, "set_schedule /s\n");
  EXPECT_EQ(api.schedule.rule, "30 2 * * *; zone=Europe/Berlin; gap=skip");
  EXPECT_EQ(api.schedule.overlap, overlap_policy::queue_one);
  EXPECT_EQ(api.schedule.catch_up, std::chrono::hours(2));
  EXPECT_EQ(api.schedule.task.queue, "q");
  EXPECT_EQ(api.schedule.task.payload, "p");
  EXPECT_EQ(api.schedule.task.max_attempts, 3u);
}

TEST(ScheduleCommands, ExactlyOneOfCronEveryAndRuleIsNeeded) {
  recorded_api api;

  EXPECT_NE(
    shown(api, {{"schedule", "set", "s", "--queue", "q"}}).find("0 of cron, every and rule"),
    std::string::npos);
  EXPECT_NE(
    shown(
      api, {{"schedule", "set", "s", "--queue", "q", "--every", "1m", "--cron", "* * * * *"}})
      .find("2 of cron, every and rule"),
    std::string::npos);
  EXPECT_EQ(api.asked, "");
}

TEST(ScheduleCommands, PoliciesAreChoices) {
  recorded_api api;
  auto set = [&](const char* option, const char* value) {
    return shown(
      api, {{"schedule", "set", "s", "--queue", "q", "--every", "1m", option, value}});
  };

  EXPECT_NE(set("--misfire", "none").find("`none` is not latest, all or skip"), std::string::npos);
  EXPECT_NE(
    set("--overlap", "queue").find("`queue` is not allow, skip, queue_one or cancel_previous"),
    std::string::npos);
  EXPECT_EQ(api.asked, "");

  set("--misfire", "all");
  EXPECT_EQ(api.schedule.misfire, misfire_policy::all);
  set("--overlap", "cancel-previous");
  EXPECT_EQ(api.schedule.overlap, overlap_policy::cancel_previous);
}

TEST(ScheduleCommands, DryRunSetsNothing) {
  recorded_api api;

  shown(api, {{"schedule", "set", "s", "--every", "1m", "--queue", "q", "--dry-run"}});

  EXPECT_EQ(api.asked, "preview_schedule /s 20\n");
}

TEST(ScheduleCommands, EachVerbAsksForItsChange) {
  recorded_api api;

  for (const auto* verb : {"pause", "resume", "delete", "run", "show", "history"})
    shown(api, {{"schedule", verb, "s", "--tenant", "t"}});

  EXPECT_EQ(
    api.asked,
    "change_schedule t/s 0\nchange_schedule t/s 1\nchange_schedule t/s 2\nchange_schedule t/s 3\n"
    "show_schedule t/s\nschedule_history t/s\n");
}

TEST(ScheduleCommands, BackfillTakesARange) {
  recorded_api api;

  shown(
    api,
    {{"schedule",
      "backfill",
      "s",
      "--from",
      "2026-03-01T00:00:00Z",
      "--until",
      "2026-03-02T00:00:00Z"}});

  EXPECT_EQ(
    api.asked,
    "backfill_schedule /s 2026-03-01 00:00:00.000 UTC 2026-03-02 00:00:00.000 UTC\n");
}

TEST_F(ScheduleFile, IsCheckedAsAWholeAndThenSet) {
  const auto* file = with("[a]\nevery = \"1m\"\nqueue = \"q\"\n"
                          "[b]\ncron = \"@daily\"\nqueue = \"r\"\nheader = [\"x=1\", \"y=2\"]\n");

  shown(api, {{"schedule", "apply", file}});

  EXPECT_EQ(
    api.asked,
    "preview_schedule /a 1\npreview_schedule /b 1\nset_schedule /a\nset_schedule /b\n");
  EXPECT_EQ(api.schedule.task.headers.size(), 2u);
}

TEST_F(ScheduleFile, PruneDeletesTheOthers) {
  const auto* file = with("[a]\nevery = \"1m\"\nqueue = \"q\"\n");
  schedule_info old;
  old.name = {"default", "old"};
  api.found_schedules = {old};

  auto refused = shown(api, {{"schedule", "apply", file, "--prune"}});
  EXPECT_NE(refused.find("deletes 1 schedules that"), std::string::npos) << refused;
  EXPECT_EQ(api.asked.find("change_schedule"), std::string::npos) << api.asked;

  auto said = shown(api, {{"schedule", "apply", file, "--prune", "--yes"}});

  EXPECT_NE(api.asked.find("change_schedule /old 2"), std::string::npos) << api.asked;
  EXPECT_NE(said.find("deleted"), std::string::npos) << said;
}

TEST_F(ScheduleFile, EmptyOneDeletesAllOnlyWhenThatIsConfirmed) {
  schedule_info old;
  old.name = {"default", "old"};
  api.found_schedules = {old};

  auto refused = shown(api, {{"schedule", "apply", with(""), "--prune"}});

  EXPECT_NE(refused.find("add --yes to do it"), std::string::npos) << refused;
  EXPECT_EQ(api.asked.find("change_schedule"), std::string::npos) << api.asked;
}

TEST_F(ScheduleFile, RefusalNamesTableAndKey) {
  auto refusal = [&](const std::string& text) {
    return shown(api, {{"schedule", "apply", with(text)}});
  };

  EXPECT_NE(refusal("[a]\nevry = \"1m\"\n").find("[a] evry: unknown"), std::string::npos);
  EXPECT_NE(refusal("[a]\nevery = \"1m\"\n").find("[a] queue: is missing"), std::string::npos);
  EXPECT_NE(
    refusal("[a]\nevery = \"1m\"\nqueue = \"q\"\npriority = 12\n").find("[a] priority: "),
    std::string::npos);
  EXPECT_NE(
    refusal("[a]\nevery = \"1m\"\nqueue = \"q\"\noverlap = \"no\"\n").find("[a] overlap: "),
    std::string::npos);
  EXPECT_NE(refusal("every = \"1m\"\n").find("every: must be a table"), std::string::npos);
  EXPECT_EQ(api.asked, "");
}

} // namespace
} // namespace codeq::ctl
