// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/fault_file_system.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

namespace codeq::test {

/// Counts all faults of one run. Prints them at its end and writes them to the file named by
/// `CODEQ_TOTALS`, if any; ctest shows that file at its end.
class fault_totals final : public testing::Environment {
public:
  void add(const fault_counts& counts, std::uint64_t flips) {
    sum_.power_cuts += counts.power_cuts;
    sum_.errors += counts.errors;
    sum_.bytes_lost += counts.bytes_lost;
    sum_.entries_lost += counts.entries_lost;
    flips_ += flips;
  }

  /// Counts a fault at a named place.
  void count(const std::string& place, std::uint64_t times = 1) { places_[place] += times; }

  void TearDown() override {
    std::ostringstream text;
    text << "faults: " << sum_.power_cuts << " power cuts (" << sum_.bytes_lost << " bytes and "
         << sum_.entries_lost << " directory entries lost), " << sum_.errors << " errors, "
         << flips_ << " bit flips\n";
    for (const auto& [place, times] : places_)
      text << "  " << place << ": " << times << '\n';
    std::cout << text.str();
    if (const char* file = std::getenv("CODEQ_TOTALS"))
      std::ofstream(file) << text.str();
  }

private:
  fault_counts sum_;
  std::uint64_t flips_ = 0;
  std::map<std::string, std::uint64_t> places_;
};

// GoogleTest owns it.
inline auto* const totals =
  static_cast<fault_totals*>(testing::AddGlobalTestEnvironment(new fault_totals));

inline void add_to_totals(const fault_counts& counts, std::uint64_t flips = 0) {
  totals->add(counts, flips);
}

} // namespace codeq::test
