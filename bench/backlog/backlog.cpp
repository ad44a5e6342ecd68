// SPDX-License-Identifier: Apache-2.0
#include "backlog/backlog.hpp"

#include "codeq/operator.hpp"

#include "backlog/claim_rounds.hpp"
#include "backlog/disk_demand.hpp"
#include "backlog/filled_cluster.hpp"
#include "backlog/taker.hpp"

#include <memory>
#include <sstream>
#include <utility>

namespace codeq::bench {

namespace {

struct figures {
  double rss_mib = 0;
  double peak_mib = 0;
  double rss_after_claims_mib = 0;
  double rss_restarted_mib = 0;
  double fill_seconds = 0;
  double fail_seconds = 0;
  claim_comparison claims;
  double restart_seconds = 0;
  double listening_seconds = 0;
  double restart_cpu_seconds = 0;
  std::int64_t lost = 0;
  std::size_t sampled = 0;
  std::size_t packed_mib = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1u << 20);
}

/// One measurement, from an empty store to the end. The functions are in the order of its steps.
class backlog_run {
public:
  explicit backlog_run(const backlog_options& options) : options_(options) {}

  result<figures> run();

private:
  result<void> build_up();
  result<void> restart();
  result<void> count_lost();
  result<void> note_memory(double& mib_of);

  const backlog_options& options_;
  figures figures_;
  std::unique_ptr<filled_cluster> filled_;
};

result<void> backlog_run::build_up() {
  auto start = std::chrono::steady_clock::now();
  if (auto filled = filled_->filler().fill(options_.tasks, true); !filled)
    return filled;
  figures_.fill_seconds = seconds_since(start);
  if (options_.state != "retrying")
    return {};
  start = std::chrono::steady_clock::now();
  auto worker = taker::start(filled_->running().address(), options_, taker::answer::failed);
  if (!worker)
    return worker.error();
  auto failing = options_.tasks - filled_->filler().scheduled();
  if (auto done = (*worker)->wait_for(failing); !done)
    return done;
  figures_.fail_seconds = seconds_since(start);
  worker->reset();
  // At least one task is claimed after the restart, while the others wait.
  return filled_->filler().fill(options_.spare(), false);
}

result<void> backlog_run::note_memory(double& mib_of) {
  auto resident = filled_->coordinator().resident_bytes();
  if (!resident)
    return resident.error();
  mib_of = mib(*resident);
  return {};
}

result<void> backlog_run::restart() {
  auto start = std::chrono::steady_clock::now();
  if (auto again = filled_->running().restart_coordinator(options_.cluster); !again)
    return again;
  figures_.listening_seconds = seconds_since(start);
  auto worker = taker::start(filled_->running().address(), options_, taker::answer::completed);
  if (!worker)
    return worker.error();
  if (auto done = (*worker)->wait_for(1); !done)
    return done;
  figures_.restart_seconds = std::chrono::duration<double>((*worker)->first_at() - start).count();
  auto used = filled_->coordinator().cpu_time();
  if (!used)
    return used.error();
  figures_.restart_cpu_seconds = std::chrono::duration<double>(*used).count();
  return {};
}

result<void> backlog_run::count_lost() {
  auto client = operator_client::connect({.coordinators = {filled_->running().address()}});
  if (!client)
    return client.error();
  auto stats = (*client)->stats();
  if (!stats)
    return stats.error();
  std::uint64_t known = 0;
  for (const auto& queue : stats->queues)
    known +=
      queue.scheduled + queue.gated + queue.ready + queue.leased + queue.completed + queue.dead;
  figures_.lost =
    static_cast<std::int64_t>(filled_->filler().added()) - static_cast<std::int64_t>(known);
  figures_.packed_mib = static_cast<std::size_t>(stats->gauges["codeq_packed_bytes"]) >> 20;
  for (const auto& id : filled_->filler().sample()) {
    auto status = (*client)->status(id);
    if (!status && status.error().code != errc::unknown_task)
      return status.error();
    figures_.lost += status ? 0 : 1;
    ++figures_.sampled;
  }
  return {};
}

result<figures> backlog_run::run() {
  const error interrupted{errc::going_away, "interrupted"};
  if (auto ok = check_disk(options_); !ok)
    return ok.error();
  auto started = filled_cluster::start(options_);
  if (!started)
    return started.error();
  filled_ = std::move(*started);
  if (auto ok = build_up(); !ok)
    return ok.error();
  if (!pause(options_.settle))
    return interrupted;
  if (auto ok = note_memory(figures_.rss_mib); !ok)
    return ok.error();
  auto compared = compare_claims(*filled_, options_);
  if (!compared)
    return compared.error();
  figures_.claims = *compared;
  if (auto ok = note_memory(figures_.rss_after_claims_mib); !ok)
    return ok.error();
  auto peak = filled_->coordinator().peak_resident_bytes();
  if (!peak)
    return peak.error();
  figures_.peak_mib = mib(*peak);
  if (auto ok = restart(); !ok)
    return ok.error();
  if (!pause(options_.settle))
    return interrupted;
  if (auto ok = note_memory(figures_.rss_restarted_mib); !ok)
    return ok.error();
  if (auto ok = count_lost(); !ok)
    return ok.error();
  return figures_;
}

std::string to_json(const backlog_options& o, const figures& f) {
  std::ostringstream line;
  line << R"({"bench":"backlog","state":")" << o.state << R"(","durability":")"
       << o.cluster.durability << R"(","tasks":)" << o.tasks << R"(,"payload":)" << o.payload
       << R"(,"queues":)" << o.queues << R"(,"priorities":)" << o.priorities << R"(,"batch":)"
       << o.batch << R"(,"claims":)" << o.claims << R"(,"rounds":)" << o.rounds << R"(,"shards":)"
       << o.cluster.shards << R"(,"slots":)" << o.cluster.slots << R"(,"prefetch":)"
       << o.cluster.prefetch << R"(,"settle_ms":)" << o.settle.count() << R"(,"rss_mib":)"
       << f.rss_mib << R"(,"rss_peak_mib":)" << f.peak_mib << R"(,"rss_after_claims_mib":)"
       << f.rss_after_claims_mib << R"(,"rss_restarted_mib":)" << f.rss_restarted_mib
       << R"(,"packed_mib":)" << f.packed_mib << R"(,"claim_rate_empty":)"
       << f.claims.empty.per_second << R"(,"claim_rate_full":)" << f.claims.full.per_second
       << R"(,"claim_ratio":)" << f.claims.ratio << R"(,"claim_cpu_us_empty":)"
       << f.claims.empty.cpu_us << R"(,"claim_cpu_us_full":)" << f.claims.full.cpu_us
       << R"(,"restart_first_claim_s":)" << f.restart_seconds << R"(,"restart_listening_s":)"
       << f.listening_seconds << R"(,"restart_cpu_s":)" << f.restart_cpu_seconds
       << R"(,"fill_seconds":)" << f.fill_seconds << R"(,"fail_seconds":)" << f.fail_seconds
       << R"(,"lost":)" << f.lost << R"(,"lost_counted_by":"counters and sample","sampled":)"
       << f.sampled << '}';
  return line.str();
}

