// SPDX-License-Identifier: Apache-2.0
#include "latency/latency.hpp"

#include "cycle/cycle.hpp"
#include "latency/background.hpp"
#include "load/percentiles.hpp"

#include <memory>
#include <optional>
#include <sstream>

namespace codeq::bench {

namespace {

/// Number of full cycles of the run that measures the machine's maximum rate.
constexpr std::size_t trial_tasks = 200'000;

/// Duration of the warm-up, in which connections are made and code is loaded.
constexpr duration warm_up = std::chrono::seconds(1);

struct paced_run {
  std::vector<arrival> arrivals;
  /// Rate of the background load.
  double load_tasks_per_s = 0;
};

result<double> load_rate(const paced_options& options) {
  if (options.load_percent == 0)
    return 0.0;
  cycle_options trial;
  trial.cluster = options.cluster;
  trial.tasks = trial_tasks;
  auto measured = run_cycle(trial);
  if (!measured)
    return measured.error();
  return measured->tasks_per_s() * static_cast<double>(options.load_percent) / 100;
}

result<paced_run> run(const paced_options& options) {
  auto rate = load_rate(options);
  if (!rate)
    return rate.error();
  auto running = cluster::start(options.cluster);
  if (!running)
    return running.error();
  auto to = producer::connect({.coordinators = {running->address()}, .name = "paced"});
  if (!to)
    return to.error();
  auto before = options.arrivals;
  before.length = warm_up;
  auto warmed_up = run_arrivals(**to, before);
  if (auto fine = running->check_running(); !fine)
    return fine.error();
  if (!warmed_up)
    return warmed_up.error();
  paced_run made;
  std::optional<background> load;
  if (*rate > 0) {
    auto started = background::start(running->address(), *rate);
    if (!started)
      return started.error();
    load.emplace(std::move(*started));
  }
  auto arrivals = run_arrivals(**to, options.arrivals);
  if (auto fine = running->check_running(); !fine)
    return fine.error();
  if (!arrivals)
    return arrivals.error();
  made.arrivals = std::move(*arrivals);
  if (load) {
    auto done = load->stop();
    if (!done)
      return done.error();
    made.load_tasks_per_s = *done;
  }
  return made;
}

std::string settings_of(const std::string& name, const paced_options& o) {
  std::ostringstream line;
  line << R"({"bench":")" << name << R"(","durability":")" << o.cluster.durability << R"(","rate":)"
       << o.arrivals.rate << R"(,"seconds":)" << o.arrivals.length.count() / 1000
       << R"(,"payload":)" << o.arrivals.payload << R"(,"workers":)" << o.cluster.workers
       << R"(,"slots":)" << o.cluster.slots << R"(,"prefetch":)" << o.cluster.prefetch
       << R"(,"shards":)" << o.cluster.shards << R"(,"load_percent":)" << o.load_percent;
  return line.str();
}

result<std::string> measure_latency(const paced_options& options) {
  auto ran = run(options);
  if (!ran)
    return ran.error();
  auto times = times_between(ran->arrivals, &arrival::called, &arrival::begun);
  std::ostringstream line;
  line << settings_of("latency", options) << R"(,"load_tasks_per_s":)" << ran->load_tasks_per_s
       << R"(,"tasks":)" << times.size() << ',' << to_members(percentiles_of(times)) << '}';
  return line.str();
}

result<std::string> measure_open_loop(const paced_options& options) {
  auto ran = run(options);
  if (!ran)
    return ran.error();
  auto begun = times_between(ran->arrivals, &arrival::due, &arrival::begun);
  auto accepted = times_between(ran->arrivals, &arrival::due, &arrival::accepted);
  auto late = times_between(ran->arrivals, &arrival::due, &arrival::called);
  std::ostringstream line;
  line << settings_of("open-loop", options) << R"(,"load_tasks_per_s":)" << ran->load_tasks_per_s
       << R"(,"tasks":)" << begun.size() << ',' << to_members(percentiles_of(begun)) << ','
       << to_members(percentiles_of(accepted), "accepted_") << ','
       << to_members(percentiles_of(late), "called_") << '}';
  return line.str();
}

std::vector<config::option> paced_command_options(paced_options& to) {
  auto& cluster = to.cluster;
  return {
    count_option(
      "rate",
      "Tasks per second [default: " + std::to_string(to.arrivals.rate) + "]",
      to.arrivals.rate,
      {1, 1'000'000}),
    seconds_option("seconds", "How long they arrive, in seconds [default: 10]", to.arrivals.length),
    count_option(
      "payload", "Bytes of each payload [default: 256]", to.arrivals.payload, {0, 1 << 20}),
    count_option(
      "load",
      "Percent of what this machine can do that goes on meanwhile; a cycle shows it "
      "[default: 0]",
      to.load_percent,
      {0, 100}),
    count_option("workers", "Worker processes [default: 2]", cluster.workers, {1, 64}),
    count_option("slots", "Slots of each worker [default: 128]", cluster.slots, {1, 4096}),
    count_option(
      "prefetch", "Tasks a worker takes beyond [default: 512]", cluster.prefetch, {0, 4096}),
    count_option("shards", "Shards of the coordinator [default: 4]", cluster.shards, {1, 1024}),
    durability_option(cluster.durability, "os")};
}

using measure_function = result<std::string> (*)(const paced_options&);

measurement make(
  std::shared_ptr<paced_options> options,
  const std::string& name,
  const std::string& help,
  measure_function measure) {
  return {{name, help, paced_command_options(*options)}, [options, measure] {
            return measure(*options);
          }};
}

} // namespace

measurement latency_measurement(const std::filesystem::path& library) {
  auto options = std::make_shared<paced_options>();
  options->cluster.library = library;
  return make(
    std::move(options),
    "latency",
    "Time from the call of the enqueue to the begin of the handler",
    measure_latency);
}

measurement open_loop_measurement(const std::filesystem::path& library) {
  auto options = std::make_shared<paced_options>();
  options->cluster.library = library;
  options->arrivals.rate = 10'000;
  return make(
    std::move(options),
    "open-loop",
    "Time from when tasks are due, at a fixed rate, to the begin of their handlers",
    measure_open_loop);
}

} // namespace codeq::bench
