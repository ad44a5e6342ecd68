// SPDX-License-Identifier: Apache-2.0
#include "retries/retries.hpp"

#include "cycle/cycle.hpp"

#include <memory>
#include <sstream>

namespace codeq::bench {

namespace {

double per_task(double total, const cycle_figures& f) {
  return total / static_cast<double>(f.tasks);
}

std::string
to_json(const cycle_options& o, const cycle_figures& once, const cycle_figures& retried) {
  auto log = [](const cycle_figures& f) { return per_task(static_cast<double>(f.log_bytes), f); };
  auto cpu = [](const cycle_figures& f) { return per_task(f.cpu_seconds * 1e6, f); };
  std::ostringstream line;
  line << R"({"bench":"retries","durability":")" << o.cluster.durability << R"(","tasks":)"
       << o.tasks << R"(,"payload":)" << o.payload << R"(,"shards":)" << o.cluster.shards
       << R"(,"workers":)" << o.cluster.workers << R"(,"completed":)" << retried.completed
       << R"(,"cpu_us_first":)" << cpu(once) << R"(,"cpu_us_retried":)" << cpu(retried)
       << R"(,"log_bytes_first":)" << log(once) << R"(,"log_bytes_retried":)" << log(retried)
       << R"(,"ratio_cpu":)" << cpu(retried) / cpu(once) << R"(,"ratio_log":)"
       << log(retried) / log(once) << '}';
  return line.str();
}

result<std::string> measure(const cycle_options& options) {
  auto once = run_cycle(options);
  if (!once)
    return once.error();
  auto failing = options;
  failing.queue = "fail-once";
  auto retried = run_cycle(failing);
  if (!retried)
    return retried.error();
  return to_json(options, *once, *retried);
}

} // namespace

measurement retries_measurement(const std::filesystem::path& library) {
  auto to = std::make_shared<cycle_options>();
  to->cluster.library = library;
  auto& cluster = to->cluster;
  config::command entry{
    "retries",
    "Cost of tasks that fail once and are retried, against tasks that succeed at once",
    {count_option("tasks", "Tasks in all [default: 200000]", to->tasks, {1, 100'000'000}),
     count_option("payload", "Bytes of each payload [default: 256]", to->payload, {16, 1 << 20}),
     count_option("workers", "Worker processes [default: 2]", cluster.workers, {1, 64}),
     count_option("slots", "Slots of each worker [default: 128]", cluster.slots, {1, 4096}),
     count_option(
       "prefetch", "Tasks a worker takes beyond [default: 512]", cluster.prefetch, {0, 4096}),
     count_option("shards", "Shards of the coordinator [default: 2]", cluster.shards, {1, 1024}),
     durability_option(cluster.durability)}};
  return {std::move(entry), [to] { return measure(*to); }};
}

} // namespace codeq::bench
