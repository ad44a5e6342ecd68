// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/log_check.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/log_fragments.hpp"
#include "support/temporary_directory.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::storage {
namespace {

using namespace test;

constexpr std::size_t record_count = 40;
constexpr std::size_t value_bytes = 5000;
constexpr std::size_t sector_bytes = 512;

/// Size of a payload that imitates fragments of a log.
constexpr std::size_t crafted_bytes = 100'000;

/// A log as RocksDB writes it, longer than several of its blocks, and the offset of its last
/// record.
class Log : public testing::Test {
protected:
  void SetUp() override {
    rocksdb_store_options options;
    options.directory = directory_.path();
    auto store = open_rocksdb_store(options);
    ASSERT_TRUE(store);
    store_ = std::move(*store);
    for (std::size_t record = 0; record < record_count; ++record)
      commit(std::string(value_bytes, static_cast<char>('a' + record % 26)));
  }

  /// Appends the last record.
  void commit(std::string value) {
    last_record_ = read_log().size();
    write_group group{puts({{"key", std::move(value)}})};
    ASSERT_TRUE(store_->commit(group, durability::os));
    bytes_ = read_log();
    ASSERT_GT(bytes_.size(), last_record_);
  }

  [[nodiscard]] std::string read_log() const {
    for (const auto& entry : std::filesystem::directory_iterator{directory_.path()})
      if (entry.path().extension() == ".log") {
        std::ifstream stream{entry.path(), std::ios::binary};
        return {std::istreambuf_iterator<char>{stream}, {}};
      }
    return {};
  }

  /// Zeroes the first whole sector after `offset`, as if it had not been written.
  void clear_sector_behind(std::size_t offset) {
    auto sector = (offset / sector_bytes + 1) * sector_bytes;
    bytes_.replace(sector, sector_bytes, sector_bytes, '\0');
  }

  [[nodiscard]] log_inspection inspect() const {
    return inspect_log(bytes_, log_mark(directory_.path()));
  }

  void expect(log_end end) const { EXPECT_EQ(inspect().end, end); }

  /// Expects the last record to be treated as unfinished, whichever of its sectors is missing.
  void expect_torn_wherever_a_sector_is_missing() {
    auto whole = bytes_;
    auto first_end = (last_record_ / sector_bytes + 1) * sector_bytes;
    bytes_.replace(last_record_, first_end - last_record_, first_end - last_record_, '\0');
    for (auto sector = first_end; sector + sector_bytes <= whole.size(); sector += sector_bytes) {
      ASSERT_EQ(inspect().end, log_end::torn) << "sector before " << sector;
      ASSERT_EQ(inspect().whole_bytes, last_record_);
      bytes_ = whole;
      bytes_.replace(sector, sector_bytes, sector_bytes, '\0');
    }
  }

