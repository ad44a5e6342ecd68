// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/position_hint.hpp"
#include "storage/rocksdb/rocksdb_inspection.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/temporary_directory.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace codeq::storage {
namespace {

using namespace test;

class RocksdbStore : public testing::Test {
protected:
  [[nodiscard]] result<std::unique_ptr<task_store>> open(durability mode = durability::sync) {
    rocksdb_store_options options;
    options.directory = path();
    options.mode = mode;
    options.on_recovery = [this](std::string_view text) { said_ += text; };
    return open_rocksdb_store(options);
  }

  [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "store"; }

  temporary_directory directory_;
  std::string said_;
};

/// Another process that holds the lock of a store while this object lives.
class lock_holder {
public:
  explicit lock_holder(const std::filesystem::path& lock_file) {
    std::array<int, 2> ready{};
    if (::pipe(ready.data()) != 0 || ::pipe(release_.data()) != 0)
      return;
    child_ = ::fork();
    if (child_ == 0)
      hold(lock_file.c_str(), ready[1]);
    char byte = 0;
    ::close(ready[1]);
    holds_ = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
  }

  lock_holder(const lock_holder&) = delete;
  lock_holder& operator=(const lock_holder&) = delete;

  ~lock_holder() {
    ::close(release_[1]);
    ::close(release_[0]);
    ::waitpid(child_, nullptr, 0);
  }

  [[nodiscard]] bool holds() const { return holds_; }

private:
  [[noreturn]] void hold(const char* lock_file, int ready) {
    ::close(release_[1]);

    struct flock lock {};

    lock.l_type = F_WRLCK;
    int file = ::open(lock_file, O_RDWR | O_CREAT, 0600);
    char byte = '!';
    if (::fcntl(file, F_SETLK, &lock) == 0 && ::write(ready, &byte, 1) == 1)
      // Ends when the parent closes its end of the pipe.
      while (::read(release_[0], &byte, 1) > 0) {
      }
    ::_exit(0);
  }

  std::array<int, 2> release_{};
  pid_t child_ = -1;
  bool holds_ = false;
};

TEST_F(RocksdbStore, SyncsWhileCommitsGoOn) {
  constexpr int commits = 2000;
  {
    auto store = *open(durability::os);
    std::atomic<bool> is_done = false;
    std::thread syncing([&] {
      while (!is_done)
        EXPECT_TRUE(store->sync_log());
    });
    for (int i = 0; i < commits; ++i)
      EXPECT_TRUE(store->commit(write_group{puts({{std::to_string(i), "value"}})}, durability::os));
    is_done = true;
    syncing.join();
    EXPECT_TRUE(store->sync_log());
    EXPECT_EQ(position_hint::look(path())->synced, commits);
  }

  auto again = *open(durability::os);
  for (int i = 0; i < commits; ++i)
    EXPECT_EQ(*again->read(std::to_string(i)), "value");
}

TEST_F(RocksdbStore, FindsSyncedCommitsAfterReopening) {
  {
    auto store = open();
    ASSERT_TRUE(store) << store.error().context;
    write_group group{puts({{"a", "1"}})};
    ASSERT_TRUE((*store)->commit(group, durability::sync));
    EXPECT_GE((*store)->counter("wal_synced"), 1u);
  }

  auto store = open();
  ASSERT_TRUE(store);
  EXPECT_EQ(*(*store)->read("a"), "1");
}

TEST_F(RocksdbStore, ReclaimsTheFilesOfDeletedPairsAsFarAsThereIsRoom) {
  constexpr std::uint64_t value_bytes = 1 << 20;
  constexpr int pairs = 8;
  std::atomic<bool> cancelled{false};
  std::mt19937 random(1);
  auto store = *open();
  for (int i = 0; i < pairs; ++i) {
    // The store compresses what can be compressed.
    std::string value(value_bytes, '\0');
    std::generate(value.begin(), value.end(), [&] { return static_cast<char>(random()); });
    ASSERT_TRUE(store->commit(write_group{puts({{std::to_string(i), value}})}, durability::os));
  }
  ASSERT_TRUE(store->reclaim([] { return pairs * value_bytes * 2; }, cancelled));
  auto remove = [&](int from, int to) {
    auto deletions = std::make_shared<write_set>();
    for (int i = from; i < to; ++i)
      deletions->remove(std::to_string(i));
    ASSERT_TRUE(store->commit(write_group{deletions}, durability::os));
  };

  remove(0, 3);
  auto left_out = store->reclaim([] { return value_bytes * 2; }, cancelled);
  ASSERT_TRUE(left_out);
  EXPECT_GT(*left_out, 0u) << "five live pairs do not fit into the room of two";

  remove(3, 7);
  left_out = store->reclaim([] { return value_bytes * 2; }, cancelled);
  ASSERT_TRUE(left_out);
  EXPECT_EQ(*left_out, 0u);
  EXPECT_LT(*store->approximate_bytes("0", "9"), value_bytes * 2);
  EXPECT_FALSE(*store->read("3"));
  EXPECT_TRUE(*store->read("7"));
}

/// Flips a bit near the begin of each table.
void damage_tables(const std::filesystem::path& directory) {
  constexpr std::streamoff damaged_at = 4000;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".sst")
      continue;
    std::fstream table(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    table.seekg(damaged_at);
    const auto byte = static_cast<char>(table.get() ^ 1);
    table.seekp(damaged_at);
    table.put(byte);
  }
}

