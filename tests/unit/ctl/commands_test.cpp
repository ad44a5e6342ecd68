// SPDX-License-Identifier: Apache-2.0
#include "ctl/command_line.hpp"
#include "unit/config/program_input.hpp"
#include "unit/ctl/recorded_api.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace codeq::ctl {

using codeq::test::program_input;
using codeq::test::recorded_api;

namespace {

const task_id id{shard_id{3}, 77};
const auto id_text = to_string(id);
const auto* word = id_text.c_str();

/// Output and exit status of a command line whose requests `api` answers.
std::string
shown(recorded_api& api, const program_input& input, bool is_interactive = false) {
  auto parsed = parse_command_line(input.line());
  auto* given = std::get_if<invocation>(&parsed);
  if (given == nullptr)
    return "refused";
  context with{api, given->json, is_interactive};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  auto status = given->run(with);
  auto out = testing::internal::GetCapturedStdout();
  return out + testing::internal::GetCapturedStderr() + "= " + std::to_string(status);
}

std::string status_field(task_state state) {
  return "\"state\":\"" + std::string(to_string(state)) + "\"";
}

task_end ended(task_state state) {
  ended_task status;
  status.id = id;
  status.state = state;
  status.result = "done";
  status.error_text = "why";
  return {.status = status};
}

} // namespace

TEST(CtlCommands, LogLevelIsShownOrChanged) {
  recorded_api api;

  EXPECT_EQ(shown(api, {{"log-level", "--json"}}), "{}\n= 0");
  EXPECT_EQ(shown(api, {{"log-level", "debug", "--json"}}), "{}\n= 0");
  EXPECT_EQ(shown(api, {{"log-level", "loud"}}), "refused");
  EXPECT_EQ(api.asked, "log_level \nlog_level debug\n");
}

TEST(CtlCommands, WhatCannotBeUndoneHasToBeConfirmed) {
  recorded_api api;
  auto refused = [&](const program_input& input) { return shown(api, input); };

  EXPECT_EQ(
    refused({{"queue", "purge", "q"}}),
    "codeqctl: invalid_argument: this removes every task of queue `q` for good, also those that "
    "run; add --yes to do it\n= 2");
  EXPECT_EQ(
    refused({{"tenant", "purge", "t", "--json"}}),
    "{\"error\":\"invalid_argument\",\"context\":\"this removes every task of tenant `t` for good; "
    "add --yes to do it\"}\n= 2");
  EXPECT_EQ(
    refused({{"dead", "purge", "--queue", "q"}}),
    "codeqctl: invalid_argument: this removes dead tasks of queue `q` for good; add --yes to do "
    "it\n= 2");
  EXPECT_EQ(api.asked, "");

  for (const char* verb : {"queue", "tenant"})
    EXPECT_EQ(shown(api, {{verb, "purge", "x", "--yes", "--json"}}), "{}\n= 0");
  EXPECT_EQ(api.asked, "purge_queue /x\npurge_tenant x\n");
}

TEST(CtlCommands, ATerminalIsAsked) {
  recorded_api api;
  std::istringstream answers("n\n\ny\n");
  auto* before = std::cin.rdbuf(answers.rdbuf());
  auto question = std::string(
    "This removes every task of queue `q` for good, also those that run. Go on? [y/N] ");
  auto kept = question + "codeqctl: not confirmed; nothing was changed\n= 2";

  EXPECT_EQ(shown(api, {{"queue", "purge", "q"}}, true), kept);
  EXPECT_EQ(shown(api, {{"queue", "purge", "q"}}, true), kept);
  EXPECT_EQ(api.asked, "");
  EXPECT_EQ(shown(api, {{"queue", "purge", "q"}}, true), question + "= 0");
  EXPECT_EQ(api.asked, "purge_queue /q\n");
  std::cin.rdbuf(before);
}

