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

TEST(CtlConfig, VerifyTakesADirectory) {
  auto config = accepted({{"verify", "data", "--durability", "os", "--limit", "5"}});

  const auto& command = std::get<verify_command>(config.command);
  EXPECT_EQ(command.directory, "data");
  EXPECT_FALSE(command.sync);
  EXPECT_EQ(command.findings_max, 5u);
  EXPECT_TRUE(std::get<verify_command>(accepted({{"verify", "data"}}).command).sync);
  EXPECT_NE(refused({{"verify"}}), "");
  EXPECT_NE(refused({{"verify", ""}}), "");
}

TEST(CtlConfig, RestoreTakesBackupsAndANewDirectory) {
  auto config = accepted({{"restore", "backups", "data", "--number", "3"}});

  const auto& command = std::get<restore_command>(config.command);
  EXPECT_EQ(command.backups, "backups");
  EXPECT_EQ(command.directory, "data");
  EXPECT_EQ(command.number, 3u);
  EXPECT_EQ(std::get<restore_command>(accepted({{"restore", "b", "d"}}).command).number, 0u);
  EXPECT_NE(refused({{"restore", "backups"}}), "");
  EXPECT_NE(refused({{"restore", "backups", "data", "--number", "0"}}), "");
}

TEST(CtlConfig, BackupTakesNothing) {
  EXPECT_TRUE(std::holds_alternative<backup_command>(accepted({{"backup"}}).command));
  EXPECT_NE(refused({{"backup", "somewhere"}}), "");
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

TEST(CtlConfig, EnqueueLeavesToTheQueueWhatIsNotGiven) {
  auto task = std::get<enqueue_command>(accepted({{"enqueue", "q", "x"}}).command).task;

  EXPECT_EQ(task.max_attempts, std::nullopt);
  EXPECT_EQ(task.retry, std::nullopt);
  EXPECT_EQ(task.lease, std::nullopt);
  EXPECT_EQ(task.run_timeout, std::nullopt);
  EXPECT_EQ(task.progress_timeout, std::nullopt);
  EXPECT_EQ(task.retention, std::nullopt);
  EXPECT_EQ(task.dead_retention, std::nullopt);
  EXPECT_EQ(task.when_dead, std::nullopt);
}

TEST(CtlConfig, EnqueueTakesKeysGroupsAndRetention) {
  auto config = accepted(
    {{"enqueue",
      "q",
      "x",
      "--group",
      "g h",
      "--on-dead",
      "block",
      "--key",
      "k/1",
      "--on-duplicate",
      "promote",
      "--replace-payload",
      "--retention",
      "30d",
      "--dead-retention",
      "1y",
      "--progress-timeout",
      "2m",
      "--retry-cap",
      "1h"}});

  const auto& task = std::get<enqueue_command>(config.command).task;
  EXPECT_EQ(task.group, "g h");
  EXPECT_EQ(task.when_dead, on_dead::block);
  EXPECT_EQ(task.key, "k/1");
  EXPECT_EQ(task.duplicate, on_duplicate::promote);
  EXPECT_TRUE(task.replace_payload);
  EXPECT_EQ(task.retention, 30 * 24h);
  EXPECT_EQ(task.dead_retention, 365 * 24h);
  EXPECT_EQ(task.progress_timeout, 2min);
  EXPECT_EQ(task.retry, (retry_policy{retry_kind::exponential_jitter, 1s, 1h}));
}

TEST(CtlConfig, KeysAndGroupsAreChecked) {
  std::string too_long(257, 'k');
  auto long_text = "`" + std::string(32, 'k') + "...` has 257 bytes; it must have at most 256";

  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--key", too_long.c_str()}}), "codeqctl: --key: " + long_text);
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--group", too_long.c_str()}}),
    "codeqctl: --group: " + long_text);
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--key", "k", "--count", "3"}}),
    "codeqctl: enqueue: --count: `3` tasks cannot share --key; it must be 1");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--on-duplicate", "reject"}}),
    "codeqctl: enqueue: --on-duplicate needs --key");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--replace-payload"}}),
    "codeqctl: enqueue: --replace-payload needs --key");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--key", "k", "--on-duplicate", "maybe"}}),
    "codeqctl: --on-duplicate: `maybe` is not existing, reject, defer or promote");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--retention", "2h"}}),
    "codeqctl: --retention: `2h` is not 1h, 1d, 7d, 30d or 1y");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--on-dead", "stop"}}),
    "codeqctl: --on-dead: `stop` is not skip or block");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--progress-timeout", "31d"}}),
    "codeqctl: --progress-timeout: `31d` is outside 0s to 30d");
}