TEST_F(RocksdbStore, TellsOfDamageThatAnyReadFinds) {
  std::mt19937 random(1);
  std::string value(100'000, '\0');
  std::generate(value.begin(), value.end(), [&] { return static_cast<char>(random()); });
  ASSERT_TRUE((*open())->commit(write_group{puts({{"a", value}, {"b", value}})}, durability::sync));
  ASSERT_TRUE(open());
  damage_tables(path());
  std::vector<errc> told;
  rocksdb_store_options options;
  options.directory = path();
  options.on_damage = [&](const error& damage) { told.push_back(damage.code); };
  auto store = open_rocksdb_store(options);
  ASSERT_TRUE(store) << store.error().context;
  const auto visit = [](auto, auto) { return true; };

  EXPECT_FALSE((*store)->read("a"));
  EXPECT_FALSE((*store)->scan("", "z", visit));
  EXPECT_FALSE((*store)->view()->scan("", "z", visit));
  EXPECT_TRUE(*(*store)->read("b"));
  EXPECT_EQ(told, (std::vector{errc::corruption, errc::corruption, errc::corruption}));
}

TEST_F(RocksdbStore, RefusesADirectoryThatThisProcessHolds) {
  auto first = open();
  ASSERT_TRUE(first);

  auto second = open();

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, errc::unavailable);
  EXPECT_NE(second.error().context.find(path().string()), std::string::npos);
}

TEST_F(RocksdbStore, RefusesADirectoryThatAnotherProcessHolds) {
  ASSERT_TRUE(open());
  lock_holder other{path() / "LOCK"};
  ASSERT_TRUE(other.holds());

  auto refused = open();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unavailable);
  EXPECT_NE(refused.error().context.find("is in use"), std::string::npos);
}

TEST_F(RocksdbStore, NamesADirectoryThatCannotBeCreated) {
  std::ofstream{path()} << "a file, not a directory";

  auto refused = open();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unavailable) << refused.error().context;
  EXPECT_NE(refused.error().context.find(path().string()), std::string::npos);
}

TEST_F(RocksdbStore, RefusesTheRestOfAStoreWithoutItsCurrentFile) {
  ASSERT_TRUE(open());
  std::filesystem::remove(path() / "CURRENT");

  auto refused = open();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::corruption);
  EXPECT_NE(refused.error().context.find("CURRENT is missing"), std::string::npos);
}

TEST_F(RocksdbStore, NamesADirectoryThatCannotBeWritten) {
  // Permissions do not stop root, but not even root can create a file here.
  rocksdb_store_options options;
  options.directory = "/proc/self";

  auto refused = open_rocksdb_store(options);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unavailable) << refused.error().context;
  EXPECT_NE(refused.error().context.find("/proc/self"), std::string::npos);
}

TEST_F(RocksdbStore, SaysNothingAfterAnOrderlyEnd) {
  ASSERT_TRUE(open(durability::os));

  ASSERT_TRUE(open(durability::os));

  EXPECT_EQ(said_, "");
}

TEST_F(RocksdbStore, RefusesALogThatIsShorterThanWhatWasSynced) {
  ASSERT_TRUE(open());
  (*position_hint::open(path()))->write({1000, true});

  auto refused = open(durability::sync);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::corruption);
}

TEST_F(RocksdbStore, SaysWhatIsMissingInOsMode) {
  ASSERT_TRUE(open(durability::os));
  (*position_hint::open(path()))->write({1000, false});

  ASSERT_TRUE(open(durability::os));

  EXPECT_NE(said_.find("1000 record operations are missing"), std::string::npos) << said_;
}

TEST_F(RocksdbStore, SaysThatItWasNotClosedInOsMode) {
  ASSERT_TRUE(open(durability::os));
  (*position_hint::open(path()))->write({0, false});

  ASSERT_TRUE(open(durability::os));

  EXPECT_NE(said_.find("not closed in order"), std::string::npos) << said_;
}

TEST_F(RocksdbStore, WhatACrashLeavesIsSaidToBeNormal) {
  ASSERT_TRUE(open());
  (*position_hint::open(path()))->write({0, false});

  const auto seen = inspect_rocksdb_store(path(), durability::sync);

  ASSERT_TRUE(seen) << to_string(seen.error());
  EXPECT_TRUE(seen->findings.empty());
  ASSERT_EQ(seen->notes.size(), 1u);
  EXPECT_TRUE(seen->notes[0].starts_with("normal after a crash: the store was not closed"))
    << seen->notes[0];
}

TEST_F(RocksdbStore, SaysThatItNeverSyncedInOsMode) {
  auto opened = open(durability::os);
  ASSERT_TRUE(opened);
  ASSERT_TRUE((*opened)->commit(write_group{puts({{"a", "1"}})}, durability::os));
  opened->reset();
  std::filesystem::remove(path() / "position.hint");

  ASSERT_TRUE(open(durability::os));

  EXPECT_NE(said_.find("does not know of any sync"), std::string::npos) << said_;
}

TEST_F(RocksdbStore, SaysNothingOfANewStore) {
  ASSERT_TRUE(open(durability::os));

  EXPECT_EQ(said_, "");
}

TEST(PositionHint, ReadsWhatWasWritten) {
  temporary_directory directory;
  auto hint = position_hint::open(directory.path()).value();
  EXPECT_EQ(hint->read(), std::nullopt);

  hint->write({~std::uint64_t{0}, false});
  EXPECT_EQ(hint->read(), (log_position{~std::uint64_t{0}, false}));
  hint->write({7, true});
  EXPECT_EQ(hint->read(), (log_position{7, true}));
}

TEST(PositionHint, IgnoresAForeignFile) {
  temporary_directory directory;
  std::ofstream{directory.path() / "position.hint"} << std::string(64, 'x');

  EXPECT_EQ((*position_hint::open(directory.path()))->read(), std::nullopt);
}

} // namespace
} // namespace codeq::storage
