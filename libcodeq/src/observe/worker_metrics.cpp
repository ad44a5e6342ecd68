// SPDX-License-Identifier: Apache-2.0
#include "observe/worker_metrics.hpp"

#include "observe/metric_families.hpp"

#include <array>

namespace codeq::observe {

namespace {

/// In the order of `disposition`.
constexpr std::array<const char*, base::dispositions> outcome_names{
  "completed", "failed", "failed_permanently", "nack", "abandon", "cancelled", "limited"};

void write_slots(metric_families& to, const base::worker_node_counts& counts) {
  to.begin_gauge("codeq_worker_slots", "Maximum number of tasks that run at once");
  to.add(counts.slots);
  to.begin_gauge("codeq_worker_running", "Tasks that run");
  to.add(counts.running);
  to.begin_gauge("codeq_worker_waiting", "Tasks that wait for a slot");
  to.add(counts.waiting);
  to.begin_gauge("codeq_worker_reports_unanswered", "Reports that wait for a coordinator's answer");
  to.add(counts.unanswered);
  to.begin_gauge("codeq_worker_coordinators", "Configured coordinators");
  to.add(counts.links);
  to.begin_gauge("codeq_worker_coordinators_connected", "Coordinators that are connected");
  to.add(counts.links_up);
  to.begin_gauge("codeq_worker_draining", "1 while the worker drains, otherwise 0");
  to.add(counts.is_draining ? 1.0 : 0.0);
}

void write_attempts(metric_families& to, const base::worker_node_counts& counts) {
  to.begin_counter(
    "codeq_worker_attempts_total", "Attempts that ended, by queue and outcome, since the start");
  for (const auto& [queue, attempts] : counts.queues) {
    for (std::size_t i = 0; i < attempts.ended.size(); ++i)
      to.add(attempts.ended[i], {{"queue", queue}, {"outcome", outcome_names[i]}});
    to.add(attempts.lost, {{"queue", queue}, {"outcome", "lost"}});
  }
  to.begin_histogram(
    "codeq_worker_run_seconds",
    "From the start of the handler to its outcome, by queue, since the start");
  for (const auto& [queue, attempts] : counts.queues)
    to.add(attempts.run, {{"queue", queue}});
}

} // namespace

std::string worker_metrics_text(const base::worker_node_counts& counts) {
  metric_families all;
  write_slots(all, counts);
  write_attempts(all, counts);
  return all.text();
}

} // namespace codeq::observe
