// SPDX-License-Identifier: Apache-2.0
#include "backlog/backlog.hpp"
#include "config/value_options.hpp"
#include "config/values.hpp"
#include "cycle/cycle.hpp"
#include "idle/idle.hpp"
#include "scale/scale_out.hpp"

#include <iostream>

namespace {

using codeq::bench::backlog_options;
using codeq::bench::cycle_options;
using codeq::bench::idle_options;
using codeq::bench::scale_out_options;
namespace config = codeq::config;

template <class Number>
config::option count_option(
  const std::string& name, const std::string& help, Number& target, config::count_range range) {
  return {.name = name, .value = "N", .help = help, .take = [&target, range](const auto& text) {
            return config::store_count(target, text, range);
          }};
}

config::option
seconds_option(const std::string& name, const std::string& help, codeq::duration& target) {
  return {.name = name, .value = "N", .help = help, .take = [&target](const auto& text) {
            std::uint64_t seconds = 0;
            auto taken = config::store_count(seconds, text, {1, 3600});
            target = std::chrono::seconds(seconds);
            return taken;
          }};
}

config::option durability_option(std::string& target, const std::string& usual = "sync") {
  return {
    .name = "durability",
    .value = "sync|os",
    .help = "The coordinator's durability [default: " + usual + "]",
    .take = [&target](const std::string& text) -> codeq::result<void> {
      auto choice = config::parse_choice(text, {"sync", "os"});
      if (!choice) {
        return choice.error();
      }
      target = text;
      return {};
    }};
}

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
     count_option("batch", "Tasks of an enqueue request [default: 64]", to.batch, {1, 1000}),
     count_option("workers", "Worker processes [default: 2]", cluster.workers, {1, 64}),
     count_option("slots", "Slots of each worker [default: 16]", cluster.slots, {1, 4096}),
     count_option(
       "prefetch", "Tasks a worker takes beyond [default: 512]", cluster.prefetch, {0, 4096}),
     count_option("shards", "Shards of the coordinator [default: 4]", cluster.shards, {1, 1024}),
     durability_option(cluster.durability)}};
  return entry;
}

config::option state_option(std::string& target) {
  return {
    .name = "state",
    .value = "pending|retrying",
    .help = "What the tasks wait for: a worker, or their next attempt [default: pending]",
    .take = [&target](const std::string& text) -> codeq::result<void> {
      auto choice = config::parse_choice(text, {"pending", "retrying"});
      if (!choice) {
        return choice.error();
      }
      target = text;
      return {};
    }};
}

config::command backlog_command(backlog_options& to) {
  auto& cluster = to.cluster;
  config::command entry{
    "backlog",
    "Memory, claims per second and the time of a restart with many waiting tasks",
    {count_option("tasks", "Tasks in all [default: 1000000]", to.tasks, {1, 100'000'000}),
     state_option(to.state),
     count_option("payload", "Bytes of each payload [default: 256]", to.payload, {0, 1 << 20}),
     count_option("queues", "Queues [default: 4]", to.queues, {1, 1000}),
     count_option("priorities", "Priorities of each queue [default: 3]", to.priorities, {1, 10}),
     count_option("batch", "Tasks of a batch [default: 64]", to.batch, {1, 1000}),
     count_option(
       "claims", "Tasks claimed to time it [default: 100000]", to.claims, {1, 10'000'000}),
     seconds_option("settle", "How long to wait before, in seconds [default: 12]", to.settle),
     count_option("slots", "Slots of the worker [default: 16]", cluster.slots, {1, 4096}),
     count_option(
       "prefetch", "Tasks the worker takes beyond [default: 512]", cluster.prefetch, {0, 4096}),
     count_option("shards", "Shards of the coordinator [default: 4]", cluster.shards, {1, 1024}),
     durability_option(cluster.durability, "os")}};
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

/// What each command takes.
struct wishes {
  idle_options idle;
  cycle_options cycle;
  backlog_options backlog;
  scale_out_options scale_out;
};

/// Carries out the chosen command.
codeq::result<std::string> measure(std::string_view chosen, const wishes& wished) {
  if (chosen == "cycle")
    return codeq::bench::measure_cycle(wished.cycle);
  if (chosen == "backlog")
    return codeq::bench::measure_backlog(wished.backlog);
  return chosen == "scale-out" ? codeq::bench::measure_scale_out(wished.scale_out)
                               : codeq::bench::measure_idle(wished.idle);
}

int print(const config::exit_request& request) {
  (request.status == 0 ? std::cout : std::cerr) << request.text << '\n';
  return request.status;
}

} // namespace

int main(int argc, char** argv) {
  codeq::bench::hold_signals();
  wishes wished;
  const auto libraries = codeq::bench::executable_folder().parent_path() / "lib";
  wished.idle.cluster.library = libraries / "libhello.so";
  wished.cycle.cluster.library = libraries / "libbench_handlers.so";
  wished.scale_out.cluster.library = wished.cycle.cluster.library;
  config::option_set options(
    "codeq-bench", "Measures codeq on this machine; prints one JSON object a line.", "");
  options.add(idle_command(wished.idle));
  options.add(cycle_command(wished.cycle));
  options.add(backlog_command(wished.backlog));
  options.add(scale_out_command(wished.scale_out));
  if (auto end = options.parse({argc, argv, config::process_environment()})) {
    return print(*end);
  }
  auto line = measure(options.chosen(), wished);
  if (!line) {
    std::cerr << "codeq-bench: " << codeq::to_string(line.error()) << '\n';
    return 1;
  }
  std::cout << *line << '\n';
  return 0;
}
