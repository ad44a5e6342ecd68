// SPDX-License-Identifier: Apache-2.0
#include "codeq/ids.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq {
namespace {

TEST(TaskId, TextIsReadBack) {
  for (sequence seq : {sequence{0}, sequence{1}, (sequence{3} << 39) + 17, ~sequence{0}})
    for (std::uint16_t shard : {0, 7, 65535}) {
      task_id id{static_cast<shard_id>(shard), seq};
      EXPECT_EQ(parse_task_id(to_string(id)), id);
    }
}

TEST(TaskId, TextHasTheShapeOfAUuid) {
  auto text = to_string(task_id{shard_id{1}, 2});

  ASSERT_EQ(text.size(), 36u);
  for (std::size_t dash : {8, 13, 18, 23})
    EXPECT_EQ(text[dash], '-');
}

TEST(TaskId, MistypedTextIsRefused) {
  auto text = to_string(task_id{shard_id{1}, 123456789});
  auto wrong = text;
  wrong[3] = wrong[3] == '0' ? '1' : '0';

  EXPECT_EQ(parse_task_id(wrong), std::nullopt);
  EXPECT_EQ(parse_task_id(text.substr(1)), std::nullopt);
  EXPECT_EQ(parse_task_id(""), std::nullopt);
  EXPECT_EQ(parse_task_id(std::string(36, '-')), std::nullopt);
}

TEST(TaskId, AnyOtherDigitIsRefused) {
  auto text = to_string(task_id{shard_id{5}, 99});
  int accepted = 0;
  for (std::size_t at = 0; at < text.size(); ++at)
    for (char c : std::string("0123456789abcdefABCDEF-x")) {
      auto changed = text;
      changed[at] = c;
      accepted += changed != text && parse_task_id(changed) ? 1 : 0;
    }
  // With twelve check bits, about one change in four thousand is not detected.
  EXPECT_LE(accepted, 1);
}

TEST(QueueAddress, IsOfTheDefaultTenantUnlessItNamesOne) {
  EXPECT_EQ((queue_address{.queue = "mail"}), (queue_address{"default", "mail"}));
  EXPECT_EQ((queue_address{.tenant = "shop", .queue = "mail"}), (queue_address{"shop", "mail"}));
}

TEST(Name, OnlyPlainCharactersAndAtMost128) {
  EXPECT_TRUE(is_valid_name("a.B-c_9"));
  EXPECT_TRUE(is_valid_name(std::string(128, 'x')));
  EXPECT_FALSE(is_valid_name(std::string(129, 'x')));
  EXPECT_FALSE(is_valid_name(""));
  EXPECT_FALSE(is_valid_name("a b"));
  EXPECT_FALSE(is_valid_name("a/b"));
  EXPECT_FALSE(is_valid_name("\xc3\xa9"));
  EXPECT_FALSE(is_valid_name(std::string("a\0b", 3)));
}

} // namespace
} // namespace codeq
