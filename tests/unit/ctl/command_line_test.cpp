// SPDX-License-Identifier: Apache-2.0
#include "ctl/command_line.hpp"
#include "unit/config/program_input.hpp"
#include "unit/ctl/recorded_api.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace codeq::ctl {

using codeq::test::program_input;
using codeq::test::recorded_api;
using codeq::test::refusal;
using namespace std::chrono_literals;

namespace {

/// The task id that the tests use.
const auto some_id = to_string(task_id{shard_id{3}, 77});

invocation accepted(const program_input& input) {
  auto parsed = parse_command_line(input.line());
  EXPECT_EQ(refusal(parsed), "");
  auto* given = std::get_if<invocation>(&parsed);
  return given != nullptr ? *given : invocation{};
}

std::string refused(const program_input& input) {
  return refusal(parse_command_line(input.line()));
}

/// Runs a command line and discards its output.
recorded_api run(const program_input& input) {
  recorded_api api;
  auto given = accepted(input);
  if (!given.run)
    return api;
  context with{api, given.json};
  testing::internal::CaptureStdout();
  EXPECT_EQ(given.run(with), exit_done);
  static_cast<void>(testing::internal::GetCapturedStdout());
  return api;
}

std::string asked(const program_input& input) {
  return run(input).asked;
}

} // namespace

TEST(CtlCommandLine, ReplaceEndedMayBeSpelledAsOptionsAre) {
  for (const char* word : {"replace_ended", "replace-ended"})
    EXPECT_EQ(
      run({{"enqueue", "q", "x", "--key", "k", "--on-duplicate", word}}).task.duplicate,
      on_duplicate::replace_ended);
}

TEST(CtlCommandLine, RetryMayBeSpelledAsInTheApi) {
  for (const char* word : {"exponential_jitter", "exponential-jitter"})
    EXPECT_EQ(
      run({{"enqueue", "q", "x", "--retry", word}}).task.retry->kind,
      retry_kind::exponential_jitter);
}

TEST(CtlCommandLine, EnqueueTakesPlacesAndFlags) {
  auto api = run({{"enqueue", "q",           "[1,2]", "--tenant",
                   "t",       "--priority",  "9",     "--delay",
                   "5s",      "--lease",     "1m",    "--max-attempts",
                   "3",       "--retry",     "fixed", "--retry-base",
                   "2s",      "--retry-cap", "1h",    "--run-timeout",
                   "1h",      "--count",     "4",     "--wait",
                   "10s"}});

  EXPECT_EQ(api.asked, "enqueue 4\n");
  EXPECT_EQ(api.task.queue, "q");
  EXPECT_EQ(api.task.payload, "[1,2]");
  EXPECT_EQ(api.task.tenant, "t");
  EXPECT_EQ(api.task.priority, 9);
  EXPECT_EQ(api.task.delay, 5s);
  EXPECT_EQ(api.task.lease, 1min);
  EXPECT_EQ(api.task.max_attempts, 3u);
  EXPECT_EQ(api.task.retry, (retry_policy{retry_kind::fixed, 2s, 1h}));
  EXPECT_EQ(api.task.run_timeout, 1h);
}

TEST(CtlCommandLine, VerifyTakesADirectory) {
  accepted({{"verify", "data", "--durability", "os", "--limit", "5"}});

  EXPECT_NE(refused({{"verify"}}), "");
  EXPECT_EQ(refused({{"verify", ""}}), "codeqctl: DIR: must not be empty");
  EXPECT_EQ(
    refused({{"verify", "data", "--durability", "maybe"}}),
    "codeqctl: --durability: `maybe` is not sync or os");
}

TEST(CtlCommandLine, RestoreTakesBackupsAndANewDirectory) {
  accepted({{"restore", "backups", "data", "--number", "3"}});

  accepted({{"restore", "backups", "data", "--cluster", "monday.json"}});
  EXPECT_NE(refused({{"restore", "backups"}}), "");
  EXPECT_NE(refused({{"restore", "backups", "data", "--number", "0"}}), "");
}

TEST(CtlCommandLine, BackupIsOfOneCoordinatorOrOfACluster) {
  EXPECT_EQ(asked({{"backup"}}), "back_up\n");
  EXPECT_EQ(asked({{"backup", "--cluster", "monday.json"}}), "back_up_cluster monday.json\n");
  EXPECT_NE(refused({{"backup", "somewhere"}}), "");
}

