// SPDX-License-Identifier: Apache-2.0
#include "base/queue_pattern.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::base {
namespace {

queue_pattern of(const std::string& text) {
  return queue_pattern::parse(text).value();
}

std::string common(const std::string& a, const std::string& b) {
  auto both = of(a).common_with(of(b));
  return both ? both->text() : "-";
}

TEST(QueuePattern, MatchesItsNameOrWhatBeginsWithItsPrefix) {
  EXPECT_TRUE(of("mail").matches("mail"));
  EXPECT_FALSE(of("mail").matches("mail2"));
  EXPECT_TRUE(of("print-*").matches("print-"));
  EXPECT_TRUE(of("print-*").matches("print-a4"));
  EXPECT_FALSE(of("print-*").matches("printer"));
  EXPECT_TRUE(of("*").matches("anything"));
}

TEST(QueuePattern, OtherTextsAreRefused) {
  for (const auto& text : {"", "a*b", "**", "*a", "a b", "a/*"})
    EXPECT_FALSE(queue_pattern::parse(text)) << text;
  EXPECT_FALSE(queue_pattern::parse(std::string(129, 'a') + "*"));
  EXPECT_NE(
    queue_pattern::parse("a*b").error().context.find("`a*b` is no queue or pattern"),
    std::string::npos);
}

TEST(QueuePattern, CommonQueuesOfTwoAreOneOfThem) {
  EXPECT_EQ(common("*", "print-*"), "print-*");
  EXPECT_EQ(common("print-*", "print-a4"), "print-a4");
  EXPECT_EQ(common("print-a*", "print-*"), "print-a*");
  EXPECT_EQ(common("print-*", "mail*"), "-");
  EXPECT_EQ(common("mail", "mail*"), "mail");
  EXPECT_EQ(common("mail", "mails"), "-");
}

TEST(QueuePattern, NameDecidesBeforeThePrefixesAndTheLongestOfThese) {
  std::vector<queue_pattern> all{of("*"), of("print-*"), of("print-a4"), of("print-a*")};
  auto decides = [&](const std::string& queue) {
    const auto* found = most_specific(all, of(queue));
    return found ? found->text() : "-";
  };

  EXPECT_EQ(decides("print-a4"), "print-a4");
  EXPECT_EQ(decides("print-a3"), "print-a*");
  EXPECT_EQ(decides("print-b"), "print-*");
  EXPECT_EQ(decides("mail"), "*");
  all.erase(all.begin());
  EXPECT_EQ(decides("mail"), "-");
}

} // namespace
} // namespace codeq::base
