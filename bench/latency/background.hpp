// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <memory>
#include <string>

namespace codeq::bench {

/// Full cycles at a steady rate, in batches of 64, while something else is measured. Has a producer
/// and a thread of its own.
class background {
public:
  /// Errors: of the connection.
  [[nodiscard]] static result<background> start(const std::string& coordinator, double rate);

  ~background();
  background(background&& other) noexcept;
  background& operator=(background&& other) noexcept;

  /// Adds no more; how many tasks per second were completed up to now. Errors: what failed.
  [[nodiscard]] result<double> stop();

private:
  struct state;
  explicit background(std::unique_ptr<state> made);

  std::unique_ptr<state> state_;
};

} // namespace codeq::bench
