// SPDX-License-Identifier: Apache-2.0
#include "codeq/bytes.hpp"

#include <gtest/gtest.h>

namespace codeq {
namespace {

TEST(Bytes, AreMadeFromStringsAndReadAsViews) {
  bytes literal = "text";
  bytes owned = std::string("te\0xt", 5);
  bytes viewed = std::string_view("text");

  EXPECT_EQ(literal, viewed);
  EXPECT_EQ(literal, "text");
  EXPECT_EQ(owned, std::string("te\0xt", 5));
  EXPECT_EQ(std::string(owned), std::string("te\0xt", 5));
  EXPECT_NE(owned, literal);
}

TEST(Bytes, CopiesAndSlicesShareTheMemory) {
  bytes whole = std::string(100, 'x');
  bytes copy = whole;
  bytes part = whole.slice(10, 20);
  const char* data = whole.data();
  whole = {};

  EXPECT_EQ(copy.data(), data);
  EXPECT_EQ(part.data(), data + 10);
  EXPECT_EQ(part, std::string(20, 'x'));
  EXPECT_TRUE(whole.empty());
}

} // namespace
} // namespace codeq
