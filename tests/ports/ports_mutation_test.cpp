// SPDX-License-Identifier: Apache-2.0
#include "mutation/active_fault.hpp"
#include "mutation/hunt.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <iostream>
#include <string>

namespace codeq::mutation {
namespace {

/// Runs all tests; returns the name of the first one that failed, or nothing.
std::string failed_test() {
  if (RUN_ALL_TESTS() == 0)
    return {};
  const auto& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j)
      if (const auto& test = *suite.GetTestInfo(j); test.result()->Failed())
        return std::string(suite.name()) + "." + test.name();
  }
  return "a failure outside of the tests";
}

/// Returns the number of faults that no test caught; a failure without a fault counts as one.
std::size_t hunt_with_tests() {
  const auto verdicts = hunt_all(1, [](std::uint64_t) { return failed_test(); });
  print(verdicts);
  std::size_t wrong = 0;
  for (std::size_t fault = 0; fault < verdicts.size(); ++fault) {
    if (verdicts[fault].caught == (fault != 0))
      continue;
    ++wrong;
    std::cerr << "wrong verdict on \"" << fault_names[fault] << "\": " << verdicts[fault].words
              << '\n';
  }
  return wrong;
}

} // namespace
} // namespace codeq::mutation

/// Hunts before any test has run, since the tests run in the processes of the hunt.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // One failed test is enough.
  GTEST_FLAG_SET(fail_fast, true);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  if (codeq::mutation::count_hunted() == 0) {
    std::cerr << "CODEQ_FAULT is in no name of a fault\n";
    return 1;
  }
  return codeq::mutation::hunt_with_tests() == 0 ? 0 : 1;
}
