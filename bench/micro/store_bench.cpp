// SPDX-License-Identifier: Apache-2.0
#include "load/processes.hpp"
#include "storage/records/projection.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "storage/write_set.hpp"
#include "support/steady_shard.hpp"

#include <benchmark/benchmark.h>

namespace codeq::bench {

namespace {

/// Commits the writes of one enqueue turn; with `sync` it waits for the disk.
void commit(benchmark::State& state, storage::durability mode) {
  auto batch = static_cast<std::uint32_t>(state.range(0));
  auto directory = scratch_directory::create();
  storage::rocksdb_store_options options;
  options.directory = directory->path() / "store";
  options.mode = mode;
  auto store = storage::open_rocksdb_store(options);
  if (!store) {
    state.SkipWithError(to_string(store.error()).c_str());
    return;
  }
  test::steady_shard shard;
  for (auto _ : state) {
    auto writes = std::make_shared<storage::write_set>();
    for (const auto& event : shard.enqueue(batch))
      storage::project(shard_id{}, event, *writes);
    std::shared_ptr<const storage::write_set> set = std::move(writes);
    if (auto ok = (*store)->commit({&set, 1}, mode); !ok)
      state.SkipWithError(to_string(ok.error()).c_str());
  }
  state.SetItemsProcessed(state.iterations() * batch);
}

BENCHMARK_CAPTURE(commit, os, storage::durability::os)->ArgName("batch")->Arg(1)->Arg(64);
BENCHMARK_CAPTURE(commit, sync, storage::durability::sync)
  ->ArgName("batch")
  ->Arg(1)
  ->Arg(64)
  ->UseRealTime();

} // namespace

} // namespace codeq::bench
