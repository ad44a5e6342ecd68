// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/lease_timer.hpp"
#include "coordinator/shard/timing_wheel.hpp"
#include "micro/fixed_iterations.hpp"
#include "transport/configure.hpp"

#include <benchmark/benchmark.h>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <unordered_map>

namespace codeq::bench {

namespace {

constexpr duration lease = std::chrono::seconds(10);

/// Each iteration adds a timer and advances by a millisecond, so that one timer fires per
/// iteration.
void wheel(benchmark::State& state) {
  monotonic_time now{duration{1}};
  coordinator::timing_wheel timers(now);
  std::uint64_t token = 0;
  for (auto _ : state) {
    timers.add(fencing_token{++token}, now + lease);
    now += duration{1};
    benchmark::DoNotOptimize(timers.take_due(now));
  }
}

/// Each iteration starts a timer actor and drops it before its time.
void timer_actors(benchmark::State& state) {
  caf::actor_system_config config;
  transport::configure(config, 1);
  caf::actor_system system(config);
  coordinator::timing_wheel wheel(monotonic_time{});
  std::unordered_map<fencing_token, coordinator::lease_timer_actor> timers;
  coordinator::shard_internal_actor nobody;
  std::uint64_t token = 0;
  for (auto _ : state) {
    fencing_token each{++token};
    timers[each] = system.spawn<caf::lazy_init + caf::hidden>(
      coordinator::lease_timer, nobody, core::task_lease{token, each});
    wheel.add(each, monotonic_time{} + lease);
    timers.erase(each);
  }
}

BENCHMARK(wheel)->Apply(fix_iterations);
BENCHMARK(timer_actors);

} // namespace

} // namespace codeq::bench
