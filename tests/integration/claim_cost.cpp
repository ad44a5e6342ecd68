// SPDX-License-Identifier: Apache-2.0
// Works through the tasks of one queue of a RocksDB store. Under callgrind it counts the
// instructions of the first and of the last claims. Usage: claim_cost DIRECTORY TASKS
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/steady_shard.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <valgrind/callgrind.h>

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t batch = 64;
/// Number of tasks that wait while others are processed.
constexpr std::uint32_t backlog = 6'400;
/// Number of claims that are counted at the beginning and at the end.
constexpr int counted_turns = 50;
constexpr int turns_per_snapshot = 100;
/// Length of a turn. Results and fates pass their retention during the run.
constexpr auto turn = 1s;

class claims {
public:
  claims(codeq::storage::task_store& store, std::shared_ptr<codeq::storage::retention_horizons> h)
    : shard_(store, std::move(h)) {}

  void fill() {
    for (std::uint32_t tasks = 0; tasks < backlog; tasks += batch)
      shard_.enqueue(batch, 1h);
  }

  void work(std::uint64_t tasks) {
    for (std::uint64_t done = 0; done < tasks; done += batch)
      run_turn(false);
  }

  /// Counts the instructions of the claims alone, and dumps them under `name`.
  void count(const char* name) {
    CALLGRIND_START_INSTRUMENTATION;
    // The first claims are not counted: valgrind translates their code.
    for (int i = 0; i < 2 * counted_turns; ++i) {
      if (i == counted_turns)
        CALLGRIND_ZERO_STATS;
      run_turn(true);
    }
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_STOP_INSTRUMENTATION;
  }

  [[nodiscard]] std::uint64_t completed() const { return shard_.completed(); }

private:
  void run_turn(bool counts) {
    shard_.advance(turn);
    shard_.enqueue(batch, 1h);
    if (counts)
      CALLGRIND_TOGGLE_COLLECT;
    shard_.claim(batch);
    if (counts)
      CALLGRIND_TOGGLE_COLLECT;
    shard_.finish(0);
    if (++turns_ % turns_per_snapshot == 0)
      shard_.take_snapshot();
  }

  codeq::test::steady_shard shard_;
  int turns_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: claim_cost DIRECTORY TASKS\n");
    return 2;
  }
  auto horizons = std::make_shared<codeq::storage::retention_horizons>();
  codeq::storage::rocksdb_store_options options;
  options.directory = std::filesystem::path(argv[1]) / "store";
  options.mode = codeq::storage::durability::os;
  options.horizons = horizons;
  auto store = codeq::storage::open_rocksdb_store(options);
  if (!store) {
    std::fprintf(stderr, "claim_cost: %s\n", codeq::to_string(store.error()).c_str());
    return 1;
  }
  claims all(**store, horizons);
  all.fill();
  all.count("first");
  all.work(std::strtoull(argv[2], nullptr, 10));
  all.count("last");
  std::printf("%llu tasks completed\n", static_cast<unsigned long long>(all.completed()));
  return 0;
}
