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
  /// Number of leases to take.
  std::size_t leases = 0;
};

/// A worker node without handlers: it takes tasks and keeps their leases, far more than real
/// workers have slots. Has a thread and a connection of its own.
class lease_holder {
public:
  using steady = std::chrono::steady_clock;

  /// Connects in the background and claims the tasks.
  explicit lease_holder(const lease_holder_options& options);

  ~lease_holder();
  lease_holder(const lease_holder&) = delete;
  lease_holder& operator=(const lease_holder&) = delete;

  /// Waits until it has all leases; returns when the last one arrived. Errors: `timeout`, or the
  /// reason why the connection ended.
  [[nodiscard]] result<steady::time_point> wait(duration longest);

  /// Sends heartbeats for all leases now, and again each `interval` unless that is zero. Errors:
  /// the reason why the connection ended.
  [[nodiscard]] result<void> beat(duration interval);

  /// Number of leases received, and number of those that were lost.
  [[nodiscard]] std::size_t held() const;
  [[nodiscard]] std::size_t lost() const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace codeq::bench
