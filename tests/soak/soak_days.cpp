// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "soak/soak_shard.hpp"
#include "storage/retention/retention_keeper.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/task_builder.hpp"
#include "support/temporary_directory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

// The load of a day.

constexpr std::uint32_t batches_per_day = 500;
constexpr std::uint32_t tasks_per_batch = 40;
constexpr duration batch_interval = duration(24h) / batches_per_day;
constexpr std::size_t body_bytes = 256;
constexpr std::size_t result_bytes = 64;
/// One task in so many.
constexpr std::uint32_t dead_part = 100;
constexpr std::uint32_t deferred_part = 100;
constexpr std::uint32_t grouped_part = 1000;
constexpr std::uint32_t keyed_part = 20;
/// Shorter than the days before the first measurement, so that this is one of a steady state.
constexpr duration dead_retention = 4 * 24h;
constexpr duration deferral_max = 4 * 24h;

/// Each of two measurements is the median of so many days, since other programs disturb some.
constexpr std::ptrdiff_t days_measured = 9;
constexpr std::ptrdiff_t early_day = 14;
constexpr std::ptrdiff_t days_min = early_day + days_measured;
constexpr double growth_max = 1.1;
/// The same days have taken from 0.9 to 1.15 times as much CPU, by what else the machine did. What
/// grows with the number of days that a shard has run is beyond this soon.
constexpr double cpu_growth_max = 1.5;

struct measurement {
  /// The mean of the day's hours: compactions take space for minutes and then give some back.
  double disk_bytes = 0;
  double rss_bytes = 0;
  double cpu_us_per_task = 0;
  /// The CPU of the day's tasks as a multiple of the CPU of the reference work beside them.
  double cpu_multiple = 0;
};

double cpu_us() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto us = [](const timeval& t) { return t.tv_sec * 1e6 + static_cast<double>(t.tv_usec); };
  return us(used.ru_utime) + us(used.ru_stime);
}

/// Does the same work each time and returns its CPU time in microseconds, which shows how fast the
/// machine is now. As a shard does, the work looks up and changes ordered entries all over its
/// memory.
double reference_cpu_us() {
  constexpr int entries = 10'000;
  auto began = cpu_us();
  std::mt19937_64 keys{1};
  std::map<std::uint64_t, std::uint64_t> held;
  for (int i = 0; i < entries; ++i)
    held.emplace(keys(), keys());
  while (!held.empty()) {
    auto next = held.upper_bound(keys());
    held.erase(next == held.end() ? held.begin() : next);
  }
  return cpu_us() - began;
}

double rss_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  statm >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// A queue of a shard on real files, to which tasks of all kinds are added day after day.
class soak {
public:
  soak() {
    storage::rocksdb_store_options options;
    options.directory = directory_.path() / "store";
    options.mode = storage::durability::os;
    // Small, so that they are full long before the first measurement.
    options.write_buffer_bytes = 1u << 20;
    options.block_cache_bytes = 4u << 20;
    options.horizons = horizons_;
    auto opened = storage::open_rocksdb_store(options);
    if (!opened)
      throw std::runtime_error(to_string(opened.error()));
    store_ = std::move(*opened);
    keeper_.emplace(storage::retention_keeper_options{store_, horizons_, 10ull << 30, 1u << 20});
    shard_.emplace(store_, horizons_, queue_, [this](const auto& tasks) { take(tasks.granted); });
    session_ = make_producer_id(shard_->now().shard, 1, 2);
    shard_->decide(core::claim{soak_shard::worker, credits_});
  }

  measurement pass_day() {
    auto began = cpu_us();
    double reference = 0;
    double disk_sum = 0;
    int hours = 0;
    for (std::uint32_t i = 0; i < batches_per_day; ++i) {
      shard_->advance(batch_interval);
      add_batch();
      work();
      if (i % (batches_per_day / 24) != 0)
        continue;
      look();
      disk_sum += disk_bytes();
      reference += reference_cpu_us();
      ++hours;
    }
    auto cpu = cpu_us() - began - reference;
    auto tasks = batches_per_day * tasks_per_batch;
    return {disk_sum / hours, rss_bytes(), cpu / tasks, cpu / reference};
  }

  [[nodiscard]] const core::queue_state& queue() const {
    return *shard_->state().find_queue(queue_);
  }

private:
  bool hits(std::uint32_t part) { return random_() % part == 0; }

  void add_batch() {
    core::enqueue c;
    c.peer = soak_shard::producer;
    // A session is forgotten after a day without use, and an old one is not taken for a new one.
    c.request = {session_, ++requests_, requests_};
    std::uint32_t plain = 0;
    for (std::uint32_t i = 0; i < tasks_per_batch; ++i)
      plain += add_special(c) ? 0 : 1;
    add_run(c, plain);
    shard_->decide(c);
  }

  /// Adds a task that is deferred, grouped or keyed; by chance, none.
  bool add_special(core::enqueue& c) {
    bool is_deferred = hits(deferred_part);
    bool is_grouped = hits(grouped_part);
    bool is_keyed = hits(keyed_part);
    if (!is_deferred && !is_grouped && !is_keyed)
      return false;
    auto& run = add_run(c, 1);
    if (is_deferred)
      run.not_before = shard_->now().shard + duration(random_() % deferral_max.count());
    if (is_grouped)
      run.group = "group-" + std::to_string(random_() % 10);
    // One in ten is a duplicate of a recent one.
    if (is_keyed)
      run.key = "key-" + std::to_string(keys_ += hits(10) ? 0 : 1);
    return true;
  }

