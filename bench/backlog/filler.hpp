// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/producer.hpp"

#include "backlog/backlog.hpp"

#include <condition_variable>
#include <mutex>

namespace codeq::bench {

/// Fills a coordinator's queues and keeps a sample of the task ids.
class filler {
public:
  filler(producer& to, const backlog_options& options) : to_(to), options_(options) {}

  /// Adds tasks, half of them in batches; with `scheduled` a tenth is deferred. Returns when all
  /// are durable. Errors: of an enqueue, `timeout`, or `going_away` by a signal.
  [[nodiscard]] result<void> fill(std::size_t tasks, bool scheduled);

  /// Number of tasks added, and how many of them are scheduled.
  [[nodiscard]] std::size_t added() const noexcept { return added_; }

  [[nodiscard]] std::size_t scheduled() const noexcept { return scheduled_; }

  [[nodiscard]] const std::vector<task_id>& sample() const noexcept { return sample_; }

private:
  /// True for a tenth of the tasks, spread evenly over queues and priorities, so that all queues
  /// drain equally.
  [[nodiscard]] bool is_deferred(std::size_t place) const;
  [[nodiscard]] task_spec make_task(std::size_t place, bool is_scheduled) const;
  /// Gives the task what `--state` says that it has of its own, by its number.
  void name_task(task_spec& task, std::size_t number) const;
  void send(std::size_t count, std::size_t place, bool is_scheduled);
  /// Notes the answer to a batch, or to its first task.
  void answered(const result<task_id>& first);

  producer& to_;
  const backlog_options& options_;
  std::size_t added_ = 0;
  std::size_t scheduled_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t open_ = 0;
  std::size_t answers_ = 0;
  error failure_;
  std::vector<task_id> sample_;
};

/// The name of a queue by its number.
[[nodiscard]] std::string backlog_queue(std::size_t number);

} // namespace codeq::bench
