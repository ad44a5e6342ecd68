// SPDX-License-Identifier: Apache-2.0
#include "codeq/testing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using codeq::task_state;

/// A provider, and a limit for each of its accounts: one start per second.
class Limits : public testing::Test {
protected:
  Limits() {
    fs::create_directories(provider);
    setenv("CODEQ_PROVIDER", provider.c_str(), 1);
    codeq::limit_definition definition;
    definition.concurrency = 1;
    definition.rate = codeq::start_rate{.count = 1, .period = 1s, .burst = 1};
    EXPECT_TRUE(bed.set_limit("provider", definition));
  }

  ~Limits() override { fs::remove_all(provider); }

  codeq::task_id charge(const std::string& account) {
    codeq::task_spec spec;
    spec.queue = "charge";
    spec.payload = "7.50";
    spec.headers["account"] = account;
    spec.limits = {{.name = "provider", .key = account}};
    return bed.enqueue(spec).value().id;
  }

  std::vector<codeq::task_id> charge(const std::string& account, int times) {
    std::vector<codeq::task_id> all;
    for (int i = 0; i < times; ++i)
      all.push_back(charge(account));
    return all;
  }

  long completed(const std::vector<codeq::task_id>& tasks) {
    return std::count_if(tasks.begin(), tasks.end(), [&](codeq::task_id task) {
      return bed.status(task).value().state == task_state::completed;
    });
  }

  fs::path provider = fs::temp_directory_path() / ("provider-" + std::to_string(::getpid()));
  codeq::testing::testbed bed{codeq::testing::registered_handlers()};
};

TEST_F(Limits, ARefusalHoldsBackItsAccountAlone) {
  std::ofstream(provider / "ada") << 30;

  auto refused = charge("ada", 3);
  auto other = charge("bob");
  bed.advance(29s);

  EXPECT_EQ(bed.status(other).value().state, task_state::completed);
  EXPECT_EQ(bed.attempts().size(), 2u);
  EXPECT_EQ(bed.status(refused.front()).value().attempt, 0u);

  fs::remove(provider / "ada");
  bed.advance(4s);

  EXPECT_EQ(completed(refused), 3);
  EXPECT_EQ(bed.status(refused.front()).value().attempt, 1u);
}

TEST_F(Limits, SmallCustomersDoNotWaitForAFlood) {
  auto flood = charge("flood", 100);
  auto small = charge("small", 2);

  bed.advance(1s);

  EXPECT_EQ(completed(small), 2);
  EXPECT_EQ(completed(flood), 2);
}

TEST_F(Limits, AnAccountIsNeeded) {
  auto task = bed.enqueue({.queue = "charge", .payload = "7.50"}).value().id;

  EXPECT_EQ(bed.status(task).value().state, task_state::dead);
}

} // namespace
