// SPDX-License-Identifier: Apache-2.0
#include "node/shard_recovery.hpp"

#include "base/clock.hpp"
#include "base/random.hpp"
#include "observe/log.hpp"
#include "storage/recovery/recovery.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace codeq::node {

namespace {

/// Logs one line for all shards, and at level debug one for each.
void note_recovered(const std::vector<std::shared_ptr<core::shard_state>>& states) {
  std::size_t packed = 0;
  std::size_t unpacked = 0;
  std::size_t leases = 0;
  for (const auto& state : states) {
    packed += state->segments.packed_segments();
    unpacked += state->segments.unpacked_segments();
    leases += state->leases.size();
    CODEQ_LOG_DEBUG(
      "shard is recovered shard={} segments={} unpacked={} leases={}",
      value(state->id),
      state->segments.packed_segments(),
      state->segments.unpacked_segments(),
      state->leases.size());
  }
  CODEQ_LOG_INFO(
    "store has recovered its shards shards={} segments={} unpacked={} leases={}",
    states.size(),
    packed,
    unpacked,
    leases);
}

} // namespace

result<std::vector<std::shared_ptr<core::shard_state>>>
recover_shards(const storage::task_store& store, const storage::store_record& identity) {
  auto steady = base::system_clock(timestamp{}).now().steady;
  auto name_seed = base::random_bits();
  std::vector<std::shared_ptr<core::shard_state>> states(identity.shard_count);
  std::vector<result<void>> recovered(identity.shard_count);
  std::atomic<std::size_t> next{0};
  auto recover_some = [&] {
    for (auto i = next++; i < states.size(); i = next++) {
      auto state =
        storage::recover(store, static_cast<shard_id>(i), identity.epoch, steady, name_seed);
      if (state)
        states[i] = std::move(*state);
      else
        recovered[i] = state.error();
    }
  };
  std::vector<std::thread> threads;
  auto wanted = std::min<std::size_t>(std::thread::hardware_concurrency(), states.size());
  for (std::size_t i = 1; i < wanted; ++i)
    threads.emplace_back(recover_some);
  recover_some();
  for (auto& thread : threads)
    thread.join();
  for (const auto& one : recovered)
    if (!one)
      return one.error();
  note_recovered(states);
  return states;
}

} // namespace codeq::node