TEST(CtlCommandLine, GlobalOptionsMayStandBehindTheCommand) {
  auto given = accepted({{"stats", "--json", "--coordinator", "h:1", "--timeout", "2s"}});

  EXPECT_TRUE(given.json);
  EXPECT_EQ(given.node.coordinators, std::vector<std::string>{"h:1"});
  EXPECT_EQ(given.node.timeout, 2s);
}

TEST(CtlCommandLine, TheEnvironmentNamesTheCoordinator) {
  auto given = accepted({{"stats"}, {{"CODEQ_COORDINATOR", "h:1,h:2"}}});

  EXPECT_EQ(given.node.coordinators, (std::vector<std::string>{"h:1", "h:2"}));
}

TEST(CtlCommandLine, AnIdIsReadAndItsShapeChecked) {
  EXPECT_EQ(asked({{"explain", some_id.c_str()}}), "explain " + some_id + "\n");
  EXPECT_EQ(asked({{"explain", "--queue", "mail"}}), "explain_queue /mail\n");
  EXPECT_EQ(refused({{"explain"}}), "codeqctl: explain: ID is required, or --queue");
  EXPECT_EQ(
    refused({{"explain", some_id.c_str(), "--queue", "mail"}}),
    "codeqctl: explain: ID and --queue are both given; give one of them");
  EXPECT_EQ(asked({{"events", some_id.c_str()}}), "events " + some_id + "\n");
  EXPECT_EQ(
    refused({{"get", "nonsense"}}),
    "codeqctl: ID: `nonsense` is not a task id (its shape or its check digits are wrong)");
}

TEST(CtlCommandLine, ErrorsNameOptionValueAndWhatIsAllowed) {
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--priority", "12"}}),
    "codeqctl: --priority: `12` is not a whole number from 0 to 9");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--retry", "never"}}),
    "codeqctl: --retry: `never` is not fixed, linear, exponential or exponential-jitter");
  EXPECT_EQ(refused({{"enqueue"}}), "codeqctl: QUEUE is required (see --help)");
  EXPECT_EQ(refused({{"result"}}), "codeqctl: ID is required (see --help)");
  EXPECT_EQ(
    refused({{"dead"}}),
    "codeqctl: a subcommand is required: list, summary, redrive, purge (see --help)");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--prio", "-3"}}),
    "codeqctl: unknown option `--prio`; did you mean `--priority`? (see --help)");
  EXPECT_EQ(refused({{"get"}}), "codeqctl: get: ID is required, or --queue and --key");
}

TEST(CtlCommandLine, EnqueueLeavesToTheQueueWhatIsNotGiven) {
  auto task = run({{"enqueue", "q", "x"}}).task;

  EXPECT_EQ(task.max_attempts, std::nullopt);
  EXPECT_EQ(task.retry, std::nullopt);
  EXPECT_EQ(task.lease, std::nullopt);
  EXPECT_EQ(task.run_timeout, std::nullopt);
  EXPECT_EQ(task.progress_timeout, std::nullopt);
  EXPECT_EQ(task.retention, std::nullopt);
  EXPECT_EQ(task.dead_retention, std::nullopt);
  EXPECT_EQ(task.when_dead, std::nullopt);
}

TEST(CtlCommandLine, EnqueueTakesKeysGroupsAndRetention) {
  auto api = run(
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
      "1h",
      "--fairness-key",
      "t/c",
      "--fairness-weight",
      "12",
      "--limit",
      "stripe:acct_42:3",
      "--limit",
      "smtp"}});

  const auto& task = api.task;
  EXPECT_EQ(task.limits, (std::vector<task_limit>{{"stripe", "acct_42", 3}, {"smtp", {}, 1}}));
  EXPECT_EQ(task.fairness_key, "t/c");
  EXPECT_EQ(task.fairness_weight, 12u);
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

TEST(CtlCommandLine, RetentionTakesEverySpellingOfItsClasses) {
  auto task = run({{"enqueue", "q", "x", "--retention", "24h", "--dead-retention", "0s"}}).task;

  EXPECT_EQ(task.retention, std::optional<duration>(24h));
  EXPECT_EQ(task.dead_retention, duration{0});
}

