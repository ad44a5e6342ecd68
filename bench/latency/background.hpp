// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <memory>
#include <string>

namespace codeq::bench {

/// Background load: full cycles at a steady rate, in batches of 64. Has a producer and a thread of
/// its own.
class background {
public:
  /// Errors: of the connection.
  [[nodiscard]] static result<background> start(const std::string& coordinator, double rate);

  ~background();
  background(background&& other) noexcept;
  background& operator=(background&& other) noexcept;

  /// Stops adding tasks; returns the tasks completed per second so far. Errors: of a request.
  [[nodiscard]] result<double> stop();

private:
  struct state;
  explicit background(std::unique_ptr<state> made);

  std::unique_ptr<state> state_;
};

} // namespace codeq::bench
