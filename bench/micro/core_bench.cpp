// SPDX-License-Identifier: Apache-2.0
#include "core/state/apply.hpp"
#include "micro/fixed_iterations.hpp"
#include "support/steady_shard.hpp"

#include <benchmark/benchmark.h>

#include <chrono>

namespace codeq::bench {

namespace {

/// Turns between snapshots, which free memory.
constexpr int turns_per_snapshot = 64;

/// State that each iteration brings its tasks to.
enum class depth { enqueued, claimed, finished };

void decide(benchmark::State& state, depth how_far) {
  auto batch = static_cast<std::uint32_t>(state.range(0));
  test::steady_shard shard;
  int turns = 0;
  for (auto _ : state) {
    shard.enqueue(batch);
    if (how_far != depth::enqueued)
      shard.claim(batch);
    if (how_far == depth::finished)
      shard.finish();
    if (++turns % turns_per_snapshot == 0)
      shard.take_snapshot();
  }
  state.SetItemsProcessed(state.iterations() * batch);
}

/// Each task fails once and is retried after the default delay: its second attempt is one of many
/// that come due together, each in another segment.
void retry(benchmark::State& state) {
  auto batch = static_cast<std::uint32_t>(state.range(0));
  test::steady_shard shard;
  int turns = 0;
  for (auto _ : state) {
    shard.advance(std::chrono::milliseconds(10));
    shard.enqueue(batch);
    shard.claim(2 * batch);
    shard.fail_first_attempts();
    if (++turns % turns_per_snapshot == 0)
      shard.take_snapshot();
  }
  state.SetItemsProcessed(state.iterations() * batch);
}

/// The part of recovery: the same events applied to a state that has not seen them.
void apply(benchmark::State& state) {
  auto batch = static_cast<std::uint32_t>(state.range(0));
  test::steady_shard shard;
  std::vector<core::event> events;
  for (int i = 0; i < turns_per_snapshot; ++i)
    for (auto turn : {shard.enqueue(batch), shard.claim(batch), shard.finish()})
      events.insert(events.end(), turn.begin(), turn.end());
  for (auto _ : state) {
    core::shard_state fresh{shard_id{}, 1};
    for (const auto& event : events)
      core::apply(fresh, event);
    benchmark::DoNotOptimize(fresh);
  }
  state.SetItemsProcessed(state.iterations() * batch * turns_per_snapshot);
}

BENCHMARK_CAPTURE(decide, enqueue, depth::enqueued)
  ->ArgName("batch")
  ->Arg(1)
  ->Arg(64)
  ->Apply(fix_iterations);
BENCHMARK_CAPTURE(decide, enqueue_claim, depth::claimed)
  ->ArgName("batch")
  ->Arg(1)
  ->Arg(64)
  ->Apply(fix_iterations);
BENCHMARK_CAPTURE(decide, enqueue_claim_complete, depth::finished)
  ->ArgName("batch")
  ->Arg(1)
  ->Arg(64)
  ->Apply(fix_iterations);
BENCHMARK(retry)->ArgName("batch")->Arg(64)->Apply(fix_iterations);
BENCHMARK(apply)->ArgName("batch")->Arg(1)->Arg(64)->Apply(fix_iterations);

} // namespace

} // namespace codeq::bench