TEST(CtlCommandLine, KeysAndGroupsAreChecked) {
  std::string too_long(257, 'k');
  auto long_text = "`" + std::string(32, 'k') + "...` has 257 bytes; it must have at most 256";

  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--key", too_long.c_str()}}), "codeqctl: --key: " + long_text);
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--group", too_long.c_str()}}),
    "codeqctl: --group: " + long_text);
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--fairness-key", too_long.c_str()}}),
    "codeqctl: --fairness-key: " + long_text);
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--fairness-weight", "1001"}}),
    "codeqctl: --fairness-weight: `1001` is not a whole number from 1 to 1000");
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
    "codeqctl: --on-duplicate: `maybe` is not existing, reject, defer, promote or replace_ended");
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

TEST(CtlCommandLine, ATaskIsNamedByIdOrByKey) {
  EXPECT_EQ(asked({{"cancel", some_id.c_str()}}), "change " + some_id + " 0\n");
  EXPECT_EQ(
    asked({{"promote", "--tenant", "t", "--queue", "q", "--key", "k", "--group", "g"}}),
    "change t/q/g/k 1\n");
  EXPECT_EQ(asked({{"get", "--queue", "q", "--key", "k"}}), "status /q//k\n");
  EXPECT_EQ(asked({{"redrive", some_id.c_str()}}), "change " + some_id + " 2\n");
  EXPECT_EQ(asked({{"purge", some_id.c_str()}}), "change " + some_id + " 3\n");
  EXPECT_EQ(
    refused({{"cancel", some_id.c_str(), "--queue", "q", "--key", "k"}}),
    "codeqctl: cancel: ID and --key are both given; give one of them");
  EXPECT_EQ(refused({{"get", "--key", "k"}}), "codeqctl: get: --key needs --queue");
}

TEST(CtlCommandLine, CommandsOfTwoWordsAreChosen) {
  const auto* id = some_id.c_str();

  EXPECT_EQ(asked({{"force", "fail", id, "--text", "poison"}}), "force " + some_id + " 2 poison\n");
  EXPECT_EQ(asked({{"force", "complete", id}}), "force " + some_id + " 1 \n");
  EXPECT_EQ(asked({{"force", "revoke", id}}), "force " + some_id + " 0 \n");
  EXPECT_EQ(asked({{"queue", "show", "q"}}), "show_queue /q\n");
  EXPECT_EQ(asked({{"queue", "pause", "q"}}), "pause /q\n");
  EXPECT_EQ(asked({{"queue", "resume", "q"}}), "resume /q\n");
  EXPECT_EQ(asked({{"worker", "drain", "t/w"}}), "drain_worker t/w on\n");
  EXPECT_EQ(asked({{"worker", "resume", "t/w"}}), "drain_worker t/w off\n");
  EXPECT_EQ(asked({{"queue", "fairness", "q"}}), "fairness /q at most 100\n");
  EXPECT_EQ(
    asked({{"queue", "fairness", "q", "--after", "", "--limit", "7"}}),
    "fairness /q after '' at most 7\n");
  EXPECT_EQ(asked({{"queue", "purge", "q", "--yes"}}), "purge_queue /q\n");
  EXPECT_EQ(asked({{"queue", "stats"}}), "stats_of /\n");
  EXPECT_NE(refused({{"queue"}}), "");
  EXPECT_NE(refused({{"queue", "dance"}}), "");
}

