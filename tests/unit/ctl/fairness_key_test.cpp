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

/// The header from which a queue with header `old` takes fairness keys after `queue set`.
std::string header_after(const std::vector<const char*>& options) {
  std::vector<const char*> words{"queue", "set", "q"};
  words.insert(words.end(), options.begin(), options.end());
  auto parsed = parse_command_line(program_input(words).line());
  auto* given = std::get_if<invocation>(&parsed);
  if (given == nullptr)
    return refusal(parsed);
  recorded_api api;
  context with{api, given->json, false};
  testing::internal::CaptureStdout();
  EXPECT_EQ(exit_done, given->run(with));
  static_cast<void>(testing::internal::GetCapturedStdout());
  queue_config before;
  before.fairness_header = "old";
  return api.changes.applied_to(before).fairness_header;
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

} // namespace codeq::ctl
