// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/testing.hpp"

#include <functional>
#include <utility>

namespace codeq::testing {

/// Writes down what a handler says.
class said_runtime final : public attempt_runtime {
public:
  /// `left` says how long the lease is valid; `told` is called for each progress and extension.
  said_runtime(std::function<duration()> left, std::function<void(duration extend)> told)
    : left_(std::move(left)), told_(std::move(told)) {}

  [[nodiscard]] duration lease_remaining() const override { return left_(); }

  void progress(int percent, std::string note) override {
    said_.progress.emplace_back(percent, std::move(note));
    told_(duration{0});
  }

  void extend(duration by) override {
    said_.extensions.push_back(by);
    told_(by);
  }

  void log(std::string_view line) override { said_.log.emplace_back(line); }

  [[nodiscard]] const handler_said& said() const noexcept { return said_; }

private:
  std::function<duration()> left_;
  std::function<void(duration)> told_;
  handler_said said_;
};

} // namespace codeq::testing
