// SPDX-License-Identifier: Apache-2.0
#include "fault/totals.hpp"
#include "storage/rocksdb/rocksdb_inspection.hpp"
#include "support/crash_rig.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace codeq::test {
namespace {

using storage::durability;

class BitFlip : public testing::Test {
protected:
  [[nodiscard]] static std::vector<std::filesystem::path>
  files(const crash_rig& rig, std::string_view extension) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator{rig.directory()})
      if (entry.path().extension() == extension && entry.file_size() > 0)
        found.push_back(entry.path());
    return found;
  }

  /// Flips a random bit of the file, between `from` and `to` percent of its length.
  void flip_within(const std::filesystem::path& file, std::uint64_t from, std::uint64_t to) {
    auto bits = std::filesystem::file_size(file) * 8;
    flip_bit(file, bits * from / 100 + random_() % (bits * (to - from) / 100));
    ++flips_;
  }

  void TearDown() override { add_to_totals({}, flips_); }

  std::uint64_t seed_ = choose_seed();
  std::mt19937_64 random_{seed_};
  std::uint64_t flips_ = 0;
};

TEST_F(BitFlip, InTheMiddleOfTheLogIsRefusedInSyncMode) {
  for (std::uint64_t round = 0; round < 40; ++round) {
    crash_rig rig{seed_ + round, durability::sync};
    ASSERT_TRUE(rig.open());
    ASSERT_TRUE(rig.commit_some(20));
    rig.close();
    // The damage must be found in the log itself, without the hint.
    std::filesystem::remove(rig.directory() / "position.hint");
    flip_within(files(rig, ".log").front(), 10, 80);

    auto refused = rig.open();

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::corruption) << refused.error().context;
  }
}

TEST_F(BitFlip, AtTheEndOfTheLogIsRefusedInSyncMode) {
  for (std::uint64_t round = 0; round < 10; ++round) {
    crash_rig rig{seed_ + round, durability::sync};
    ASSERT_TRUE(rig.open());
    ASSERT_TRUE(rig.commit_some(20));
    rig.close();
    flip_within(files(rig, ".log").front(), 99, 100);

    auto refused = rig.open();

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::corruption) << refused.error().context;
  }
}

/// Offset of the last record of a manifest that consists of one block.
std::uint64_t last_record(const std::filesystem::path& manifest) {
  constexpr std::size_t header_bytes = 7;
  std::ifstream stream{manifest, std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{stream}, {}};
  auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(bytes.at(at)); };
  std::size_t record = 0;
  for (std::size_t next = 0; next < bytes.size();) {
    record = next;
    next += header_bytes + byte(next + 4) + 256u * byte(next + 5);
  }
  return record;
}

TEST_F(BitFlip, InTheLengthOfTheManifestsLastRecordIsRefused) {
  for (auto mode : {durability::sync, durability::os}) {
    for (std::uint64_t bit = 0; bit < 16; ++bit) {
      crash_rig rig{seed_ + bit, mode};
      ASSERT_TRUE(rig.open());
      ASSERT_TRUE(rig.commit_some(20));
      rig.close();
      std::ifstream current{rig.directory() / "CURRENT"};
      std::string name;
      ASSERT_TRUE(std::getline(current, name));
      auto manifest = rig.directory() / name;
      flip_bit(manifest, (last_record(manifest) + 4) * 8 + bit);
      ++flips_;

      auto inspected = storage::inspect_rocksdb_store(rig.directory(), mode);
      auto opened = rig.open();

      ASSERT_FALSE(inspected) << "bit " << bit;
      EXPECT_EQ(inspected.error().code, errc::corruption) << inspected.error().context;
      ASSERT_FALSE(opened) << "bit " << bit;
      EXPECT_EQ(opened.error().code, errc::corruption) << opened.error().context;
    }
  }
}

TEST_F(BitFlip, InATableIsNeverReadAsData) {
  int noticed = 0;
  for (std::uint64_t round = 0; round < 20; ++round) {
    crash_rig rig{seed_ + round, durability::sync};
    ASSERT_TRUE(rig.open());
    ASSERT_TRUE(rig.commit_some(200));
    auto expected = rig.expected();
    rig.close();
    // Opening the store once more flushes the log's content into tables.
    ASSERT_TRUE(rig.open());
    rig.close();
    auto tables = files(rig, ".sst");
    ASSERT_FALSE(tables.empty());
    flip_within(tables[random_() % tables.size()], 0, 100);

    auto opened = rig.open();
    if (!opened) {
      EXPECT_EQ(opened.error().code, errc::corruption) << opened.error().context;
      ++noticed;
      continue;
    }
    auto found = read_all(rig.store());
    if (!found)
      EXPECT_EQ(found.error().code, errc::corruption) << found.error().context;
    else
      // A scan does not read every bit; it does not read those of filters, for example.
      EXPECT_TRUE(*found == expected);
    noticed += !found;
  }
  EXPECT_GT(noticed, 0);
}

} // namespace
} // namespace codeq::test
