// SPDX-License-Identifier: Apache-2.0
#include "backlog/filler.hpp"

#include <algorithm>
#include <utility>

namespace codeq::bench {

namespace {

constexpr std::size_t one_of_scheduled = 10;
constexpr std::size_t answers_per_sample = 499;
constexpr std::size_t tasks_of_group = 10;
constexpr auto silence_max = std::chrono::seconds(60);

/// Delay of deferred tasks, none of which becomes due during a measurement.
constexpr duration deferral = std::chrono::hours(30 * 24);
constexpr duration retry_delay = std::chrono::hours(24);

/// The id of the first task, or the first error.
result<task_id> first_of(const enqueue_answers& answers) {
  for (const auto& answer : answers)
    if (!answer)
      return answer.error();
  return answers.front()->id;
}

} // namespace

std::string backlog_queue(std::size_t number) {
  return "backlog-" + std::to_string(number);
}

bool filler::is_deferred(std::size_t place) const {
  auto lanes = options_.queues * options_.priorities;
  return (place / lanes + place % lanes) % one_of_scheduled == 0;
}

task_spec filler::make_task(std::size_t place, bool is_scheduled) const {
  task_spec task;
  task.queue = backlog_queue(place % options_.queues);
  task.priority = static_cast<int>(place / options_.queues % options_.priorities);
  task.payload = std::string(options_.payload, 'x');
  if (is_scheduled)
    task.delay = deferral;
  task.max_attempts = limits::attempts_max;
  task.retry = retry_policy{retry_kind::exponential_jitter, retry_delay, retry_delay};
  return task;
}

void filler::name_task(task_spec& task, std::size_t number) const {
  if (options_.state == "keyed")
    task.key = "order-" + std::to_string(number);
  else if (options_.state == "grouped")
    task.group = "customer-" + std::to_string(number / tasks_of_group);
}

void filler::answered(const result<task_id>& first) {
  std::lock_guard lock(mutex_);
  if (!first)
    failure_ = first.error();
  else if (answers_++ % answers_per_sample == 0)
    sample_.push_back(*first);
  --open_;
  changed_.notify_one();
}

void filler::send(std::size_t count, std::size_t place, bool is_scheduled) {
  std::vector<task_spec> tasks(count, make_task(place, is_scheduled));
  for (std::size_t i = 0; i < count; ++i)
    name_task(tasks[i], added_ + i);
  {
    std::lock_guard lock(mutex_);
    ++open_;
  }
  added_ += count;
  scheduled_ += is_scheduled ? count : 0;
  to_.enqueue(std::move(tasks), [this](const auto& answers) { answered(first_of(answers)); });
}

result<void> filler::fill(std::size_t tasks, bool scheduled) {
  auto left = tasks;
  for (std::size_t batches = 0, singles = 0; left > 0; ++batches) {
    if (!pause(duration{}))
      return error{errc::going_away, "interrupted"};
    auto count = std::min(left, options_.batch);
    send(count, batches, scheduled && is_deferred(batches));
    left -= count;
    for (auto i = std::min(left, options_.batch); i > 0; --i, --left, ++singles)
      send(1, singles, scheduled && is_deferred(singles));
  }
  std::unique_lock lock(mutex_);
  while (open_ > 0 && failure_.code == errc::none) {
    auto before = open_;
    changed_.wait_for(lock, silence_max, [&] { return open_ == 0; });
    if (open_ == before)
      return error{errc::timeout, std::to_string(open_) + " enqueues were not answered"};
  }
  if (failure_.code != errc::none)
    return failure_;
  return {};
}

} // namespace codeq::bench