TEST(CtlCommandLine, ListAndDeadTakeFilters) {
  EXPECT_EQ(
    asked({{"list", "--tenant", "t", "--state", "leased", "--limit", "5"}}),
    "list t/ leased limit 5 newest\n");
  EXPECT_EQ(
    asked({{"dead", "list", "--queue", "q", "--blocking"}}),
    "list /q dead blocking limit 100 newest\n");
  EXPECT_EQ(
    asked({{"dead", "redrive", "--limit", "10", "--rate", "2"}}),
    "redrive / limit 10 rate 2\n");
  EXPECT_EQ(asked({{"dead", "purge", "--yes"}}), "purge / limit 0 rate 0\n");
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

TEST(CtlCommandLine, ListTakesEveryFilter) {
  auto api = run(
    {{"list", "--group", "g", "--key", "k", "--worker", "w", "--header", "a=1", "--header", "b=x=y",
      "--error", "refused", "--since", "2026-05-20T10:00:00Z", "--until", "2026-05-20T11:00:00Z",
      "--order", "oldest", "--after", "o1.2"}});
  const auto& filter = api.asked_for;

  EXPECT_EQ(api.asked, "list / any limit 100 oldest after o1.2\n");
  EXPECT_EQ(filter.group + filter.key + filter.error, "gkrefused");
  EXPECT_EQ(filter.workers, std::vector<std::string>{"w"});
  EXPECT_EQ(filter.headers, (std::map<std::string, std::string>{{"a", "1"}, {"b", "x=y"}}));
  EXPECT_EQ(filter.enqueued.until - filter.enqueued.since, 1h);
  EXPECT_EQ(refused({{"list", "--header", "=1"}}), "codeqctl: --header: `=1` is not NAME=VALUE");
  EXPECT_EQ(
    refused({{"list", "--since", "today"}}),
    "codeqctl: --since: `today` is neither a time such as 2026-05-20T10:00:00Z nor a duration "
    "before now such as 2h");
  EXPECT_EQ(
    refused({{"list", "--until", "1970-01-01T00:00:00Z"}}),
    "codeqctl: --until: `1970-01-01T00:00:00Z` is not after 1970");
  EXPECT_EQ(
    run({{"list", "--since", "1970-01-01T00:00:00Z"}}).asked_for.enqueued.since, timestamp{});
  EXPECT_EQ(refused({{"list", "--order", "x"}}), "codeqctl: --order: `x` is not oldest or newest");
}

TEST(CtlCommandLine, DeadTakesAgesGroupsErrorsAndADryRun) {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  auto api = run(
    {{"dead",
      "redrive",
      "--group",
      "g",
      "--error",
      "refused",
      "--older-than",
      "1h",
      "--newer-than",
      "2d",
      "--dry-run"}});
  const auto& filter = api.asked_for_dead;

  EXPECT_EQ(api.asked, "redrive / limit 0 rate 0 dry\n");
  EXPECT_EQ(filter.group + filter.error, "grefused");
  EXPECT_EQ(filter.died.until - filter.died.since, 47h + 1ms);
  EXPECT_NEAR(
    static_cast<double>((now - filter.died.until.time_since_epoch()) / 1ms),
    static_cast<double>(1h / 1ms),
    60'000.0);
  EXPECT_EQ(asked({{"dead", "summary", "--queue", "q"}}), "summary /q\n");
  EXPECT_TRUE(run({{"dead", "list", "--older-than", "1h"}}).asked_for.ended.is_bounded());
  EXPECT_NE(refused({{"dead", "purge", "--older-than", "soon"}}), "");
}

TEST(CtlCommandLine, OperationTakesTheFiltersOfListsARateAndACanary) {
  auto api = run(
    {{"operation",
      "start",
      "redrive",
      "--queue",
      "q",
      "--error",
      "refused",
      "--header",
      "k=v",
      "--older-than",
      "1h",
      "--rate",
      "100",
      "--limit",
      "7",
      "--canary",
      "0"}});
  const auto& what = api.asked_for_operation;

  EXPECT_EQ(api.asked, "start_operation /q\n");
  EXPECT_EQ(what.kind, operation_verb::redrive);
  EXPECT_EQ(what.filter.error + what.filter.headers.at("k"), "refusedv");
  EXPECT_TRUE(what.filter.ended.is_bounded());
  EXPECT_EQ(what.rate, 100u);
  EXPECT_EQ(what.limit, 7u);
  EXPECT_EQ(what.canary, 0u);
  EXPECT_EQ(asked({{"operation", "list"}}), "operations \n");
  EXPECT_EQ(asked({{"operation", "show", "a1"}}), "operation a1 0\n");
  EXPECT_EQ(asked({{"operation", "pause", "a1"}}), "operation a1 1\n");
  EXPECT_EQ(asked({{"operation", "resume", "a1"}}), "operation a1 2\n");
  EXPECT_EQ(asked({{"operation", "cancel", "a1"}}), "operation a1 3\n");
  EXPECT_NE(refused({{"operation", "start", "forget"}}), "");
  EXPECT_NE(refused({{"operation", "start", "redrive", "--canary", "101"}}), "");
}

TEST(CtlCommandLine, QueueSetChangesWhatIsGivenAndNothingElse) {
  auto api = run(
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
      "3s",
      "--quarantine-after",
      "3",
      "--pause-when-failing",
      "50%/2m"}});
  queue_config before;
  before.max_leased = 4;
  before.defaults.retry = {retry_kind::linear, 1s, 9s};

  auto after = api.changes.applied_to(before);

  auto expected = before;
  expected.max_depth = 10;
  expected.defaults.lease = 1min;
  expected.keep_payload = true;
  expected.quarantine_after = 3;
  expected.pause_when_failing = {50, 2min};
  expected.defaults.retry.base = 3s;
  EXPECT_EQ(after, expected);
  EXPECT_EQ(
    refused({{"queue", "set", "q", "--keep-payload", "maybe"}}),
    "codeqctl: --keep-payload: `maybe` is neither true nor false");
  EXPECT_EQ(
    refused({{"queue", "set", "q", "--max-depth", "-1"}}),
    "codeqctl: --max-depth: `-1` is not a whole number from 0 to 1000000000000");
  EXPECT_EQ(
    refused({{"queue", "set", "q", "--quarantine-after", "256"}}),
    "codeqctl: --quarantine-after: `256` is not a whole number from 0 to 255");
  EXPECT_EQ(
    refused({{"queue", "set", "q", "--pause-when-failing", "half"}}),
    "codeqctl: --pause-when-failing: `half` is neither `off` nor a percentage and a window such as "
    "`50%/1m`");
  EXPECT_EQ(
    refused({{"queue", "set", "q", "--pause-when-failing", "100%/1m"}}),
    "codeqctl: --pause-when-failing: `100` is not a whole number from 1 to 99");
}

