// SPDX-License-Identifier: Apache-2.0
#include "ctl/command_line.hpp"
#include "unit/config/program_input.hpp"
#include "unit/ctl/recorded_api.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace codeq::ctl {
namespace {

using codeq::test::program_input;
using codeq::test::recorded_api;
using codeq::test::refusal;

/// The settings of a queue with header `old`, and weight 2 of key `old`, after a command. Says why
/// when the command line was refused.
queue_config config_after(
  std::vector<const char*> words,
  const std::vector<const char*>& options,
  std::string& refused) {
  words.insert(words.end(), options.begin(), options.end());
  auto parsed = parse_command_line(program_input(words).line());
  auto* given = std::get_if<invocation>(&parsed);
  if (given == nullptr) {
    refused = refusal(parsed);
    return {};
  }
  recorded_api api;
  context with{api, given->json, false};
  testing::internal::CaptureStdout();
  EXPECT_EQ(exit_done, given->run(with));
  static_cast<void>(testing::internal::GetCapturedStdout());
  queue_config before;
  before.fairness_header = "old";
  before.fairness_weights = {{"old", 2}};
  return api.changes.applied_to(before);
}

/// The header from which the queue takes fairness keys after `queue set`.
std::string header_after(const std::vector<const char*>& options) {
  std::string refused;
  auto config = config_after({"queue", "set", "q"}, options, refused);
  return refused.empty() ? config.fairness_header : refused;
}

/// The weights of the queue after `queue fairness`.
std::string weights_after(const std::vector<const char*>& options) {
  std::string text;
  auto config = config_after({"queue", "fairness", "q"}, options, text);
  if (!text.empty())
    return text;
  for (const auto& [key, weight] : config.fairness_weights)
    text += key + "=" + std::to_string(weight) + " ";
  return text;
}

/// What `codeqctl explain` prints of a task.
std::string explained(recorded_api& api, bool as_json) {
  const auto id = to_string(task_id{shard_id{3}, 77});
  std::vector<const char*> words{"explain", id.c_str()};
  if (as_json)
    words.push_back("--json");
  auto parsed = parse_command_line(program_input(words).line());
  auto* given = std::get_if<invocation>(&parsed);
  if (given == nullptr)
    return refusal(parsed);
  context with{api, given->json, false};
  testing::internal::CaptureStdout();
  EXPECT_EQ(exit_done, given->run(with));
  return testing::internal::GetCapturedStdout();
}

} // namespace

TEST(FairnessKeyOfATask, IsNamedWhileOtherKeysHaveTheirTurns) {
  recorded_api api;
  task_explanation why;
  why.reason = task_reason::fairness;
  why.fairness_key = "customer-1";
  why.fairness_before = 3;
  why.fairness_wait = duration{4900};
  api.why = why;

  const auto text = explained(api, false);
  const auto json = explained(api, true);

  EXPECT_NE(
    text.find("waits for the turn of its fairness key \"customer-1\", behind 3 others; a task of "
              "the key starts within 4.9 s\n"),
    std::string::npos)
    << text;
  EXPECT_NE(
    json.find(R"("fairness_key":"customer-1","turns_before":3,"wait_ms":4900)"), std::string::npos)
    << json;
}

TEST(FairnessKeyOfAQueue, IsTakenFromAHeaderOrFromNone) {
  EXPECT_EQ(header_after({"--fairness-key", "header=customer"}), "customer");
  EXPECT_EQ(header_after({"--no-fairness-key"}), "");
  EXPECT_EQ(header_after({"--max-depth", "3"}), "old");
  EXPECT_EQ(
    header_after({"--no-fairness-key", "--fairness-key", "header=h"}),
    "codeqctl: --no-fairness-key: --fairness-key and --no-fairness-key exclude each other");
}

TEST(FairnessKeyOfAQueue, NamesAHeader) {
  for (const char* text : {"customer", "header="})
    EXPECT_EQ(
      header_after({"--fairness-key", text}),
      "codeqctl: --fairness-key: `" + std::string(text)
        + "` is not the name of a header such as `header=customer`");
  auto longest = "header=" + std::string(256, 'h');
  EXPECT_EQ(header_after({"--fairness-key", longest.c_str()}), std::string(256, 'h'));
  auto said = header_after({"--fairness-key", (longest + "h").c_str()});
  EXPECT_NE(said.find("has 257 bytes; it must have at most 256"), std::string::npos) << said;
}

TEST(FairnessWeightOfAKey, IsSetAndTakenAwayByItself) {
  EXPECT_EQ(weights_after({"--key", "vip", "--weight", "5"}), "old=2 vip=5 ");
  EXPECT_EQ(weights_after({"--key", "", "--weight", "5"}), "=5 old=2 ");
  EXPECT_EQ(weights_after({"--key", "old", "--no-weight"}), "");
}

TEST(FairnessWeightOfAKey, ChangesWithoutOtherSettingsUnlessTheyAreGiven) {
  queue_changes weight{.fairness_weights = {{"vip", 5}}};
  queue_changes both = weight;
  both.max_depth = 3;

  EXPECT_TRUE(weight.are_of_weights());
  EXPECT_FALSE(both.are_of_weights());
  EXPECT_FALSE(queue_changes{}.are_of_weights());
}

TEST(FairnessWeightOfAKey, IsReplacedWithAllOthersByOtherSettingsOfShardsThatDiffer) {
  const weight_changes vip{{"vip", 5}};
  queue_changes weight{.fairness_weights = vip};
  queue_changes both{.max_depth = 3, .fairness_weights = vip};
  queue_info alike;
  queue_info different;
  different.differing = {shard_id{1}};

  EXPECT_EQ(both.weights_beside(alike), vip);
  EXPECT_EQ(both.weights_beside(different), std::nullopt);
  EXPECT_EQ(queue_changes{.max_depth = 3}.weights_beside(alike), weight_changes{});
  EXPECT_EQ(weight.weights_beside(different), vip) << "no other setting is named";
}

TEST(FairnessWeightOfAKey, NeedsAKeyAndEitherOption) {
  EXPECT_NE(weights_after({"--weight", "5"}).find("--key is required"), std::string::npos);
  EXPECT_NE(weights_after({"--key", "vip"}).find("--no-weight is required"), std::string::npos);
  EXPECT_NE(
    weights_after({"--key", "vip", "--weight", "5", "--no-weight"}).find("exclude each other"),
    std::string::npos);
  EXPECT_NE(weights_after({"--key", "vip", "--weight", "1001"}).find("1000"), std::string::npos);
}

} // namespace codeq::ctl
