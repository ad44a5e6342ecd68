// SPDX-License-Identifier: Apache-2.0
#include "cycle/cycle.hpp"

#include "codeq/operator.hpp"
#include "codeq/producer.hpp"

#include "dashboard/open_dashboards.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

#include <sys/resource.h>

namespace codeq::bench {

namespace {

using steady = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr auto silence_max = std::chrono::seconds(30);
/// Interval at which the number of results is read, and thus the resolution of the measured time. A
/// shard counts a result when it decides on it, one commit before the acknowledgement.
constexpr auto look_interval = std::chrono::milliseconds(5);
constexpr std::size_t number_digits = 16;
constexpr auto limit_name = "cycle";
constexpr std::size_t samples = 200;

/// The payload of task `number`: it begins with the number, which is also the task's result.
std::string payload_of(std::size_t number, std::size_t bytes) {
  auto digits = std::to_string(number);
  std::string payload = std::string(number_digits - digits.size(), '0') + digits;
  payload.resize(std::max(bytes, number_digits), 'x');
  return payload;
}

/// Progress of the producers; updated from their threads.
class progress {
public:
  explicit progress(std::size_t tasks) : ids_(tasks) {}

  void accepted(std::size_t first, const std::vector<task_id>& ids) {
    std::lock_guard lock(mutex_);
    std::copy(ids.begin(), ids.end(), ids_.begin() + static_cast<std::ptrdiff_t>(first));
    last_accepted_ = steady::now();
    accepted_ += ids.size();
    changed_.notify_one();
  }

  void ended(const result<ended_task>& end) {
    std::lock_guard lock(mutex_);
    completed_ += end && end->state == task_state::completed ? 1 : 0;
    ++ended_;
    changed_.notify_one();
  }

  void failed(const error& why) {
    std::lock_guard lock(mutex_);
    failure_ = why;
    changed_.notify_one();
  }

  /// Errors: of a request, or that there was no more progress.
  result<void> wait_for_accepted() { return wait(accepted_); }

  result<void> wait_for_ends() { return wait(ended_); }

  [[nodiscard]] std::size_t completed() const { return completed_; }

  [[nodiscard]] steady::time_point last_accepted() const { return last_accepted_; }

  [[nodiscard]] const std::vector<task_id>& ids() const { return ids_; }

private:
  result<void> wait(const std::size_t& count) {
    std::unique_lock lock(mutex_);
    while (count < ids_.size() && failure_.code == errc::none)
      if (changed_.wait_for(lock, silence_max) == std::cv_status::timeout)
        return error{errc::timeout, "nothing happened any more after " + std::to_string(count)};
    if (failure_.code != errc::none)
      return failure_;
    return {};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<task_id> ids_;
  std::size_t accepted_ = 0;
  std::size_t ended_ = 0;
  std::size_t completed_ = 0;
  steady::time_point last_accepted_;
  error failure_;
};

task_spec make_task(const cycle_options& options, std::size_t number) {
  task_spec task;
  task.queue = options.queue;
  task.payload = payload_of(number, options.payload);
  if (options.limit_keys > 0)
    task.limits = {{limit_name, std::to_string(number % options.limit_keys), 1}};
  if (options.fairness_keys > 0)
    task.fairness_key = std::to_string(number % options.fairness_keys);
  return task;
}

/// Tells what became of a batch that begins with task `at`, whose tasks may be on several shards.
void tell(progress& told, std::size_t at, const enqueue_answers& answers) {
  std::vector<task_id> ids;
  for (const auto& answer : answers) {
    if (!answer)
      return told.failed(answer.error());
    ids.push_back(answer->id);
  }
  told.accepted(at, ids);
}

/// Enqueues tasks first .. last - 1 in batches.
void produce(
  producer& to, const cycle_options& options, progress& told, std::size_t first, std::size_t last) {
  for (auto at = first; at < last; at += options.batch) {
    std::vector<task_spec> batch;
    for (auto number = at; number < std::min(at + options.batch, last); ++number)
      batch.push_back(make_task(options, number));
    if (options.limit_keys > 0) {
      to.enqueue(std::move(batch), [&told, at](const enqueue_answers& answers) {
        tell(told, at, answers);
      });
      continue;
    }
    to.enqueue_all_or_none(std::move(batch), [&told, at](const result<std::vector<task_id>>& ids) {
      ids ? told.accepted(at, *ids) : told.failed(ids.error());
    });
  }
}

/// Returns when as many results are acknowledged. Reads the coordinator's counter, because awaiting
/// each end would add work that most users, and the compared systems, do not have.
result<void> wait_for_results(operator_client& client, std::size_t tasks) {
  std::uint64_t before = 0;
  auto last_change = steady::now();
  for (;;) {
    auto stats = client.stats();
    if (!stats)
      return stats.error();
    std::uint64_t ended = 0;
    for (const auto& queue : stats->queues)
      ended += queue.completed + queue.dead;
    if (ended >= tasks)
      return {};
    if (std::exchange(before, ended) != ended)
      last_change = steady::now();
    if (steady::now() - last_change > silence_max)
      return error{errc::timeout, "nothing happened any more after " + std::to_string(ended)};
    std::this_thread::sleep_for(look_interval);
  }
}

nanoseconds own_cpu() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto of = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

/// CPU time of every process; that of this one is the producers'.
struct used_cpu {
  nanoseconds coordinators{0};
  nanoseconds workers{0};
  nanoseconds producers = own_cpu();