TEST(CtlCommands, WrongUsageThatIsFoundLateHasItsStatus) {
  recorded_api api;

  EXPECT_EQ(
    shown(api, {{"restore", "b", "d", "--number", "1", "--cluster", "f"}}),
    "codeqctl: invalid_argument: --number and --cluster exclude each other: the file names the "
    "numbers of the backups\n= 2");
}

TEST(CtlCommands, AWebhookTakesAGateway) {
  recorded_api api;
  const program_input input({"enqueue", "q", "1", "--webhook", "https://h/done"});

  EXPECT_EQ(
    shown(api, input),
    "codeqctl: unsupported: --webhook is not possible over --coordinator; it takes --http: the "
    "HTTP gateway sends it\n= 1");
  EXPECT_EQ(api.asked, "");
  api.has_webhooks = true;
  EXPECT_EQ(shown(api, input), "= 0");
  EXPECT_EQ(api.asked, "enqueue 1 webhook https://h/done\n");
}

TEST(CtlCommands, StatsTellNowAndEverApart) {
  recorded_api api;
  queue_stats queue{{"t", "q"}, 1, 2, 3, 4, 5, 6, 7};
  queue.cancelled = 8;
  queue.dead_now = 9;
  queue.paused = true;
  queue.oldest_ready = std::chrono::milliseconds(61'500);
  queue.max_depth = 10;
  queue.held = 2;
  queue.ready_by_priority[0] = 1;
  queue.ready_by_priority[9] = 2;
  api.counts = coordinator_stats{{queue}, {{"codeq_leases", 4}}};

  EXPECT_EQ(
    shown(api, {{"stats"}}),
    "QUEUE  PAUSED  SCHEDULED  GATED  READY  HELD  OLDEST  LEASED  DEAD  MAX-DEPTH  MAX-LEASED"
    "  COMPLETED  CANCELLED  DIED  LOST\n"
    "t/q       yes          1      2      3     2     61s       4     9         10           -"
    "          5"
    "          8     6     7\n"
    "\ncodeq_leases  4\n= 0");
  EXPECT_EQ(
    shown(api, {{"stats", "--json"}}),
    R"({"queues":[{"tenant":"t","queue":"q","paused":true,"scheduled":1,"gated":2,"ready":3,)"
    R"("held":2,"leased":4,"dead":9,"oldest_ready_ms":61500,"max_depth":10,"max_leased":0,)"
    R"("completed":5,"cancelled":8,"died":6,"lost":7,"ready_by_priority":{"0":1,"9":2}}],)"
    R"("gauges":{"codeq_leases":4}})"
    "\n= 0");
}

TEST(CtlCommands, ExplanationOfAQueueThatDoesNotExistFails) {
  recorded_api api;
  api.explained = queue_explanation{{"t", "nix"}, false};

  EXPECT_EQ(
    shown(api, {{"explain", "--queue", "nix"}}),
    "codeqctl: unknown_queue: tenant t has no queue `nix`\n= 1");
  api.explained->missing_shards = {2};
  auto unsure = shown(api, {{"explain", "--queue", "nix"}});
  EXPECT_NE(unsure.find("did not answer: 2\n= 5"), unsure.npos) << unsure;
}

namespace {

/// Answers of a coordinator that has nothing of a queue `nix`.
recorded_api with_nothing() {
  recorded_api api;
  api.counts = coordinator_stats{};
  api.found_queue.emplace();
  api.found_queue->exists = false;
  api.page = task_page{};
  api.kinds = dead_summary{};
  api.changed_dead = 0;
  api.explained = queue_explanation{{"t", "nix"}, false};
  api.found_workers.emplace();
  return api;
}

const std::vector<program_input> questions_of_a_queue{
  {{"queue", "stats", "nix"}},
  {{"queue", "show", "nix"}},
  {{"list", "--queue", "nix"}},
  {{"dead", "list", "--queue", "nix"}},
  {{"dead", "summary", "--queue", "nix"}},
  {{"dead", "redrive", "--queue", "nix"}},
  {{"dead", "purge", "--queue", "nix", "--yes"}}};

} // namespace

TEST(CtlCommands, AMistypedQueueIsToldFromOneThatIsEmpty) {
  for (const auto& question : questions_of_a_queue) {
    auto api = with_nothing();
    EXPECT_EQ(
      shown(api, question), "codeqctl: unknown_queue: tenant t has no queue `nix`\n= 1")
      << api.asked;
    api.explained->exists = true;
    auto text = shown(api, question);
    EXPECT_TRUE(text.ends_with("= 0")) << text;
  }
}

TEST(CtlCommands, AQueueThatAWorkerServesIsNotMistyped) {
  for (const char* served : {"nix", "n*"})
    for (const auto& question : questions_of_a_queue) {
      auto api = with_nothing();
      worker_info worker{"t/w", true};
      worker.queues = {{"t", served}};
      worker.queue_count = 1;
      api.found_workers->push_back(worker);
      auto text = shown(api, question);
      EXPECT_TRUE(text.ends_with("= 0")) << text;
      api.found_workers->front().queues = {{"u", "nix"}, {"t", "ni"}};
      api.found_workers->front().queue_count = 2;
      text = shown(api, {{"queue", "stats", "nix", "--tenant", "t"}});
      EXPECT_TRUE(text.ends_with("= 1")) << text;
    }
}

TEST(CtlCommands, NoQueueIsMissedWithoutAName) {
  auto api = with_nothing();

  for (const auto& question :
       {program_input{{"queue", "stats"}}, program_input{{"dead", "redrive"}}}) {
    auto text = shown(api, question);
    EXPECT_TRUE(text.ends_with("= 0")) << text;
  }
}

TEST(CtlCommands, WaitingTasksOfAQueueAreAccountedFor) {
  recorded_api api;
  queue_explanation why{{"t", "q"}, true};
  why.waiting = {{task_reason::gated, 2}, {task_reason::limited, 30}};
  why.leased = 1;
  why.workers = 3;
  why.blocking = 4;
  why.limits = {{"api", {{}, 0, 30}}};
  why.keys = {{"api", {"a", 1, 30}}};
  why.starts_per_minute = 16;
  why.last_start = std::chrono::milliseconds(119'500);
  why.missing_shards = {2, 3};
  api.explained = why;

  EXPECT_EQ(
    shown(api, {{"explain", "--queue", "q"}}),
    "32 tasks wait, 1 are leased, 3 workers claim from the queue\n"
    "\n"
    "REASON                                                   TASKS\n"
    "gated (an earlier task of their group has to end first)      2\n"
    "limited (a limit holds them back)                           30\n"
    "\n"
    "LIMIT  KEY  HELD  LEASED     NEXT START  CLOSED UNTIL\n"
    "api    all    30       -              -             -\n"
    "api      a    30       1  after a lease             -\n"
    "\n"
    "4 dead tasks block their groups\n"
    "16 tasks started per minute lately\n"
    "at this rate the last one that waits for no time starts in about 2m\n"
    "not counted are the tasks of shards that did not answer: 2, 3\n= 5");
  EXPECT_EQ(
    shown(api, {{"explain", "--queue", "q", "--json"}}),
    R"({"tenant":"t","queue":"q","exists":true,"backlog":32,"waiting":{"gated":2,"limited":30},)"
    R"("leased":1,"workers":3,"blocking":4,"limits":[{"name":"api","held":30}],)"
    R"("keys":[{"limit":"api","key":"a","held":30,"leased":1}],"all_keys":true,)"
    R"("starts_per_minute":16,"last_start_ms":119500,"missing_shards":[2,3]})"
    "\n= 5");
}

TEST(CtlCommands, DrainedWorkersOfAQueueThatWaitsAreNamed) {
  recorded_api api;
  queue_explanation why{{"t", "mail"}, true};
  why.waiting = {{task_reason::no_free_slots, 1}};
  api.explained = why;
  worker_info busy{"t/busy", true};
  busy.queues = {{"t", "mail"}};
  auto drained = busy;
  drained.name = "t/w1";
  drained.is_draining = true;
  auto by_prefix = drained;
  by_prefix.name = "t/w2";
  by_prefix.queues = {{"t", "ma*"}};
  auto other = drained;
  other.name = "t/w3";
  other.queues = {{"t", "print"}, {"u", "*"}};
  api.found_workers = std::vector{busy, drained, by_prefix, other};

  const auto text = shown(api, {{"explain", "--queue", "mail"}});

  EXPECT_NE(text.find("busy or drained"), std::string::npos);
  EXPECT_NE(
    text.find("\nt/w1 is drained, `codeqctl worker resume t/w1` takes it back; t/w2 is drained, "
              "`codeqctl worker resume t/w2` takes it back\n= 0"),
    std::string::npos)
    << text;
}

TEST(CtlCommands, HelpExplainsTheColumnsOfStats) {
  auto parsed = parse_command_line(program_input({"stats", "--help"}).line());

  const auto& text = std::get<config::exit_request>(parsed).text;
  for (const char* word : {"SCHEDULED", "GATED", "READY", "HELD", "LEASED", "DEAD", "OLDEST",
                           "PAUSED", "MAX-DEPTH", "MAX-LEASED", "COMPLETED", "CANCELLED", "DIED",
                           "LOST"})
    EXPECT_NE(text.find(word), std::string::npos) << word;
}

TEST(CtlCommands, WorkersAreShownWithWhatTheyRun) {
  recorded_api api;
  worker_info worker;
  worker.name = "w1";
  worker.is_connected = true;
  worker.free_slots = 7;
  worker.leases = 1;
  worker.queues = {{"default", "mail"}};
  worker.queue_count = 3;
  worker.running = {{id, {"default", "mail"}, timestamp{}, std::chrono::seconds(9)}};
  api.found_workers = std::vector{worker};

  EXPECT_EQ(
    shown(api, {{"workers"}}),
    "WORKER  CONNECTED  FREE  LEASES                   QUEUES\n"
    "w1            yes     7       1  default/mail and 2 more\n\n"
    "WORKER                                 HOLDS         QUEUE                        SINCE  "
    "LEASE ENDS IN  STATE\n"
    "w1      " + id_text
      + "  default/mail  1970-01-01 00:00:00.000 UTC             9s   runs\n= 0");
  EXPECT_EQ(
    shown(api, {{"workers", "--json"}}),
    R"({"workers":[{"name":"w1","connected":true,"draining":false,"free_slots":7,"leases":1,)"
    R"("queue_count":3,)"
    R"("queues":[{"tenant":"default","queue":"mail"}],"running":[{"id":")" + id_text
      + R"(","tenant":"default","queue":"mail","since_ms":0,"lease_left_ms":9000,)"
        R"("waiting":false}]}]})"
        "\n= 0");
}

