// SPDX-License-Identifier: Apache-2.0
#include "storage/keys/keyspace.hpp"
#include "storage/replica/delta_spool.hpp"
#include "storage/replica/packed_writes.hpp"
#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace codeq::storage {
namespace {

constexpr shard_id shard{3};
constexpr std::size_t any_bytes = 1u << 30;

class DeltaSpool : public testing::Test {
protected:
  delta_spool_options options() const { return {directory_.path() / "spool", shard, 400, 4000}; }

  static replication::entry delta_of(std::uint64_t number, std::uint32_t epoch = 1) {
    auto writes = std::make_shared<write_set>();
    writes->put(segment_key{shard, number}.encode(), std::to_string(epoch));
    return {
      {epoch, number},
      {epoch, number - 1},
      std::make_shared<const packed_writes>(std::shared_ptr<const write_set>(writes))};
  }

  static void fill(delta_spool& spool, std::uint64_t from, std::uint64_t to) {
    for (auto n = from; n <= to; ++n)
      spool.append(delta_of(n));
  }

  /// Numbers of all deltas after this one, read step by step.
  static std::vector<std::uint64_t> numbers_after(delta_spool& spool, std::uint64_t number) {
    std::vector<std::uint64_t> numbers;
    for (;;) {
      const auto entries = spool.read_after({1, number}, any_bytes);
      if (entries.empty())
        return numbers;
      for (const auto& e : entries)
        numbers.push_back(e.at.number);
      number = numbers.back();
    }
  }

  static std::vector<std::uint64_t> run(std::uint64_t from, std::uint64_t to) {
    std::vector<std::uint64_t> numbers;
    for (auto n = from; n <= to; ++n)
      numbers.push_back(n);
    return numbers;
  }

  std::filesystem::path only_file() const {
    return std::filesystem::directory_iterator(options().directory)->path();
  }

  test::temporary_directory directory_;
};

TEST_F(DeltaSpool, ReturnsTheDeltasAfterAnyOfThem) {
  delta_spool spool(options());
  fill(spool, 5, 20);

  EXPECT_EQ(numbers_after(spool, 4), run(5, 20));
  EXPECT_EQ(numbers_after(spool, 13), run(14, 20));
  EXPECT_TRUE(numbers_after(spool, 20).empty());
  EXPECT_TRUE(numbers_after(spool, 3).empty());
}

TEST_F(DeltaSpool, ReturnsABoundedSizeButAtLeastOne) {
  delta_spool spool(options());
  fill(spool, 1, 3);

  EXPECT_EQ(spool.read_after({1, 0}, 1).size(), 1u);
}

TEST_F(DeltaSpool, OutlivesItsProcess) {
  {
    delta_spool spool(options());
    fill(spool, 1, 9);
  }
  delta_spool spool(options());
  fill(spool, 10, 12);

  EXPECT_EQ(numbers_after(spool, 0), run(1, 12));
}

TEST_F(DeltaSpool, TouchesNoFileBeforeItsFirstUse) {
  const auto is_there = [this] { return std::filesystem::exists(options().directory); };
  delta_spool spool(options());
  EXPECT_FALSE(is_there());

  fill(spool, 1, 1);
  EXPECT_TRUE(is_there());
}

TEST_F(DeltaSpool, DropsTheOldestDeltasOverItsSize) {
  delta_spool spool(options());
  fill(spool, 1, 200);

  EXPECT_LE(spool.bytes(), options().bytes_max);
  EXPECT_TRUE(numbers_after(spool, 0).empty());
  EXPECT_EQ(numbers_after(spool, 190), run(191, 200));
}

TEST_F(DeltaSpool, KeepsTheDeltasThatACopyNeeds) {
  auto limited = options();
  limited.kept_bytes_max = 10 * limited.bytes_max;
  delta_spool spool(limited);
  fill(spool, 1, 20);
  spool.keep_from(15);

  fill(spool, 21, 200);

  EXPECT_GT(spool.bytes(), limited.bytes_max);
  EXPECT_EQ(numbers_after(spool, 14), run(15, 200));
  spool.keep_from(std::nullopt);
  EXPECT_LE(spool.bytes(), limited.bytes_max);
}

TEST_F(DeltaSpool, KeepsNoMoreForACopyThanItMay) {
  auto limited = options();
  limited.kept_bytes_max = 2 * limited.bytes_max;
  delta_spool spool(limited);
  spool.keep_from(1);

  fill(spool, 1, 500);

  EXPECT_LE(spool.bytes(), limited.kept_bytes_max);
  EXPECT_TRUE(numbers_after(spool, 0).empty());
}

TEST_F(DeltaSpool, DeltasOfALaterEpochReplaceThoseOfALostOne) {
  {
    delta_spool spool(options());
    fill(spool, 1, 9);
  }
  delta_spool spool(options());
  spool.append(delta_of(5, 2));

  const auto entries = spool.read_after({1, 4}, any_bytes);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries.front().at, (replication::position{2, 5}));
  EXPECT_TRUE(spool.read_after({2, 5}, any_bytes).empty());
  EXPECT_EQ(spool.read_after({1, 3}, any_bytes).size(), 1u);
}

TEST_F(DeltaSpool, EndsBeforeDamage) {
  auto whole = options();
  whole.file_bytes = any_bytes;
  {
    delta_spool spool(whole);
    fill(spool, 1, 9);
  }
  std::fstream file(only_file(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(only_file()) / 2));
  file.put('\x5a');
  file.close();

  delta_spool spool(whole);
  const auto numbers = numbers_after(spool, 0);
  EXPECT_EQ(numbers, run(1, numbers.size()));
  EXPECT_LT(numbers.size(), 9u);
}

TEST_F(DeltaSpool, WithoutItsFilesHasNothing) {
  delta_spool spool(options());
  fill(spool, 1, 9);
  std::filesystem::remove_all(options().directory);

  EXPECT_TRUE(numbers_after(spool, 0).empty());
}

} // namespace
} // namespace codeq::storage
