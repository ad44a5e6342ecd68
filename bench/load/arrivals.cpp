// SPDX-License-Identifier: Apache-2.0
#include "load/arrivals.hpp"

#include <charconv>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace codeq::bench {

namespace {

constexpr auto silence_max = std::chrono::seconds(30);

result<steady::time_point> parse_stamp(const std::string& text) {
  steady::rep ticks = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), ticks);
  if (code != std::errc{} || end != text.data() + text.size())
    return error{errc::corruption, "a handler answered with something else than a time"};
  return steady::time_point{steady::duration{ticks}};
}

/// Collects the callbacks of the producer's thread. Shared, so that it outlives the last callback
/// even when no thread waits any more.
class recorder {
public:
  explicit recorder(std::size_t tasks) : arrivals_(tasks), ids_(tasks) {}

  arrival& operator[](std::size_t index) { return arrivals_[index]; }

  void accepted(std::size_t index, const result<std::vector<task_id>>& ids) {
    if (!ids)
      return failed(ids.error());
    arrivals_[index].accepted = steady::now();
    std::lock_guard lock(mutex_);
    ids_[index] = ids->front();
    ++accepted_;
    changed_.notify_one();
  }

  void ended(std::size_t index, const result<ended_task>& end) {
    if (!end)
      return failed(end.error());
    if (end->state != task_state::completed)
      return failed({errc::unavailable, "a task failed: " + end->error_text});
    auto begun = parse_stamp(end->result);
    if (!begun)
      return failed(begun.error());
    std::lock_guard lock(mutex_);
    arrivals_[index].begun = *begun;
    ++ended_;
    changed_.notify_one();
  }

  /// Errors: of a request, or that there was no more progress.
  result<void> wait_for_accepted() { return wait(accepted_); }

  result<void> wait_for_ends() { return wait(ended_); }

  [[nodiscard]] const std::vector<task_id>& ids() const { return ids_; }

  [[nodiscard]] const std::vector<arrival>& arrivals() const { return arrivals_; }

private:
  void failed(const error& why) {
    std::lock_guard lock(mutex_);
    failure_ = why;
    changed_.notify_one();
  }

  result<void> wait(const std::size_t& count) {
    std::unique_lock lock(mutex_);
    while (count < arrivals_.size() && !failure_)
      if (changed_.wait_for(lock, silence_max) == std::cv_status::timeout)
        return error{errc::timeout, "nothing happened any more after " + std::to_string(count)};
    if (failure_)
      return *failure_;
    return {};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<arrival> arrivals_;
  std::vector<task_id> ids_;
  std::size_t accepted_ = 0;
  std::size_t ended_ = 0;
  std::optional<error> failure_;
};

using shared_recorder = std::shared_ptr<recorder>;

void enqueue_one(
  producer& to, const arrival_options& options, const shared_recorder& into, std::size_t index) {
  std::vector<task_spec> tasks(1);
  tasks.front().queue = options.queue;
  tasks.front().payload = std::string(options.payload, 'x');
  (*into)[index].called = steady::now();
  to.enqueue_all_or_none(std::move(tasks), [into, index](const result<std::vector<task_id>>& ids) {
    into->accepted(index, ids);
  });
}

/// Awaits all ends; done after the measurement, so that it does not disturb it.
result<void> read_back(producer& to, const shared_recorder& into) {
  for (std::size_t i = 0; i < into->ids().size(); ++i)
    to.await({into->ids()[i]}, [into, i](const result<ended_task>& end) { into->ended(i, end); });
  return into->wait_for_ends();
}

} // namespace

result<std::vector<arrival>> run_arrivals(producer& to, const arrival_options& options) {
  auto seconds = std::chrono::duration<double>(options.length).count();
  auto tasks = static_cast<std::size_t>(seconds * static_cast<double>(options.rate));
  auto records = std::make_shared<recorder>(std::max<std::size_t>(tasks, 1));
  std::chrono::duration<double> interval{1.0 / static_cast<double>(options.rate)};
  auto begin = steady::now() + std::chrono::milliseconds(1);
  for (std::size_t i = 0; i < std::max<std::size_t>(tasks, 1); ++i) {
    auto due =
      begin + std::chrono::duration_cast<steady::duration>(interval * static_cast<double>(i));
    (*records)[i].due = due;
    std::this_thread::sleep_until(due);
    enqueue_one(to, options, records, i);
  }
  if (auto ok = records->wait_for_accepted(); !ok)
    return ok.error();
  auto read = options.reads_results ? read_back(to, records) : result<void>{};
  if (!read)
    return read.error();
  return records->arrivals();
}

std::vector<std::chrono::nanoseconds> times_between(
  const std::vector<arrival>& arrivals,
  steady::time_point arrival::*from,
  steady::time_point arrival::*to) {
  std::vector<std::chrono::nanoseconds> times;
  times.reserve(arrivals.size());
  for (const auto& each : arrivals)
    times.push_back(each.*to - each.*from);
  return times;
}

} // namespace codeq::bench
