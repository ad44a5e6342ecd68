// SPDX-License-Identifier: Apache-2.0
#include "load/arrivals.hpp"

#include <charconv>
#include <condition_variable>
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

/// What the producer's thread tells.
class recorder {
public:
  explicit recorder(std::size_t tasks) : arrivals_(tasks) {}

  arrival& operator[](std::size_t index) { return arrivals_[index]; }

  void ended(std::size_t index, const result<task_status>& end) {
    if (!end)
      return failed(end.error());
    if (end->state != task_state::completed)
      return failed({errc::unavailable, "a task failed: " + end->error_text});
    auto begun = parse_stamp(end->result);
    if (!begun)
      return failed(begun.error());
    std::lock_guard lock(mutex_);
    arrivals_[index].begun = *begun;
    if (++ended_ == arrivals_.size())
      changed_.notify_one();
  }

  void failed(const error& why) {
    std::lock_guard lock(mutex_);
    failure_ = why;
    changed_.notify_one();
  }

  result<std::vector<arrival>> wait() {
    std::unique_lock lock(mutex_);
    auto done = [this] { return failure_ || ended_ == arrivals_.size(); };
    for (std::size_t before = ended_; !changed_.wait_for(lock, silence_max, done); before = ended_)
      if (before == ended_)
        return error{errc::timeout, "nothing happened any more after " + std::to_string(ended_)};
    if (failure_)
      return *failure_;
    return std::move(arrivals_);
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<arrival> arrivals_;
  std::size_t ended_ = 0;
  std::optional<error> failure_;
};

void enqueue_one(producer& to, const arrival_options& options, recorder& into, std::size_t index) {
  std::vector<task_spec> tasks(1);
  tasks.front().queue = options.queue;
  tasks.front().payload.assign(options.payload, 'x');
  into[index].called = steady::now();
  to.enqueue_async(std::move(tasks), [&to, &into, index](result<std::vector<task_id>> ids) {
    if (!ids)
      return into.failed(ids.error());
    into[index].accepted = steady::now();
    to.await_async(
      std::move(*ids), [&into, index](result<task_status> end) { into.ended(index, end); });
  });
}

} // namespace

result<std::vector<arrival>> run_arrivals(producer& to, const arrival_options& options) {
  auto seconds = std::chrono::duration<double>(options.length).count();
  auto tasks = static_cast<std::size_t>(seconds * static_cast<double>(options.rate));
  recorder records(std::max<std::size_t>(tasks, 1));
  std::chrono::duration<double> interval{1.0 / static_cast<double>(options.rate)};
  auto begin = steady::now() + std::chrono::milliseconds(1);
  for (std::size_t i = 0; i < std::max<std::size_t>(tasks, 1); ++i) {
    auto due =
      begin + std::chrono::duration_cast<steady::duration>(interval * static_cast<double>(i));
    records[i].due = due;
    std::this_thread::sleep_until(due);
    enqueue_one(to, options, records, i);
  }
  return records.wait();
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
