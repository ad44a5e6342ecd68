// SPDX-License-Identifier: Apache-2.0
#include "fairness/fairness.hpp"

#include "fairness/key_shard.hpp"
#include "load/percentiles.hpp"
#include "load/processes.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <queue>
#include <sstream>
#include <utility>

#include <unistd.h>

namespace codeq::bench {

namespace {

using steady = std::chrono::steady_clock;

constexpr std::uint32_t request_tasks = 1000;
constexpr duration short_run{10};
constexpr duration long_run{100};
/// How long the flood is served before the others come.
constexpr duration flood_lead{1000};
constexpr std::uint32_t batch = 64;

struct fairness_options {
  std::size_t flood_tasks = 1'000'000;
  /// Number of keys over which the flood of a tenant is spread.
  std::size_t flood_customers = 10'000;
  std::size_t others = 999;
  std::uint32_t tasks_of_other = 10;
  std::uint32_t slots = 64;
  /// Tasks of the flood that a limit holds back.
  std::size_t limited_tasks = 100'000;
  /// For the rate of claims.
  std::size_t claimed_tasks = 200'000;
  std::size_t claim_keys = 1000;
  /// For the memory.
  std::size_t waiting_tasks = 1'000'000;
  std::size_t waiting_keys = 100'000;
};

/// The number of tasks that a flood needs to be there still when the others come.
std::size_t flood_tasks_min(const fairness_options& o) {
  return o.slots * static_cast<std::size_t>(flood_lead / long_run + 1);
}

/// Enqueues tasks whose keys take turns.
void fill(
  key_shard& shard, std::size_t tasks, std::size_t keys, const std::string& prefix,
  std::uint32_t of_key_at_once) {
  key_shard::keyed_tasks request;
  std::uint32_t in_request = 0;
  for (std::size_t i = 0; i < tasks; i += of_key_at_once) {
    auto key = keys == 0 ? std::string() : prefix + std::to_string(i / of_key_at_once % keys);
    request.emplace_back(std::move(key), of_key_at_once);
    in_request += of_key_at_once;
    if (in_request >= request_tasks || i + of_key_at_once >= tasks) {
      shard.enqueue(request);
      request.clear();
      in_request = 0;
    }
  }
}

/// Workers with a fixed number of slots, which run tasks in virtual time.
class slot_simulation {
public:
  slot_simulation(key_shard& shard, std::uint32_t slots) : shard_(shard), free_(slots) {}

  /// Tasks from this one on are the others'; earlier ones are of the flood.
  void begin_others(sequence first) { others_from_ = first; }

  /// Grants what the slots allow, then lets time pass until the next task ends.
  void step() {
    if (free_ > claimed_)
      start(shard_.claim(free_ - std::exchange(claimed_, free_)));
    if (running_.empty())
      return;
    auto end = running_.top().end;
    shard_.advance(end - shard_.now());
    std::vector<core::task_lease> ended;
    for (; !running_.empty() && running_.top().end == end; running_.pop())
      ended.push_back(running_.top().lease);
    free_ += static_cast<std::uint32_t>(ended.size());
    start(shard_.complete(std::move(ended)));
  }

  [[nodiscard]] const std::vector<std::chrono::nanoseconds>& waits() const { return waits_; }

private:
  struct running_task {
    timestamp end;
    core::task_lease lease;

    bool operator<(const running_task& other) const { return end > other.end; }
  };

  void start(const key_shard::granted_runs& granted) {
    for (const auto& run : granted)
      start(run);
  }

  void start(const core::granted_run& run) {
    bool is_flood = run.first < others_from_;
    for (std::uint32_t i = 0; i < run.count; ++i) {
      fencing_token token{value(run.first_token) + i};
      running_.push({shard_.now() + (is_flood ? long_run : short_run), {run.first + i, token}});
      if (!is_flood)
        waits_.push_back(shard_.now() - run.enqueued_at);
    }
    free_ -= run.count;
    claimed_ -= run.count;
  }

