// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator.hpp"

#include <string>
#include <utility>

namespace codeq::maintenance {

/// Adds findings to a report, up to a maximum number.
class finding_list {
public:
  /// @pre `report` outlives this
  finding_list(store_report& report, std::size_t told_max) : report_(report), told_max_(told_max) {}

  /// `where` is a key in words.
  void add(const std::string& where, const std::string& what) {
    ++report_.findings_count;
    if (report_.findings.size() < told_max_)
      report_.findings.push_back(where + ": " + what);
  }

private:
  store_report& report_;
  std::size_t told_max_;
};

} // namespace codeq::maintenance
