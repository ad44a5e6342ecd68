// SPDX-License-Identifier: Apache-2.0
#include "recover/recover.hpp"

#include "codeq/operator.hpp"
#include "codeq/producer.hpp"

#include "load/cluster.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <sstream>

namespace codeq::bench {

namespace {

using steady = std::chrono::steady_clock;
using milliseconds = std::chrono::duration<double, std::milli>;

constexpr auto queue = "stall";
constexpr duration start_max = std::chrono::seconds(20);
constexpr duration poll_interval{20};

struct recover_options {
  cluster_options cluster = {.workers = 1, .durability = "os", .drain = "0s"};
  std::size_t tasks = 16;
  duration lease = std::chrono::seconds(2);
};

error interrupted() {
  return {errc::going_away, "interrupted"};
}

/// A first worker with tasks, half of them running, and a second worker that can take them over.
class scene {
public:
  static result<scene> set(const recover_options& options) {
    auto running = cluster::start(options.cluster);
    if (!running)
      return running.error();
    scene made(std::move(*running));
    if (auto ok = made.connect(); !ok)
      return ok.error();
    if (auto ok = made.occupy_first(options); !ok)
      return ok.error();
    if (auto ok = made.add_second(options); !ok)
      return ok.error();
    return made;
  }

  /// Sends the signal to the first worker. Returns the time until the last of its tasks began at
  /// the second one.
  result<milliseconds> lose_first(int signal) {
    auto begin = steady::now();
    cluster_.processes()[1].signal(signal);
    auto last = begin;
    for (auto id : tasks_) {
      auto end = producer_->await(id, start_max);
      if (!end)
        return end.error();
      if (end->state != task_state::completed)
        return error{errc::unavailable, "a task failed: " + end->error_text};
      steady::time_point began{steady::duration{std::stoll(end->result)}};
      last = std::max(last, began);
    }
    return milliseconds(last - begin);
  }

private:
  explicit scene(cluster running) : cluster_(std::move(running)) {}

  result<void> connect() {
    auto to = producer::connect({.coordinators = {cluster_.address()}});
    if (!to)
      return to.error();
    producer_ = std::move(*to);
    auto client = operator_client::connect({.coordinators = {cluster_.address()}});
    if (!client)
      return client.error();
    client_ = std::move(*client);
    return {};
  }

  [[nodiscard]] std::filesystem::path flag() const { return cluster_.directory() / "stall"; }

  result<void> occupy_first(const recover_options& options) {
    std::ofstream(flag()).flush();
    task_spec task;
    task.queue = queue;
    task.payload = flag().string();
    task.lease = options.lease;
    auto ids = producer_->enqueue_all_or_none(std::vector<task_spec>(options.tasks, task));
    if (!ids)
      return ids.error();
    tasks_ = *ids;
    for (duration waited{0}; waited < start_max; waited += poll_interval) {
      auto seen = client_->stats();
      if (!seen)
        return seen.error();
      for (const auto& counts : seen->queues)
        if (counts.queue.queue == queue && counts.leased == tasks_.size())
          return {};
      if (!pause(poll_interval))
        return interrupted();
    }
    return error{errc::timeout, "the first worker did not take the tasks"};
  }

  /// From now on tasks end as soon as they begin.
  result<void> add_second(const recover_options& options) {
    // Tasks that were sent may not have begun yet.
    if (!pause(settle))
      return interrupted();
    std::filesystem::remove(flag());
    if (auto ok = cluster_.add_worker(options.cluster); !ok)
      return ok;
    // The first worker has no free slot for it.
    task_spec probe;
    probe.queue = "stamp";
    auto id = producer_->enqueue(probe, start_max);
    if (!id)
      return id.error();
    auto ended = producer_->await(id->id, start_max);
    return ended ? result<void>{} : result<void>{ended.error()};
  }

  static constexpr duration settle{500};

  cluster cluster_;
  std::unique_ptr<producer> producer_;
  std::unique_ptr<operator_client> client_;
  std::vector<task_id> tasks_;
};

result<std::string> measure_recover(const recover_options& options) {
  auto killed = scene::set(options);
  if (!killed)
    return killed.error();
  auto after_kill = killed->lose_first(SIGKILL);
  if (!after_kill)
    return after_kill.error();
  auto stopped = scene::set(options);
  if (!stopped)
    return stopped.error();
  auto after_stop = stopped->lose_first(SIGTERM);
  if (!after_stop)
    return after_stop.error();
  std::ostringstream line;
  line << R"({"bench":"recover","durability":")" << options.cluster.durability << R"(","tasks":)"
       << options.tasks << R"(,"slots":)" << options.cluster.slots << R"(,"prefetch":)"
       << options.cluster.prefetch << R"(,"shards":)" << options.cluster.shards << R"(,"lease_ms":)"
       << options.lease.count() << R"(,"redelivered_after_kill_ms":)" << after_kill->count()
       << R"(,"redelivered_after_lease_ms":)"
       << after_kill->count() - static_cast<double>(options.lease.count())
       << R"(,"redelivered_after_stop_ms":)" << after_stop->count() << '}';
  return line.str();
}

} // namespace

measurement recover_measurement(const std::filesystem::path& library) {
  auto options = std::make_shared<recover_options>();
  options->cluster.library = library;
  auto& cluster = options->cluster;
  config::command entry{
    "recover",
    "Time until the tasks of a worker that was killed, or stopped, begin at another",
    {count_option("tasks", "Tasks that the worker has [default: 16]", options->tasks, {1, 1000}),
     seconds_option("lease", "Length of their leases, in seconds [default: 2]", options->lease),
     count_option("slots", "Slots of each worker [default: 8]", cluster.slots, {1, 4096}),
     count_option(
       "prefetch", "Tasks a worker takes beyond [default: 8]", cluster.prefetch, {0, 4096}),
     count_option("shards", "Shards of the coordinator [default: 4]", cluster.shards, {1, 1024}),
     durability_option(cluster.durability, "os")}};
  return {std::move(entry), [options] { return measure_recover(*options); }};
}

} // namespace codeq::bench