TEST(CtlCommandLine, QueueSetNeedsASetting) {
  EXPECT_EQ(
    refused({{"queue", "set", "q"}}),
    "codeqctl: queue set: at least one setting is required, such as --max-attempts 5; nothing was "
    "changed; `codeqctl queue show` shows the settings");
}

TEST(CtlCommandLine, ACommandIsRequired) {
  EXPECT_NE(refused({{}}), "");
  EXPECT_NE(refused({{"bogus"}}), "");
}

TEST(CtlCommandLine, AnUnknownCommandIsRefusedAlsoWithHelp) {
  EXPECT_EQ(
    refused({{"bogus", "--help"}}),
    "codeqctl: unknown subcommand or option `bogus` (see --help)");
  EXPECT_EQ(
    refused({{"queue", "dance", "--help"}}),
    "codeqctl: unknown subcommand or option `dance` (see --help)");
  auto parsed = parse_command_line(program_input({"queue", "pause", "--help"}).line());
  EXPECT_EQ(std::get<config::exit_request>(parsed).status, 0);
}

TEST(CtlCommandLine, AnUnknownWordBeforeACommandIsRefusedAsAnUnknownCommand) {
  EXPECT_EQ(
    refused({{"helo", "enqueue"}}),
    "codeqctl: unknown subcommand or option `helo`; did you mean `--help`? (see --help)");
  EXPECT_EQ(
    refused({{"enqueu", "enqueue", "q", "x"}}),
    "codeqctl: unknown subcommand or option `enqueu`; did you mean `enqueue`? (see --help)");
  EXPECT_EQ(
    refused({{"queue", "purg", "pause", "q"}}),
    "codeqctl: unknown subcommand or option `purg`; did you mean `purge`? (see --help)");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "more"}}),
    "codeqctl: unexpected argument `more` (see --help)");
}

TEST(CtlCommandLine, AnUnknownCommandIsRefusedWithTheNearestOne) {
  auto hint = [](std::vector<const char*> words) {
    auto text = refused({words});
    auto begin = text.find("; ");
    return begin == text.npos ? text : text.substr(begin + 2, text.find(" (") - begin - 2);
  };

  EXPECT_EQ(hint({"stat"}), "did you mean `stats`?");
  EXPECT_EQ(hint({"status"}), "did you mean `get`?");
  EXPECT_EQ(hint({"queue", "list"}), "did you mean `stats`?");
  EXPECT_EQ(hint({"queue", "purg", "q"}), "did you mean `purge`?");
  EXPECT_EQ(hint({"help"}), "did you mean `--help`?");
  EXPECT_EQ(hint({"worker", "undrain", "w"}), "did you mean `resume`?");
  EXPECT_EQ(hint({"cluster", "resume", "c1"}), "did you mean `undrain`?");
  EXPECT_EQ(hint({"list", "mail"}), "a queue is given as --queue NAME");
}

