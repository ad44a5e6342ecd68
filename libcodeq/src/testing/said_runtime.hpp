// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/testing.hpp"

#include <functional>
#include <utility>

namespace codeq::testing {

/// Writes down what a handler says.
class said_runtime final : public attempt_runtime {
public:
  /// Who runs the attempt.
  struct hearer {
    /// How long the lease is valid.
    std::function<duration()> left;
    /// Called for each progress and extension.
    std::function<void(duration extend)> told;
    /// Called for each checkpoint; false when it was refused.
    std::function<bool(const std::string& state)> saved;
  };

  explicit said_runtime(hearer by) : by_(std::move(by)) {}

  [[nodiscard]] duration lease_remaining() const override { return by_.left(); }

  void progress(int percent, std::string note) override {
    said_.progress.emplace_back(percent, std::move(note));
    by_.told(duration{0});
  }

  void extend(duration by) override {
    said_.extensions.push_back(by);
    by_.told(by);
  }

  void log(std::string_view line) override { said_.log.emplace_back(line); }

  void save_checkpoint(std::string state, checkpoint_saved then) override {
    bool is_saved = by_.saved(state);
    said_.checkpoints.push_back(std::move(state));
    if (then)
      then(is_saved);
  }

  [[nodiscard]] const handler_said& said() const noexcept { return said_; }

private:
  hearer by_;
  handler_said said_;
};

} // namespace codeq::testing
