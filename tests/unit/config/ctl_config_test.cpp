// SPDX-License-Identifier: Apache-2.0
#include "config/ctl_config.hpp"
#include "unit/config/program_input.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::config {

using codeq::test::program_input;
using codeq::test::refusal;
using namespace std::chrono_literals;

namespace {

ctl_config accepted(const program_input& input) {
  auto parsed = parse_ctl(input.line());
  EXPECT_EQ(refusal(parsed), "");
  auto* config = std::get_if<ctl_config>(&parsed);
  return config != nullptr ? *config : ctl_config{};
}

std::string refused(const program_input& input) {
  return refusal(parse_ctl(input.line()));
}

} // namespace

TEST(CtlConfig, EnqueueTakesPlacesAndFlags) {
  auto config = accepted({{"enqueue", "q",           "[1,2]", "--tenant",
                           "t",       "--priority",  "9",     "--delay",
                           "5s",      "--lease",     "1m",    "--max-attempts",
                           "3",       "--retry",     "fixed", "--retry-base",
                           "2s",      "--retry-cap", "1h",    "--run-timeout",
                           "1h",      "--count",     "4",     "--wait",
                           "10s"}});

  const auto& command = std::get<enqueue_command>(config.command);
  EXPECT_EQ(command.task.queue, "q");
  EXPECT_EQ(command.payload, "[1,2]");
  EXPECT_EQ(command.task.tenant, "t");
  EXPECT_EQ(command.task.priority, 9);
  EXPECT_EQ(command.task.delay, 5s);
  EXPECT_EQ(command.task.lease, 1min);
  EXPECT_EQ(command.task.max_attempts, 3u);
  EXPECT_EQ(command.task.retry, (retry_policy{retry_kind::fixed, 2s, 1h}));
  EXPECT_EQ(command.task.run_timeout, 1h);
  EXPECT_EQ(command.count, 4u);
  EXPECT_EQ(command.wait, 10s);
}

TEST(CtlConfig, EnqueueWithoutAPayloadReadsStdin) {
  EXPECT_EQ(std::get<enqueue_command>(accepted({{"enqueue", "q"}}).command).payload, "-");
  EXPECT_EQ(std::get<enqueue_command>(accepted({{"enqueue", "q", "-"}}).command).payload, "-");
}

TEST(CtlConfig, GlobalOptionsMayStandBehindTheCommand) {
  auto config = accepted({{"stats", "--json", "--coordinator", "h:1", "--timeout", "2s"}});

  EXPECT_TRUE(std::holds_alternative<stats_command>(config.command));
  EXPECT_TRUE(config.json);
  EXPECT_EQ(config.coordinators, std::vector<std::string>{"h:1"});
  EXPECT_EQ(config.timeout, 2s);
}

TEST(CtlConfig, TheEnvironmentNamesTheCoordinator) {
  auto config = accepted({{"stats"}, {{"CODEQ_COORDINATOR", "h:1,h:2"}}});

  EXPECT_EQ(config.coordinators, (std::vector<std::string>{"h:1", "h:2"}));
}

TEST(CtlConfig, AnIdIsReadAndItsShapeChecked) {
  task_id id{shard_id{3}, 77};
  auto text = to_string(id);

  auto config = accepted({{"result", text.c_str(), "--wait", "1s"}});

  EXPECT_EQ(std::get<result_command>(config.command).task, id);
  EXPECT_EQ(std::get<result_command>(config.command).wait, 1s);
  EXPECT_EQ(
    refused({{"get", "nonsense"}}),
    "codeqctl: ID: `nonsense` is not a task id (its shape or its check digits are wrong)");
}

TEST(CtlConfig, ErrorsNameOptionValueAndWhatIsAllowed) {
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--priority", "12"}}),
    "codeqctl: --priority: `12` is not a whole number from 0 to 9");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--retry", "never"}}),
    "codeqctl: --retry: `never` is not fixed, linear, exponential or exponential-jitter");
  EXPECT_EQ(refused({{"enqueue"}}), "codeqctl: QUEUE is required (see --help)");
  EXPECT_EQ(refused({{"result"}}), "codeqctl: ID is required (see --help)");
  EXPECT_EQ(refused({{"get"}}), "codeqctl: get: ID is required, or --queue and --key");
}

TEST(CtlConfig, ACommandIsRequired) {
  EXPECT_NE(refused({{}}), "");
  EXPECT_NE(refused({{"bogus"}}), "");
}

TEST(CtlConfig, HelpDocumentsTheExitStatuses) {
  auto parsed = parse_ctl(program_input({"--help"}).line());

  const auto* end = std::get_if<exit_request>(&parsed);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->status, 0);
  for (const char* text : {"enqueue", "get", "result", "stats", "Exit status"})
    EXPECT_NE(end->text.find(text), std::string::npos) << text;
}

} // namespace codeq::config
