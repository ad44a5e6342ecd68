// SPDX-License-Identifier: Apache-2.0
// Sends random tasks to queues "kill" and "kill2", some of them with the limits of `harness.py`,
// and logs requests and answers. Usage:
//   kill_producer load ADDRESS[,ADDRESS...] LOG NAME RATE
//                                              sends RATE tasks per second until SIGTERM
//   kill_producer audit ADDRESS[,ADDRESS...] LOG
//                                              asks how each task on standard input ended
#include "codeq/producer.hpp"

#include "kill/event_log.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using codeq::test::event_log;

constexpr auto pause_between_requests = 20ms;
constexpr std::uint64_t groups = 16;
constexpr std::uint32_t attempts = 6;
constexpr std::uint64_t keys_of_one = 4;
constexpr std::uint64_t keys_of_few = 2;

volatile std::sig_atomic_t stopped = 0;

/// Counts unanswered requests.
class pending {
public:
  void add(std::size_t n) {
    std::lock_guard lock{mutex_};
    count_ += n;
  }

  void done() {
    std::lock_guard lock{mutex_};
    --count_;
    changed_.notify_all();
  }

  /// Returns when none is left. There is no timeout here, since the harness has one.
  void wait() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return count_ == 0; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

/// "LIMIT:KEY" for each of them.
std::string names_of(const std::vector<codeq::task_limit>& limits) {
  std::string text;
  for (const auto& one : limits)
    text += (text.empty() ? "" : ",") + one.name + ":" + one.key;
  return text;
}

void log_end(
  event_log& log,
  const char* event,
  codeq::task_id id,
  const codeq::result<codeq::ended_task>& task) {
  auto line = std::string(event) + " id=" + codeq::to_string(id);
  if (!task)
    return log.write(line + " state=" + std::string(codeq::to_string(task.error().code)));
  line += " state=" + std::string(codeq::to_string(task->state))
          + " attempt=" + std::to_string(task->attempt);
  // Texts of failures contain spaces; only results are compared.
  if (task->state == codeq::task_state::completed)
    line += " result=" + task->result;
  log.write(line);
}

void await(
  codeq::producer& producer, event_log& log, pending& left, codeq::task_id id, const char* event) {
  producer.await({id}, [&log, &left, id, event](codeq::result<codeq::ended_task> task) {
    log_end(log, event, id, task);
    left.done();
  });
}

class load {
public:
  load(codeq::producer& producer, event_log& log, std::string name)
    : producer_(producer), log_(log), name_(std::move(name)), random_(std::random_device{}()) {}

  /// Sends one request; returns its number of tasks.
  std::size_t send() {
    ++requests_;
    bool atomic = below(2) == 0;
    std::vector<std::string> names;
    std::vector<codeq::task_spec> tasks;
    for (auto left = 1 + below(10); left > 0; --left) {
      names.push_back(name_ + '-' + std::to_string(++tasks_));
      tasks.push_back(random_task(names.back(), atomic));
    }
    left_.add(tasks.size());
    auto count = tasks.size();
    if (atomic)
      producer_.enqueue_all_or_none(
        std::move(tasks), [this, names](codeq::result<std::vector<codeq::task_id>> ids) {
          for (std::size_t i = 0; i < names.size(); ++i)
            answered(names[i], ids ? codeq::result<codeq::task_id>{(*ids)[i]} : ids.error());
        });
    else
      producer_.enqueue(std::move(tasks), [this, names](const codeq::enqueue_answers& all) {
        for (std::size_t i = 0; i < names.size(); ++i)
          answered(names[i], all[i] ? codeq::result<codeq::task_id>{all[i]->id} : all[i].error());
      });
    return count;
  }

  [[nodiscard]] pending& unanswered() { return left_; }

private:
  /// An atomic request must not contain tasks with groups or limits, which belong to shards.
  codeq::task_spec random_task(const std::string& name, bool atomic) {
    codeq::task_spec t;
    t.queue = "kill";
    t.lease = 2s;
    t.max_attempts = attempts;
    t.retry = codeq::retry_policy{codeq::retry_kind::fixed, 200ms, 200ms};
    t.priority = static_cast<int>(below(3));
    t.payload = name + ' ' + random_behaviour();
    if (!atomic && below(4) == 0)
      t.group = name_ + "-g" + std::to_string(below(groups));
    else if (!atomic && below(8) == 0)
      limit(t, name);
    if (below(10) == 0)
      t.delay = std::chrono::milliseconds(1 + below(3000));
    log_.write(
      "send task=" + name + " request=" + std::to_string(requests_)
      + " atomic=" + std::to_string(atomic) + " delay=" + std::to_string(t.delay.count())
      + " max=" + std::to_string(attempts) + " group=" + t.group
      + " limits=" + names_of(t.limits));
    return t;
  }

