// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/rocksdb_backup.hpp"

#include "storage/rocksdb/rocksdb_options.hpp"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/utilities/backup_engine.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>

namespace codeq::storage {

namespace {

error describe(const rocksdb::Status& status, const std::filesystem::path& directory) {
  auto translated = to_error(status);
  translated.context = "the backups in " + directory.string() + ": " + translated.context;
  return translated;
}

/// The run of a backup, as it is kept with the backup; empty for 0.
std::string label_of(std::uint64_t run) {
  return run == 0 ? std::string() : std::to_string(run);
}

std::uint64_t run_of(const std::string& label) {
  std::uint64_t run = 0;
  std::from_chars(label.data(), label.data() + label.size(), run);
  return run;
}

backup_report report_of(const rocksdb::BackupInfo& info) {
  return {
    info.backup_id,
    info.size,
    info.number_files,
    timestamp{std::chrono::seconds(info.timestamp)},
    run_of(info.app_metadata)};
}

/// Checks the tables of a backup against their checksums, one by one, so that it can be cancelled.
rocksdb::Status read_tables(
  const std::filesystem::path& directory,
  const rocksdb::BackupInfo& info,
  const std::atomic<bool>& cancelled) {
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  for (const auto& file : info.file_details) {
    auto path = directory / file.relative_filename;
    if (path.extension() != ".sst" || cancelled)
      continue;
    rocksdb::SstFileReader reader{rocksdb::Options{}};
    auto status = reader.Open(path.string());
    if (status.ok())
      status = reader.VerifyChecksum(how);
    if (!status.ok())
      return status;
  }
  return {};
}

/// Removes a backup that is not whole, so that no restore takes it for the newest one. Returns why
/// it is not.
rocksdb::Status
drop(rocksdb::BackupEngine& engine, rocksdb::BackupID number, const rocksdb::Status& why) {
  const auto dropped = engine.DeleteBackup(number);
  return dropped.ok() ? why : dropped;
}

} // namespace

result<backup_report> add_backup(
  rocksdb::DB& db, const backup_order& order, backup_progress& progress) {
  const auto& directory = order.directory;
  auto& cancelled = progress.is_cancelled;
  rocksdb::BackupEngineOptions options(directory.string());
  // A backup must survive a power cut.
  options.sync = true;
  rocksdb::BackupEngine* opened = nullptr;
  rocksdb::Status status = rocksdb::BackupEngine::Open(options, db.GetEnv(), &opened);
  if (!status.ok())
    return describe(status, directory);
  std::unique_ptr<rocksdb::BackupEngine> engine{opened};
  rocksdb::CreateBackupOptions how;
  // Tables are shared by backups; only the part of the log that is written meanwhile is copied.
  how.flush_before_backup = true;
  // The files and the end of the log are chosen before any of them is copied.
  how.progress_callback = [&] {
    progress.is_fixed = true;
    if (cancelled)
      engine->StopBackup();
  };
  rocksdb::BackupID number = 0;
  rocksdb::BackupInfo info;
  status = engine->CreateNewBackupWithMetadata(how, &db, label_of(order.run), &number);
  progress.is_fixed = true;
  if (status.ok())
    status = engine->VerifyBackup(number);
  if (status.ok())
    status = engine->GetBackupInfo(number, &info, true);
  if (status.ok())
    status = read_tables(directory, info, cancelled);
  const auto is_whole = status.ok() && !cancelled;
  if (number != 0 && !is_whole)
    status = drop(*engine, number, status);
  if (cancelled)
    return error{errc::going_away, "the backup was stopped before it was whole"};
  // Done last, so that there is always one backup that was checked.
  if (status.ok())
    status = engine->PurgeOldBackups(order.kept);
  if (!status.ok())
    return describe(status, directory);
  return report_of(info);
}

result<std::vector<backup_report>> find_backups(const std::filesystem::path& directory) {
  std::vector<backup_report> found;
  std::error_code failure;
  if (!std::filesystem::is_directory(directory, failure))
    return error{errc::unavailable, directory.string() + " is not a directory"};
  // The first backup creates it.
  if (!std::filesystem::exists(directory / "meta", failure))
    return found;
  rocksdb::BackupEngineOptions options(directory.string());
  rocksdb::BackupEngineReadOnly* opened = nullptr;
  rocksdb::Status status =
    rocksdb::BackupEngineReadOnly::Open(options, rocksdb::Env::Default(), &opened);
  if (!status.ok())
    return describe(status, directory);
  std::unique_ptr<rocksdb::BackupEngineReadOnly> engine{opened};
  std::vector<rocksdb::BackupInfo> all;
  engine->GetBackupInfo(&all);
  for (const auto& info : all)
    found.push_back(report_of(info));
  return found;
}

result<backup_report> fetch_backup(
  const std::filesystem::path& directory,
  std::uint32_t number,
  const std::filesystem::path& target) {
  std::error_code failure;
  if (!std::filesystem::is_directory(directory / "meta", failure))
    return error{errc::unavailable, directory.string() + " holds no backups"};
  rocksdb::BackupEngineOptions options(directory.string());
  rocksdb::BackupEngineReadOnly* opened = nullptr;
  rocksdb::Status status =
    rocksdb::BackupEngineReadOnly::Open(options, rocksdb::Env::Default(), &opened);
  if (!status.ok())
    return describe(status, directory);
  std::unique_ptr<rocksdb::BackupEngineReadOnly> engine{opened};
  rocksdb::BackupInfo info;
  auto found =
    number == 0 ? engine->GetLatestBackupInfo(&info) : engine->GetBackupInfo(number, &info);
  if (found.IsNotFound())
    return error{
      errc::unavailable,
      directory.string() + " holds no backup"
        + (number == 0 ? std::string() : " " + std::to_string(number))};
  if (!found.ok())
    return describe(found, directory);
  if (status = engine->VerifyBackup(info.backup_id, true); !status.ok())
    return describe(status, directory);
  status = engine->RestoreDBFromBackup(info.backup_id, target.string(), target.string());
  if (!status.ok())
    return describe(status, directory);
  return report_of(info);
}

} // namespace codeq::storage
