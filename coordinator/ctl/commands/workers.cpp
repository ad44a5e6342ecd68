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
    out.field("lease_left_ms", lease.left.count()).end_object();
  }
  out.end_array().end_object();
}

std::string to_json(const std::vector<worker_info>& workers) {
  base::json_writer out;
  out.begin_object().begin_array("workers");
  for (const auto& worker : workers)
    write_worker(out, worker);
  return out.end_array().end_object().take() + "\n";
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

std::string to_text(const std::vector<worker_info>& workers) {
  using std::to_string;
  std::vector<std::vector<std::string>> rows{{"WORKER", "CONNECTED", "FREE", "LEASES", "QUEUES"}};
  std::vector<std::vector<std::string>> running{
    {"WORKER", "RUNS", "QUEUE", "SINCE", "LEASE ENDS IN"}};
  for (const auto& worker : workers) {
    auto name = printable(worker.name);
    rows.push_back(
      {name,
       worker.is_connected ? "yes" : "no",
       to_string(worker.free_slots),
       to_string(worker.leases),
       queues_of(worker)});
    for (const auto& lease : worker.running)
      running.push_back(
        {name,
         to_string(lease.task),
         printable(lease.queue.tenant + "/" + lease.queue.queue),
         to_string(lease.since),
         format_duration(lease.left)});
  }
  return format_table(rows) + (running.size() > 1 ? "\n" + format_table(running) : "");
}

} // namespace

void add_workers(command_table& to) {
  to.add(command<no_options>{
    .name = "workers",
    .help = "Show the workers, their free slots, and the tasks that they run",
    .run =
      [](context& with, const no_options&) {
        return show(with, with.api.workers(), to_json, to_text);
      },
    .details =
      "FREE: tasks that the worker could accept now, to run or to prefetch. LEASES: tasks that it "
      "holds. A worker that is not connected is shown as long as it has leases. At most 20 queues "
      "and 20 leases of a worker are shown, the oldest leases first."});
}

} // namespace codeq::ctl
