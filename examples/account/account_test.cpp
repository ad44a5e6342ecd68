// SPDX-License-Identifier: Apache-2.0
#include "codeq/testing.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

using codeq::testing::mishap;
using codeq::testing::testbed;

class Account : public testing::Test {
protected:
  Account() {
    setenv("CODEQ_ACCOUNT_DIR", testing::TempDir().c_str(), 1);
    for (const char* name : {"ada", "bob"}) {
      std::remove((testing::TempDir() + "/" + name + ".account").c_str());
    }
  }

  /// Adds an amount and returns the new balance.
  std::string add(const std::string& name, const std::string& amount) {
    auto task = bed.enqueue({.queue = "account", .payload = amount, .group = name}).value().id;
    return bed.status(task).value().result;
  }

  testbed bed{codeq::testing::registered_handlers()};
};

TEST_F(Account, EachGroupHasABalanceOfItsOwn) {
  EXPECT_EQ(add("ada", "5"), "5");
  EXPECT_EQ(add("bob", "7"), "7");
  EXPECT_EQ(add("ada", "-2"), "3");
}

TEST_F(Account, BalanceOutlivesAnActorThatWasIdle) {
  add("ada", "5");

  bed.advance(std::chrono::hours(1));

  EXPECT_EQ(add("ada", "1"), "6");
}

TEST_F(Account, CrashAfterTheWriteAddsNothingTwice) {
  bed.inject("account", mishap::crash);

  EXPECT_EQ(add("ada", "5"), "5");
  EXPECT_EQ(bed.attempts().size(), 2u);
}

} // namespace
