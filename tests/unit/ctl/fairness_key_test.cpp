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

} // namespace

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
