// SPDX-License-Identifier: Apache-2.0
#include "scale/scale_out.hpp"

#include "codeq/operator.hpp"
#include "codeq/producer.hpp"

#include <sstream>

namespace codeq::bench {

namespace {

using steady = std::chrono::steady_clock;

constexpr auto queue = "nap";
constexpr double naps_per_second = 20;

error interrupted() {
  return {errc::unavailable, "interrupted"};
}

/// More tasks than all nodes can process in the whole time.
std::size_t backlog_of(const scale_out_options& o) {
  std::chrono::duration<double> each = o.length + o.settle;
  auto slot_seconds =
    static_cast<double>(o.nodes * (o.nodes + 1) / 2 * o.cluster.slots) * (each.count() + 1);
  return static_cast<std::size_t>(slot_seconds * naps_per_second) + 1000;
}

result<void> enqueue(const std::string& address, std::size_t count) {
  auto producer = producer::connect({.coordinators = {address}});
  if (!producer)
    return producer.error();
  for (std::size_t added = 0; added < count; added += limits::enqueue_tasks_max) {
    task_spec task;
    task.queue = queue;
    auto ids =
      (*producer)->enqueue_all_or_none(std::vector<task_spec>(limits::enqueue_tasks_max, task));
    if (!ids)
      return ids.error();
  }
  return {};
}

/// Number of completed tasks. Errors: also when tasks were lost, or the backlog was used up.
result<std::uint64_t> completed(operator_client& client) {
  auto stats = client.stats();
  if (!stats)
    return stats.error();
  for (const auto& counts : stats->queues) {
    if (counts.queue.queue != queue)
      continue;
    if (counts.ready == 0 || counts.lost > 0 || counts.dead > 0)
      return error{errc::unavailable, "the backlog is empty, or tasks were lost"};
    return counts.completed;
  }
  return error{errc::unavailable, "the queue is not there"};
}

/// Measures the tasks completed per second from now on.
result<double> measure(cluster& running, operator_client& client, duration length) {
  auto before = completed(client);
  auto start = steady::now();
  if (!before || !pause(length))
    return before ? interrupted() : before.error();
  auto after = completed(client);
  if (auto fine = running.check_running(); !fine)
    return fine.error();
  if (!after)
    return after.error();
  std::chrono::duration<double> took = steady::now() - start;
  return static_cast<double>(*after - *before) / took.count();
}

std::string to_json(const scale_out_options& o, const std::vector<double>& rates) {
  std::ostringstream line;
  line << R"({"bench":"scale-out","durability":")" << o.cluster.durability << R"(","slots":)"
       << o.cluster.slots << R"(,"shards":)" << o.cluster.shards << R"(,"sleep_ms":50,"seconds":)"
       << o.length.count() / 1000.0 << R"(,"tasks_per_s":[)";
  for (std::size_t i = 0; i < rates.size(); ++i)
    line << (i == 0 ? "" : ",") << rates[i];
  line << R"(],"nodes":)" << o.nodes << R"(,"scale":)" << rates.back() / rates.front() << '}';
  return line.str();
}

} // namespace

result<std::string> measure_scale_out(const scale_out_options& options) {
  auto running = cluster::start(options.cluster);
  if (!running)
    return running.error();
  if (auto ok = enqueue(running->address(), backlog_of(options)); !ok)
    return ok.error();
  auto client = operator_client::connect({.coordinators = {running->address()}});
  if (!client)
    return client.error();
  std::vector<double> rates;
  while (rates.size() < options.nodes) {
    if (!rates.empty())
      if (auto ok = running->add_worker(options.cluster); !ok)
        return ok.error();
    if (!pause(options.settle))
      return interrupted();
    auto rate = measure(*running, **client, options.length);
    if (!rate)
      return rate.error();
    rates.push_back(*rate);
  }
  return to_json(options, rates);
}

} // namespace codeq::bench