TEST(CtlCommands, WorkersAreDrainedAndTakenBack) {
  recorded_api api;
  api.drained = drained_worker{"t/w1", true};
  EXPECT_EQ(shown(api, {{"worker", "drain", "t/w1"}}), "t/w1 gets no further tasks\n= 0");
  EXPECT_EQ(
    shown(api, {{"worker", "drain", "t/w1", "--json"}}),
    "{\"name\":\"t/w1\",\"draining\":true}\n= 0");
  api.drained->is_drained = false;
  EXPECT_EQ(shown(api, {{"worker", "resume", "t/w1"}}), "t/w1 gets tasks again\n= 0");

  worker_info worker;
  worker.name = "w1";
  worker.is_draining = true;
  api.found_workers = std::vector{worker};
  EXPECT_NE(shown(api, {{"workers"}}).find("no, drained"), std::string::npos);
  EXPECT_EQ(
    api.asked,
    "drain_worker t/w1 on\ndrain_worker t/w1 on\ndrain_worker t/w1 off\nworkers\n");
}

TEST(CtlCommands, TheAuditLogTellsWhoDidWhat) {
  recorded_api api;
  audited_command purged;
  purged.at = timestamp{};
  purged.action = operator_action::queue_purge;
  purged.tenant = "shop";
  purged.queue = "mail";
  purged.changed = 12;
  purged.subject = "ops";
  purged.remote = "192.0.2.1:5";
  audited_command forced;
  forced.action = operator_action::force_fail;
  forced.tenant = "shop";
  forced.queue = "mail";
  forced.task = id;
  forced.changed = 1;
  forced.detail = "bro\nken";
  audited_command backup;
  backup.action = operator_action::backup;
  api.audited = audit_page{{purged, forced, backup}, audit_place{timestamp{duration{70}}, 9}};
  auto task = "shop/mail " + id_text;
  auto pad = std::string(task.size() - 9, ' ');

  EXPECT_EQ(
    shown(api, {{"audit"}}),
    "TIME                         WHO         FROM      COMMAND  "
      + std::string(task.size() - 2, ' ') + "ON  TASKS   DETAIL\n"
        "1970-01-01 00:00:00.000 UTC  ops  192.0.2.1:5  queue purge  "
      + pad
      + "shop/mail     12         \n"
        "1970-01-01 00:00:00.000 UTC    -            -   force fail  "
      + task
      + "      1  bro ken\n"
        "1970-01-01 00:00:00.000 UTC    -            -       backup  "
      + std::string(task.size() - 11, ' ')
      + "coordinator      -         \n\nThere is more: --after 70-9\n= 0");
  EXPECT_EQ(
    shown(api, {{"audit", "--json", "--limit", "3", "--after", "80-2", "--tenant", "shop"}}),
    R"({"commands":[{"at_ms":0,"action":"queue purge","subject":"ops","remote":"192.0.2.1:5",)"
    R"("tenant":"shop","queue":"mail","changed":12,"detail":""},{"at_ms":0,"action":"force fail",)"
    R"("subject":"","remote":"","tenant":"shop","queue":"mail","id":")" + id_text
      + R"(","changed":1,"detail":"bro\nken"},{"at_ms":0,"action":"backup","subject":"",)"
        R"("remote":"","tenant":"","queue":"","changed":0,"detail":""}],"after":"70-9"})"
        "\n= 0");
  EXPECT_EQ(api.asked, "audit  after none limit 100\naudit shop after 2 limit 3\n");
}