result<std::string> measure_backlog(const backlog_options& options) {
  if (options.state != "retrying" && options.tasks / 10 * 9 < options.claimed())
    return error{
      errc::invalid_argument,
      "--tasks " + std::to_string(options.tasks) + " are too few: a tenth is scheduled, and "
        + std::to_string(options.claimed()) + " are claimed in --rounds of --claims"};
  auto measured = backlog_run(options).run();
  if (!measured)
    return measured.error();
  return to_json(options, *measured);
}

config::option state_option(std::string& target) {
  return {
    .name = "state",
    .value = "pending|keyed|grouped|retrying",
    .help = "What the tasks are: waiting for a worker, with keys or groups, or waiting for their "
            "next attempt [default: pending]",
    .take = [&target](const std::string& text) -> result<void> {
      auto choice = config::parse_choice(text, {"pending", "keyed", "grouped", "retrying"});
      if (!choice)
        return choice.error();
      target = text;
      return {};
    }};
}

} // namespace

measurement backlog_measurement() {
  auto options = std::make_shared<backlog_options>();
  auto& to = *options;
  auto& cluster = to.cluster;
  config::command entry{
    "backlog",
    "Memory, claims per second and the time of a restart with many waiting tasks",
    {count_option("tasks", "Tasks in all [default: 1000000]", to.tasks, {1, 100'000'000}),
     state_option(to.state),
     count_option("payload", "Bytes of each payload [default: 256]", to.payload, {0, 1 << 20}),
     count_option("queues", "Queues [default: 4]", to.queues, {1, 1000}),
     count_option("priorities", "Priorities of each queue [default: 3]", to.priorities, {1, 10}),
     count_option("batch", "Tasks of a batch [default: 64]", to.batch, {1, 1000}),
     count_option(
       "claims", "Tasks claimed to time it [default: 100000]", to.claims, {1, 10'000'000}),
     count_option(
       "rounds",
       "Times that is done, with few tasks and many in turn [default: 3]",
       to.rounds,
       {1, 99}),
     seconds_option("settle", "How long to wait before, in seconds [default: 12]", to.settle),
     count_option("slots", "Slots of the worker [default: 16]", cluster.slots, {1, 4096}),
     count_option(
       "prefetch", "Tasks the worker takes beyond [default: 512]", cluster.prefetch, {0, 4096}),
     count_option("shards", "Shards of the coordinator [default: 4]", cluster.shards, {1, 1024}),
     durability_option(cluster.durability, "os")}};
  return {std::move(entry), [options] { return measure_backlog(*options); }};
}

} // namespace codeq::bench
