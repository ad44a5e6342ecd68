// SPDX-License-Identifier: Apache-2.0
#include "backlog/backlog.hpp"

#include "codeq/operator.hpp"
#include "codeq/producer.hpp"

#include "backlog/filler.hpp"
#include "backlog/taker.hpp"

#include <memory>
#include <sstream>
#include <utility>

namespace codeq::bench {

namespace {

/// Tasks that are left to be claimed after the measured ones, for the restart.
constexpr std::size_t spare_tasks = 2'000;

struct claim_figures {
  double per_second = 0;
  /// Of the coordinator, which does as much on a busy machine.
  double cpu_us = 0;
};

struct figures {
  double rss_mib = 0;
  double peak_mib = 0;
  double rss_after_claims_mib = 0;
  double rss_restarted_mib = 0;
  double fill_seconds = 0;
  double fail_seconds = 0;
  claim_figures empty;
  claim_figures full;
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

/// One measurement from an empty store to the end; the steps are in their order.
class backlog_run {
public:
  explicit backlog_run(const backlog_options& options) : options_(options) {}

  result<figures> run();

private:
  result<void> start();
  result<claim_figures> time_claims();
  result<void> build_up();
  result<void> restart();
  result<void> count_lost();
  result<void> note_memory(double& mib_of);

