// SPDX-License-Identifier: Apache-2.0
#include "observe/metrics.hpp"

#include "observe/cluster_metrics.hpp"
#include "observe/metric_families.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/metric_type.h>

namespace codeq::observe {

namespace {

using prometheus::MetricType;

double seconds_of(std::uint64_t microseconds) {
  return static_cast<double>(microseconds) / 1'000'000;
}

metric_labels of_queue(const base::queue_counts& q) {
  return {{"tenant", q.queue.tenant}, {"queue", q.queue.queue}};
}

metric_labels of_queue(const base::queue_counts& q, const char* name, const char* value) {
  auto labels = of_queue(q);
  labels.push_back({name, value});
  return labels;
}

void write_tasks(metric_families& to, const std::vector<base::queue_counts>& queues) {
  to.begin_gauge("codeq_tasks", "Tasks that are kept, by queue and state");
  for (const auto& q : queues) {
    to.add(q.scheduled, of_queue(q, "state", "scheduled"));
    to.add(q.gated, of_queue(q, "state", "gated"));
    to.add(q.ready, of_queue(q, "state", "ready"));
    to.add(q.leased, of_queue(q, "state", "leased"));
    to.add(q.dead_now, of_queue(q, "state", "dead"));
  }
  to.begin_counter(
    "codeq_task_transitions_total",
    "Transitions of tasks, by queue; completed, dead, cancelled and lost count from the creation "
    "of the store, the others from the start");
  for (const auto& q : queues) {
    to.add(q.enqueued, of_queue(q, "transition", "enqueued"));
    to.add(q.granted, of_queue(q, "transition", "leased"));
    to.add(q.completed, of_queue(q, "transition", "completed"));
    to.add(q.retried, of_queue(q, "transition", "retried"));
    to.add(q.returned, of_queue(q, "transition", "returned"));
    to.add(q.timed_out, of_queue(q, "transition", "timed_out"));
    to.add(q.lost, of_queue(q, "transition", "lost"));
    to.add(q.quarantined, of_queue(q, "transition", "quarantined"));
    to.add(q.dead, of_queue(q, "transition", "dead"));
    to.add(q.cancelled, of_queue(q, "transition", "cancelled"));
    to.add(q.redriven, of_queue(q, "transition", "redriven"));
  }
}

void write_queues(metric_families& to, const std::vector<base::queue_counts>& queues) {
  to.begin_gauge(
    "codeq_oldest_ready_seconds",
    "Time that the oldest ready task has waited since its enqueue or the end of its deferral; 0 if "
    "none is ready");
  for (const auto& q : queues)
    to.add(static_cast<double>(q.oldest_ready.count()) / 1000, of_queue(q));
  to.begin_gauge("codeq_queue_tasks_held", "Ready tasks that a limit holds back, by queue");
  for (const auto& q : queues)
    to.add(q.held, of_queue(q));
  to.begin_gauge("codeq_queue_paused", "1 while the queue is paused, otherwise 0");
  for (const auto& q : queues)
    to.add(q.paused ? 1.0 : 0.0, of_queue(q));
  to.begin_counter(
    "codeq_queue_breaker_trips_total",
    "Pauses of queues by their breakers, once for each shard that decided so, since the start");
  for (const auto& q : queues)
    to.add(q.tripped, of_queue(q));
  to.begin_histogram(
    "codeq_queue_dispatch_seconds",
    "From the enqueue of a task that was not deferred to its first grant, by queue, since the "
    "start");
  for (const auto& q : queues)
    to.add(q.dispatch, of_queue(q));
  to.begin_histogram(
    "codeq_queue_run_seconds",
    "From a grant to the report that ended it, by queue, since the start");
  for (const auto& q : queues)
    to.add(q.run, of_queue(q));
}

std::int64_t gauge_of(const base::coordinator_counts& stats, const std::string& name) {
  auto at = stats.gauges.find(name);
  return at == stats.gauges.end() ? 0 : at->second;
}

struct shard_metric {
  /// The same in the stats.
  const char* name;
  const char* help;
  MetricType type;
};

constexpr shard_metric shard_metrics[] = {
  {"codeq_leases", "Live leases", MetricType::Gauge},
  {"codeq_lease_timers", "Leases that have a timer", MetricType::Gauge},
  {"codeq_segments_unpacked",
   "Segments of tasks that are unpacked in memory",
   MetricType::Gauge},
  {"codeq_segments_packed",
   "Segments of tasks that the latest snapshots packed",
   MetricType::Gauge},
  {"codeq_packed_bytes",
   "Bytes of packed segments in memory",
   MetricType::Gauge},
  {"codeq_cache_bytes",
   "Bytes of task bodies in the shards' caches",
   MetricType::Gauge},
  {"codeq_stale_reports_total",
   "Reports refused because their lease was over, since the start",
   MetricType::Counter},
  {"codeq_stale_beats_total",
   "Heartbeats refused because their lease was over, since the start",
   MetricType::Counter},
  {"codeq_fairness_keys",
   "Fairness keys with live tasks, of all queues and shards",
   MetricType::Gauge},
  {"codeq_limit_keys", "Limit keys in use", MetricType::Gauge},
  {"codeq_tasks_held",
   "Ready tasks that a limit holds back",
   MetricType::Gauge},
  {"codeq_schedules", "Schedules that exist", MetricType::Gauge},
  {"codeq_schedules_without_zone",
   "Schedules that do not fire because the file of their time zone cannot be read",
   MetricType::Gauge},
  {"codeq_occurrences_fired_total",
   "Occurrences of schedules that enqueued their tasks, since the start",
   MetricType::Counter},
  {"codeq_occurrences_late_total",
   "Those of them that were more than a second late, since the start",
   MetricType::Counter},
  {"codeq_occurrences_overlapping_total",
   "Occurrences left out because the one before had not ended, since the start",
   MetricType::Counter},
  {"codeq_occurrences_missed_total",
   "Occurrences left out because they were too late, since the start",
   MetricType::Counter},
  {"codeq_producer_sessions",
   "Producer sessions that the shards remember",
   MetricType::Gauge},
  {"codeq_producer_sessions_forgotten_total",
   "Producer sessions forgotten to make room for others, since the start",
   MetricType::Counter},
  {"codeq_commands_waiting",
   "Requests that wait until the store has told of the keys that they name",
   MetricType::Gauge},
  {"codeq_results_put_off_total",
   "Large results that had to wait because the disk was full, since the start",
   MetricType::Counter},
};

void write_shards(metric_families& to, const base::coordinator_counts& stats) {
  for (const auto& m : shard_metrics) {
    if (m.type == MetricType::Counter)
      to.begin_counter(m.name, m.help);
    else
      to.begin_gauge(m.name, m.help);
    to.add(gauge_of(stats, m.name));
  }
  to.begin_histogram(
    "codeq_dispatch_seconds",
    "From the enqueue of a task that was not deferred to its first grant, since the start");
  to.add(stats.dispatch);
  to.begin_histogram(
    "codeq_run_seconds", "From a grant to the report that ended it, since the start");
  to.add(stats.run);
  to.begin_gauge("codeq_workers", "Connected workers");
  to.add(static_cast<std::int64_t>(
    std::count_if(stats.workers.begin(), stats.workers.end(), [](const base::worker_counts& w) {
      return w.is_connected;
    })));
}

void write_journal(metric_families& to, const process_counts& process) {
  to.begin_counter("codeq_journal_groups_total", "Group commits");
  to.add(process.journal_groups);
  to.begin_counter("codeq_journal_parts_total", "Turns of shards in all group commits");
  to.add(process.journal_parts);
  to.begin_counter("codeq_journal_bytes_total", "Bytes in all group commits");
  to.add(process.journal_bytes);
  to.begin_counter("codeq_journal_commit_seconds_total", "Time of all group commits");
  to.add(seconds_of(process.journal_microseconds));
  to.begin_counter(
    "codeq_store_stall_seconds_total", "Time that writes waited for the store's background work");
  to.add(seconds_of(process.store_stall_microseconds));
  for (const auto& [name, value] : process.store) {
    auto full = "codeq_store_" + name + "_total";
    to.begin_counter(full.c_str(), "A counter of the store since it was opened");
    to.add(value);
  }
}

void write_gateway(metric_families& to, const process_counts& process) {
  to.begin_gauge("codeq_http_connections", "Open connections of the gateway");
  to.add(process.http_connections);
  to.begin_counter(
    "codeq_http_connections_refused_total", "Connections refused because there were too many");
  to.add(process.http_connections_refused);
  to.begin_counter("codeq_http_answers_total", "Answers of the gateway by status");
  for (const auto& [status, count] : process.http_answers)
    to.add(count, {{"status", status}});
}

void write_process(metric_families& to, const process_counts& process) {
  to.begin_gauge(
    "codeq_enqueue_bytes", "Bytes of enqueues, checkpoints and changes that are not durable yet");
  to.add(process.enqueue_bytes);
  to.begin_gauge("codeq_lookups_waiting", "Look-ups that wait for the store");
  to.add(process.lookups_waiting);
  to.begin_counter(
    "codeq_shards_forced_total",
    "Shards that an operator gave to this coordinator by force, with a loss of acknowledged data");
  to.add(process.shards_forced);
  if (process.etcd_answers) {
    to.begin_gauge(
      "codeq_etcd_reachable",
      "1 while etcd answers this coordinator; otherwise 0, and no shard gets another primary");
    to.add(*process.etcd_answers ? 1.0 : 0.0);
  }
  to.begin_gauge(
    "codeq_disk_reserve_bytes", "Bytes on the disk that are reserved for when it is full");
  to.add(process.disk_reserve_bytes);
  to.begin_counter(
    "codeq_records_evicted_total",
    "Records of ended tasks that were dropped before their retention passed, to make room");
  to.add(process.records_evicted);
}

void write_disk(metric_families& to, const process_counts& process) {
  if (process.disk_free_bytes) {
    to.begin_gauge(
      "codeq_disk_free_bytes", "Space on the store's disk that is left for its records");
    to.add(*process.disk_free_bytes);
  }
  if (process.backup_age_seconds) {
    to.begin_gauge(
      "codeq_backup_age_seconds", "Time since the newest backup in the backup directory was made");
    to.add(*process.backup_age_seconds);
  }
  to.begin_counter("codeq_backups_failed_total", "Backups that failed since the start");
  to.add(process.backups_failed);
}

void write_refused(metric_families& to, const base::coordinator_counts& stats) {
  to.begin_counter(
    "codeq_enqueues_refused_total", "Enqueue requests that a shard refused, by the error");
  for (const auto& [reason, count] : stats.refused)
    to.add(count, {{"reason", reason}});
}

void write_limits(metric_families& to, const process_counts& process) {
  to.begin_counter(
    "codeq_limits_met_total",
    "Requests and connections refused, ended or put off at a limit, by the limit's name");
  for (const auto& [name, count] : process.limits_met)
    to.add(count, {{"limit", name}});
}

} // namespace

std::string metrics_text(
  const base::coordinator_counts& stats, const process_counts& process, queue_series& series) {
  metric_families all;
  auto queues = series.choose(stats.queues);
  write_tasks(all, queues);
  write_queues(all, queues);
  all.begin_gauge("codeq_queues", "Queues that exist");
  all.add(static_cast<std::uint64_t>(stats.queues.size()));
  write_shards(all, stats);
  write_journal(all, process);
  write_gateway(all, process);
  write_process(all, process);
  write_disk(all, process);
  write_refused(all, stats);
  write_limits(all, process);
  if (!stats.cluster_shards.empty())
    write_cluster(all, stats.cluster_shards);
  return all.text();
}

} // namespace codeq::observe