  /// Gives the task limits, which tasks of both queues share, and work that is long enough to
  /// overlap and short enough that each key gets through its tasks.
  void limit(codeq::task_spec& t, const std::string& name) {
    const codeq::task_limit one{"one", std::to_string(below(keys_of_one))};
    const codeq::task_limit few{"few", std::to_string(below(keys_of_few))};
    switch (below(4)) {
    case 0:
      t.limits = {one};
      break;
    case 1:
      t.limits = {few};
      break;
    case 2:
      t.limits = {one, few};
      break;
    default:
      t.limits = {{"pace"}};
    }
    if (below(2) == 0)
      t.queue = "kill2";
    const auto* how = below(10) == 0 ? "fail " : "ok ";
    t.payload = name + ' ' + how + std::to_string(10 + below(40)) + " 1";
  }

  /// "HOW MILLISECONDS TIMES" for the handler.
  std::string random_behaviour() {
    auto brief = std::to_string(below(20));
    switch (below(60)) {
    case 0:
    case 1:
      return "fail " + brief + " 1";
    case 2:
      return "fail " + brief + " 99";
    case 3:
    case 4:
      return "nack " + brief + " 1";
    case 5:
      return "permanent " + brief + " 99";
    case 6:
      return "slow " + std::to_string(500 + below(2000)) + " 0";
    case 7:
      return "stubborn " + std::to_string(2000 + below(2000)) + " 0";
    case 8:
      return below(20) == 0 ? "crash 0 1" : "ok 0 0";
    default:
      return "ok " + brief + " 0";
    }
  }

  void answered(const std::string& name, const codeq::result<codeq::task_id>& id) {
    if (!id) {
      log_.write(
        "refused task=" + name + " code=" + std::string(codeq::to_string(id.error().code)));
      return left_.done();
    }
    log_.write("ack task=" + name + " id=" + codeq::to_string(*id));
    await(producer_, log_, left_, *id, "end");
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  codeq::producer& producer_;
  event_log& log_;
  std::string name_;
  std::mt19937_64 random_;
  pending left_;
  std::uint64_t requests_ = 0;
  std::uint64_t tasks_ = 0;
};

void run_load(codeq::producer& producer, event_log& log, const std::string& name, double rate) {
  load sent{producer, log, name};
  const auto start = std::chrono::steady_clock::now();
  double tasks = 0;
  while (stopped == 0) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (tasks < rate * passed.count())
      tasks += static_cast<double>(sent.send());
    else
      std::this_thread::sleep_for(pause_between_requests);
  }
  sent.unanswered().wait();
}

void run_audit(codeq::producer& producer, event_log& log) {
  pending left;
  std::string text;
  while (std::getline(std::cin, text)) {
    auto id = codeq::parse_task_id(text);
    if (!id)
      continue;
    left.add(1);
    await(producer, log, left, *id, "final");
  }
  left.wait();
}

std::vector<std::string> split(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(words, part, ',');)
    parts.push_back(part);
  return parts;
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool is_load = words.size() == 5 && words[0] == "load";
  if (!is_load && !(words.size() == 3 && words[0] == "audit")) {
    std::cerr << "usage: kill_producer load ADDRESS LOG NAME RATE | audit ADDRESS LOG\n";
    return 2;
  }
  std::signal(SIGTERM, [](int) { stopped = 1; });
  event_log log{words[2]};
  auto producer = codeq::producer::connect({.coordinators = split(words[1]), .name = "kill"});
  if (!producer) {
    std::cerr << "kill_producer: " << codeq::to_string(producer.error()) << '\n';
    return 1;
  }
  if (is_load)
    run_load(**producer, log, words[3], std::stod(words[4]));
  else
    run_audit(**producer, log);
}
