// SPDX-License-Identifier: Apache-2.0
#include "observe/metrics.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace codeq::observe {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using labels = std::vector<ClientMetric::Label>;

constexpr double milliseconds_per_second = 1000;
constexpr double microseconds_per_second = 1'000'000;

/// The metrics of one output.
class families {
public:
  /// Begins a metric; the values that follow belong to it.
  void begin(const char* name, const char* help, MetricType type) {
    MetricFamily family;
    family.name = name;
    family.help = help;
    family.type = type;
    all_.push_back(std::move(family));
  }

  void add(double value, labels of = {}) {
    auto& metric = append(std::move(of));
    if (all_.back().type == MetricType::Counter)
      metric.counter.value = value;
    else
      metric.gauge.value = value;
  }

  void add(const base::time_counts& times) {
    auto& histogram = append({}).histogram;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < times.bounds_ms.size(); ++i) {
      below += times.counts[i];
      histogram.bucket.push_back(
        {below, static_cast<double>(times.bounds_ms[i]) / milliseconds_per_second});
    }
    histogram.sample_count = below + times.counts.back();
    histogram.sample_sum = static_cast<double>(times.sum_ms) / milliseconds_per_second;
  }

  [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(all_); }

private:
  ClientMetric& append(labels of) {
    auto& metric = all_.back().metric.emplace_back();
    metric.label = std::move(of);
    return metric;
  }

  std::vector<MetricFamily> all_;
};

labels of_queue(const base::queue_counts& q, const char* name, const char* value) {
  return {{"tenant", q.queue.tenant}, {"queue", q.queue.queue}, {name, value}};
}

double number(std::uint64_t n) {
  return static_cast<double>(n);
}

void write_queues(families& to, const std::vector<base::queue_counts>& queues) {
  to.begin("codeq_tasks", "Tasks that are kept, by queue and state", MetricType::Gauge);
  for (const auto& q : queues) {
    to.add(number(q.scheduled), of_queue(q, "state", "scheduled"));
    to.add(number(q.gated), of_queue(q, "state", "gated"));
    to.add(number(q.ready), of_queue(q, "state", "ready"));
    to.add(number(q.leased), of_queue(q, "state", "leased"));
    to.add(number(q.dead_now), of_queue(q, "state", "dead"));
  }
  to.begin(
    "codeq_task_transitions_total",
    "Ends of tasks and lost leases since the store was created, by queue",
    MetricType::Counter);
  for (const auto& q : queues) {
    to.add(number(q.completed), of_queue(q, "transition", "completed"));
    to.add(number(q.dead), of_queue(q, "transition", "dead"));
    to.add(number(q.cancelled), of_queue(q, "transition", "cancelled"));
    to.add(number(q.lost), of_queue(q, "transition", "lost"));
  }
}

std::int64_t gauge_of(const base::coordinator_counts& stats, const std::string& name) {
  auto at = stats.gauges.find(name);
  return at == stats.gauges.end() ? 0 : at->second;
}

struct shard_metric {
  /// Name of the gauge in the stats.
  const char* source;
  const char* name;
  const char* help;
  MetricType type;
};

constexpr shard_metric shard_metrics[] = {
  {"codeq_leases", "codeq_leases", "Live leases", MetricType::Gauge},
  {"codeq_lease_timers", "codeq_lease_timers", "Leases that have a timer", MetricType::Gauge},
  {"codeq_segments_unpacked",
   "codeq_segments_unpacked",
   "Segments of tasks that are unpacked in memory",
   MetricType::Gauge},
  {"codeq_segments_packed",
   "codeq_segments_packed",
   "Segments of tasks that the latest snapshots packed",
   MetricType::Gauge},
  {"codeq_packed_bytes",
   "codeq_packed_bytes",
   "Bytes of packed segments in memory",
   MetricType::Gauge},
  {"codeq_cache_bytes",
   "codeq_cache_bytes",
   "Bytes of task bodies in the shards' caches",
   MetricType::Gauge},
  {"codeq_stale_reports",
   "codeq_stale_reports_total",
   "Reports refused because their lease was over, since the start",
   MetricType::Counter},
  {"codeq_stale_beats",
   "codeq_stale_beats_total",
   "Heartbeats refused because their lease was over, since the start",
   MetricType::Counter},
  {"codeq_producer_sessions",
   "codeq_producer_sessions",
   "Producer sessions that the shards remember",
   MetricType::Gauge},
  {"codeq_sessions_forgotten",
   "codeq_producer_sessions_forgotten_total",
   "Producer sessions forgotten to make room for others, since the start",
   MetricType::Counter},
  {"codeq_commands_waiting",
   "codeq_commands_waiting",
   "Requests that wait until the store has told of the keys that they name",
   MetricType::Gauge},
  {"codeq_results_put_off",
   "codeq_results_put_off_total",
   "Large results that had to wait because the disk was full, since the start",
   MetricType::Counter},
};