  temporary_directory directory_;
  std::unique_ptr<task_store> store_;
  std::string bytes_;
  std::size_t last_record_ = 0;
};

TEST_F(Log, IsIntactAsItWasWritten) {
  expect(log_end::intact);
  EXPECT_EQ(inspect().whole_bytes, bytes_.size());
}

TEST_F(Log, IsIntactWithZerosBehindIt) {
  bytes_.append(3 * sector_bytes, '\0');

  expect(log_end::intact);
}

TEST_F(Log, IsIntactWhereItEndsWithinItsLastRecord) {
  auto whole = bytes_;
  for (std::size_t left : {1, 6, 7, 8, 700, 4000}) {
    bytes_ = whole.substr(0, last_record_ + left);
    expect(log_end::intact);
    EXPECT_EQ(inspect().whole_bytes, last_record_);
  }
}

TEST_F(Log, IsDamagedWhereALengthPointsBehindItsEnd) {
  auto before_last = last_record_ - (bytes_.size() - last_record_);
  bytes_[before_last + 5] = '\x7f';

  expect(log_end::damaged);
}

TEST_F(Log, IsTornWhereASectorOfTheLastRecordIsMissing) {
  clear_sector_behind(last_record_ + 1000);

  expect(log_end::torn);
  EXPECT_EQ(inspect().whole_bytes, last_record_);
}

TEST_F(Log, IsTornWhereTheHeaderOfTheLastRecordIsMissing) {
  auto end = (last_record_ / sector_bytes + 1) * sector_bytes;
  bytes_.replace(last_record_, end - last_record_, end - last_record_, '\0');

  expect(log_end::torn);
}

TEST_F(Log, IsDamagedWhereASectorOfAnEarlierRecordIsMissing) {
  clear_sector_behind(last_record_ / 2);

  expect(log_end::damaged);
}

TEST_F(Log, IsDamagedWhereABitOfTheLastRecordChanged) {
  for (auto offset : {last_record_ + 1, last_record_ + 6, bytes_.size() - 1}) {
    bytes_[offset] = static_cast<char>(bytes_[offset] ^ 4);
    expect(log_end::damaged);
    bytes_[offset] = static_cast<char>(bytes_[offset] ^ 4);
  }
}

TEST_F(Log, IsDamagedWhereTheLengthOfTheLastRecordChanged) {
  for (int bit = 0; bit < 16; ++bit) {
    auto& byte = bytes_[last_record_ + 4 + static_cast<std::size_t>(bit / 8)];
    byte = static_cast<char>(byte ^ 1 << bit % 8);
    expect(log_end::damaged);
    byte = static_cast<char>(byte ^ 1 << bit % 8);
  }
}

TEST_F(Log, IsDamagedWhereABitOfAnEarlierRecordChanged) {
  for (std::size_t offset = 3; offset < last_record_; offset += 9973) {
    bytes_[offset] = static_cast<char>(bytes_[offset] ^ 1);
    expect(log_end::damaged);
    bytes_[offset] = static_cast<char>(bytes_[offset] ^ 1);
  }
}

TEST_F(Log, IsTornWhateverBytesThePayloadOfItsLastRecordHas) {
  commit(repeated(log_fragment("AB"), crafted_bytes));

  expect_torn_wherever_a_sector_is_missing();
}

TEST_F(Log, IsTornWhenThePayloadOfItsLastRecordGuessesSequences) {
  std::string crafted;
  for (std::uint64_t sequence = record_count; crafted.size() < crafted_bytes; ++sequence)
    crafted += log_fragment(batch_header(sequence, 1));
  commit(std::move(crafted));

  expect_torn_wherever_a_sector_is_missing();
}

TEST_F(Log, IsTornWhenThePayloadOfItsLastRecordIsTheLogItself) {
  commit(read_log());

  expect_torn_wherever_a_sector_is_missing();
}

TEST_F(Log, IsDamagedWhereTheHeaderOfAnEarlierRecordIsMissing) {
  commit(std::string(value_bytes, 'z'));
  auto earlier = last_record_;
  // Several records, so that one starts after the missing sector in the same block.
  for (int record = 0; record < 3; ++record)
    commit(std::string(100, 'y'));
  auto end = (earlier / sector_bytes + 1) * sector_bytes;
  bytes_.replace(earlier, end - earlier, end - earlier, '\0');

  expect(log_end::damaged);
}

TEST_F(Log, IsDamagedWhereALengthCoversTheRecordsBehindIt) {
  std::string value(value_bytes, 'a');
  // Zeros that look like a sector that was never written.
  value.replace(1000, 2000, 2000, '\0');
  for (int record = 0; record < 6; ++record) {
    commit(value);
    auto earlier = last_record_;
    commit(std::string(2000, 'b'));
    bytes_[earlier + 5] = static_cast<char>(bytes_[earlier + 5] ^ 0x08);
    expect(log_end::damaged);
  }
}

TEST(UnmarkedLog, IsJudgedByItsSequencesAndByHowFarItsRecordsReach) {
  // A log of versions that did not mark their records.
  std::string log;
  for (std::uint64_t sequence = 1; sequence < 8; ++sequence)
    log += log_fragment(batch_header(sequence, 1) + std::string(1000, 'a'));
  auto last = log.size();
  auto damaged = log;
  damaged.replace(3072, sector_bytes, sector_bytes, '\0');
  EXPECT_EQ(inspect_log(damaged, "a mark").end, log_end::damaged);

  log += log_fragment(
    batch_header(8, 1) + repeated(log_fragment(batch_header(9, 1)), 4000) + "what follows");
  auto end = (last / sector_bytes + 1) * sector_bytes;
  log.replace(last, end - last, end - last, '\0');
  EXPECT_EQ(inspect_log(log, "a mark").end, log_end::torn);
}

/// A manifest of two records. The last one ends with a 1, as RocksDB's records do, `tail` bytes
/// behind the start of a sector.
std::string manifest_with_tail(std::size_t tail) {
  constexpr std::size_t header_bytes = 7;
  constexpr std::size_t body_bytes = 300;
  std::string bytes =
    log_fragment(std::string(sector_bytes - 2 * header_bytes - body_bytes + tail, 'a'));
  return bytes + log_fragment(std::string(body_bytes - 1, 'b') + '\x01');
}

TEST(Manifest, IsTornWhereTheLastBytesOfItsLastRecordAreMissing) {
  for (std::size_t tail = 2; tail < 200; ++tail) {
    auto bytes = manifest_with_tail(tail);
    ASSERT_EQ(inspect_manifest(bytes).end, log_end::intact);
    ASSERT_EQ(bytes.size(), sector_bytes + tail);
    bytes.replace(sector_bytes, tail, tail, '\0');
    EXPECT_EQ(inspect_manifest(bytes).end, log_end::torn) << tail << " bytes are missing";
  }
}

TEST(Manifest, IsDamagedWhereABitOfItsLastRecordChanged) {
  for (std::size_t tail = 2; tail < 200; ++tail) {
    auto bytes = manifest_with_tail(tail);
    bytes.back() = '\0';
    EXPECT_EQ(inspect_manifest(bytes).end, log_end::damaged) << tail;
  }
}

/// A store whose manifest goes on with a record that was never written, and a complete one.
class TornManifest : public testing::Test {
protected:
  void SetUp() override {
    rocksdb_store_options options;
    options.directory = directory_.path();
    auto store = open_rocksdb_store(options);
    ASSERT_TRUE(store);
    write_group group{puts({{"key", "value"}})};
    ASSERT_TRUE((*store)->commit(group, durability::os));
    store->reset();
    for (const auto& entry : std::filesystem::directory_iterator{directory_.path()})
      if (entry.path().filename().string().starts_with("MANIFEST"))
        manifest_ = entry.path();
    whole_bytes_ = std::filesystem::file_size(manifest_);
    std::ofstream end{manifest_, std::ios::binary | std::ios::app};
    end << std::string(2 * sector_bytes - whole_bytes_ % sector_bytes, '\0')
        << log_fragment("a record of the same group");
  }