TEST(CtlCommands, BackupsAreListed) {
  recorded_api api;

  EXPECT_EQ(
    shown(api, {{"backups"}}),
    "BACKUP                         MADE  BYTES  FILES\n"
    "3       1970-01-01 00:00:01.000 UTC   4096      7\n= 0");
  EXPECT_EQ(
    shown(api, {{"backups", "--json"}}),
    "{\"backups\":[{\"backup\":3,\"at_ms\":1000,\"bytes\":4096,\"files\":7}]}\n= 0");
  EXPECT_EQ(
    shown(api, {{"backups", "/nowhere"}}),
    "codeqctl: unavailable: /nowhere is not a directory\n= 1");
}

TEST(CtlCommands, ValuesAreShownInTheCommandsWords) {
  recorded_api api;
  api.outcome = change_outcome{change_result::requested, task_state::leased, id};

  EXPECT_EQ(
    shown(api, {{"cancel", word}}),
    "task " + id_text + " is leased; its worker is asked to stop\n= 0");
  EXPECT_EQ(
    shown(api, {{"cancel", word, "--json"}}),
    "{\"id\":\"" + id_text + "\",\"outcome\":\"requested\",\"state\":\"leased\"}\n= 0");
}

TEST(CtlCommands, DocumentsAreShownAsTheyCame) {
  recorded_api api;

  EXPECT_EQ(shown(api, {{"get", word, "--json"}}), "{}\n= 0");
  EXPECT_EQ(shown(api, {{"get", word}}), "= 0");
}

