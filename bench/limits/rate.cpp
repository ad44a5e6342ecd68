// SPDX-License-Identifier: Apache-2.0
#include "limits/rate.hpp"

#include "codeq/operator.hpp"
#include "codeq/producer.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace codeq::bench {

namespace {

using std::chrono::seconds;

constexpr auto queue = "cycle";
constexpr auto limit = "rate";
constexpr std::size_t batch = 1000;
/// Longer than a task waits for its start, which `rate_options::length` is the most of.
constexpr duration slack = seconds(60);

/// Enqueues tasks of one limit key. Their groups put them on all shards, so that most of them need
/// permits of the one that owns the key.
result<std::vector<task_id>> fill(producer& to, std::size_t tasks) {
  std::vector<task_id> ids;
  while (ids.size() < tasks) {
    task_spec task;
    task.queue = queue;
    task.payload = std::string("0123456789abcdef");
    task.limits = {{limit, "k", 1}};
    std::vector<task_spec> specs(std::min(batch, tasks - ids.size()), task);
    for (std::size_t i = 0; i < specs.size(); ++i)
      specs[i].group = "g" + std::to_string(ids.size() + i);
    for (auto& added : to.enqueue(std::move(specs))) {
      if (!added)
        return added.error();
      ids.push_back(added->id);
    }
  }
  return ids;
}

result<void> wait_for_ends(producer& from, const std::vector<task_id>& tasks, duration longest) {
  for (auto task : tasks) {
    auto end = from.await(task, longest);
    if (!end)
      return end.error();
    if (end->state != task_state::completed)
      return error{errc::unavailable, "task " + to_string(task) + " did not complete"};
  }
  return {};
}

/// When each task was leased, in ascending order.
result<std::vector<timestamp>>
read_starts(operator_client& client, const std::vector<task_id>& tasks) {
  std::vector<timestamp> starts;
  for (auto task : tasks) {
    auto history = client.events(task);
    if (!history)
      return history.error();
    for (const auto& event : history->events)
      if (event.what == task_event::kind::granted)
        starts.push_back(event.at);
  }
  std::sort(starts.begin(), starts.end());
  return starts;
}

std::size_t most_in_a_second(const std::vector<timestamp>& starts) {
  std::size_t most = 0;
  auto first = starts.begin();
  for (auto last = starts.begin(); last != starts.end(); ++last) {
    while (*last - *first >= seconds(1))
      ++first;
    most = std::max(most, static_cast<std::size_t>(last - first) + 1);
  }
  return most;
}

rate_figures figures_of(const rate_options& o, const std::vector<timestamp>& starts) {
  rate_figures f;
  f.starts = starts.size();
  f.most_in_a_second = most_in_a_second(starts);
  auto took = std::chrono::duration<double>(starts.back() - starts.front()).count();
  f.of_allowed = static_cast<double>(starts.size()) / (o.burst + took * o.rate);
  return f;
}

/// Starts the workers when all tasks wait.
result<std::vector<timestamp>> run(
  const rate_options& options, cluster& running, producer& to, operator_client& client) {
  limit_definition definition;
  definition.rate = start_rate{options.rate, seconds(1), options.burst};
  if (auto set = client.set_limit({.name = limit}, definition); !set)
    return set.error();
  auto length = std::chrono::duration_cast<seconds>(options.length);
  auto tasks = options.burst + options.rate * static_cast<std::size_t>(length.count());
  auto ids = fill(to, tasks);
  if (!ids)
    return ids.error();
  for (std::size_t i = 0; i < options.cluster.workers; ++i)
    if (auto ok = running.add_worker(options.cluster); !ok)
      return ok.error();
  if (auto ok = wait_for_ends(to, *ids, options.length + slack); !ok)
    return ok.error();
  return read_starts(client, *ids);
}

} // namespace

result<rate_figures> run_at_rate(const rate_options& options) {
  auto without_workers = options.cluster;
  without_workers.workers = 0;
  auto running = cluster::start(without_workers);
  if (!running)
    return running.error();
  auto client = operator_client::connect({.coordinators = {running->address()}});
  if (!client)
    return client.error();
  auto to = producer::connect({.coordinators = {running->address()}, .name = "p1"});
  if (!to)
    return to.error();
  auto starts = run(options, *running, **to, **client);
  if (!starts)
    return starts.error();
  if (starts->empty())
    return error{errc::unavailable, "no task has a history of its start"};
  return figures_of(options, *starts);
}

} // namespace codeq::bench
