// SPDX-License-Identifier: Apache-2.0
#include "http/dashboard/live_json.hpp"

#include "base/rfc3339.hpp"
#include "coordinator/session/stats_sum.hpp"
#include "http/json/task_json.hpp"

#include <array>
#include <chrono>
#include <utility>

namespace codeq::http {

namespace {

/// The columns of a row behind the name, in the order of `values_of`.
constexpr auto row_columns = std::to_array<std::string_view>(
  {"queue",
   "paused",
   "ready",
   "scheduled",
   "gated",
   "leased",
   "dead",
   "oldestReadyAt",
   "maxDepth",
   "maxLeased",
   "enqueued",
   "granted",
   "completed",
   "retried",
   "died",
   "cancelled",
   "lost",
   "returned",
   "timedOut"});

/// When the oldest ready task became ready, in whole seconds as milliseconds; zero for none.
std::uint64_t oldest_ready_at(const base::queue_counts& q, timestamp now) {
  if (q.ready == 0)
    return 0;
  auto began = std::chrono::round<std::chrono::seconds>(now.time_since_epoch() - q.oldest_ready);
  return static_cast<std::uint64_t>(duration(began).count());
}

auto values_of(const base::queue_counts& q, timestamp now) {
  return std::to_array<std::uint64_t>(
    {q.paused ? 1u : 0u,
     q.ready,
     q.scheduled,
     q.gated,
     q.leased,
     q.dead_now,
     oldest_ready_at(q, now),
     q.max_depth,
     q.max_leased,
     q.enqueued,
     q.granted,
     q.completed,
     q.retried,
     q.dead,
     q.cancelled,
     q.lost,
     q.returned,
     q.timed_out});
}

std::string row_of(const base::queue_counts& q, timestamp now) {
  base::json_writer json;
  json.begin_array().text(q.queue.queue);
  for (auto value : values_of(q, now))
    json.number(value);
  json.end_array();
  return json.take();
}

void write_worker(base::json_writer& json, const worker_info& w, bool is_own) {
  json.begin_object()
    .field("workerId", subject_of(w.name))
    .field("http", is_own)
    .field("connected", w.is_connected)
    .field("draining", w.is_draining)
    .field("freeSlots", w.free_slots)
    .field("leases", w.leases)
    .field("queueCount", w.queue_count)
    .begin_array("queues");
  for (const auto& queue : w.queues)
    json.text(queue.queue);
  json.end_array().begin_array("running");
  for (const auto& lease : w.running)
    json.begin_object()
      .field("id", to_string(lease.task))
      .field("queue", lease.queue.queue)
      .field("tenantId", lease.queue.tenant)
      .field("startedAt", base::to_rfc3339(lease.since))
      .field("leaseLeftMs", lease.left.count())
      .end_object();
  json.end_array().end_object();
}

} // namespace

void write_workers(
  base::json_writer& json, std::vector<base::worker_counts> workers, const caller& by) {
  if (!by.sees_all_tenants)
    workers = coordinator::workers_of(by.tenant, std::move(workers));
  coordinator::limit_shown(workers);
  auto own_prefix = worker_name_of(by.tenant, "");
  json.begin_array("workers");
  for (const auto& w : workers)
    write_worker(json, w, w.name.starts_with(own_prefix));
  json.end_array();
}

queue_rows
rows_of(const base::coordinator_counts& stats, std::string_view tenant, timestamp now) {
  queue_rows rows;
  for (const auto& q : stats.queues)
    if (q.queue.tenant == tenant)
      rows.emplace(q.queue.queue, row_of(q, now));
  return rows;
}

void write_rows(base::json_writer& json, const queue_rows& rows, const queue_rows* before) {
  json.field("whole", before == nullptr).begin_array("columns");
  for (auto column : row_columns)
    json.text(column);
  json.end_array().begin_array("rows");
  for (const auto& [name, row] : rows) {
    auto at = before ? before->find(name) : queue_rows::const_iterator{};
    if (!before || at == before->end() || at->second != row)
      json.raw(row);
  }
  json.end_array().begin_array("gone");
  for (const auto& [name, row] : before ? *before : queue_rows{})
    if (!rows.contains(name))
      json.text(name);
  json.end_array();
}

} // namespace codeq::http
