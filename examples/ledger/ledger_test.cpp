// SPDX-License-Identifier: Apache-2.0
#include "codeq/testing.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using codeq::testing::run_once;
using kind = codeq::disposition;

class Ledger : public testing::Test {
protected:
  Ledger() {
    auto file = testing::TempDir() + "ledger_test.db";
    std::remove(file.c_str());
    setenv("CODEQ_LEDGER", file.c_str(), 1);
  }

  /// Runs one attempt under that token.
  static kind write(const std::string& name, std::uint64_t token) {
    auto handlers = codeq::testing::registered_handlers();
    codeq::testing::attempt_options attempt;
    attempt.token = codeq::fencing_token{token};
    return run_once(handlers, {.queue = "ledger", .payload = name, .group = "a"}, attempt)
      .outcome.what();
  }
};

TEST_F(Ledger, LaterAttemptWins) {
  EXPECT_EQ(write("ada", 7), kind::completed);
  EXPECT_EQ(write("bob", 8), kind::completed);
}

TEST_F(Ledger, ZombieChangesNothing) {
  write("bob", 8);

  EXPECT_EQ(write("ada", 7), kind::failed);
}

TEST_F(Ledger, SameAttemptMayWriteAgain) {
  write("bob", 8);

  EXPECT_EQ(write("bob", 8), kind::completed);
}

} // namespace
