// SPDX-License-Identifier: Apache-2.0
#include "schedules/schedules.hpp"

#include "codeq/operator.hpp"

#include "load/cluster.hpp"
#include "load/percentiles.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace codeq::bench {

namespace {

constexpr double period_min_s = 60;
constexpr double period_max_s = 24 * 60 * 60;
constexpr const char* tenant = "default";
/// The burst is set at least this long before its minute.
constexpr duration burst_lead = std::chrono::seconds(5);

struct schedules_options {
  cluster_options cluster;
  std::size_t count = 100'000;
  std::size_t burst = 10'000;
  duration length = std::chrono::seconds(60);
  duration settle = std::chrono::seconds(5);
};

struct figures {
  std::vector<std::chrono::nanoseconds> late;
  double cpu_percent = 0;
  std::size_t bytes = 0;
  std::vector<std::chrono::nanoseconds> burst_late;
};

std::string text_of(std::time_t when) {
  std::tm parts{};
  gmtime_r(&when, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

schedule_spec spec_of(const std::string& rule) {
  schedule_spec spec;
  spec.rule = rule;
  spec.overlap = overlap_policy::allow;
  spec.task.queue = "bench";
  spec.task.payload = std::string(64, 'x');
  return spec;
}

/// A period, log-uniform, from a random second on.
std::string any_rule(std::mt19937_64& random) {
  std::uniform_real_distribution<double> share(0, 1);
  auto factor = std::pow(period_max_s / period_min_s, share(random));
  auto period = static_cast<long>(period_min_s * factor);
  auto anchor = static_cast<std::time_t>(1'750'000'000 + share(random) * period_max_s);
  return "every " + std::to_string(period) + "s; anchor=" + text_of(anchor);
}

result<void> set_all(operator_client& client, std::size_t count) {
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < count; ++i) {
    auto answered =
      client.set_schedule({tenant, "s" + std::to_string(i)}, spec_of(any_rule(random)));
    if (!answered)
      return answered.error();
  }
  return {};
}

/// How late the latest occurrences were of the schedules whose names begin with `prefix`.
result<std::vector<std::chrono::nanoseconds>>
lateness_of(operator_client& client, char prefix, timestamp since) {
  auto all = client.list_schedules(tenant);
  if (!all)
    return all.error();
  std::vector<std::chrono::nanoseconds> late;
  for (const auto& one : *all)
    if (one.name.name.front() == prefix && one.latest && one.latest->decided_at >= since)
      late.push_back(one.latest->decided_at - one.latest->when.at);
  return late;
}

timestamp wall_now() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return timestamp{std::chrono::duration_cast<duration>(now)};
}

/// Sets the burst for a minute to come and waits until it has passed.
result<void> run_burst(operator_client& client, std::size_t count) {
  auto now = std::time(nullptr);
  // Setting one takes well under a millisecond; there is a minute to spare for each 10,000.
  auto ahead = 60 * (2 + static_cast<std::time_t>(count / 10'000));
  auto at = (now + ahead) / 60 * 60;
  std::tm parts{};
  gmtime_r(&at, &parts);
  auto rule = std::to_string(parts.tm_min) + " " + std::to_string(parts.tm_hour) + " * * *";
  for (std::size_t i = 0; i < count; ++i)
    if (auto set = client.set_schedule({tenant, "b" + std::to_string(i)}, spec_of(rule)); !set)
      return set.error();
  auto left = std::chrono::seconds(at - std::time(nullptr));
  if (left < burst_lead)
    return error{errc::unavailable, "the burst was set too late for its minute"};
  return pause(left + burst_lead) ? result<void>{} : error{errc::going_away, "interrupted"};
}

std::string to_json(const schedules_options& options, const figures& found) {
  std::ostringstream line;
  line << R"({"bench":"schedules","durability":")" << options.cluster.durability
       << R"(","shards":)" << options.cluster.shards << R"(,"schedules":)" << options.count
       << R"(,"length_ms":)" << options.length.count() << R"(,"fired":)" << found.late.size();
  if (!found.late.empty())
    line << ',' << to_members(percentiles_of(found.late), "late_");
  line << R"(,"cpu_percent":)" << found.cpu_percent << R"(,"memory_mib":)"
       << static_cast<double>(found.bytes) / (1 << 20) << R"(,"burst":)"
       << found.burst_late.size();
  if (!found.burst_late.empty())
    line << ',' << to_members(percentiles_of(found.burst_late), "burst_late_");
  line << '}';
  return line.str();
}

result<figures> measure_on(cluster& running, const schedules_options& options) {
  auto client = operator_client::connect({.coordinators = {running.address()}});
  if (!client)
    return client.error();
  figures found;
  auto& coordinator = running.coordinator();
  auto empty = coordinator.resident_bytes();
  if (auto set = set_all(**client, options.count); !set)
    return set.error();
  if (!pause(options.settle))
    return error{errc::going_away, "interrupted"};
  auto full = coordinator.resident_bytes();
  auto before = coordinator.cpu_time();
  auto since = wall_now();
  auto start = std::chrono::steady_clock::now();
  if (!pause(options.length))
    return error{errc::going_away, "interrupted"};
  auto after = coordinator.cpu_time();
  const std::chrono::duration<double> length = std::chrono::steady_clock::now() - start;
  if (!empty || !full || !before || !after)
    return error{errc::unavailable, "the coordinator has ended"};
  found.cpu_percent = 100 * std::chrono::duration<double>(*after - *before) / length;
  found.bytes = *full - std::min(*full, *empty);
  auto late = lateness_of(**client, 's', since);
  if (!late)
    return late.error();
  found.late = std::move(*late);
  if (options.burst == 0)
    return found;
  since = wall_now();
  if (auto done = run_burst(**client, options.burst); !done)
    return done.error();
  auto burst = lateness_of(**client, 'b', since);
  if (!burst)
    return burst.error();
  found.burst_late = std::move(*burst);
  return found;
}

result<std::string> measure(const schedules_options& options) {
  auto cluster_options = options.cluster;
  cluster_options.workers = 0;
  auto running = cluster::start(cluster_options);
  if (!running)
    return running.error();
  auto found = measure_on(*running, options);
  if (!found)
    return found.error();
  return to_json(options, *found);
}

} // namespace

measurement schedules_measurement() {
  auto to = std::make_shared<schedules_options>();
  to->cluster.durability = "os";
  config::command entry{
    "schedules",
    "How late schedules fire, and the CPU and memory of the coordinator that keeps them",
    {count_option("schedules", "Schedules [default: 100000]", to->count, {1, 1'000'000}),
     count_option(
       "burst",
       "Further schedules of one minute; 0: none [default: 10000]",
       to->burst,
       {0, 100'000}),
     seconds_option("seconds", "How long to measure, in seconds [default: 60]", to->length),
     seconds_option("settle", "How long to wait before, in seconds [default: 5]", to->settle),
     count_option(
       "shards", "Shards of the coordinator [default: 4]", to->cluster.shards, {1, 1024}),
     durability_option(to->cluster.durability, "os")}};
  return {entry, [to] { return measure(*to); }};
}

} // namespace codeq::bench