  const backlog_options& options_;
  figures figures_;
  std::optional<cluster> running_;
  std::unique_ptr<producer> producer_;
  std::optional<filler> filler_;
};

result<void> backlog_run::start() {
  auto started = cluster::start(options_.cluster);
  if (!started)
    return started.error();
  running_.emplace(std::move(*started));
  auto connected = producer::connect({.coordinators = {running_->address()}, .name = "filler"});
  if (!connected)
    return connected.error();
  producer_ = std::move(*connected);
  filler_.emplace(*producer_, options_);
  return {};
}

result<claim_figures> backlog_run::time_claims() {
  auto before = running_->coordinator().cpu_time();
  if (!before)
    return before.error();
  auto worker = taker::start(running_->address(), options_, taker::answer::completed);
  if (!worker)
    return worker.error();
  if (auto done = (*worker)->wait_for(options_.claims); !done)
    return done.error();
  auto after = running_->coordinator().cpu_time();
  if (!after)
    return after.error();
  auto claims = static_cast<double>(options_.claims);
  claim_figures figures{
    claims / (*worker)->seconds(),
    std::chrono::duration<double, std::micro>(*after - *before).count() / claims};
  worker->reset();
  return figures;
}

result<void> backlog_run::build_up() {
  auto start = std::chrono::steady_clock::now();
  if (auto filled = filler_->fill(options_.tasks, true); !filled)
    return filled;
  figures_.fill_seconds = seconds_since(start);
  if (options_.state == "pending")
    return {};
  start = std::chrono::steady_clock::now();
  auto worker = taker::start(running_->address(), options_, taker::answer::failed);
  if (!worker)
    return worker.error();
  auto failing = options_.tasks - filler_->scheduled();
  if (auto done = (*worker)->wait_for(failing); !done)
    return done;
  figures_.fail_seconds = seconds_since(start);
  worker->reset();
  // These are claimed while the others wait.
  return filler_->fill(options_.claims + spare_tasks, false);
}

result<void> backlog_run::note_memory(double& mib_of) {
  auto resident = running_->coordinator().resident_bytes();
  if (!resident)
    return resident.error();
  mib_of = mib(*resident);
  return {};
}

result<void> backlog_run::restart() {
  auto start = std::chrono::steady_clock::now();
  if (auto again = running_->restart_coordinator(options_.cluster); !again)
    return again;
  figures_.listening_seconds = seconds_since(start);
  auto worker = taker::start(running_->address(), options_, taker::answer::completed);
  if (!worker)
    return worker.error();
  if (auto done = (*worker)->wait_for(1); !done)
    return done;
  figures_.restart_seconds = std::chrono::duration<double>((*worker)->first_at() - start).count();
  auto used = running_->coordinator().cpu_time();
  if (!used)
    return used.error();
  figures_.restart_cpu_seconds = std::chrono::duration<double>(*used).count();
  return {};
}

result<void> backlog_run::count_lost() {
  auto client = operator_client::connect({.coordinators = {running_->address()}});
  if (!client)
    return client.error();
  auto stats = (*client)->stats();
  if (!stats)
    return stats.error();
  std::uint64_t known = 0;
  for (const auto& queue : stats->queues)
    known +=
      queue.scheduled + queue.gated + queue.ready + queue.leased + queue.completed + queue.dead;
  figures_.lost = static_cast<std::int64_t>(filler_->added()) - static_cast<std::int64_t>(known);
  figures_.packed_mib = static_cast<std::size_t>(stats->gauges["codeq_packed_bytes"]) >> 20;
  for (const auto& id : filler_->sample()) {
    auto status = (*client)->status(id);
    if (!status && status.error().code != errc::unknown_task)
      return status.error();
    figures_.lost += status ? 0 : 1;
    ++figures_.sampled;
  }
  return {};
}

result<figures> backlog_run::run() {
  if (auto ok = start(); !ok)
    return ok.error();
  if (auto ok = filler_->fill(options_.claims + spare_tasks, false); !ok)
    return ok.error();
  const error interrupted{errc::going_away, "interrupted"};
  if (!pause(options_.settle))
    return interrupted;
  auto empty = time_claims();
  if (!empty)
    return empty.error();
  if (auto ok = build_up(); !ok)
    return ok.error();
  if (!pause(options_.settle))
    return interrupted;
  if (auto ok = note_memory(figures_.rss_mib); !ok)
    return ok.error();
  auto full = time_claims();
  if (!full)
    return full.error();
  if (auto ok = note_memory(figures_.rss_after_claims_mib); !ok)
    return ok.error();
  auto peak = running_->coordinator().peak_resident_bytes();
  if (!peak)
    return peak.error();
  figures_.peak_mib = mib(*peak);
  figures_.empty = *empty;
  figures_.full = *full;
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
       << o.batch << R"(,"claims":)" << o.claims << R"(,"shards":)" << o.cluster.shards
       << R"(,"slots":)" << o.cluster.slots << R"(,"prefetch":)" << o.cluster.prefetch
       << R"(,"settle_ms":)" << o.settle.count() << R"(,"rss_mib":)" << f.rss_mib
       << R"(,"rss_peak_mib":)" << f.peak_mib << R"(,"rss_after_claims_mib":)"
       << f.rss_after_claims_mib << R"(,"rss_restarted_mib":)" << f.rss_restarted_mib
       << R"(,"packed_mib":)" << f.packed_mib << R"(,"claim_rate_empty":)" << f.empty.per_second
       << R"(,"claim_rate_full":)" << f.full.per_second << R"(,"claim_cpu_us_empty":)"
       << f.empty.cpu_us << R"(,"claim_cpu_us_full":)" << f.full.cpu_us
       << R"(,"restart_first_claim_s":)" << f.restart_seconds << R"(,"restart_listening_s":)"
       << f.listening_seconds << R"(,"restart_cpu_s":)" << f.restart_cpu_seconds
       << R"(,"fill_seconds":)" << f.fill_seconds << R"(,"fail_seconds":)" << f.fail_seconds
       << R"(,"lost":)" << f.lost << R"(,"lost_counted_by":"counters and sample","sampled":)"
       << f.sampled << '}';
  return line.str();
}

result<std::string> measure_backlog(const backlog_options& options) {
  auto measured = backlog_run(options).run();
  if (!measured)
    return measured.error();
  return to_json(options, *measured);
}

config::option state_option(std::string& target) {
  return {
    .name = "state",
    .value = "pending|retrying",
    .help = "What the tasks wait for: a worker, or their next attempt [default: pending]",
    .take = [&target](const std::string& text) -> result<void> {
      auto choice = config::parse_choice(text, {"pending", "retrying"});
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
     seconds_option("settle", "How long to wait before, in seconds [default: 12]", to.settle),
     count_option("slots", "Slots of the worker [default: 16]", cluster.slots, {1, 4096}),
     count_option(
       "prefetch", "Tasks the worker takes beyond [default: 512]", cluster.prefetch, {0, 4096}),
     count_option("shards", "Shards of the coordinator [default: 4]", cluster.shards, {1, 1024}),
     durability_option(cluster.durability, "os")}};
  return {std::move(entry), [options] { return measure_backlog(*options); }};
}

} // namespace codeq::bench
