// SPDX-License-Identifier: Apache-2.0
#include "ctl/command_line.hpp"
#include "ctl/http_answers.hpp"
#include "unit/config/program_input.hpp"
#include "unit/ctl/recorded_api.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace codeq::ctl {
namespace {

using codeq::test::program_input;
using codeq::test::recorded_api;

/// Output and exit status of a command line whose requests `api` answers.
std::string shown(recorded_api& api, const program_input& input) {
  auto parsed = parse_command_line(input.line());
  auto* given = std::get_if<invocation>(&parsed);
  if (given == nullptr)
    return "refused";
  context with{api, given->json, false};
  testing::internal::CaptureStdout();
  auto status = given->run(with);
  return testing::internal::GetCapturedStdout() + "= " + std::to_string(status);
}

TEST(ClusterCommands, ClusterIsShownWithItsNodesAndShards) {
  recorded_api api;
  cluster_node node;
  node.name = "c1";
  node.address = "10.0.0.1:7400";
  node.is_present = node.has_answered = true;
  cluster_node gone;
  gone.name = "c2";
  cluster_shard shard;
  shard.primary = "c1";
  shard.is_served = true;
  shard.epoch = 3;
  shard.copies = {{"c1", true, true, 3, 20, 0}, {"c2", false, true, 3, 17, 3}};
  shard.waits_for = "c2, which is missing";
  cluster_shard moved;
  moved.primary = moved.pinned = "c3";
  api.found_cluster = {"jobs", "c1", 2, 1, {node, gone}, {shard, moved}};

  auto text = shown(api, {{"cluster", "status"}});
  for (const char* part :
       {"cluster jobs: 2 copies of each shard, of which 1 has to be in sync\n", "present",
        "10.0.0.1:7400", "missing", " -  c1@3/20 c2@3/17(-3)(not in sync)",
        "c2, which is missing\n", "         c3  "})
    EXPECT_NE(text.find(part), text.npos) << part << "\n" << text;
  auto json = shown(api, {{"cluster", "status", "--json"}});
  for (const char* part :
       {"\"copies\":[{\"node\":\"c1\",\"in_sync\":true,\"epoch\":3,\"position\":20,\"lag\":0}",
        "\"waits_for\":\"c2, which is missing\"", "\"present\":false",
        "\"epoch\":3,\"pinned\":\"\",", "\"pinned\":\"c3\","})
    EXPECT_NE(json.find(part), json.npos) << part << "\n" << json;
}

TEST(ClusterCommands, ClusterWithoutEtcdIsShownWithTheNodesThatLackIt) {
  recorded_api api;
  std::vector<cluster_node> nodes(3);
  nodes[0].name = "c1";
  nodes[0].etcd_silent = std::chrono::milliseconds(41'500);
  nodes[1].name = "c2";
  nodes[2].name = "c3";
  nodes[2].etcd_silent = std::chrono::milliseconds(40'000);
  api.found_cluster = {"jobs", "c1", 2, 1, nodes, {}};

  const auto text = shown(api, {{"cluster", "status"}});

  EXPECT_EQ(text.rfind("etcd has not answered c1, c3 for 41s: ", 0), 0u) << text;
}

TEST(ClusterCommands, NodesAreShownWithThoseThatTheyDoNotReach) {
  recorded_api api;
  std::vector<cluster_node> nodes(3);
  nodes[0].name = "c1";
  nodes[0].unreached = {"c2", "c3"};
  nodes[1].name = "c2";
  nodes[2].name = "c3";
  for (auto& node : nodes)
    node.is_present = node.has_answered = true;
  api.found_cluster = {"jobs", "c1", 2, 1, nodes, {}};

  const auto text = shown(api, {{"cluster", "status"}});
  const auto json = shown(api, {{"cluster", "status", "--json"}});

  EXPECT_NE(text.find("present, unreached: c2, c3  "), text.npos) << text;
  EXPECT_EQ(text.find("unreached"), text.rfind("unreached")) << text;
  EXPECT_NE(json.find("\"unreached\":[\"c2\",\"c3\"]}"), json.npos) << json;
  EXPECT_NE(json.find("\"unreached\":[]}"), json.npos) << json;
}

TEST(ClusterCommands, NodesWithAFullDiskAreShown) {
  recorded_api api;
  std::vector<cluster_node> nodes(2);
  nodes[0].name = "c1";
  nodes[0].refuses_tasks = true;
  nodes[1].name = "c2";
  for (auto& node : nodes)
    node.is_present = node.has_answered = true;
  api.found_cluster = {"jobs", "c1", 2, 1, nodes, {}};

  const auto text = shown(api, {{"cluster", "status"}});
  const auto json = shown(api, {{"cluster", "status", "--json"}});

  EXPECT_NE(text.find("present, disk full: refuses tasks  "), text.npos) << text;
  EXPECT_EQ(text.find("disk full"), text.rfind("disk full")) << text;
  EXPECT_NE(json.find("\"refuses_tasks\":true"), json.npos) << json;
  EXPECT_NE(json.find("\"refuses_tasks\":false"), json.npos) << json;
}

TEST(ClusterCommands, NodeThatServesNothingIsNotCalledSilent) {
  recorded_api api;
  std::vector<cluster_node> nodes;
  for (const char* name : {"emptied", "follows", "leaves", "serves"}) {
    auto& node = nodes.emplace_back();
    node.name = name;
    node.is_present = true;
    node.is_draining = node.name == "emptied" || node.name == "leaves";
  }
  cluster_shard shard;
  shard.primary = "serves";
  shard.copies = {{"follows", true}, {"leaves", true}, {"serves", true}};
  api.found_cluster = {"jobs", "follows", 3, 2, nodes, {shard}};

  const auto text = shown(api, {{"cluster", "status"}});

  const auto line_of = [&](const std::string& node) {
    const auto start = text.find("\n" + node) + 1;
    return text.substr(start, text.find('\n', start) - start);
  };
  EXPECT_NE(line_of("emptied").find("  drained: may be stopped  "), text.npos) << text;
  EXPECT_NE(line_of("follows").find("  present  "), text.npos) << text;
  EXPECT_NE(line_of("leaves").find("  draining  "), text.npos) << text;
  EXPECT_NE(line_of("serves").find("  does not answer  "), text.npos) << text;
}

/// A gateway's answer about a cluster whose node c2 is missing, as `http_api` passes it on.
std::string answer_of_a_gateway() {
  return as_printed(
    R"({"cluster":"jobs","node":"c1","copies":2,"minInSync":1,"nodes":[)"
    R"({"name":"c1","address":"10.0.0.1:7400","httpAddress":"","zone":"","present":true,)"
    R"("answers":true,"draining":false,"freeBytes":7,"refusesTasks":false,"etcdSilentMs":0,)"
    R"("unreached":["c3"]},)"
    R"({"name":"c2","address":"10.0.0.2:7400","httpAddress":"","zone":"","present":false,)"
    R"("answers":false,"draining":false,"freeBytes":0,"refusesTasks":false,"etcdSilentMs":0,)"
    R"("unreached":[]}],"shards":[)"
    R"({"shard":4,"primary":"c1","served":true,"epoch":3,"pinned":"c2","copies":[)"
    R"({"node":"c1","inSync":true,"epoch":3,"position":20,"lag":0},)"
    R"({"node":"c2","inSync":false}],"waitsFor":"c2, which is missing"}]})",
    answer_form::tasks);
}

TEST(ClusterCommands, PeopleSeeTheSameTablesOverHttp) {
  cluster_node node;
  node.name = "c1";
  node.address = "10.0.0.1:7400";
  node.is_present = node.has_answered = true;
  node.unreached = {"c3"};
  cluster_node missing;
  missing.name = "c2";
  missing.address = "10.0.0.2:7400";
  cluster_shard shard;
  shard.shard = shard_id{4};
  shard.primary = "c1";
  shard.is_served = true;
  shard.epoch = 3;
  shard.pinned = "c2";
  shard.copies = {{"c1", true, true, 3, 20, 0}, {"c2", false, false, 0, 0, 0}};
  shard.waits_for = "c2, which is missing";
  recorded_api node_port;
  node_port.found_cluster = {"jobs", "c1", 2, 1, {node, missing}, {shard}};
  recorded_api gateway;
  gateway.cluster_json = answer_of_a_gateway();

  const auto text = shown(gateway, {{"cluster", "status"}});

  EXPECT_EQ(text, shown(node_port, {{"cluster", "status"}}));
  EXPECT_NE(text.find("10.0.0.2:7400"), text.npos) << text;
  EXPECT_EQ(
    shown(gateway, {{"cluster", "status", "--json"}}), answer_of_a_gateway() + "\n= 0");
}

TEST(ClusterCommands, AnswerOfAGatewayThatIsNoStateIsShownAsItIs) {
  recorded_api api;
  api.cluster_json = R"({"cluster":"jobs","nodes":7})";

  const auto text = shown(api, {{"cluster", "status"}});

  EXPECT_NE(text.find("jobs"), text.npos) << text;
  EXPECT_EQ(text.find("STATE"), text.npos) << text;
}

TEST(ClusterCommands, ChangeIsAwaitedOverHttpToo) {
  recorded_api api;
  api.cluster_json = answer_of_a_gateway();

  testing::internal::CaptureStderr();
  const auto text = shown(api, {{"cluster", "drain", "c2", "--wait", "1ms"}});
  const auto said = testing::internal::GetCapturedStderr();

  EXPECT_EQ(text, "= 1");
  EXPECT_NE(said.find("shard 4 is no longer pinned to c2, since that is drained\n"), said.npos)
    << said;
  EXPECT_NE(said.find("shard 4 waits for c2, which is missing"), said.npos) << said;
}

TEST(ClusterCommands, ClusterIsChanged) {
  recorded_api api;
  auto done = [&](const program_input& input) { EXPECT_EQ(shown(api, input), "{}\n= 0"); };

  done({{"cluster", "move", "4", "--to", "c2", "--wait", "0s", "--json"}});
  done({{"cluster", "drain", "c2", "--wait", "0s", "--json"}});
  done({{"cluster", "undrain", "c2", "--json"}});
  done({{"cluster", "balance", "--json"}});
  done(
    {{"cluster", "force-primary", "4", "--to", "c2", "--confirm", "lose what c1 did not copy",
      "--wait", "0s", "--json"}});

  EXPECT_EQ(shown(api, {{"cluster", "move", "4"}}), "refused");
  EXPECT_EQ(
    api.asked,
    "change_cluster 1 4 c2\nchange_cluster 2 0 c2\nchange_cluster 3 0 c2\n"
    "change_cluster 4 0 \nchange_cluster 5 4 c2 lose what c1 did not copy\n");
}

} // namespace
} // namespace codeq::ctl
