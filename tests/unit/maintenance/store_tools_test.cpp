// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator.hpp"

#include "storage/recovery/recovery.hpp"
#include "storage/replica/replica_store.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/temporary_directory.hpp"
#include "unit/maintenance/verifier_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace codeq::maintenance {
namespace {

namespace fs = std::filesystem;

/// The turns of the shard in a RocksDB store.
class StoreTools : public verifier_fixture {
protected:
  void open() {
    storage::rocksdb_store_options options;
    options.directory = data();
    auto opened = storage::open_rocksdb_store(options);
    ASSERT_TRUE(opened) << to_string(opened.error());
    files_ = std::move(*opened);
    if (!*files_->read(storage::store_key{}.encode()))
      commit_to(*files_, test::puts({{storage::store_key{}.encode(), encode(identity())}}));
  }

  void write_files() { write_to(*files_); }

  void close() { files_.reset(); }

  result<storage::backup_report> back_up(std::uint32_t kept) {
    storage::backup_progress progress;
    auto made = files_->back_up({backups(), kept}, progress);
    EXPECT_TRUE(progress.is_fixed);
    return made;
  }

  /// Changes a byte of each table that backups share.
  void damage_backups() {
    for (const auto& entry : fs::directory_iterator(backups() / "shared_checksum")) {
      std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(100);
      file.put('\x55');
    }
  }

  /// Backs up the store as that of a coordinator of a cluster.
  void back_up_part(const std::string& node, std::uint64_t run) {
    auto copy = storage::read_replica(*files_, only_shard);
    ASSERT_TRUE(copy) << to_string(copy.error());
    if (!*copy) {
      const replication::replica_id id{5};
      ASSERT_TRUE(storage::found_replica(*files_, only_shard, id, cluster_epoch));
    }
    fs::create_directories(backups());
    storage::backup_progress progress;
    auto made = files_->back_up({backups() / node, 3, run}, progress);
    ASSERT_TRUE(made) << to_string(made.error());
    EXPECT_EQ(made->run, run);
  }

  /// Of two coordinators with one backup each.
  static cluster_backup whole(std::uint64_t run) {
    return {
      "c", run, {{"c1", 1, 0, 0}, {"c2", 1, 0, 0}}, {{only_shard, cluster_epoch, 1}}};
  }

  result<restored_store> restore_cluster(const cluster_backup& backup) {
    return restore_store(
      {.backups = backups(), .cluster = backup, .directory = restored()});
  }

  static constexpr std::uint32_t cluster_epoch = 70'000;

  void complete_some(int tasks) {
    for (int i = 0; i < tasks; ++i) {
      enqueue("q");
      force(++enqueued_, force_kind::complete);
    }
  }

  [[nodiscard]] fs::path data() const { return directory_.path() / "data"; }

  [[nodiscard]] fs::path backups() const { return directory_.path() / "backups"; }

  [[nodiscard]] fs::path restored() const { return directory_.path() / "restored"; }

  /// The content of every file.
  static std::map<std::string, std::string> bytes_of(const fs::path& directory) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(directory)) {
      std::ifstream file(entry.path(), std::ios::binary);
      files[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return files;
  }

  test::temporary_directory directory_;
  std::unique_ptr<storage::task_store> files_;
  int enqueued_ = 0;
};

TEST_F(StoreTools, VerifyReadsAStoreAndChangesNothing) {
  open();
  complete_some(10);
  write_files();
  close();
  auto before = bytes_of(data());

  auto report = verify_store({.directory = data()});

  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->findings_count, 0u) << report->findings.front();
  EXPECT_EQ(report->records.at(only_shard).at("outcome"), 10u);
  EXPECT_EQ(bytes_of(data()), before);
}

TEST_F(StoreTools, VerifyRefusesAStoreThatIsOpen) {
  open();

  auto report = verify_store({.directory = data()});

  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::unavailable);
}

TEST_F(StoreTools, VerifyRefusesADirectoryWithoutAStore) {
  auto report = verify_store({.directory = data()});

  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::unavailable);
  EXPECT_FALSE(fs::exists(data()));
}

TEST_F(StoreTools, VerifyFindsAChangedByteInATable) {
  open();
  complete_some(200);
  write_files();
  std::atomic<bool> cancelled{false};
  ASSERT_TRUE(files_->compact("", "\xff", cancelled));
  close();
  for (const auto& entry : fs::directory_iterator(data()))
    if (entry.path().extension() == ".sst") {
      std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(100);
      file.put('\x55');
    }

  auto report = verify_store({.directory = data()});

  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_GT(report->findings_count, 0u);
}

