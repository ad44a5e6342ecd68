// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/fault_file_system.hpp"

#include <gtest/gtest.h>

#include <iostream>

namespace codeq::test {

/// All faults of one run, printed at its end.
class fault_totals final : public testing::Environment {
public:
  void add(const fault_counts& counts, std::uint64_t flips) {
    sum_.power_cuts += counts.power_cuts;
    sum_.errors += counts.errors;
    sum_.bytes_lost += counts.bytes_lost;
    sum_.entries_lost += counts.entries_lost;
    flips_ += flips;
  }

  void TearDown() override {
    std::cout << "faults: " << sum_.power_cuts << " power cuts (" << sum_.bytes_lost
              << " bytes and " << sum_.entries_lost << " directory entries lost), " << sum_.errors
              << " errors, " << flips_ << " bit flips\n";
  }

private:
  fault_counts sum_;
  std::uint64_t flips_ = 0;
};

// GoogleTest owns it.
inline auto* const totals =
  static_cast<fault_totals*>(testing::AddGlobalTestEnvironment(new fault_totals));

inline void add_to_totals(const fault_counts& counts, std::uint64_t flips = 0) {
  totals->add(counts, flips);
}

} // namespace codeq::test