TEST(CtlCommands, ChangeThatCannotBeFails) {
  recorded_api api;
  api.outcome = change_outcome{change_result::key_taken, task_state::dead, id};

  EXPECT_EQ(
    shown(api, {{"redrive", word}}),
    "task " + id_text + " is dead and stays so: another live task has its key\n= 1");
}

TEST(CtlCommands, ResultTellsByItsStatusHowATaskEnded) {
  recorded_api api;

  api.end = ended(task_state::completed);
  EXPECT_EQ(shown(api, {{"result", word}}), "done= 0");
  api.end = ended(task_state::dead);
  EXPECT_EQ(shown(api, {{"result", word}}), "codeqctl: task " + id_text + " is dead: why\n= 4");
  api.end = ended(task_state::ready);
  auto later = "; --wait DURATION waits for its end, `codeqctl explain " + id_text
               + "` says what it waits for\n= 3";
  EXPECT_EQ(
    shown(api, {{"result", word}}),
    "codeqctl: task " + id_text + " is ready, not ended yet; last error: why" + later);
  api.end = {};
  EXPECT_EQ(
    shown(api, {{"result", word}}), "codeqctl: task " + id_text + " has not ended yet" + later);
  EXPECT_EQ(api.asked.substr(0, api.asked.find('\n')), "await " + id_text + " not");
}

