// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator_types.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace codeq {
namespace {

TEST(AuditPlace, IsReadBack) {
  audit_place place{
    timestamp{duration{1'700'000'000'123}}, std::numeric_limits<std::uint64_t>::max()};

  auto text = to_string(place);

  EXPECT_EQ(text, "1700000000123-18446744073709551615");
  EXPECT_EQ(parse_audit_place(text), place);
}

TEST(AuditPlace, AnyOtherTextIsRefused) {
  for (
    const auto* text :
    {"", "-", "7", "7-", "-7", "0-7", "7-x", "x-7", "7-7 ", " 7-7", "7--7", "7-7-7", "+7-7",
     "9223372036854775808-1", "1-18446744073709551616"})
    EXPECT_FALSE(parse_audit_place(text)) << text;
}

} // namespace
} // namespace codeq