  [[nodiscard]] nanoseconds total() const { return coordinators + workers + producers; }
};

result<used_cpu> read_cpu(const cycle_options& options, cluster& running) {
  if (auto fine = running.check_running(); !fine)
    return fine.error();
  used_cpu sum;
  const auto& processes = running.processes();
  for (std::size_t i = 0; i < processes.size(); ++i) {
    auto used = processes[i].cpu_time();
    if (!used)
      return used.error();
    (i < options.cluster.coordinators ? sum.coordinators : sum.workers) += *used;
  }
  return sum;
}

double seconds_of(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// Memory of all coordinators, in bytes.
result<std::size_t> resident_bytes(const cycle_options& options, cluster& running) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < options.cluster.coordinators; ++i) {
    const auto used = running.processes()[i].resident_bytes();
    if (!used)
      return used.error();
    sum += *used;
  }
  return sum;
}

/// Compares a sample of stored results with the expected ones.
result<std::size_t> verify(operator_client& client, const progress& told) {
  auto step = std::max<std::size_t>(told.ids().size() / samples, 1);
  std::size_t verified = 0;
  for (std::size_t number = 0; number < told.ids().size(); number += step, ++verified) {
    auto status = client.status(told.ids()[number]);
    if (!status)
      return status.error();
    if (status->result != payload_of(number, number_digits))
      return error{errc::corruption, "the result of task " + std::to_string(number) + " is wrong"};
  }
  return verified;
}

std::string to_json(const cycle_options& o, const cycle_figures& f) {
  auto tasks = static_cast<double>(f.tasks);
  std::ostringstream line;
  line << R"({"bench":"cycle","durability":")" << o.cluster.durability << R"(","tasks":)" << o.tasks
       << R"(,"payload":)" << o.payload << R"(,"producers":)" << o.producers << R"(,"batch":)"
       << o.batch << R"(,"window":)" << o.window << R"(,"workers":)" << o.cluster.workers
       << R"(,"slots":)" << o.cluster.slots << R"(,"prefetch":)" << o.cluster.prefetch
       << R"(,"shards":)" << o.cluster.shards << R"(,"coordinators":)"
       << o.cluster.coordinators << R"(,"replicas":)" << o.cluster.replicas
       << R"(,"fairness_keys":)" << o.fairness_keys << R"(,"dashboards":)"
       << o.dashboards << R"(,"dashboard_bytes":)" << f.dashboard_bytes
       << R"(,"tasks_per_s":)" << f.tasks_per_s()
       << R"(,"enqueued_per_s":)" << tasks / f.enqueue_seconds << R"(,"completed":)" << f.completed
       << R"(,"verified":)" << f.verified << R"(,"seconds":)" << f.seconds
       << R"(,"cpu_us_per_task":)" << f.cpu_seconds * 1e6 / tasks
       << R"(,"coordinator_us_per_task":)" << f.coordinator_cpu_seconds * 1e6 / tasks
       << R"(,"worker_us_per_task":)" << f.worker_cpu_seconds * 1e6 / tasks
       << R"(,"record_ops_per_task":)" << static_cast<double>(f.record_ops) / tasks
       << R"(,"log_bytes_per_task":)"
       << static_cast<double>(f.log_bytes) / tasks << R"(,"table_bytes_per_task":)"
       << static_cast<double>(f.table_bytes) / tasks << R"(,"rss_coordinator_mib":)"
       << (f.resident_bytes >> 20) << '}';
  return line.str();
}

using producers = std::vector<std::unique_ptr<producer>>;

result<producers> connect_producers(const cycle_options& options, const std::string& address) {
  producers made;
  for (std::size_t i = 0; i < options.producers; ++i) {
    auto p = producer::connect(
      {.coordinators = {address},
       .name = "p" + std::to_string(i + 1),
       .window_requests = std::max<std::size_t>(options.window / options.batch, 1)});
    if (!p)
      return p.error();
    made.push_back(std::move(*p));
  }
  return made;
}

/// The measured part: from the first enqueue to the last acknowledged result.
result<cycle_figures> run_measured(
  const cycle_options& options,
  cluster& running,
  const producers& to,
  operator_client& client,
  progress& told) {
  auto cpu_before = read_cpu(options, running);
  auto start = steady::now();
  std::vector<std::thread> threads;
  auto share = (options.tasks + to.size() - 1) / to.size();
  for (std::size_t i = 0; i < to.size(); ++i) {
    threads.emplace_back([&, i] {
      auto first = std::min(i * share, options.tasks);
      produce(*to[i], options, told, first, std::min(first + share, options.tasks));
    });
  }
  for (auto& thread : threads)
    thread.join();
  if (auto ok = told.wait_for_accepted(); !ok)
    return ok.error();
  if (auto ok = wait_for_results(client, options.tasks); !ok)
    return ok.error();
  cycle_figures f;
  f.tasks = options.tasks;
  f.seconds = std::chrono::duration<double>(steady::now() - start).count();
  f.enqueue_seconds = std::chrono::duration<double>(told.last_accepted() - start).count();
  auto cpu_after = read_cpu(options, running);
  if (!cpu_before || !cpu_after)
    return cpu_before ? cpu_after.error() : cpu_before.error();
  f.cpu_seconds = seconds_of(cpu_after->total() - cpu_before->total());
  f.coordinator_cpu_seconds = seconds_of(cpu_after->coordinators - cpu_before->coordinators);
  f.worker_cpu_seconds = seconds_of(cpu_after->workers - cpu_before->workers);
  return f;
}

/// Reads back how every task ended.
result<std::size_t> count_completed(const producers& to, progress& told) {
  to.front()->await(told.ids(), [&told](const result<ended_task>& end) { told.ended(end); });
  if (auto ok = told.wait_for_ends(); !ok)
    return ok.error();
  return told.completed();
}

result<cycle_figures>
run(const cycle_options& options, cluster& running, operator_client& client, progress& told) {
  auto to = connect_producers(options, running.address());
  if (!to)
    return to.error();
  auto f = run_measured(options, running, *to, client, told);
  if (!f)
    return f;
  auto completed = count_completed(*to, told);
  if (!completed)
    return completed.error();
  f->completed = *completed;
  return f;
}

} // namespace

result<cycle_figures> run_cycle(const cycle_options& options) {
  auto around = options.cluster;
  if (options.batch == 1)
    around.worker_batch = 1;
  around.http = around.http || options.dashboards > 0;
  auto running = cluster::start(around);
  if (!running)
    return running.error();
  open_dashboards watching;
  if (auto opened = watching.open(running->http_port(), options.dashboards); !opened)
    return opened.error();
  auto client = operator_client::connect({.coordinators = {running->address()}});
  if (!client)
    return client.error();
  auto before = (*client)->stats();
  if (!before)
    return before.error();
  if (options.limit_keys > 0)
    if (auto set = (*client)->set_limit({.name = limit_name}, {.concurrency = 1}); !set)
      return set.error();
  progress told(options.tasks);
  auto f = run(options, *running, **client, told);
  if (!f)
    return f.error();
  auto watched = watching.close();
  if (!watched)
    return watched.error();
  f->dashboard_bytes = *watched;
  auto verified = verify(**client, told);
  if (!verified)
    return verified.error();
  f->verified = *verified;
  auto after = (*client)->stats();
  auto rss = resident_bytes(options, *running);
  if (!after || !rss)
    return after ? rss.error() : after.error();
  auto grown = [&](const std::string& counter) {
    auto name = "codeq_store_" + counter + "_total";
    return after->gauges[name] - before->gauges[name];
  };
  f->record_ops = grown("keys_written");
  f->log_bytes = grown("wal_bytes");
  f->table_bytes = grown("flush_bytes") + grown("compaction_bytes");
  f->resident_bytes = *rss;
  if (f->completed != options.tasks)
    return error{errc::unavailable, "not all completed: " + to_json(options, *f)};
  return *f;
}

result<std::string> measure_cycle(const cycle_options& options) {
  auto f = run_cycle(options);
  if (!f)
    return f.error();
  return to_json(options, *f);
}

} // namespace codeq::bench