  void remove_logs() {
    std::vector<std::filesystem::path> logs;
    for (const auto& entry : std::filesystem::directory_iterator{directory_.path()})
      if (entry.path().extension() == ".log")
        logs.push_back(entry.path());
    for (const auto& log : logs)
      std::filesystem::remove(log);
  }

  temporary_directory directory_;
  std::filesystem::path manifest_;
  std::uintmax_t whole_bytes_ = 0;
};

TEST_F(TornManifest, IsCutWhereTheLogsContainWhatTheTablesLack) {
  EXPECT_EQ(cut_torn_manifest(directory_.path()), log_end::intact);

  EXPECT_EQ(std::filesystem::file_size(manifest_), whole_bytes_);
  rocksdb_store_options options;
  options.directory = directory_.path();
  auto store = open_rocksdb_store(options);
  ASSERT_TRUE(store);
  EXPECT_EQ((*store)->read("key").value(), "value");
}

TEST_F(TornManifest, IsDamagedWithoutTheLogs) {
  remove_logs();

  EXPECT_EQ(cut_torn_manifest(directory_.path()), log_end::damaged);
  EXPECT_GT(std::filesystem::file_size(manifest_), whole_bytes_);
}

/// Start of a serialized batch as RocksDB writes it: sequence and count.
std::string batch(char sequence, char count) {
  std::string bytes(12, '\0');
  bytes[0] = sequence;
  bytes[8] = count;
  return bytes;
}

TEST(LogContinuity, FollowsSequencesOverFiles) {
  temporary_directory directory;
  log_continuity continuity{directory.path()};
  continuity.begin(5);

  EXPECT_TRUE(continuity.follows(5, batch(10, 2)));
  EXPECT_TRUE(continuity.follows(5, batch(12, 1)));
  EXPECT_TRUE(continuity.follows(8, batch(13, 1)));
  EXPECT_FALSE(continuity.found_gap());
}

TEST(LogContinuity, StopsForGoodAtAMissingSequence) {
  temporary_directory directory;
  log_continuity continuity{directory.path()};
  continuity.begin(5);

  EXPECT_TRUE(continuity.follows(5, batch(10, 2)));
  EXPECT_FALSE(continuity.follows(8, batch(13, 1)));
  EXPECT_FALSE(continuity.follows(8, batch(14, 1)));
  EXPECT_TRUE(continuity.found_gap());
}

TEST(LogContinuity, MissesTheRecordsOfAnEmptyOldestFile) {
  temporary_directory directory;
  for (const auto* name : {"000003.log", "000005.log", "000008.log"})
    std::ofstream{directory.path() / name};
  log_continuity continuity{directory.path()};

  continuity.begin(4);
  EXPECT_FALSE(continuity.follows(8, batch(13, 1)));
  continuity.begin(4);
  EXPECT_TRUE(continuity.follows(5, batch(10, 1)));
  continuity.begin(6);
  EXPECT_TRUE(continuity.follows(8, batch(13, 1)));
}

} // namespace
} // namespace codeq::storage
