// SPDX-License-Identifier: Apache-2.0
#include "http/server/request_ids.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::http {
namespace {

TEST(RequestIds, NewIdsAre32DigitsAndDiffer) {
  request_ids ids(7);
  auto one = ids.id_for("");
  auto other = ids.id_for("");

  EXPECT_EQ(32u, one.size());
  EXPECT_EQ(one.npos, one.find_first_not_of("0123456789abcdef"));
  EXPECT_NE(one, other);
}

TEST(RequestIds, AClientsIdIsEchoedAndTakesNoRandomBits) {
  request_ids asked(7);
  request_ids other(7);

  EXPECT_EQ("client-1", asked.id_for("client-1"));

  EXPECT_EQ(other.id_for(""), asked.id_for(""));
}

TEST(RequestIds, WhatMayNotBeEchoedIsReplaced) {
  request_ids ids(7);

  EXPECT_EQ(32u, ids.id_for("a b").size());
  EXPECT_EQ(32u, ids.id_for(std::string(129, 'x')).size());
}

} // namespace
} // namespace codeq::http