TEST(CtlCommands, WaitingThatTookTooLongHasAStatusOfItsOwn) {
  recorded_api api;
  api.end.late = error{errc::timeout, "late"};

  auto explain = "explain " + id_text;
  for (const char* verb : {"result", "watch"})
    EXPECT_EQ(
      shown(api, {{verb, word, "--wait", "1s"}}),
      "codeqctl: timeout: late; see `codeqctl " + explain + "`\n= 3");
  EXPECT_EQ(
    api.asked,
    "await " + id_text + " 1000 ms\n" + explain + "\nwatch " + id_text + " 1000 ms\n" + explain
      + "\n");
}

TEST(CtlCommands, WaitingThatTookTooLongSaysWhatTheTaskWaitsFor) {
  recorded_api api;
  api.end.late = error{errc::timeout, "late"};
  task_explanation why;
  why.reason = task_reason::no_worker;
  why.task.tenant = "default";
  why.task.queue = "helo";
  api.why = why;
  task_status failed;
  failed.error_text = "no order 17\nat line 3";
  api.found = failed;

  EXPECT_EQ(
    shown(api, {{"result", word, "--wait", "1s"}}),
    "codeqctl: timeout: late: no connected worker claims from queue `helo` of tenant default; a "
    "worker over HTTP counts while it waits in a claim; last error: no order 17 at line 3; see "
    "`codeqctl explain "
      + id_text + "`\n= 3");
}

TEST(CtlCommands, EnqueuePrintsIdsAndHowTheyEnded) {
  recorded_api api;
  api.tasks = {{id, enqueue_kind::existing}};
  api.end = ended(task_state::dead);

  EXPECT_EQ(
    shown(api, {{"enqueue", "q", "x", "--wait", "1s"}}),
    id_text + "\n" + id_text + " dead: why\ncodeqctl: the key has task " + id_text
      + " already; nothing was added\n= 4");
  EXPECT_NE(
    shown(api, {{"enqueue", "q", "x", "--wait", "1s", "--json"}})
      .find(status_field(task_state::dead)),
    std::string::npos);
}

