// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "worker/process/exec_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace codeq::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> split(std::string_view text) {
  auto arguments = split_command(text);
  return arguments ? std::move(*arguments) : std::vector{to_string(arguments.error())};
}

TEST(SplitCommand, WhiteSpaceSeparates) {
  EXPECT_THAT(split("  a\tb  c\n"), ElementsAre("a", "b", "c"));
}

TEST(SplitCommand, SingleQuotesKeepEverything) {
  EXPECT_THAT(split(R"(sh -c 'echo "$X" \ | wc')"), ElementsAre("sh", "-c", R"(echo "$X" \ | wc)"));
}

TEST(SplitCommand, DoubleQuotesLetABackslashEscapeQuoteAndBackslashOnly) {
  EXPECT_THAT(split(R"("a \" \\ \n b")"), ElementsAre(R"(a " \ \n b)"));
}

TEST(SplitCommand, BackslashKeepsTheNextCharacter) {
  EXPECT_THAT(split(R"(a\ b \'c)"), ElementsAre("a b", "'c"));
}

TEST(SplitCommand, TouchingPartsAreOneArgument) {
  EXPECT_THAT(split(R"(--name='a b'"c"d '')"), ElementsAre("--name=a bcd", ""));
}

TEST(SplitCommand, WhatIsNotFinishedIsRefused) {
  EXPECT_THAT(split("a 'b"), ElementsAre(HasSubstr("no closing '")));
  EXPECT_THAT(split("a \"b"), ElementsAre(HasSubstr("no closing \"")));
  EXPECT_THAT(split("a\\"), ElementsAre(HasSubstr("backslash")));
  EXPECT_THAT(split("  "), ElementsAre(HasSubstr("no command")));
}

TEST(SplitCommand, OperatorsOfAShellAreRefusedWithAHint) {
  for (std::string text : {"ls; wc", "ls | wc", "ls && wc", "ls > out", "ls >out", "ls 2>&1"})
    EXPECT_THAT(split(text), ElementsAre(HasSubstr("write QUEUE=sh -c '...' for a shell"))) << text;
  EXPECT_THAT(split(R"(find -exec rm {} \;)"), ElementsAre("find", "-exec", "rm", "{}", ";"));
  EXPECT_THAT(split("grep '|' a|b x&y"), ElementsAre("grep", "|", "a|b", "x&y"));
}

TEST(SplitCommand, TooManyArgumentsAreRefused) {
  std::string text;
  for (std::size_t i = 0; i <= limits::exec_arguments_max; ++i)
    text += "a ";

  EXPECT_THAT(split(text), ElementsAre(HasSubstr("257 arguments, over the limit of 256")));
}

TEST(ExecCommand, NamesQueueProgramAndArguments) {
  auto command = parse_exec_command("thumbs=sh -c 'a = b'");

  ASSERT_TRUE(command) << to_string(command.error());
  EXPECT_EQ(command->queue, "thumbs");
  EXPECT_THAT(command->path, HasSubstr("/sh"));
  EXPECT_THAT(command->arguments, ElementsAre("sh", "-c", "a = b"));
}

TEST(ExecCommand, MissingProgramIsUnavailableAndNamed) {
  for (std::string program : {"no-such-program", "/no/such/program", "/tmp"}) {
    auto command = parse_exec_command("q=" + program);

    ASSERT_FALSE(command);
    EXPECT_EQ(command.error().code, errc::unavailable);
    EXPECT_THAT(command.error().context, HasSubstr(program));
  }
}

TEST(ExecCommand, TextWithoutAQueueIsInvalid) {
  for (const char* text : {"sh", "=sh", "a b=sh", "q="}) {
    auto command = parse_exec_command(text);

    ASSERT_FALSE(command) << text;
    EXPECT_EQ(command.error().code, errc::invalid_argument) << text;
  }
}

} // namespace
} // namespace codeq::worker
