// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace codeq::bench {

struct lease_holder_options {
  /// `address:port`.
  std::string coordinator;
  std::string name = "holder";
  std::string queue;
  /// How many leases it takes.
  std::size_t leases = 0;
};

/// A worker node that runs nothing: takes tasks and keeps their leases, far more of them than the
/// slots of real ones. Has a thread and a connection of its own.
class lease_holder {
public:
  using steady = std::chrono::steady_clock;

  /// Connects in the background and asks for the leases.
  explicit lease_holder(const lease_holder_options& options);

  ~lease_holder();
  lease_holder(const lease_holder&) = delete;
  lease_holder& operator=(const lease_holder&) = delete;

  /// Waits until it has been given all. The time when the last came. Errors: `timeout`, and what
  /// ended the connection.
  [[nodiscard]] result<steady::time_point> wait(duration longest);

  /// Beats all leases now, and again each `interval`; zero is not again. Errors: what ended the
  /// connection.
  [[nodiscard]] result<void> beat(duration interval);

  /// How many it was given, and how many of those were taken from it.
  [[nodiscard]] std::size_t held() const;
  [[nodiscard]] std::size_t lost() const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace codeq::bench