TEST(CtlCommandLine, HelpMarksTheOptionsThatAreRequired) {
  const auto marked = [](std::vector<const char*> words) {
    words.push_back("--help");
    auto parsed = parse_command_line(program_input(words).line());
    auto text = std::get<config::exit_request>(parsed).text;
    std::size_t count = 0;
    for (auto at = text.find("Required"); at != text.npos; at = text.find("Required", at + 1))
      ++count;
    return count;
  };

  EXPECT_EQ(marked({"cluster", "move"}), 1u);
  EXPECT_EQ(marked({"cluster", "repair"}), 2u);
  EXPECT_EQ(marked({"token", "create"}), 4u);
  EXPECT_EQ(marked({"enqueue"}), 0u);
}

TEST(CtlCommandLine, TheEnvironmentNamesTheTenantOfCommandsThatNameNone) {
  EXPECT_EQ(accepted({{"stats"}}).tenant, "");
  EXPECT_EQ(accepted({{"stats"}, {{"CODEQ_TENANT", "shop"}}}).tenant, "shop");
  EXPECT_EQ(
    refused({{"stats"}, {{"CODEQ_TENANT", "a b"}}}),
    "codeqctl: CODEQ_TENANT (environment): `a b` is not a name of 1 to 128 letters, digits, `.`, "
    "`_` or `-`");
}

TEST(CtlCommandLine, AuditTakesATimeOrAnAgeAndAPlace) {
  EXPECT_EQ(asked({{"audit", "--since", "24h"}}), "audit  after none limit 100\n");
  EXPECT_EQ(asked({{"audit", "--since", "2026-01-31T12:00:00Z"}}), "audit  after none limit 100\n");
  EXPECT_EQ(
    refused({{"audit", "--since", "40d"}}),
    "codeqctl: --since: `40d` is neither a time, such as 2026-01-31T12:00:00Z, nor a duration up "
    "to 30d");
  EXPECT_EQ(
    refused({{"audit", "--after", "70"}}),
    "codeqctl: --after: `70` is not what an earlier page printed");
  EXPECT_EQ(
    refused({{"audit", "--limit", "1001"}}),
    "codeqctl: --limit: `1001` is not a whole number from 1 to 1000");
}

TEST(CtlCommandLine, EnqueueTakesHeadersAndATime) {
  auto task = run(
                {{"enqueue",
                  "q",
                  "x",
                  "--header",
                  "traceparent=00-1=2",
                  "--header",
                  "empty=",
                  "--at",
                  "2026-01-31T13:00:00+01:00"}})
                .task;

  EXPECT_EQ(
    task.headers,
    (std::map<std::string, std::string>{{"traceparent", "00-1=2"}, {"empty", ""}}));
  EXPECT_EQ(task.not_before, timestamp{1769860800s});
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--at", "tomorrow"}}),
    "codeqctl: --at: `tomorrow` is not a time with a zone, such as 2026-01-31T12:00:00Z or "
    "2026-01-31T13:00:00+01:00");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--at", "2026-01-31T12:00:00Z", "--delay", "1s"}}),
    "codeqctl: enqueue: --at and --delay are both given; give one of them");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--header", "=v"}}),
    "codeqctl: --header: `=v` is not NAME=VALUE");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--header", "a=1", "--header", "a=2"}}),
    "codeqctl: --header: `a` is given twice");
}

TEST(CtlCommandLine, HelpDocumentsTheExitStatuses) {
  auto parsed = parse_command_line(program_input({"--help"}).line());

  const auto* end = std::get_if<config::exit_request>(&parsed);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->status, 0);
  for (const char* text :
       {"enqueue", "get", "result", "stats", "dead", "queue", "tenant", "force", "Exit status"})
    EXPECT_NE(end->text.find(text), std::string::npos) << text;
}

} // namespace codeq::ctl
