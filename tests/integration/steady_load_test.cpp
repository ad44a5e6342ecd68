// SPDX-License-Identifier: Apache-2.0
#include "storage/keys/keyspace.hpp"
#include "storage/retention/retention_keeper.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/steady_shard.hpp"
#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

constexpr auto turn = 10s;
constexpr std::uint32_t tasks_per_turn = 20;
constexpr std::uint32_t failing = 10;

/// A shard under steady load on real files: two tasks per second for many hours of shard time, of
/// which one in ten is retried.
class SteadyLoad : public testing::Test {
protected:
  SteadyLoad() {
    rocksdb_store_options options;
    options.directory = directory_.path() / "store";
    options.mode = durability::os;
    options.write_buffer_bytes = 1u << 20;
    options.horizons = horizons_;
    auto opened = open_rocksdb_store(options);
    if (!opened)
      throw std::runtime_error(to_string(opened.error()));
    store_ = std::move(*opened);
    shard_.emplace(*store_, horizons_);
  }

  /// Advances by an hour; the keeper runs once per minute.
  void pass_hour(duration retention, retention_keeper& keeper) {
    for (auto passed = 0s; passed < 1h; passed += turn) {
      shard_->advance(turn);
      shard_->enqueue(tasks_per_turn, retention);
      // Tasks that failed before are ready again.
      shard_->claim(tasks_per_turn * 2);
      shard_->finish(failing);
      if (passed % 60s != 0s)
        continue;
      shard_->take_snapshot();
      ASSERT_TRUE(keeper.look(cancelled_));
    }
  }

  [[nodiscard]] std::uintmax_t bytes_on_disk() const {
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / "store")) {
      std::error_code gone;
      auto size = entry.file_size(gone);
      bytes += gone ? 0 : size;
    }
    return bytes;
  }

  [[nodiscard]] std::uint64_t bytes_of(const key_range& range) const {
    return *store_->approximate_bytes(range.begin, range.end);
  }

  void print(int hour) const {
    std::printf(
      "hour %2d: %7llu tasks completed, %6.2f MB on disk; results %5.2f, fates %5.2f, histories "
      "%5.2f MB\n",
      hour,
      static_cast<unsigned long long>(shard_->completed()),
      static_cast<double>(bytes_on_disk()) / 1e6,
      static_cast<double>(bytes_of(all_outcomes())) / 1e6,
      static_cast<double>(bytes_of(all_fates())) / 1e6,
      static_cast<double>(bytes_of(all_histories())) / 1e6);
  }

  test::temporary_directory directory_;
  std::shared_ptr<retention_horizons> horizons_ = std::make_shared<retention_horizons>();
  std::shared_ptr<task_store> store_;
  std::optional<test::steady_shard> shard_;
  std::atomic<bool> cancelled_{false};
};

TEST_F(SteadyLoad, DiskUseOfADayIsThatOfAFewHours) {
  retention_keeper keeper{{store_, horizons_, 10u << 30, 1u << 20}};
  std::uintmax_t early = 0;
  std::uintmax_t late = 0;

  for (int hour = 1; hour <= 24; ++hour) {
    pass_hour(1h, keeper);
    print(hour);
    auto& most = hour <= 6 ? early : late;
    most = std::max(most, bytes_on_disk());
  }

  EXPECT_GE(shard_->completed(), 24u * 3600 * 2 - 100);
  // Without retention the late size would be four times as large. A compaction in progress also
  // keeps its input on disk.
  EXPECT_LT(late, early * 2);
}

TEST_F(SteadyLoad, ByteCapHoldsWhereTheRetentionWouldNot) {
  constexpr std::uint64_t cap = 2u << 20;
  retention_keeper keeper{{store_, horizons_, cap, 1u << 20}};

  for (int hour = 1; hour <= 12; ++hour) {
    pass_hour(365 * 24h, keeper);
    print(hour);
  }

  EXPECT_GT(horizons_->evicted(), 0u);
  EXPECT_LT(bytes_of(all_outcomes()) + bytes_of(all_fates()), cap + cap / 2);
}

} // namespace
} // namespace codeq::storage