TEST(CtlConfig, ATaskIsNamedByIdOrByKey) {
  auto id = to_string(task_id{shard_id{3}, 77});

  auto by_id = accepted({{"cancel", id.c_str()}});
  auto by_key =
    accepted({{"promote", "--tenant", "t", "--queue", "q", "--key", "k", "--group", "g"}});

  const auto& cancel = std::get<change_command>(by_id.command);
  EXPECT_EQ(std::get<task_id>(cancel.task), (task_id{shard_id{3}, 77}));
  EXPECT_EQ(cancel.change, task_change::cancel);
  const auto& promote = std::get<change_command>(by_key.command);
  EXPECT_EQ(std::get<task_key>(promote.task), (task_key{"t", "q", "g", "k"}));
  EXPECT_EQ(promote.change, task_change::promote);
  EXPECT_EQ(
    refused({{"cancel", id.c_str(), "--queue", "q", "--key", "k"}}),
    "codeqctl: cancel: ID and --key are both given; give one of them");
  EXPECT_EQ(refused({{"get", "--key", "k"}}), "codeqctl: get: --key needs --queue");
}

TEST(CtlConfig, CommandsOfTwoWordsAreChosen) {
  auto id = to_string(task_id{shard_id{3}, 77});

  auto force =
    std::get<force_command>(accepted({{"force", "fail", id.c_str(), "--text", "poison"}}).command);
  EXPECT_EQ(force.how, force_kind::fail);
  EXPECT_EQ(force.text, "poison");
  auto revoke = std::get<force_command>(accepted({{"force", "revoke", id.c_str()}}).command);
  EXPECT_EQ(revoke.how, force_kind::revoke);
  auto pause = std::get<queue_command>(accepted({{"queue", "pause", "q"}}).command);
  EXPECT_EQ(pause.what, queue_command::action::pause);
  EXPECT_EQ(pause.queue, (queue_address{"default", "q"}));
  auto dead = std::get<list_command>(accepted({{"dead", "list", "--queue", "q"}}).command);
  EXPECT_EQ(dead.filter.state, task_state::dead);
  EXPECT_EQ(dead.filter.queue, "q");
  EXPECT_TRUE(std::holds_alternative<queue_stats_command>(accepted({{"queue", "stats"}}).command));
  EXPECT_NE(refused({{"queue"}}), "");
  EXPECT_NE(refused({{"queue", "dance"}}), "");
}

TEST(CtlConfig, ListAndDeadTakeFilters) {
  auto list = std::get<list_command>(
    accepted({{"list", "--tenant", "t", "--state", "leased", "--limit", "5"}}).command);
  EXPECT_EQ(list.filter.tenant, "t");
  EXPECT_EQ(list.filter.state, task_state::leased);
  EXPECT_EQ(list.limit, 5u);
  auto dead =
    std::get<dead_command>(accepted({{"dead", "redrive", "--limit", "10", "--rate", "2"}}).command);
  EXPECT_EQ(dead.change, dead_change::redrive);
  EXPECT_EQ(dead.filter.limit, 10u);
  EXPECT_EQ(dead.filter.rate, 2u);
  EXPECT_EQ(
    refused({{"list", "--limit", "10001"}}),
    "codeqctl: --limit: `10001` is not a whole number from 1 to 10000");
  EXPECT_EQ(
    refused({{"list", "--state", "running"}}),
    "codeqctl: --state: `running` is not scheduled, gated, ready, leased, completed, dead or "
    "cancelled");
  EXPECT_EQ(
    refused({{"dead", "purge", "--rate", "0"}}),
    "codeqctl: --rate: `0` is not a whole number from 1 to 1000000");
  EXPECT_EQ(
    refused({{"list", "--queue", "a b"}}),
    "codeqctl: --queue: `a b` is not a name of 1 to 128 letters, digits, `.`, `_` or `-`");
}

TEST(CtlConfig, QueueSetChangesWhatIsGivenAndNothingElse) {
  auto config = accepted(
    {{"queue",
      "set",
      "q",
      "--max-depth",
      "10",
      "--lease",
      "1m",
      "--keep-payload",
      "true",
      "--retry-base",
      "3s"}});
  queue_config before;
  before.max_leased = 4;
  before.defaults.retry = {retry_kind::linear, 1s, 9s};

  auto after = std::get<queue_set_command>(config.command).changes.applied_to(before);

  auto expected = before;
  expected.max_depth = 10;
  expected.defaults.lease = 1min;
  expected.keep_payload = true;
  expected.defaults.retry.base = 3s;
  EXPECT_EQ(after, expected);
  EXPECT_EQ(
    refused({{"queue", "set", "q", "--keep-payload", "maybe"}}),
    "codeqctl: --keep-payload: `maybe` is neither true nor false");
  EXPECT_EQ(
    refused({{"queue", "set", "q", "--max-depth", "-1"}}),
    "codeqctl: --max-depth: `-1` is not a whole number from 0 to 1000000000000");
}

TEST(CtlConfig, PurgingATenantHasToBeConfirmed) {
  EXPECT_EQ(
    refused({{"tenant", "purge", "t"}}),
    "codeqctl: tenant purge: this removes every task of tenant `t` for good; add --yes to do it");
  auto purge =
    std::get<tenant_purge_command>(accepted({{"tenant", "purge", "t", "--yes"}}).command);
  EXPECT_EQ(purge.tenant, "t");
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
  for (const char* text :
       {"enqueue", "get", "result", "stats", "dead", "queue", "tenant", "force", "Exit status"})
    EXPECT_NE(end->text.find(text), std::string::npos) << text;
}

} // namespace codeq::config
