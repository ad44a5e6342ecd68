// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::base {
namespace {

TEST(Crc32c, IsThatOfThePublishedExamples) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, OfPartsIsThatOfTheWhole) {
  const std::string text = "the bytes of a delta, in two parts of any length";

  for (std::size_t i = 0; i <= text.size(); ++i)
    EXPECT_EQ(crc32c(text.substr(i), crc32c(text.substr(0, i))), crc32c(text)) << i;
}

TEST(Crc32c, OfTheInstructionIsThatOfTheTables) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(crc32c(bytes, 7), crc32c_by_tables(bytes, 7)) << bytes.size();
    bytes.push_back(static_cast<char>(31 * i));
  }
}

} // namespace
} // namespace codeq::base