TEST_F(StoreTools, BackupIsRestoredAsItWasTaken) {
  open();
  complete_some(10);
  write_files();
  auto backup = back_up(3);
  complete_some(5);
  write_files();
  close();

  auto made = restore_store({.backups = backups(), .directory = restored()});

  ASSERT_TRUE(backup) << to_string(backup.error());
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(made->number, backup->number);
  EXPECT_EQ(made->report.records.at(only_shard).at("outcome"), 10u);
  EXPECT_NE(made->store_id, identity().store_id);
  EXPECT_GT(made->epoch, 65'536u);
}

TEST_F(StoreTools, SecondBackupCopiesOnlyWhatIsNew) {
  open();
  complete_some(200);
  write_files();
  ASSERT_TRUE(back_up(3));
  std::uintmax_t shared = 0;
  for (const auto& entry : fs::directory_iterator(backups() / "shared_checksum"))
    shared += entry.file_size();
  complete_some(1);
  write_files();

  auto second = back_up(3);

  ASSERT_TRUE(second) << to_string(second.error());
  std::uintmax_t now = 0;
  for (const auto& entry : fs::directory_iterator(backups() / "shared_checksum"))
    now += entry.file_size();
  EXPECT_LT(now - shared, shared / 2);
  EXPECT_GT(second->bytes, shared);
}

TEST_F(StoreTools, OldBackupsGo) {
  open();
  for (int i = 0; i < 4; ++i) {
    complete_some(1);
    write_files();
    ASSERT_TRUE(back_up(2));
  }
  close();

  auto oldest = restore_store({.backups = backups(), .number = 2, .directory = restored()});
  auto kept = restore_store({.backups = backups(), .number = 3, .directory = restored()});

  ASSERT_FALSE(oldest);
  EXPECT_EQ(oldest.error().code, errc::unavailable);
  ASSERT_TRUE(kept) << to_string(kept.error());
  EXPECT_EQ(kept->report.records.at(only_shard).at("outcome"), 3u);
}

TEST_F(StoreTools, RestoreNamesADirectoryWithoutBackups) {
  auto made = restore_store({.backups = backups(), .directory = restored()});

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error(), (error{errc::unavailable, backups().string() + " holds no backups"}));
  EXPECT_FALSE(fs::exists(restored()));
}

TEST_F(StoreTools, ClusterIsRestoredFromTheBackupsOfItsCoordinators) {
  open();
  complete_some(10);
  write_files();
  back_up_part("c1", 7);
  back_up_part("c2", 7);
  close();

  auto made = restore_cluster(whole(7));

  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(made->report.findings_count, 0u);
  EXPECT_EQ(made->report.records.at(only_shard).at("outcome"), 10u);
  EXPECT_NE(made->store_id, identity().store_id);
  EXPECT_GE(made->epoch, cluster_epoch + 65'536u);
  // The stores of the others are removed again.
  EXPECT_EQ(
    std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()), 3);
}

TEST_F(StoreTools, ClusterIsRestoredWithoutACoordinatorWhoseShardsOthersHave) {
  open();
  write_files();
  back_up_part("c2", 7);
  close();

  EXPECT_TRUE(restore_cluster(whole(7)));
}

TEST_F(StoreTools, ClusterBackupThatLacksAShardNamesItAndTheCoordinators) {
  open();
  write_files();
  back_up_part("c2", 7);
  close();
  auto later = whole(7);
  later.shards[0].position = 2;

  auto made = restore_cluster(later);

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::unavailable);
  EXPECT_EQ(
    made.error().context,
    "shard 0 has copies up to 70000/1 only, but 70000/2 belongs to the backup of the cluster; "
      + backups().string() + " lacks the backups of c1");
  EXPECT_FALSE(fs::exists(restored()));
}

TEST_F(StoreTools, BackupsOfDifferentRunsAreRefused) {
  open();
  write_files();
  back_up_part("c1", 7);
  back_up_part("c2", 8);
  close();

  auto made = restore_cluster(whole(7));

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::invalid_argument);
  EXPECT_NE(made.error().context.find("is not the one of c2"), std::string::npos);
}

TEST_F(StoreTools, BackupOfOneCoordinatorOfAClusterIsRefusedAlone) {
  open();
  write_files();
  back_up_part("c1", 7);
  close();

  auto made = restore_store({.backups = backups() / "c1", .directory = restored()});

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::invalid_argument);
  EXPECT_NE(made.error().context.find("is of a coordinator of a cluster"), std::string::npos);
}

TEST_F(StoreTools, BackupThatIsStoppedIsNone) {
  open();
  ASSERT_TRUE(back_up(2));
  complete_some(200);
  write_files();
  storage::backup_progress progress;
  progress.is_cancelled = true;

  auto stopped = files_->back_up({backups(), 2}, progress);
  auto next = back_up(2);

  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, errc::going_away);
  EXPECT_TRUE(next) << to_string(next.error());
}

TEST_F(StoreTools, BackupThatFailsItsCheckIsNone) {
  open();
  complete_some(200);
  write_files();
  ASSERT_TRUE(back_up(2));
  damage_backups();
  complete_some(1);
  write_files();

  auto failed = back_up(2);

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::corruption);
  auto found = files_->list_backups(backups());
  ASSERT_TRUE(found) << to_string(found.error());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().number, 1u);
}

TEST_F(StoreTools, RestoreRefusesADirectoryWithFiles) {
  open();
  ASSERT_TRUE(back_up(2));
  close();

  auto made = restore_store({.backups = backups(), .directory = data()});

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::invalid_argument);
}

TEST_F(StoreTools, RestoreRefusesADamagedBackup) {
  open();
  complete_some(200);
  write_files();
  ASSERT_TRUE(back_up(2));
  close();
  damage_backups();

  auto made = restore_store({.backups = backups(), .directory = restored()});

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::corruption);
  EXPECT_FALSE(fs::exists(restored()));
}

} // namespace
} // namespace codeq::maintenance
