// SPDX-License-Identifier: Apache-2.0
// The output of commands about a cluster of which some shards have not answered.
#include "ctl/command_line.hpp"
#include "unit/config/program_input.hpp"
#include "unit/ctl/recorded_api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::ctl {
namespace {

using codeq::test::program_input;
using codeq::test::recorded_api;
using testing::HasSubstr;
using testing::Not;

/// Output of a command line whose requests `api` answers without some shards.
std::string shown(recorded_api& api, const program_input& input, int status = exit_partial) {
  auto parsed = parse_command_line(input.line());
  auto* given = std::get_if<invocation>(&parsed);
  if (given == nullptr)
    return "refused";
  context with{api, given->json, false};
  testing::internal::CaptureStdout();
  EXPECT_EQ(given->run(with), status);
  return testing::internal::GetCapturedStdout();
}

TEST(CtlMissingShards, CountsNameThem) {
  recorded_api api;
  api.counts = coordinator_stats{};
  api.counts->queues.push_back({{"t", "q"}, 1});
  api.counts->missing = {shard_id{3}, shard_id{7}};

  for (const auto& question : {program_input{{"stats"}}, program_input{{"queue", "stats", "q"}}})
    EXPECT_THAT(
      shown(api, question),
      HasSubstr("\nNo answer from shards 3, 7: their tasks are left out.\n"));
  EXPECT_THAT(
    shown(api, {{"queue", "stats", "q", "--json"}}), HasSubstr(R"("gauges":{},"missing":[3,7]})"));
}

TEST(CtlMissingShards, CountsSayHowManyHaveNoName) {
  recorded_api api;
  api.counts = coordinator_stats{};
  api.counts->missing_unnamed = 2;

  EXPECT_THAT(
    shown(api, {{"stats"}}), HasSubstr("\nNo answer from 2 shards: their tasks are left out.\n"));
  EXPECT_THAT(
    shown(api, {{"stats", "--json"}}), HasSubstr(R"("gauges":{},"missing_unnamed":2})"));
  api.counts->missing = {shard_id{3}};
  EXPECT_THAT(shown(api, {{"stats"}}), HasSubstr("No answer from shard 3 and 2 more: "));
}

TEST(CtlMissingShards, QueueWithoutCountsMayBeOnThem) {
  recorded_api api;
  api.counts = coordinator_stats{};
  api.counts->missing = {shard_id{3}};

  const auto text = shown(api, {{"queue", "stats", "q"}});

  EXPECT_THAT(text, HasSubstr("No answer from shard 3"));
  EXPECT_THAT(text, Not(HasSubstr("has no tasks")));
}

TEST(CtlMissingShards, WorkersNameThem) {
  recorded_api api;
  api.found_workers.emplace();
  api.silent = {shard_id{3}};

  EXPECT_THAT(
    shown(api, {{"workers"}}), HasSubstr("\nNo answer from shard 3: their leases are left out.\n"));
  EXPECT_EQ(shown(api, {{"workers", "--json"}}), "{\"workers\":[],\"missing\":[3]}\n");
}

TEST(CtlMissingShards, AuditLogNamesThemAndWhatACommandIsAbout) {
  recorded_api api;
  audited_command moved;
  moved.action = operator_action::cluster_change;
  moved.detail = "move 3 --to c1";
  api.audited = audit_page{};
  api.audited->commands.push_back(moved);
  api.audited->missing = {shard_id{3}};

  const auto text = shown(api, {{"audit"}});

  EXPECT_THAT(text, HasSubstr("cluster  cluster      -  move 3 --to c1\n"));
  EXPECT_THAT(text, HasSubstr("\nNo answer from shard 3: their commands are left out.\n"));
}

TEST(CtlMissingShards, ListsNameThem) {
  recorded_api api;
  api.page = task_page{};
  api.page->after = "4.7";
  api.page->missing = {shard_id{3}};
  api.found_limit = limit_info{{"t", "api"}, {}};
  api.silent = {shard_id{3}};
  api.found_keys = limit_keys_page{{"t", "api"}, {}, false, {shard_id{3}}};
  const std::string no_tasks = "\nNo answer from shard 3: their tasks are left out.\n";

  for (const auto& question : {program_input{{"list"}}, program_input{{"dead", "list"}}})
    EXPECT_THAT(shown(api, question), HasSubstr("more with --after 4.7\n" + no_tasks));
  EXPECT_THAT(shown(api, {{"limit", "list"}}), HasSubstr(no_tasks));
  EXPECT_THAT(
    shown(api, {{"limit", "keys", "api"}}),
    HasSubstr("\nNo answer from shard 3: their keys are left out.\n"));
  EXPECT_EQ(
    shown(api, {{"list", "--json"}}), "{\"tasks\":[],\"after\":\"4.7\",\"missing\":[3]}\n");
  EXPECT_THAT(shown(api, {{"limit", "list", "--json"}}), HasSubstr("}],\"missing\":[3]}\n"));
  EXPECT_THAT(
    shown(api, {{"limit", "keys", "api", "--json"}}),
    HasSubstr("\"more\":false,\"missing\":[3]}\n"));
}

TEST(CtlMissingShards, EmptyListMayBeOnThem) {
  recorded_api api;
  api.page = task_page{};
  api.page->missing = {shard_id{3}};
  api.explained = queue_explanation{{"t", "q"}, false};

  EXPECT_THAT(shown(api, {{"list", "--queue", "q"}}), HasSubstr("No answer from shard 3"));
}

TEST(CtlMissingShards, FairnessNamesThem) {
  recorded_api api;
  api.found_fairness = fairness_page{};
  api.found_fairness->missing = {shard_id{3}};

  EXPECT_THAT(
    shown(api, {{"queue", "fairness", "q"}}),
    HasSubstr("\nNo answer from shard 3: their tasks are left out.\n"));
  EXPECT_THAT(
    shown(api, {{"queue", "fairness", "q", "--json"}}),
    HasSubstr("\"more\":false,\"missing\":[3]}\n"));
}

TEST(CtlMissingShards, ChangeThatTheyHaveNotConfirmedFails) {
  recorded_api api;
  api.found_queue.emplace();
  api.found_queue->missing = {shard_id{3}};
  const std::string said = "No answer from shard 3: whether a change is in force there";

  EXPECT_THAT(shown(api, {{"queue", "show", "q"}}), HasSubstr(said));
  EXPECT_THAT(
    shown(api, {{"queue", "set", "q", "--max-depth", "5"}}, exit_failed), HasSubstr(said));
}

TEST(CtlMissingShards, AnswerOfAGatewayMayLackThem) {
  EXPECT_TRUE(lacks_shards(document{R"({"missing_shards":2})"}));
  EXPECT_TRUE(lacks_shards(document{R"({"waiting":{},"missing_shards":[2]})"}));
  EXPECT_TRUE(lacks_shards(document{R"({"missing_coordinators":1})"}));
  EXPECT_FALSE(lacks_shards(document{R"({"missing_shards":[]})"}));
  EXPECT_FALSE(lacks_shards(document{R"({"tasks":[]})"}));
  EXPECT_FALSE(lacks_shards(document{""}));
}

} // namespace
} // namespace codeq::ctl
