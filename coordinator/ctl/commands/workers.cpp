// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/text.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace codeq::ctl {

namespace {

void write_queue(base::json_writer& out, const queue_address& queue) {
  out.field("tenant", queue.tenant).field("queue", queue.queue);
}

void write_worker(base::json_writer& out, const worker_info& worker) {
  out.begin_object().bytes_field("name", worker.name).field("connected", worker.is_connected);
  out.field("draining", worker.is_draining);
  out.field("free_slots", worker.free_slots).field("leases", worker.leases);
  out.field("queue_count", worker.queue_count).begin_array("queues");
  for (const auto& queue : worker.queues) {
    out.begin_object();
    write_queue(out, queue);
    out.end_object();
  }
  out.end_array().begin_array("running");
  for (const auto& lease : worker.running) {
    out.begin_object().field("id", to_string(lease.task));
    write_queue(out, lease.queue);
    out.field("since_ms", lease.since.time_since_epoch().count());
    out.field("lease_left_ms", lease.left.count());
    out.field("waiting", lease.is_waiting).end_object();
  }
  out.end_array().end_object();
}

std::string to_json(const worker_list& list) {
  base::json_writer out;
  out.begin_object().begin_array("workers");
  for (const auto& worker : list.workers)
    write_worker(out, worker);
  out.end_array();
  write_shards(out, "missing", list.missing);
  return out.end_object().take() + "\n";
}

/// The names of the queues on one line, for example "default/mail default/print and 5 more".
std::string queues_of(const worker_info& worker) {
  std::string text;
  for (const auto& queue : worker.queues)
    text += (text.empty() ? "" : " ") + printable(queue.tenant + "/" + queue.queue);
  auto told = std::min<std::size_t>(worker.queue_count, worker.queues.size());
  auto untold = worker.queue_count - told;
  return untold == 0 ? text : text + " and " + std::to_string(untold) + " more";
}

std::string state_of(const worker_info& worker) {
  return std::string(worker.is_connected ? "yes" : "no") + (worker.is_draining ? ", drained" : "");
}

std::string to_text(const worker_list& list) {
  using std::to_string;
  std::vector<std::vector<std::string>> rows{{"WORKER", "CONNECTED", "FREE", "LEASES", "QUEUES"}};
  std::vector<std::vector<std::string>> running{
    {"WORKER", "HOLDS", "QUEUE", "SINCE", "LEASE ENDS IN", "STATE"}};
  for (const auto& worker : list.workers) {
    auto name = printable(worker.name);
    rows.push_back(
      {name,
       state_of(worker),
       to_string(worker.free_slots),
       to_string(worker.leases),
       queues_of(worker)});
    for (const auto& lease : worker.running)
      running.push_back(
        {name,
         to_string(lease.task),
         printable(lease.queue.tenant + "/" + lease.queue.queue),
         to_string(lease.since),
         format_duration(lease.left),
         lease.is_waiting ? "waits" : "runs"});
  }
  return format_table(rows) + (running.size() > 1 ? "\n" + format_table(running) : "")
         + left_out_text(list.missing, 0, "leases");
}

struct worker_options {
  std::string name;
};

std::vector<option> worker_grammar(worker_options& to) {
  // A tenant, a slash and the name of a node.
  constexpr auto bytes_max = 2 * limits::name_bytes_max + 1;
  return {required(placed(
    text_option("WORKER", "Name of the worker, as `workers` shows it", to.name, bytes_max)))};
}

std::string drained_json(const drained_worker& worker) {
  base::json_writer out;
  out.begin_object().bytes_field("name", worker.name).field("draining", worker.is_drained);
  return out.end_object().take() + "\n";
}

std::string drained_text(const drained_worker& worker) {
  return printable(worker.name)
         + (worker.is_drained ? " gets no further tasks\n" : " gets tasks again\n");
}

} // namespace

void add_workers(command_table& to) {
  to.add(command<no_options>{
    .name = "workers",
    .help = "Show the workers, their free slots, and the tasks that they hold",
    .run =
      [](context& with, const no_options&) {
        return show(with, with.api.workers(), to_json, to_text);
      },
    .details =
      "FREE: tasks that the worker could accept now, to run or to prefetch. LEASES: tasks that it "
      "HOLDS: each runs, or waits at the worker for a free slot, as its last heartbeat said "
      "(STATE). A worker that is not connected is shown as long as it has leases. At most 20 "
      "queues and 20 leases of a worker are shown, the oldest leases first."});
  to.group("worker", "Drain a worker, and take it back");
  to.add(command<worker_options>{
    .name = "worker drain",
    .help = "Hand a worker no more tasks; those that it has, running or prefetched, it finishes",
    .grammar = worker_grammar,
    .run =
      [](context& with, const worker_options& given) {
        return show(with, with.api.drain_worker(given.name, true), drained_json, drained_text);
      },
    .details =
      "Lasts until `worker resume`, or until the worker's process or the coordinator starts again. "
      "A worker of the HTTP gateway cannot be drained."});
  to.add(command<worker_options>{
    .name = "worker resume",
    .help = "Hand a drained worker tasks again",
    .grammar = worker_grammar,
    .run = [](context& with, const worker_options& given) {
      return show(with, with.api.drain_worker(given.name, false), drained_json, drained_text);
    }});
}

} // namespace codeq::ctl