  key_shard& shard_;
  std::uint32_t free_;
  /// The free slots that the shard knows of.
  std::uint32_t claimed_ = 0;
  sequence others_from_ = ~sequence{0};
  std::priority_queue<running_task> running_;
  std::vector<std::chrono::nanoseconds> waits_;
};

/// The waits of the tasks of small keys beside a flood of `customers` keys of one tenant; 0: there
/// is no flood. `is_limited`: a limit lets as many tasks run as there are slots otherwise.
percentiles waits_beside(const fairness_options& o, std::size_t customers, bool is_limited) {
  key_shard shard(is_limited ? std::optional(o.slots) : std::nullopt);
  slot_simulation slots(shard, is_limited ? 2 * o.slots : o.slots);
  if (customers > 0) {
    auto at_once = static_cast<std::uint32_t>(customers == 1 && !is_limited ? request_tasks : 1);
    auto tasks = is_limited ? o.limited_tasks : o.flood_tasks;
    fill(shard, tasks, customers, "flood/", at_once);
  }
  for (auto end = shard.now() + flood_lead; customers > 0 && shard.now() < end;)
    slots.step();
  slots.begin_others(shard.next_sequence());
  auto tasks = o.others * o.tasks_of_other;
  fill(shard, tasks, o.others, "small-", 1);
  while (slots.waits().size() < tasks)
    slots.step();
  return percentiles_of(slots.waits());
}

/// Claims per second, with `at_once` tasks in each, of tasks of so many keys; each is completed.
double claim_rate(const fairness_options& o, std::size_t keys, std::uint32_t at_once) {
  key_shard shard;
  fill(shard, o.claimed_tasks, keys, "key-", 100);
  std::size_t claimed = 0;
  std::chrono::duration<double> took{0};
  while (claimed < o.claimed_tasks) {
    auto begin = steady::now();
    auto granted = shard.claim(at_once);
    took += steady::now() - begin;
    std::vector<core::task_lease> leases;
    for (const auto& run : granted)
      for (std::uint32_t i = 0; i < run.count; ++i)
        leases.push_back({run.first + i, fencing_token{value(run.first_token) + i}});
    claimed += leases.size();
    shard.advance(duration{1});
    shard.complete(std::move(leases));
  }
  return static_cast<double>(claimed) / took.count();
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  constexpr double mib = 1 << 20;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / mib;
}

/// Resident memory of this process with many waiting tasks of many keys.
double waiting_mib(const fairness_options& o) {
  key_shard shard;
  fill(shard, o.waiting_tasks, o.waiting_keys, "tenant-1/customer-", 1);
  return resident_mib();
}

std::string measure(const fairness_options& o) {
  // First, since memory that was freed stays with the process.
  auto waiting = waiting_mib(o);
  auto alone = waits_beside(o, 0, false);
  auto one_key = waits_beside(o, 1, false);
  auto tenant = waits_beside(o, o.flood_customers, false);
  auto limited_alone = waits_beside(o, 0, true);
  auto limited = waits_beside(o, 1, true);
  auto claims = claim_rate(o, 0, batch);
  auto keyed_claims = claim_rate(o, o.claim_keys, batch);
  auto single = claim_rate(o, 0, 1);
  auto keyed_single = claim_rate(o, o.claim_keys, 1);
  std::ostringstream line;
  line << R"({"bench":"fairness","flood_tasks":)" << o.flood_tasks << R"(,"others":)" << o.others
       << R"(,"slots":)" << o.slots << ',' << to_members(alone, "alone_") << ','
       << to_members(one_key, "flood_") << ',' << to_members(tenant, "tenant_flood_") << ','
       << to_members(limited_alone, "limited_alone_") << ','
       << to_members(limited, "limited_flood_") << R"(,"flood_ratio":)"
       << one_key.p99 / alone.p99 << R"(,"tenant_flood_ratio":)" << tenant.p99 / alone.p99
       << R"(,"limited_flood_ratio":)" << limited.p99 / limited_alone.p99
       << R"(,"claims_per_s":)" << single << R"(,"keyed_claims_per_s":)"
       << keyed_single << R"(,"claims_ratio":)" << keyed_single / single
       << R"(,"batched_tasks_per_s":)" << claims << R"(,"keyed_batched_tasks_per_s":)"
       << keyed_claims << R"(,"batched_ratio":)" << keyed_claims / claims << R"(,"waiting_keys":)"
       << o.waiting_keys << R"(,"waiting_tasks":)" << o.waiting_tasks << R"(,"rss_mib":)"
       << waiting << '}';
  return line.str();
}

} // namespace

measurement fairness_measurement() {
  auto options = std::make_shared<fairness_options>();
  constexpr config::count_range any{1, 10'000'000};
  const config::count_range flood{flood_tasks_min(*options), 10'000'000};
  return {
    {"fairness",
     "Waits of small fairness keys beside a flood, in virtual time; claims per second and memory "
     "with many keys; one shard, in this process",
     {count_option(
        "flood-tasks", "Tasks of the flood [default: 1000000]", options->flood_tasks, flood),
      count_option(
        "flood-customers",
        "Keys of the flood of one tenant [default: 10000]",
        options->flood_customers,
        any),
      count_option(
        "limited-tasks",
        "Tasks of the flood that a limit holds back [default: 100000]",
        options->limited_tasks,
        flood),
      count_option("others", "Other keys, with 10 tasks each [default: 999]", options->others, any),
      count_option(
        "claimed-tasks",
        "Tasks for the rate of claims [default: 200000]",
        options->claimed_tasks,
        any),
      count_option(
        "claim-keys", "Keys for the rate of claims [default: 1000]", options->claim_keys, any),
      count_option(
        "waiting-tasks", "Tasks for the memory [default: 1000000]", options->waiting_tasks, any),
      count_option(
        "waiting-keys", "Keys for the memory [default: 100000]", options->waiting_keys, any)}},
    [options] { return result<std::string>(measure(*options)); }};
}

} // namespace codeq::bench