void write_shards(families& to, const base::coordinator_counts& stats) {
  for (const auto& m : shard_metrics) {
    to.begin(m.name, m.help, m.type);
    to.add(static_cast<double>(gauge_of(stats, m.source)));
  }
  to.begin(
    "codeq_dispatch_seconds",
    "From the enqueue of a task that was not deferred to its first grant, since the start",
    MetricType::Histogram);
  to.add(stats.dispatch);
  to.begin(
    "codeq_run_seconds",
    "From a grant to the report that ended it, since the start",
    MetricType::Histogram);
  to.add(stats.run);
  to.begin("codeq_workers", "Connected workers", MetricType::Gauge);
  to.add(static_cast<double>(
    std::count_if(stats.workers.begin(), stats.workers.end(), [](const base::worker_counts& w) {
      return w.is_connected;
    })));
}

void write_journal(families& to, const process_counts& process) {
  to.begin("codeq_journal_groups_total", "Group commits", MetricType::Counter);
  to.add(number(process.journal_groups));
  to.begin(
    "codeq_journal_parts_total", "Turns of shards in all group commits", MetricType::Counter);
  to.add(number(process.journal_parts));
  to.begin("codeq_journal_bytes_total", "Bytes in all group commits", MetricType::Counter);
  to.add(number(process.journal_bytes));
  to.begin("codeq_journal_commit_seconds_total", "Time of all group commits", MetricType::Counter);
  to.add(number(process.journal_microseconds) / microseconds_per_second);
  to.begin(
    "codeq_store_stall_seconds_total",
    "Time that writes waited for the store's background work",
    MetricType::Counter);
  to.add(number(process.store_stall_microseconds) / microseconds_per_second);
  for (const auto& [name, value] : process.store) {
    auto full = "codeq_store_" + name + "_total";
    to.begin(full.c_str(), "A counter of the store since it was opened", MetricType::Counter);
    to.add(number(value));
  }
}

void write_gateway(families& to, const process_counts& process) {
  to.begin("codeq_http_connections", "Open connections of the gateway", MetricType::Gauge);
  to.add(static_cast<double>(process.http_connections));
  to.begin(
    "codeq_http_connections_refused_total",
    "Connections refused because there were too many",
    MetricType::Counter);
  to.add(number(process.http_connections_refused));
  to.begin("codeq_http_answers_total", "Answers of the gateway by status", MetricType::Counter);
  for (const auto& [status, count] : process.http_answers)
    to.add(number(count), {{"status", status}});
}

void write_process(families& to, const process_counts& process) {
  to.begin("codeq_enqueue_bytes", "Bytes of enqueues that are not durable yet", MetricType::Gauge);
  to.add(number(process.enqueue_bytes));
  to.begin("codeq_lookups_waiting", "Look-ups that wait for the store", MetricType::Gauge);
  to.add(number(process.lookups_waiting));
  to.begin(
    "codeq_disk_reserve_bytes",
    "Bytes on the disk that are reserved for when it is full",
    MetricType::Gauge);
  to.add(number(process.disk_reserve_bytes));
  to.begin(
    "codeq_records_evicted_total",
    "Records of ended tasks that were dropped before their retention passed, to make room",
    MetricType::Counter);
  to.add(number(process.records_evicted));
}

void write_limits(families& to, const process_counts& process) {
  to.begin(
    "codeq_limits_met_total",
    "Requests and connections refused, ended or put off at a limit, by the limit's name",
    MetricType::Counter);
  for (const auto& [name, count] : process.limits_met)
    to.add(number(count), {{"limit", name}});
}

} // namespace

std::string metrics_text(const base::coordinator_counts& stats, const process_counts& process) {
  families all;
  write_queues(all, stats.queues);
  write_shards(all, stats);
  write_journal(all, process);
  write_gateway(all, process);
  write_process(all, process);
  write_limits(all, process);
  return all.text();
}

} // namespace codeq::observe
