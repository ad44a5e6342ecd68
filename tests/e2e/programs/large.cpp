// SPDX-License-Identifier: Apache-2.0
// Enqueues tasks whose payload is TEXT padded with spaces, waits for all ends, prints one JSON
// object. Usage: e2e_large ADDRESS QUEUE TASKS TEXT PAYLOAD_BYTES SECONDS
#include "codeq/producer.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <string>

namespace {

/// Collects the ends reported on the producer's threads.
class ends {
public:
  void add(const codeq::result<codeq::ended_task>& task) {
    std::lock_guard lock(mutex_);
    ++ended_;
    completed_ += task && task->state == codeq::task_state::completed ? 1 : 0;
    result_bytes_ += task ? task->result.size() : 0;
    if (task)
      attempt_max_ = std::max(attempt_max_, task->attempt);
    else
      std::cerr << "e2e_large: " << codeq::to_string(task.error()) << '\n';
    changed_.notify_one();
  }

  void wait_for(std::size_t tasks, std::chrono::seconds time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [&] { return ended_ >= tasks; });
  }

  void print() {
    std::lock_guard lock(mutex_);
    std::cout << "{\"ended\":" << ended_ << ",\"completed\":" << completed_
              << ",\"attempt_max\":" << attempt_max_ << ",\"result_bytes\":" << result_bytes_
              << "}\n";
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ended_ = 0;
  std::size_t completed_ = 0;
  std::size_t result_bytes_ = 0;
  std::uint32_t attempt_max_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "usage: e2e_large ADDRESS QUEUE TASKS TEXT PAYLOAD_BYTES SECONDS\n";
    return 2;
  }
  const std::size_t tasks = std::stoul(argv[3]);
  std::string payload = argv[4];
  payload.resize(std::stoul(argv[5]), ' ');
  ends heard;
  auto producer = codeq::producer::connect({.coordinators = {argv[1]}, .name = "e2e-large"});
  if (!producer) {
    std::cerr << "e2e_large: " << codeq::to_string(producer.error()) << '\n';
    return 1;
  }
  for (std::size_t i = 0; i < tasks; ++i) {
    (*producer)->enqueue_all_or_none({{.queue = argv[2], .payload = payload}}, [&](auto ids) {
      if (ids)
        (*producer)->await(*ids, [&](auto task) { heard.add(task); });
      else
        heard.add(ids.error());
    });
  }
  heard.wait_for(tasks, std::chrono::seconds(std::stoul(argv[6])));
  heard.print();
  return 0;
}
