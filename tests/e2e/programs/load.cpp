// SPDX-License-Identifier: Apache-2.0
// Enqueues numbered tasks in batches and waits for all ends; each result must equal its payload.
// Prints one JSON object. Usage: e2e_load ADDRESS TASKS BATCH ACKNOWLEDGED_FILE
#include "codeq/producer.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <mutex>
#include <unordered_map>

namespace {

using namespace std::chrono_literals;

constexpr auto silence_max = 60s;

/// State of all tasks. Updated from the producer's threads.
class ledger {
public:
  explicit ledger(const char* acknowledged_file) : acknowledged_file_(acknowledged_file) {}

  /// Records that the tasks from `first` on were accepted with `ids`.
  void acknowledge(std::size_t first, const std::vector<codeq::task_id>& ids) {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      repeated_ids_ += number_of_.emplace(ids[i], first + i).second ? 0 : 1;
      acknowledged_file_ << codeq::to_string(ids[i]) << '\n';
    }
    acknowledged_file_.flush();
    changed_.notify_one();
  }

  void refuse(const codeq::error& why, std::size_t tasks) {
    std::lock_guard lock(mutex_);
    std::cerr << "e2e_load: " << codeq::to_string(why) << '\n';
    refused_ += tasks;
    changed_.notify_one();
  }

  void end(const codeq::ended_task& task) {
    std::lock_guard lock(mutex_);
    auto known = number_of_.find(task.id);
    repeated_ends_ += ended_.emplace(task.id, true).second ? 0 : 1;
    const bool completed = task.state == codeq::task_state::completed;
    completed_ += completed ? 1 : 0;
    redelivered_ += task.attempt > 1 ? 1 : 0;
    wrong_results_ +=
      known == number_of_.end() || (completed && task.result != std::to_string(known->second)) ? 1
                                                                                               : 0;
    changed_.notify_one();
  }

  /// False when nothing happened for `silence_max`.
  [[nodiscard]] bool wait_for(std::size_t tasks) {
    std::unique_lock lock(mutex_);
    while (ended_.size() + refused_ < tasks) {
      if (changed_.wait_for(lock, silence_max) == std::cv_status::timeout) {
        return false;
      }
    }
    return true;
  }

  void print() {
    std::lock_guard lock(mutex_);
    std::cout << "{\"acknowledged\":" << number_of_.size() << ",\"refused\":" << refused_
              << ",\"ended\":" << ended_.size() << ",\"completed\":" << completed_
              << ",\"redelivered\":" << redelivered_ << ",\"repeated_ids\":" << repeated_ids_
              << ",\"repeated_ends\":" << repeated_ends_ << ",\"wrong_results\":" << wrong_results_
              << "}\n"
              << std::flush;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::ofstream acknowledged_file_;
  std::unordered_map<codeq::task_id, std::size_t> number_of_;
  std::unordered_map<codeq::task_id, bool> ended_;
  std::size_t refused_ = 0;
  std::size_t completed_ = 0;
  std::size_t redelivered_ = 0;
  std::size_t repeated_ids_ = 0;
  std::size_t repeated_ends_ = 0;
  std::size_t wrong_results_ = 0;
};

void submit(codeq::producer& producer, ledger& known, std::size_t first, std::size_t count) {
  std::vector<codeq::task_spec> tasks;
  for (std::size_t number = first; number < first + count; ++number) {
    tasks.push_back({.queue = "echo", .payload = std::to_string(number)});
  }
  producer.enqueue_all_or_none(std::move(tasks), [&producer, &known, first, count](auto ids) {
    if (!ids) {
      known.refuse(ids.error(), count);
      return;
    }
    known.acknowledge(first, *ids);
    producer.await(*ids, [&known](codeq::result<codeq::ended_task> task) {
      if (task) {
        known.end(*task);
      } else {
        known.refuse(task.error(), 1);
      }
    });
  });
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: e2e_load ADDRESS TASKS BATCH ACKNOWLEDGED_FILE\n";
    return 2;
  }
  const std::size_t tasks = std::stoul(argv[2]);
  const std::size_t batch = std::stoul(argv[3]);
  ledger known(argv[4]);
  auto producer = codeq::producer::connect({.coordinators = {argv[1]}, .name = "e2e-load"});
  if (!producer) {
    std::cerr << "e2e_load: " << codeq::to_string(producer.error()) << '\n';
    return 1;
  }
  for (std::size_t first = 0; first < tasks; first += batch) {
    submit(**producer, known, first, std::min(batch, tasks - first));
  }
  const bool all_ended = known.wait_for(tasks);
  known.print();
  return all_ended ? 0 : 1;
}
