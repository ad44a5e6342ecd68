// SPDX-License-Identifier: Apache-2.0
// Reads paths from standard input, enqueues a task for each into queue `wordcount`, and prints the
// counts as they arrive, then the totals. Usage: count_files ADDRESS:PORT
#include "codeq/producer.hpp"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <sstream>
#include <unordered_map>

namespace {

constexpr std::size_t batch_tasks = 50;
constexpr auto silence_max = std::chrono::seconds(60);

/// Prints and adds up the results; called from the producer's threads.
class tally {
public:
  void add(const std::string& path, const codeq::ended_task& task) {
    std::lock_guard lock(mutex_);
    ++ended_;
    redelivered_ += task.attempt > 1 ? 1 : 0;
    completed_ += task.state == codeq::task_state::completed ? 1 : 0;
    std::istringstream counts(task.result);
    for (std::uint64_t count, i = 0; i < totals_.size() && counts >> count; ++i) {
      totals_[i] += count;
    }
    std::cout << task.result << task.error_text << ' ' << path << '\n' << std::flush;
    changed_.notify_one();
  }

  /// Waits for `tasks` ends, prints the totals and returns whether all completed; gives up after
  /// `silence_max` without an end.
  [[nodiscard]] bool report(std::size_t tasks) {
    std::unique_lock lock(mutex_);
    for (auto before = ended_; ended_ < tasks; before = ended_) {
      if (!changed_.wait_for(lock, silence_max, [&] { return ended_ > before; })) {
        return false;
      }
    }
    std::cout << totals_[0] << ' ' << totals_[1] << ' ' << totals_[2] << " total\n"
              << ended_ << " files, " << completed_ << " completed, " << ended_ - completed_
              << " dead, " << redelivered_ << " redelivered\n";
    return completed_ == ended_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ended_ = 0, completed_ = 0, redelivered_ = 0;
  std::array<std::uint64_t, 3> totals_{};
};

/// Enqueues one batch; `counts` is notified of each end.
codeq::result<void>
submit(codeq::producer& producer, const std::vector<std::string>& paths, tally& counts) {
  std::vector<codeq::task_spec> tasks;
  for (const auto& path : paths) {
    tasks.push_back({.queue = "wordcount", .payload = path, .lease = std::chrono::seconds(2)});
  }
  auto ids = producer.enqueue_all_or_none(std::move(tasks));
  if (!ids) {
    return ids.error();
  }
  std::unordered_map<codeq::task_id, std::string> names;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    names.emplace((*ids)[i], paths[i]);
  }
  producer.await(*ids, [names, &counts](codeq::result<codeq::ended_task> task) {
    if (task) {
      counts.add(names.at(task->id), *task);
    }
  });
  return {};
}

} // namespace

int main(int argc, char** argv) {
  tally counts;
  auto producer = codeq::producer::connect({.coordinators = {argv + 1, argv + argc}});
  codeq::result<void> done = producer ? codeq::result<void>() : producer.error();
  std::size_t files = 0;
  for (std::vector<std::string> batch; done && std::cin; batch.clear()) {
    for (std::string path; batch.size() < batch_tasks && std::getline(std::cin, path);) {
      batch.push_back(path);
    }
    files += batch.size();
    done = batch.empty() ? done : submit(**producer, batch, counts);
  }
  if (!done) {
    std::cerr << "count_files: " << codeq::to_string(done.error()) << '\n';
    return 1;
  }
  return counts.report(files) ? 0 : 1;
}
