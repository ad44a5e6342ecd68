// SPDX-License-Identifier: Apache-2.0
#include "micro/fixed_iterations.hpp"
#include "protocol/convert.hpp"
#include "protocol/task_convert.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/records/projection.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/write_set.hpp"
#include "support/steady_shard.hpp"

#include <benchmark/benchmark.h>

namespace codeq::bench {

namespace {

constexpr std::size_t payload_bytes = 256;

void encode_and_decode_keys(benchmark::State& state) {
  sequence seq = 0;
  for (auto _ : state) {
    auto text = storage::segment_key{shard_id{3}, ++seq}.encode();
    benchmark::DoNotOptimize(storage::segment_key::decode(text));
  }
}

/// The records of a cycle: segment, grant, outcome.
void encode_records(benchmark::State& state) {
  auto batch = static_cast<std::uint32_t>(state.range(0));
  test::steady_shard shard;
  std::vector<core::event> events;
  for (auto turn : {shard.enqueue(batch), shard.claim(batch), shard.finish()})
    events.insert(events.end(), turn.begin(), turn.end());
  for (auto _ : state) {
    storage::write_set writes;
    for (const auto& event : events)
      storage::project(shard_id{}, event, writes);
    benchmark::DoNotOptimize(writes);
  }
  state.SetItemsProcessed(state.iterations() * batch);
}

void decode_bodies(benchmark::State& state) {
  auto batch = static_cast<std::uint32_t>(state.range(0));
  test::steady_shard shard;
  auto events = shard.enqueue(batch);
  auto record = storage::encode(std::get<core::segment_appended>(events.front()));
  for (auto _ : state)
    benchmark::DoNotOptimize(storage::decode_bodies(record));
  state.SetItemsProcessed(state.iterations() * batch);
}

std::vector<task_spec> make_tasks(std::size_t count) {
  return std::vector<task_spec>(
    count, task_spec{.queue = "q", .payload = std::string(payload_bytes, 'x')});
}

const protocol::encoded_tasks::address address{
  make_producer_id(timestamp{duration{1}}, 1, 2), 1, 1, shard_id{}};

void build_enqueue_frame(benchmark::State& state) {
  auto tasks = make_tasks(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state)
    benchmark::DoNotOptimize(protocol::encoded_tasks::encode(tasks)->to_request(address));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void read_enqueue_frame(benchmark::State& state) {
  auto tasks = make_tasks(static_cast<std::size_t>(state.range(0)));
  auto frame = protocol::encoded_tasks::encode(tasks)->to_request(address);
  for (auto _ : state)
    benchmark::DoNotOptimize(
      protocol::to_command(frame, 1, timestamp{duration{1}}, {shard_id{}, 1}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(encode_and_decode_keys)->Apply(fix_iterations);
BENCHMARK(encode_records)->ArgName("batch")->Arg(1)->Arg(64)->Apply(fix_iterations);
BENCHMARK(decode_bodies)->ArgName("batch")->Arg(1)->Arg(64)->Apply(fix_iterations);
BENCHMARK(build_enqueue_frame)->ArgName("batch")->Arg(1)->Arg(64)->Apply(fix_iterations);
BENCHMARK(read_enqueue_frame)->ArgName("batch")->Arg(1)->Arg(64)->Apply(fix_iterations);

} // namespace

} // namespace codeq::bench
