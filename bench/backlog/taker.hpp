// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/worker_node.hpp"

#include "backlog/backlog.hpp"

#include <atomic>
#include <chrono>
#include <memory>

namespace codeq::bench {

/// A worker in this process that takes the backlog's tasks until it is destroyed; then it gives
/// back the tasks that its handlers have not begun.
class taker {
public:
  enum class answer { completed, failed };

  /// Errors: as `worker_node::start`.
  [[nodiscard]] static result<std::unique_ptr<taker>>
  start(const std::string& address, const backlog_options& options, answer how);

  ~taker();
  taker(const taker&) = delete;
  taker& operator=(const taker&) = delete;

  /// Waits until `tasks` tasks were handled. Errors: `timeout` when there is no more progress.
  [[nodiscard]] result<void> wait_for(std::size_t tasks);

  [[nodiscard]] std::size_t handled() const { return handled_; }

  /// Time from the first task to the one at which `wait_for` returned.
  [[nodiscard]] double seconds() const;

  [[nodiscard]] std::chrono::steady_clock::time_point first_at() const;

private:
  taker() = default;

  outcome handle(answer how);

  std::atomic<std::size_t> handled_{0};
  std::atomic<std::int64_t> first_ns_{0};
  std::int64_t last_ns_ = 0;
  std::unique_ptr<worker_node> node_;
};

} // namespace codeq::bench
