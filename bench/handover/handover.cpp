// SPDX-License-Identifier: Apache-2.0
#include "handover/handover.hpp"

#include "codeq/operator.hpp"
#include "codeq/producer.hpp"

#include "load/cluster.hpp"
#include "load/percentiles.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>

namespace codeq::bench {

namespace {

using steady = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr auto queue = "handover";
constexpr std::size_t fill_batch = 1000;
constexpr duration answer_max = std::chrono::seconds(30);
/// The producer runs for so long before a move and after it.
constexpr duration around_move = std::chrono::milliseconds(500);

struct handover_options {
  /// All tasks are in one shard.
  cluster_options cluster = {
    .coordinators = 3, .replicas = 2, .workers = 0, .shards = 1, .durability = "sync"};
  std::size_t tasks = 1'000'000;
  std::size_t moves = 5;
};

task_spec small_task() {
  task_spec task;
  task.queue = queue;
  task.payload = std::string(256, 'x');
  return task;
}

/// Adds the tasks that wait.
result<void> fill(producer& to, std::size_t tasks) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t answered = 0;
  result<void> all;
  for (std::size_t sent = 0; sent < tasks; sent += fill_batch) {
    const auto count = std::min(fill_batch, tasks - sent);
    to.enqueue_all_or_none(
      std::vector<task_spec>(count, small_task()),
      [&, count](const result<std::vector<task_id>>& ids) {
        std::lock_guard lock(mutex);
        answered += count;
        if (!ids)
          all = ids.error();
        changed.notify_one();
      });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return answered == tasks; });
  return all;
}

/// The longest time between two answers of one task after the other, until `is_over`.
result<nanoseconds> longest_gap(producer& to, const std::atomic<bool>& is_over) {
  nanoseconds longest{0};
  auto last = steady::now();
  while (!is_over) {
    if (auto added = to.enqueue(small_task(), answer_max); !added)
      return added.error();
    const auto now = steady::now();
    longest = std::max<nanoseconds>(longest, now - last);
    last = now;
  }
  return longest;
}

/// A node that has a copy in sync and is not the primary.
result<std::string> next_node(operator_client& client, std::size_t coordinators) {
  const auto settled = await_cluster(client, [coordinators](const cluster_status& status) {
    return is_settled(status, coordinators);
  });
  if (!settled)
    return settled.error();
  const auto& shard = settled->shards.front();
  for (const auto& copy : shard.copies)
    if (copy.is_in_sync && copy.node != shard.primary)
      return copy.node;
  return error{errc::unavailable, "there is no second copy in sync"};
}

result<void> move_to(operator_client& client, const std::string& node) {
  if (!pause(around_move))
    return error{errc::going_away, "interrupted"};
  const auto begun =
    client.change_cluster({cluster_change::kind::move, shard_id{0}, node});
  if (!begun)
    return begun.error();
  const auto moved = await_cluster(client, [&node](const cluster_status& status) {
    return status.shards.front().primary == node && status.shards.front().is_served;
  });
  if (!moved)
    return moved.error();
  return pause(around_move) ? result<void>{} : error{errc::going_away, "interrupted"};
}

result<nanoseconds>
measure_move(operator_client& client, producer& to, std::size_t coordinators) {
  const auto node = next_node(client, coordinators);
  if (!node)
    return node.error();
  std::atomic<bool> is_over = false;
  auto gap = std::async(std::launch::async, [&] { return longest_gap(to, is_over); });
  const auto moved = move_to(client, *node);
  is_over = true;
  const auto longest = gap.get();
  return moved ? longest : result<nanoseconds>(moved.error());
}

std::string to_json(const handover_options& o, const std::vector<nanoseconds>& gaps) {
  const auto times = percentiles_of(gaps);
  std::ostringstream line;
  line << R"({"bench":"handover","durability":")" << o.cluster.durability << R"(","tasks":)"
       << o.tasks << R"(,"moves":)" << o.moves << R"(,"coordinators":)" << o.cluster.coordinators
       << R"(,"replicas":)" << o.cluster.replicas << R"(,"gap_ms":)" << times.max
       << R"(,"gap_p50_ms":)" << times.p50 << '}';
  return line.str();
}

result<std::string> measure_handover(const handover_options& options) {
  auto running = cluster::start(options.cluster);
  if (!running)
    return running.error();
  auto to = producer::connect({.coordinators = {running->address()}});
  if (!to)
    return to.error();
  auto client = operator_client::connect({.coordinators = {running->address()}});
  if (!client)
    return client.error();
  if (auto ok = fill(**to, options.tasks); !ok)
    return ok.error();
  std::vector<nanoseconds> gaps;
  for (std::size_t i = 0; i < options.moves; ++i) {
    const auto gap = measure_move(**client, **to, options.cluster.coordinators);
    if (!gap)
      return gap.error();
    gaps.push_back(*gap);
  }
  return to_json(options, gaps);
}

} // namespace

measurement handover_measurement() {
  auto to = std::make_shared<handover_options>();
  auto& cluster = to->cluster;
  config::command entry{
    "handover",
    "Pause of a producer while the shard with the waiting tasks moves to another coordinator",
    {count_option("tasks", "Waiting tasks [default: 1000000]", to->tasks, {1, 100'000'000}),
     count_option("moves", "Moves of the shard [default: 5]", to->moves, {1, 1000}),
     count_option("coordinators", "Coordinators [default: 3]", cluster.coordinators, {2, 16}),
     count_option("replicas", "Copies of the shard [default: 2]", cluster.replicas, {2, 3}),
     durability_option(cluster.durability)}};
  return {entry, [to] { return measure_handover(*to); }};
}

} // namespace codeq::bench
