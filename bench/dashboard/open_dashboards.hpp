// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace codeq::bench {

/// Dashboards that people have open: each listens to the events of queues and workers, and asks for
/// the history of the last hour every 10 s, as the overview does. They have a thread of their own,
/// which ends with the object.
class open_dashboards {
public:
  /// Connects. Errors: `unavailable`.
  [[nodiscard]] result<void> open(std::uint16_t port, std::size_t count);

  open_dashboards() = default;
  ~open_dashboards();
  open_dashboards(const open_dashboards&) = delete;
  open_dashboards& operator=(const open_dashboards&) = delete;

  /// Ends them. Returns the bytes of all events and answers. Errors: `unavailable` when a stream
  /// ended by itself, or a request failed.
  [[nodiscard]] result<std::size_t> close();

private:
  void run();
  [[nodiscard]] bool read_events();

  std::uint16_t port_ = 0;
  std::vector<int> streams_;
  std::atomic<bool> ends_ = false;
  std::atomic<bool> has_failed_ = false;
  std::size_t bytes_ = 0;
  std::thread thread_;
};

} // namespace codeq::bench
