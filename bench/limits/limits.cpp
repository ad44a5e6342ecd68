// SPDX-License-Identifier: Apache-2.0
#include "limits/limits.hpp"

#include "cycle/cycle.hpp"
#include "limits/rate.hpp"

#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

namespace codeq::bench {

namespace {

struct limits_options {
  /// 64 slots of two workers.
  cycle_options cycle = {.cluster = {.slots = 32, .prefetch = 512, .shards = 2}, .tasks = 100'000};
  std::size_t keys = 100'000;
  std::size_t rounds = 3;
  rate_options rate{};
};

/// The cycles of one round, one after the other.
struct round_figures {
  cycle_figures limited{};
  cycle_figures unlimited{};

  [[nodiscard]] double ratio() const { return limited.tasks_per_s() / unlimited.tasks_per_s(); }
};

/// The figures of one kind of cycle, with that prefix in their names.
void write_cycle(std::ostream& line, const std::string& prefix, const cycle_figures& f) {
  auto tasks = static_cast<double>(f.tasks);
  line << R"(,")" << prefix << R"(_tasks_per_s":)" << f.tasks_per_s() << R"(,")" << prefix
       << R"(_cpu_us_per_task":)" << f.cpu_seconds * 1e6 / tasks << R"(,")" << prefix
       << R"(_record_ops_per_task":)" << static_cast<double>(f.record_ops) / tasks << R"(,")"
       << prefix << R"(_log_bytes_per_task":)" << static_cast<double>(f.log_bytes) / tasks;
}

result<round_figures> run_round(const limits_options& o) {
  auto cycle = o.cycle;
  auto unlimited = run_cycle(cycle);
  if (!unlimited)
    return unlimited.error();
  cycle.limit_keys = o.keys;
  auto limited = run_cycle(cycle);
  if (!limited)
    return limited.error();
  return round_figures{*limited, *unlimited};
}

/// Their order by ratio.
result<std::vector<round_figures>> run_rounds(const limits_options& o) {
  std::vector<round_figures> rounds;
  while (rounds.size() < o.rounds) {
    auto round = run_round(o);
    if (!round)
      return round.error();
    rounds.push_back(*round);
  }
  std::sort(rounds.begin(), rounds.end(), [](const round_figures& a, const round_figures& b) {
    return a.ratio() < b.ratio();
  });
  return rounds;
}

std::string to_json(
  const limits_options& o, const std::vector<round_figures>& rounds, const rate_figures& rate) {
  const auto& median = rounds[rounds.size() / 2];
  std::ostringstream line;
  line << R"({"bench":"limits","durability":")" << o.cycle.cluster.durability << R"(","tasks":)"
       << o.cycle.tasks << R"(,"keys":)" << o.keys << R"(,"slots":)"
       << o.cycle.cluster.slots * o.cycle.cluster.workers << R"(,"shards":)"
       << o.cycle.cluster.shards << R"(,"rounds":)" << o.rounds;
  write_cycle(line, "unlimited", median.unlimited);
  write_cycle(line, "limited", median.limited);
  line << R"(,"ratio":)" << median.ratio() << R"(,"ratio_min":)" << rounds.front().ratio()
       << R"(,"ratio_max":)"
       << rounds.back().ratio() << R"(,"rate":)" << o.rate.rate << R"(,"burst":)" << o.rate.burst
       << R"(,"rate_shards":)" << o.rate.cluster.shards << R"(,"starts":)" << rate.starts
       << R"(,"most_starts_in_a_second":)" << rate.most_in_a_second << R"(,"starts_of_allowed":)"
       << rate.of_allowed << '}';
  return line.str();
}

result<std::string> measure(limits_options o) {
  o.rate.cluster.durability = o.cycle.cluster.durability;
  auto rounds = run_rounds(o);
  if (!rounds)
    return rounds.error();
  auto rate = run_at_rate(o.rate);
  if (!rate)
    return rate.error();
  return to_json(o, *rounds, *rate);
}

} // namespace

measurement limits_measurement(const std::filesystem::path& library) {
  auto options = std::make_shared<limits_options>();
  auto& cycle = options->cycle;
  auto& rate = options->rate;
  cycle.cluster.library = library;
  rate.cluster.library = library;
  return {
    {"limits",
     "Full cycles of tasks of many limit keys, against the same tasks without limits; and how the "
     "starts of one key follow its rate",
     {count_option("tasks", "Tasks of a cycle [default: 100000]", cycle.tasks, {1, 10'000'000}),
      count_option(
        "keys", "Limit keys, one task at a time each [default: 100000]", options->keys,
        {1, 200'000}),
      count_option("rounds", "Rounds of both cycles [default: 3]", options->rounds, {1, 100}),
      count_option(
        "slots", "Slots of each of two workers [default: 32]", cycle.cluster.slots, {1, 4096}),
      count_option(
        "shards", "Shards of the cycles [default: 2]", cycle.cluster.shards, {1, 1024}),
      count_option(
        "rate", "Starts per second of one key [default: 1000]", rate.rate, {1, 100'000}),
      count_option("burst", "Burst of that key [default: 50]", rate.burst, {1, 100'000}),
      count_option(
        "rate-shards", "Shards of the run at a rate [default: 4]", rate.cluster.shards, {1, 1024}),
      seconds_option("seconds", "Length of the run at a rate [default: 10]", rate.length),
      durability_option(cycle.cluster.durability)}},
    [options] { return measure(*options); }};
}

} // namespace codeq::bench
