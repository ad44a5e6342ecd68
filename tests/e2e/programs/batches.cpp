// SPDX-License-Identifier: Apache-2.0
// Sends the same mixed batch again and again, without waiting: guarded keys, promotable keys, and
// new keys. Each round has a different time. Logs "ROUND" when a round is completely acknowledged.
// Usage: e2e_batches ADDRESS QUEUE BASE_MILLISECONDS ROUNDS LOG
#include "codeq/producer.hpp"

#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int standing_keys = 16;
constexpr int new_keys = 8;
constexpr int open_rounds_max = 16;
constexpr auto answer_wait_max = 60s;

struct plan {
  std::string queue;
  codeq::timestamp base;
  int rounds = 0;
};

/// Later than the base in even rounds and earlier in odd ones.
codeq::timestamp time_of(const plan& all, int round) {
  return all.base + (round % 2 == 0 ? 1s : -1s) * round;
}

codeq::task_spec task_of(const plan& all, const std::string& key, int round) {
  codeq::task_spec made;
  made.queue = all.queue;
  made.key = key;
  made.not_before = time_of(all, round);
  made.duplicate = codeq::on_duplicate::promote;
  return made;
}

/// Round 0 creates the keys that all rounds use; it has no new ones.
std::vector<codeq::task_spec> batch_of(const plan& all, int round) {
  std::vector<codeq::task_spec> tasks;
  for (int i = 0; i < standing_keys; ++i) {
    tasks.push_back(task_of(all, "guarded-" + std::to_string(i), round));
    tasks.push_back(task_of(all, "open-" + std::to_string(i), round));
    tasks.back().allow_promotion = true;
    if (i < new_keys && round > 0)
      tasks.push_back(
        task_of(all, "new-" + std::to_string(round) + "-" + std::to_string(i), round));
  }
  return tasks;
}

/// Logs acknowledged rounds. Called from the producer's threads.
class log_of_rounds {
public:
  explicit log_of_rounds(const char* path) : file_(path) {}

  void answer(int round, const codeq::enqueue_answers& answers) {
    std::lock_guard lock(mutex_);
    bool whole = true;
    for (const auto& one : answers)
      whole = whole && one;
    if (whole)
      file_ << round << '\n' << std::flush;
    else
      std::cerr << "e2e_batches: round " << round << " was refused\n";
    ++answered_;
    changed_.notify_one();
  }

  [[nodiscard]] bool wait_for(int answers) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, answer_wait_max, [&] { return answered_ >= answers; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::ofstream file_;
  int answered_ = 0;
};

bool send_all(codeq::producer& producer, const plan& all, log_of_rounds& known) {
  for (int round = 0; round < all.rounds; ++round) {
    producer.enqueue(
      batch_of(all, round), [&known, round](auto answers) { known.answer(round, answers); });
    if (!known.wait_for(round + 1 - open_rounds_max))
      return false;
  }
  return known.wait_for(all.rounds);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: e2e_batches ADDRESS QUEUE BASE_MILLISECONDS ROUNDS LOG\n";
    return 2;
  }
  const plan all{
    argv[2], codeq::timestamp(codeq::duration(std::stoll(argv[3]))), std::stoi(argv[4])};
  log_of_rounds known(argv[5]);
  auto producer = codeq::producer::connect({.coordinators = {argv[1]}, .name = "e2e-batches"});
  if (!producer) {
    std::cerr << "e2e_batches: " << codeq::to_string(producer.error()) << '\n';
    return 1;
  }
  return send_all(**producer, all, known) ? 0 : 1;
}
