// SPDX-License-Identifier: Apache-2.0
#include "base/enum_names.hpp"

#include <gtest/gtest.h>

namespace codeq::base {
namespace {

TEST(EnumNames, OptionsSpellARetryKindWithAHyphen) {
  EXPECT_EQ(name_of(retry_kind::exponential_jitter, retry_names), "exponential_jitter");
  EXPECT_EQ(name_of(retry_kind::exponential_jitter, retry_option_names), "exponential-jitter");
}

TEST(EnumNames, ValuesOfALaterVersionAreUnknown) {
  EXPECT_EQ(name_of(static_cast<on_dead>(2), on_dead_names), "unknown");
  EXPECT_EQ(to_string(static_cast<task_state>(7)), "unknown_state");
}

TEST(EnumNames, AListNamesTheLastOneAfterOr) {
  EXPECT_EQ(list_of(on_dead_names), "skip or block");
  EXPECT_EQ(list_of(misfire_names), "latest, all or skip");
  EXPECT_EQ(list_of({}), "");
}

} // namespace
} // namespace codeq::base
