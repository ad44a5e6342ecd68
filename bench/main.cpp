// SPDX-License-Identifier: Apache-2.0
#include "backlog/backlog.hpp"
#include "cycle/cycle.hpp"
#include "dashboard/dashboard.hpp"
#include "failover/failover.hpp"
#include "fairness/fairness.hpp"
#include "handover/handover.hpp"
#include "http/http.hpp"
#include "idle/idle.hpp"
#include "instructions/produce.hpp"
#include "latency/latency.hpp"
#include "leases/leases.hpp"
#include "limits/limits.hpp"
#include "load/options.hpp"
#include "priority/priority.hpp"
#include "recover/recover.hpp"
#include "retries/retries.hpp"
#include "scale/scale_out.hpp"
#include "schedules/schedules.hpp"

#include <algorithm>
#include <iostream>
#include <vector>

namespace {

using codeq::bench::count_option;
using codeq::bench::cycle_options;
using codeq::bench::durability_option;
using codeq::bench::idle_options;
using codeq::bench::measurement;
using codeq::bench::scale_out_options;
using codeq::bench::seconds_option;
namespace config = codeq::config;

config::command idle_command(idle_options& to) {
  config::command entry{
    "idle",
    "CPU that a coordinator and its workers use while there is nothing to do",
    {seconds_option("seconds", "How long to measure, in seconds [default: 10]", to.length),
     seconds_option("settle", "How long to wait before, in seconds [default: 2]", to.settle),
     count_option("workers", "Worker processes [default: 2]", to.cluster.workers, {1, 64}),
     count_option("slots", "Slots of each worker [default: 8]", to.cluster.slots, {1, 4096}),
     count_option("shards", "Shards of the coordinator [default: 4]", to.cluster.shards, {1, 1024}),
     durability_option(to.cluster.durability)}};
  return entry;
}

config::command cycle_command(cycle_options& to) {
  auto& cluster = to.cluster;
  config::command entry{
    "cycle",
    "Full cycles per second: enqueue, claim, handle, store the result, acknowledge",
    {count_option("tasks", "Tasks in all [default: 200000]", to.tasks, {1, 100'000'000}),
     count_option("payload", "Bytes of each payload [default: 256]", to.payload, {16, 1 << 20}),
     count_option("producers", "Producers, in this process [default: 2]", to.producers, {1, 64}),
     count_option(
       "batch",
       "Tasks of an enqueue request; with 1, claims and results are single too [default: 64]",
       to.batch,
       {1, 1000}),
     count_option(
       "window", "Tasks in flight of each producer [default: 1024]", to.window, {1, 100'000}),
     count_option("workers", "Worker processes [default: 2]", cluster.workers, {1, 64}),
     count_option("slots", "Slots of each worker [default: 128]", cluster.slots, {1, 4096}),
     count_option(
       "prefetch", "Tasks a worker takes beyond [default: 512]", cluster.prefetch, {0, 4096}),
     count_option("shards", "Shards of the coordinators [default: 2]", cluster.shards, {1, 1024}),
     count_option(
       "coordinators",
       "Coordinators; several are a cluster with an etcd [default: 1]",
       cluster.coordinators,
       {1, 16}),
     count_option(
       "replicas", "Copies of each shard of a cluster [default: 1]", cluster.replicas, {1, 3}),
     count_option(
       "fairness-keys",
       "Fairness keys of the tasks, in turn [default: 0, the tasks have none]",
       to.fairness_keys,
       {0, 200'000}),
     count_option(
       "dashboards", "Dashboards that are open meanwhile [default: 0]", to.dashboards, {0, 100}),
     durability_option(cluster.durability)}};
  return entry;
}

config::command scale_out_command(scale_out_options& to) {
  auto& cluster = to.cluster;
  config::command entry{
    "scale-out",
    "Tasks per second with 1, 2, ... worker nodes, whose handler sleeps 50 ms",
    {count_option("nodes", "Worker nodes in the end [default: 4]", to.nodes, {1, 64}),
     seconds_option("seconds", "How long to measure each, in seconds [default: 5]", to.length),
     seconds_option("settle", "How long to wait before, in seconds [default: 2]", to.settle),
     count_option("slots", "Slots of each node [default: 8]", cluster.slots, {1, 4096}),
     count_option(
       "prefetch", "Tasks a node takes beyond [default: 8]", cluster.prefetch, {0, 4096}),
     count_option("shards", "Shards of the coordinator [default: 4]", cluster.shards, {1, 1024}),
     durability_option(cluster.durability)}};
  return entry;
}

codeq::result<std::string> measure(
  const std::string& what,
  const idle_options& idle,
  const cycle_options& cycle,
  const scale_out_options& scale_out) {
  if (what == "cycle") {
    return codeq::bench::measure_cycle(cycle);
  }
  return what == "scale-out" ? codeq::bench::measure_scale_out(scale_out)
                             : codeq::bench::measure_idle(idle);
}

/// Creates all measurements, each with its own options.
std::vector<measurement> make_measurements(const std::filesystem::path& library) {
  return {
    codeq::bench::latency_measurement(library),
    codeq::bench::open_loop_measurement(library),
    codeq::bench::leases_measurement(),
    codeq::bench::expiry_measurement(),
    codeq::bench::recover_measurement(library),
    codeq::bench::backlog_measurement(),
    codeq::bench::retries_measurement(library),
    codeq::bench::produce_measurement(),
    codeq::bench::schedules_measurement(),
    codeq::bench::http_measurement(),
    codeq::bench::dashboard_measurement(),
    codeq::bench::priority_measurement(),
    codeq::bench::fairness_measurement(),
    codeq::bench::limits_measurement(library),
    codeq::bench::failover_measurement(),
    codeq::bench::handover_measurement()};
}

} // namespace

int main(int argc, char** argv) {
  codeq::bench::hold_signals();
  idle_options idle;
  cycle_options cycle;
  scale_out_options scale_out;
  const auto libraries = codeq::bench::executable_folder().parent_path() / "lib";
  idle.cluster.library = libraries / "libhello.so";
  cycle.cluster.library = libraries / "libbench_handlers.so";
  scale_out.cluster.library = cycle.cluster.library;
  config::option_set options(
    "codeq-bench", "Measures codeq on this machine; prints one JSON object a line.", "");
  options.add(idle_command(idle));
  options.add(cycle_command(cycle));
  options.add(scale_out_command(scale_out));
  const auto others = make_measurements(cycle.cluster.library);
  for (const auto& other : others)
    options.add(other.entry);
  if (auto end = options.parse({argc, argv, config::process_environment()})) {
    return config::print(*end);
  }
  auto other = std::find_if(others.begin(), others.end(), [&options](const auto& each) {
    return each.entry.name == options.chosen();
  });
  auto line =
    other != others.end() ? other->measure() : measure(options.chosen(), idle, cycle, scale_out);
  if (!line) {
    std::cerr << "codeq-bench: " << codeq::to_string(line.error()) << '\n';
    return 1;
  }
  std::cout << *line << '\n';
  return 0;
}
