// SPDX-License-Identifier: Apache-2.0
#include "failover/failover.hpp"

#include "codeq/operator.hpp"
#include "codeq/producer.hpp"
#include "codeq/worker_node.hpp"

#include "failover/shard_watch.hpp"
#include "load/cluster.hpp"
#include "load/percentiles.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

namespace codeq::bench {

namespace {

using std::chrono::nanoseconds;

constexpr auto queue = "failover";
constexpr auto request_interval = std::chrono::milliseconds(50);
constexpr auto failover_max = std::chrono::seconds(60);
/// Longer than it takes a cluster to begin with its next step.
constexpr duration settled_pause = std::chrono::milliseconds(1500);

struct failover_options {
  cluster_options cluster = {
    .coordinators = 3, .replicas = 2, .workers = 0, .slots = 32, .prefetch = 32, .shards = 12};
  std::size_t kills = 10;
  std::size_t rate = 5000;
};

/// Adds tasks at a fixed rate, with keys that spread them over all shards, until its end.
class steady_load {
public:
  steady_load(producer& to, shard_watch& watch, const failover_options& options)
    : to_(to),
      watch_(watch),
      rate_(options.rate),
      open_max_(std::max<std::size_t>(limits::producer_requests_max / options.cluster.shards, 1)),
      thread_([this] { run(); }) {}

  steady_load(const steady_load&) = delete;
  steady_load& operator=(const steady_load&) = delete;

  ~steady_load() {
    is_over_ = true;
    thread_.join();
  }

private:
  void run() {
    const auto begin = steady::now();
    for (std::uint64_t sent = 0; !is_over_;) {
      const std::chrono::duration<double> passed = steady::now() - begin;
      const auto due = static_cast<std::uint64_t>(passed.count() * static_cast<double>(rate_));
      const auto count = std::min<std::uint64_t>(due - sent, limits::enqueue_tasks_max);
      if (count > 0 && *open_ < open_max_)
        send(sent, count);
      sent += count;
      std::this_thread::sleep_for(request_interval);
    }
  }

  void send(std::uint64_t first, std::uint64_t count) {
    std::vector<task_spec> tasks(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      tasks[i].queue = queue;
      tasks[i].key = std::to_string(first + i);
      tasks[i].payload = std::string(64, 'x');
    }
    ++*open_;
    // Answers may come after the load has ended.
    auto answered = [open = open_, &watch = watch_, sent = steady::now()](
                      const enqueue_answers& answers) {
      --*open;
      for (const auto& answer : answers)
        if (answer)
          watch.acknowledged(answer->id.shard, sent);
    };
    to_.enqueue(std::move(tasks), std::move(answered));
  }

  producer& to_;
  shard_watch& watch_;
  std::size_t rate_;
  /// Each call is a request for each shard. With more calls the window of the producer could be
  /// full, and the thread not end while no shard is served.
  std::size_t open_max_;
  std::shared_ptr<std::atomic<std::size_t>> open_ = std::make_shared<std::atomic<std::size_t>>(0);
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

result<std::unique_ptr<worker_node>>
start_worker(const failover_options& options, const std::string& address, shard_watch& watch) {
  worker_node_options node;
  node.coordinators = {address};
  node.name = "failover";
  node.slots = options.cluster.slots;
  node.prefetch = options.cluster.prefetch;
  node.handlers.handle(queue, [&watch](const task& attempt) {
    watch.claimed(attempt.id.shard, attempt.token);
    return outcome::completed("");
  });
  return worker_node::start(std::move(node));
}

std::set<shard_id> shards_of(const cluster_status& status, const std::string& node) {
  std::set<shard_id> shards;
  for (const auto& shard : status.shards)
    if (shard.primary == node)
      shards.insert(shard.shard);
  return shards;
}

/// Where each shard is served, and in which epoch.
using shard_places = std::map<shard_id, std::pair<std::string, std::uint64_t>>;

shard_places places_of(const cluster_status& status) {
  shard_places places;
  for (const auto& shard : status.shards)
    places[shard.shard] = {shard.primary, shard.epoch};
  return places;
}

/// Kills one coordinator after the other, and starts it again when its shards are served elsewhere.
class killer {
public:
  killer(const failover_options& options, cluster& running, shard_watch& watch)
    : options_(options), running_(running), watch_(watch) {}

