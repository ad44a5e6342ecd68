// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/task.hpp"

#include <cstddef>
#include <string>
#include <unordered_map>

namespace codeq::client {

/// Counts dead tasks by the fingerprints of their errors, in bounded memory.
class dead_kinds {
public:
  explicit dead_kinds(std::size_t kinds_max = limits::summary_kinds_max) : kinds_max_(kinds_max) {}

  void add(const task_summary& dead);

  [[nodiscard]] dead_summary summary() const;

private:
  std::size_t kinds_max_;
  std::unordered_map<std::string, dead_kind> kinds_;
  std::uint64_t tasks_ = 0;
  std::uint64_t left_out_ = 0;
};

} // namespace codeq::client
