// SPDX-License-Identifier: Apache-2.0
#include "idle/idle.hpp"

#include "codeq/producer.hpp"

#include <sstream>

namespace codeq::bench {

namespace {

constexpr duration first_task_max = std::chrono::seconds(20);

using cpu_times = std::vector<std::chrono::nanoseconds>;

/// Checks that a task runs from end to end. The producer is destroyed afterwards.
result<void> run_one_task(const std::string& address) {
  auto producer = producer::connect({.coordinators = {address}, .name = "idle-bench"});
  if (!producer) {
    return producer.error();
  }
  task_spec task;
  task.queue = "hello";
  task.payload = "idle";
  auto id = (*producer)->enqueue(task, first_task_max);
  if (!id) {
    return id.error();
  }
  auto ended = (*producer)->await(id->id, first_task_max);
  if (!ended) {
    return ended.error();
  }
  if (ended->state != task_state::completed) {
    return error{errc::unavailable, "the first task failed: " + ended->error_text};
  }
  return {};
}

result<cpu_times> read_cpu(cluster& running) {
  if (auto fine = running.check_running(); !fine) {
    return fine.error();
  }
  cpu_times times;
  for (const auto& process : running.processes()) {
    auto used = process.cpu_time();
    if (!used) {
      return used.error();
    }
    times.push_back(*used);
  }
  return times;
}

std::string to_json(const idle_options& options, const std::vector<double>& percent) {
  double workers = 0;
  for (std::size_t i = 1; i < percent.size(); ++i) {
    workers += percent[i];
  }
  std::ostringstream line;
  line << R"({"bench":"idle","durability":")" << options.cluster.durability << R"(","shards":)"
       << options.cluster.shards << R"(,"workers":)" << options.cluster.workers << R"(,"slots":)"
       << options.cluster.slots << R"(,"settle_ms":)" << options.settle.count()
       << R"(,"length_ms":)" << options.length.count() << R"(,"cpu_percent":)"
       << percent.front() + workers << R"(,"coordinator_cpu_percent":)" << percent.front()
       << R"(,"workers_cpu_percent":)" << workers << '}';
  return line.str();
}

} // namespace

result<std::string> measure_idle(const idle_options& options) {
  auto running = cluster::start(options.cluster);
  if (!running) {
    return running.error();
  }
  if (auto done = run_one_task(running->address()); !done) {
    return done.error();
  }
  const error interrupted{errc::going_away, "interrupted"};
  if (!pause(options.settle)) {
    return interrupted;
  }
  auto before = read_cpu(*running);
  const auto start = std::chrono::steady_clock::now();
  if (!pause(options.length)) {
    return interrupted;
  }
  auto after = read_cpu(*running);
  const std::chrono::duration<double> length = std::chrono::steady_clock::now() - start;
  if (!before || !after) {
    return before ? after.error() : before.error();
  }
  std::vector<double> percent;
  for (std::size_t i = 0; i < before->size(); ++i) {
    percent.push_back(100 * std::chrono::duration<double>((*after)[i] - (*before)[i]) / length);
  }
  return to_json(options, percent);
}

} // namespace codeq::bench