  result<void> connect() {
    auto client = operator_client::connect({.coordinators = {running_.address()}});
    if (!client)
      return client.error();
    client_ = std::move(*client);
    return {};
  }

  /// Errors: `timeout` when a shard was not served again.
  result<void> kill(std::size_t number) {
    const auto settled = await_rest();
    if (!settled)
      return settled.error();
    auto& victim = running_.processes()[number];
    watch_.begin(shards_of(*settled, node_name(number)));
    victim.signal(SIGKILL);
    static_cast<void>(victim.wait_for(failover_max));
    watch_.note_end();
    const auto times = watch_.wait(failover_max);
    if (!times)
      return error{errc::timeout, "a shard of " + node_name(number) + " is not served again"};
    for (const auto& one : *times) {
      acknowledgements.push_back(one.to_acknowledgement);
      claims.push_back(one.to_claim);
      both.push_back(std::max(one.to_acknowledgement, one.to_claim));
    }
    return running_.start_node(options_.cluster, number);
  }

  std::vector<nanoseconds> acknowledgements;
  std::vector<nanoseconds> claims;
  std::vector<nanoseconds> both;

private:
  /// Waits until no shard has moved for a while. One that moves meanwhile may have handed out its
  /// first task before it is watched.
  result<cluster_status> await_rest() {
    const auto is_wanted = [this](const cluster_status& status) {
      return is_settled(status, options_.cluster.coordinators);
    };
    auto latest = await_cluster(*client_, is_wanted);
    for (shard_places before; latest && places_of(*latest) != before;) {
      before = places_of(*latest);
      if (!pause(settled_pause))
        return error{errc::going_away, "interrupted"};
      latest = await_cluster(*client_, is_wanted);
    }
    return latest;
  }

  const failover_options& options_;
  cluster& running_;
  shard_watch& watch_;
  std::unique_ptr<operator_client> client_;
};

std::string to_json(const failover_options& o, const killer& done) {
  std::ostringstream line;
  line << R"({"bench":"failover","durability":")" << o.cluster.durability << R"(","kills":)"
       << o.kills << R"(,"rate":)" << o.rate << R"(,"coordinators":)" << o.cluster.coordinators
       << R"(,"replicas":)" << o.cluster.replicas << R"(,"shards":)" << o.cluster.shards
       << R"(,"shards_lost":)" << done.both.size() << ','
       << to_members(percentiles_of(done.both)) << ','
       << to_members(percentiles_of(done.acknowledgements), "acknowledgement_") << ','
       << to_members(percentiles_of(done.claims), "claim_") << '}';
  return line.str();
}

result<std::string> measure_failover(const failover_options& options) {
  if (options.cluster.replicas < 2)
    return error{errc::invalid_argument, "replicas is 1; it must be 2 or more, or tasks are lost"};
  auto running = cluster::start(options.cluster);
  if (!running)
    return running.error();
  shard_watch watch;
  auto worker = start_worker(options, running->address(), watch);
  if (!worker)
    return worker.error();
  auto to = producer::connect(
    {.coordinators = {running->address()}, .window_requests = limits::producer_requests_max});
  if (!to)
    return to.error();
  killer all(options, *running, watch);
  if (auto ok = all.connect(); !ok)
    return ok.error();
  const steady_load load(**to, watch, options);
  for (std::size_t i = 0; i < options.kills; ++i)
    if (auto ok = all.kill(i % options.cluster.coordinators); !ok)
      return ok.error();
  return to_json(options, all);
}

} // namespace

measurement failover_measurement() {
  auto to = std::make_shared<failover_options>();
  auto& cluster = to->cluster;
  config::command entry{
    "failover",
    "Time without acknowledgements and claims on the shards of a coordinator that is killed",
    {count_option("kills", "Coordinators to kill, in turn [default: 10]", to->kills, {1, 10'000}),
     count_option("rate", "Tasks per second [default: 5000]", to->rate, {100, 100'000}),
     count_option("coordinators", "Coordinators [default: 3]", cluster.coordinators, {2, 16}),
     count_option("replicas", "Copies of each shard [default: 2]", cluster.replicas, {2, 3}),
     count_option("shards", "Shards [default: 12]", cluster.shards, {1, 1024}),
     durability_option(cluster.durability)}};
  return {entry, [to] { return measure_failover(*to); }};
}

} // namespace codeq::bench
