// SPDX-License-Identifier: Apache-2.0
#include "leases/leases.hpp"

#include "codeq/producer.hpp"

#include "leases/lease_holder.hpp"
#include "load/cluster.hpp"

#include <memory>
#include <sstream>

namespace codeq::bench {

namespace {

constexpr auto queue = "held";
constexpr duration grant_max = std::chrono::minutes(5);

struct lease_options {
  cluster_options cluster = {.workers = 0, .durability = "os"};
  std::size_t leases = 0;
  /// Lease duration of each task.
  duration lease = std::chrono::seconds(60);
  std::size_t payload = 64;
  /// How long the leases are kept.
  duration length = std::chrono::seconds(60);
};

error interrupted() {
  return {errc::going_away, "interrupted"};
}

result<void> enqueue(const std::string& address, const lease_options& options) {
  auto to = producer::connect({.coordinators = {address}});
  if (!to)
    return to.error();
  task_spec task;
  task.queue = queue;
  task.lease = options.lease;
  task.payload = std::string(options.payload, 'x');
  for (std::size_t left = options.leases; left > 0;) {
    auto count = std::min(left, limits::enqueue_tasks_max);
    auto ids = (*to)->enqueue_all_or_none(std::vector<task_spec>(count, task));
    if (!ids)
      return ids.error();
    left -= count;
  }
  return {};
}

/// Starts one holder that takes all leases and sends heartbeats in time.
result<std::unique_ptr<lease_holder>>
take_all(const std::string& address, const lease_options& options) {
  auto holder = std::make_unique<lease_holder>(lease_holder_options{
    .coordinator = address, .name = "first", .queue = queue, .leases = options.leases});
  if (auto ok = holder->beat(options.lease / 3); !ok)
    return ok.error();
  if (auto full = holder->wait(grant_max); !full)
    return full.error();
  return holder;
}

std::string settings_of(const std::string& name, const lease_options& o) {
  std::ostringstream line;
  line << R"({"bench":")" << name << R"(","durability":")" << o.cluster.durability
       << R"(","leases":)" << o.leases << R"(,"lease_ms":)" << o.lease.count() << R"(,"payload":)"
       << o.payload << R"(,"shards":)" << o.cluster.shards;
  return line.str();
}

result<std::string> measure_leases(const lease_options& options) {
  auto running = cluster::start(options.cluster);
  if (!running)
    return running.error();
  if (auto ok = enqueue(running->address(), options); !ok)
    return ok.error();
  auto pending = running->coordinator().resident_bytes();
  auto holder = take_all(running->address(), options);
  if (!holder)
    return holder.error();
  auto cpu_before = running->coordinator().cpu_time();
  if (!pause(options.length))
    return interrupted();
  auto cpu_after = running->coordinator().cpu_time();
  auto rss = running->coordinator().resident_bytes();
  if (!cpu_before || !cpu_after || !rss || !pending)
    return error{errc::unavailable, "the coordinator has ended"};
  auto lost = (*holder)->lost();
  std::chrono::duration<double> cpu = *cpu_after - *cpu_before;
  std::ostringstream line;
  line << settings_of("leases", options) << R"(,"seconds":)" << options.length.count() / 1000
       << R"(,"live":)" << (*holder)->held() - lost << R"(,"rss_pending_mib":)" << (*pending >> 20)
       << R"(,"rss_coordinator_mib":)" << (*rss >> 20) << R"(,"cpu_percent":)"
       << 100 * cpu / options.length << '}';
  if (lost > 0)
    return error{errc::unavailable, "leases were lost: " + line.str()};
  return line.str();
}

result<std::string> measure_expiry(const lease_options& options) {
  auto running = cluster::start(options.cluster);
  if (!running)
    return running.error();
  if (auto ok = enqueue(running->address(), options); !ok)
    return ok.error();
  auto holder = std::make_unique<lease_holder>(lease_holder_options{
    .coordinator = running->address(), .name = "first", .queue = queue, .leases = options.leases});
  // No heartbeats: the leases granted first expire first.
  if (auto full = holder->wait(grant_max); !full)
    return full.error();
  auto last_beat = lease_holder::steady::now();
  if (auto ok = holder->beat(duration{0}); !ok)
    return ok.error();
  lease_holder next(
    {.coordinator = running->address(),
     .name = "second",
     .queue = queue,
     .leases = options.leases});
  auto again = next.wait(options.lease + grant_max);
  if (!again)
    return again.error();
  std::chrono::duration<double, std::milli> took = *again - (last_beat + options.lease);
  auto rss = running->coordinator().resident_bytes();
  if (!rss)
    return rss.error();
  std::ostringstream line;
  line << settings_of("expiry", options) << R"(,"redelivered":)" << next.held()
       << R"(,"redelivered_after_lease_ms":)" << took.count() << R"(,"rss_coordinator_mib":)"
       << (*rss >> 20) << '}';
  return line.str();
}

std::vector<config::option> common_options(lease_options& to) {
  return {
    count_option("payload", "Bytes of each payload [default: 64]", to.payload, {0, 1 << 20}),
    count_option("shards", "Shards of the coordinator [default: 4]", to.cluster.shards, {1, 1024}),
    seconds_option(
      "lease",
      "Length of each lease, in seconds [default: " + std::to_string(to.lease.count() / 1000) + "]",
      to.lease),
    durability_option(to.cluster.durability, "os")};
}

} // namespace

measurement leases_measurement() {
  auto options = std::make_shared<lease_options>();
  options->leases = 1'000'000;
  config::command entry{
    "leases",
    "Memory and CPU of the coordinator while many leases are alive and beaten",
    common_options(*options)};
  entry.options.push_back(
    count_option("live", "Leases [default: 1000000]", options->leases, {1, 10'000'000}));
  entry.options.push_back(
    seconds_option("seconds", "How long they are kept, in seconds [default: 60]", options->length));
  return {std::move(entry), [options] { return measure_leases(*options); }};
}

measurement expiry_measurement() {
  auto options = std::make_shared<lease_options>();
  options->leases = 100'000;
  options->lease = std::chrono::seconds(10);
  config::command entry{
    "expiry",
    "Time from the end of many leases to the grant of the last of their tasks to another worker",
    common_options(*options)};
  entry.options.push_back(
    count_option("leases", "Leases [default: 100000]", options->leases, {1, 10'000'000}));
  return {std::move(entry), [options] { return measure_expiry(*options); }};
}

} // namespace codeq::bench