TEST(CtlCommands, EnqueueOfAKeyThatHasATaskSaysOnStandardErrorWhatHappened) {
  recorded_api api;
  auto said = [&api](enqueue_kind kind) {
    api.tasks = {{id, kind}};
    return shown(api, {{"enqueue", "q", "x", "--key", "k"}});
  };
  auto text = id_text + "\ncodeqctl: the key has task " + id_text + " already; nothing was added";

  EXPECT_EQ(said(enqueue_kind::created), id_text + "\n= 0");
  EXPECT_EQ(said(enqueue_kind::existing), text + "\n= 0");
  EXPECT_EQ(said(enqueue_kind::deferred), text + ", and the task starts later than before\n= 0");
  EXPECT_EQ(said(enqueue_kind::promoted), text + ", and the task starts earlier than before\n= 0");
  EXPECT_EQ(said(enqueue_kind::unchanged), text + ", and the task's time stays\n= 0");
  EXPECT_EQ(said(enqueue_kind::running), text + ", because the task runs\n= 0");
  EXPECT_NE(
    shown(api, {{"enqueue", "q", "x", "--key", "k", "--json"}}).find("[\"running\"]"),
    std::string::npos);
}

TEST(CtlCommands, PromotionThatTheProducerDidNotAllowFails) {
  recorded_api api;
  api.outcome = change_outcome{change_result::guarded, task_state::scheduled, id};
  task_status waiting;
  waiting.eligible_at = timestamp{std::chrono::seconds(7)};
  api.found = waiting;

  EXPECT_EQ(
    shown(api, {{"promote", word}}),
    "codeqctl: task " + id_text
      + " is not promoted: its producer's delay stays, because it was enqueued without "
        "--allow-promotion; it starts at "
      + to_string(*waiting.eligible_at) + "\n= 1");
  auto json = shown(api, {{"promote", word, "--json"}});
  EXPECT_NE(json.find("\"guarded\""), json.npos) << json;
  EXPECT_NE(json.find("= 1"), json.npos) << json;
}

TEST(CtlCommands, ListOfDeadTasksSaysWhenAndWhy) {
  recorded_api api;
  task_summary dead;
  dead.id = id;
  dead.tenant = "default";
  dead.queue = "mail";
  dead.state = task_state::dead;
  dead.attempt = 3;
  dead.max_attempts = 5;
  dead.ended_at = timestamp{std::chrono::seconds(1)};
  dead.error_text = "no order 17\nat line 3";
  api.page = task_page{{dead}, "4.7", false};

  auto text = shown(api, {{"dead", "list"}});
  EXPECT_NE(text.find("DIED"), text.npos) << text;
  EXPECT_NE(text.find(to_string(*dead.ended_at)), text.npos) << text;
  EXPECT_NE(text.find("3/5"), text.npos) << text;
  EXPECT_NE(text.find("no order 17 at line 3"), text.npos) << text;
  EXPECT_NE(text.find("more with --after 4.7\n= 0"), text.npos) << text;
  auto json = shown(api, {{"dead", "list", "--json"}});
  EXPECT_NE(json.find("\"ended_at_ms\":1000"), json.npos) << json;
  EXPECT_NE(json.find("\"error_text\":\"no order 17\\nat line 3\""), json.npos) << json;
  EXPECT_NE(json.find("\"after\":\"4.7\""), json.npos) << json;
}

TEST(CtlCommands, SummaryShowsKindsOfErrors) {
  recorded_api api;
  dead_kind kind{"no order #", 3, {}, timestamp{std::chrono::seconds(1)}, id, "no order 17"};
  api.kinds = dead_summary{{kind}, 5, 2};

  auto text = shown(api, {{"dead", "summary"}});
  EXPECT_NE(text.find("no order #"), text.npos) << text;
  EXPECT_NE(text.find("5 dead tasks, of which 2 with other errors\n= 0"), text.npos) << text;
  auto json = shown(api, {{"dead", "summary", "--json"}});
  EXPECT_NE(json.find("{\"fingerprint\":\"no order #\",\"tasks\":3,"), json.npos) << json;
  EXPECT_NE(json.find("\"tasks\":5,\"left_out\":2}"), json.npos) << json;
}

} // namespace codeq::ctl