  core::enqueue_run& add_run(core::enqueue& c, std::uint32_t tasks) {
    auto& run = c.runs.emplace_back();
    run.queue = queue_;
    run.settings.retention = limits::retention_completed_default;
    run.settings.dead_retention = dead_retention;
    run.tasks = encode_bodies(tasks, body_bytes);
    return run;
  }

  void take(const core::tasks_granted& granted) {
    for (const auto& run : granted.runs) {
      for (std::uint32_t i = 0; i < run.count; ++i) {
        auto& report = held_.emplace_back();
        report.seq = run.first + i;
        report.token = fencing_token{value(run.first_token) + i};
        bool is_dead = hits(dead_part);
        report.how = is_dead ? disposition::failed_permanently : disposition::completed;
        report.text = bytes(std::string(result_bytes, is_dead ? 'e' : 'r'));
      }
    }
  }

  /// Ends all leases, and those that the credits given back lead to.
  void work() {
    while (!held_.empty()) {
      core::report c{soak_shard::worker, std::exchange(held_, {})};
      auto ended = static_cast<std::uint32_t>(c.reports.size());
      shard_->decide(c);
      shard_->decide(core::claim{soak_shard::worker, ended});
    }
  }

  void look() {
    if (auto ok = keeper_->look(cancelled_); !ok)
      throw std::runtime_error(to_string(ok.error()));
  }

  [[nodiscard]] double disk_bytes() const {
    double bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / "store")) {
      // RocksDB's messages to operators fill two files of 1 MiB in the course of months.
      if (entry.path().filename().string().starts_with("LOG"))
        continue;
      std::error_code gone;
      auto size = entry.file_size(gone);
      bytes += gone ? 0 : static_cast<double>(size);
    }
    return bytes;
  }

  static constexpr std::uint32_t credits_ = 256;

  const queue_address queue_{.queue = "q"};
  temporary_directory directory_;
  std::shared_ptr<storage::retention_horizons> horizons_ =
    std::make_shared<storage::retention_horizons>();
  std::shared_ptr<storage::task_store> store_;
  std::optional<storage::retention_keeper> keeper_;
  std::optional<soak_shard> shard_;
  std::atomic<bool> cancelled_{false};
  std::mt19937_64 random_{1};
  producer_id session_{};
  std::uint64_t requests_ = 0;
  std::uint64_t keys_ = 0;
  std::vector<core::lease_report> held_;
};

/// The median of a quantity over the days up to `until`.
double
median(const std::vector<measurement>& days, std::ptrdiff_t until, double measurement::*quantity) {
  std::vector<double> values;
  for (auto day = days.begin() + until - days_measured; day != days.begin() + until; ++day)
    values.push_back((*day).*quantity);
  std::sort(values.begin(), values.end());
  return values[days_measured / 2];
}

/// Prints how a quantity grew. False when it grew too much.
bool check(
  const std::vector<measurement>& days,
  const char* what,
  double unit,
  double measurement::*quantity,
  double ratio_max = growth_max) {
  auto early = median(days, early_day, quantity) / unit;
  auto late = median(days, std::ssize(days), quantity) / unit;
  bool is_steady = late <= early * ratio_max;
  auto* verdict = is_steady ? "steady" : "GROWS";
  std::printf("%-16s %6.2f -> %6.2f, ratio %.3f: %s\n", what, early, late, late / early, verdict);
  return is_steady;
}

int run(int days) {
  soak load;
  std::vector<measurement> measured;
  for (int day = 1; day <= days; ++day) {
    measured.push_back(load.pass_day());
    const auto& m = measured.back();
    std::printf(
      "day %3d: %8llu completed, %5zu dead, %5zu scheduled; %6.2f MB on disk, %6.2f MB RSS, "
      "%6.2f us of CPU per task\n",
      day,
      static_cast<unsigned long long>(load.queue().totals.completed),
      static_cast<std::size_t>(load.queue().dead),
      static_cast<std::size_t>(load.queue().scheduled),
      m.disk_bytes / 1e6,
      m.rss_bytes / 1e6,
      m.cpu_us_per_task);
    std::fflush(stdout);
  }
  std::printf(
    "medians of %td days, up to day %td and up to day %d\n", days_measured, early_day, days);
  bool is_steady = check(measured, "disk, MB", 1e6, &measurement::disk_bytes);
  is_steady = check(measured, "RSS, MB", 1e6, &measurement::rss_bytes) && is_steady;
  is_steady =
    check(measured, "CPU, multiple", 1, &measurement::cpu_multiple, cpu_growth_max) && is_steady;
  return is_steady ? 0 : 1;
}

} // namespace
} // namespace codeq::test

int main(int argc, char** argv) {
  int days = argc == 2 ? std::atoi(argv[1]) : 0;
  if (days < codeq::test::days_min) {
    std::fprintf(stderr, "usage: soak_days DAYS, at least %td\n", codeq::test::days_min);
    return 2;
  }
  return codeq::test::run(days);
}
