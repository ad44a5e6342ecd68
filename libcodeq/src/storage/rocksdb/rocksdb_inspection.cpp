// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/rocksdb_inspection.hpp"

#include "storage/rocksdb/log_check.hpp"
#include "storage/rocksdb/position_hint.hpp"
#include "storage/rocksdb/rocksdb_lock.hpp"
#include "storage/rocksdb/rocksdb_options.hpp"
#include "storage/rocksdb/rocksdb_reader.hpp"
#include "storage/rocksdb/rocksdb_replay.hpp"

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <string>
#include <utility>

namespace codeq::storage {

namespace {

/// Begins a note about what every kill or power cut leaves behind.
constexpr auto after_crash = "normal after a crash: ";

/// Suppresses RocksDB's info log, which would be a file in the directory.
class silent_logger final : public rocksdb::Logger {
public:
  using rocksdb::Logger::Logv;

  void Logv(const char*, va_list) override {}
};

error refuse_change() {
  return {errc::unavailable, "the store is open for reading only"};
}

class read_only_store final : public rocksdb_reader {
public:
  read_only_store(
    std::unique_ptr<directory_lock> lock,
    std::unique_ptr<replay_filter> filter,
    std::unique_ptr<rocksdb::DB> db)
    : rocksdb_reader(*db), lock_(std::move(lock)), filter_(std::move(filter)), db_(std::move(db)) {}

  result<void> commit(std::span<const std::shared_ptr<const write_set>>, durability) override {
    return refuse_change();
  }

  result<void> sync_log() override { return refuse_change(); }

  result<void> compact(std::string_view, std::string_view, std::atomic<bool>&) override {
    return refuse_change();
  }

  std::uint64_t counter(std::string_view) const override { return 0; }

private:
  std::unique_ptr<directory_lock> lock_;
  /// RocksDB's options refer to it.
  std::unique_ptr<replay_filter> filter_;
  std::unique_ptr<rocksdb::DB> db_;
};

/// Checks the ends of the files before RocksDB reads them.
result<void>
look_at_ends(const std::filesystem::path& directory, durability mode, store_inspection& seen) {
  auto manifest = look_at_manifest(directory);
  if (manifest == log_end::damaged)
    return damaged_manifest(directory);
  if (manifest == log_end::torn)
    return error{
      errc::unavailable,
      directory.string()
        + ": the last entry of the manifest was not finished when the power went; the next start "
          "of a coordinator mends that"};
  auto end = look_at_log(directory);
  if (end == log_end::damaged && mode == durability::sync)
    seen.findings.push_back("the newest log is damaged before its end");
  else if (end != log_end::intact)
    seen.notes.push_back(
      std::string(after_crash) + "the newest log ends in a write that was not finished");
  return {};
}

void compare_positions(
  const std::filesystem::path& directory, std::uint64_t recovered, store_inspection& seen) {
  auto loss = describe_loss(position_hint::look(directory), recovered);
  if (loss.is_certain)
    seen.findings.push_back(loss.text);
  else if (!loss.text.empty())
    seen.notes.push_back(after_crash + loss.text);
}

rocksdb::Options reading_options(const std::filesystem::path& directory, replay_filter* filter) {
  rocksdb_store_options options;
  options.directory = directory;
  // Reads up to the end of the log, whatever ends it; findings about the end are reported here.
  options.mode = durability::os;
  auto target = make_options(options, std::make_shared<store_access>());
  target.create_if_missing = false;
  target.wal_filter = filter;
  target.info_log = std::make_shared<silent_logger>();
  return target;
}

} // namespace

result<store_inspection>
inspect_rocksdb_store(const std::filesystem::path& directory, durability mode) {
  std::error_code failure;
  if (has_only_parts(directory))
    return error{
      errc::corruption,
      directory.string()
        + " has parts of a store, but its file CURRENT is missing; restore a backup"};
  if (!std::filesystem::exists(directory / "CURRENT", failure)) {
    bool has_backups = std::filesystem::is_directory(directory / "meta", failure);
    return error{
      errc::unavailable,
      directory.string()
        + (has_backups ? " holds backups, not a store; restore one, which verifies it, too"
                       : " holds no store")};
  }
  auto lock = directory_lock::take(directory);
  if (!lock)
    return lock.error();
  store_inspection seen;
  if (auto ok = look_at_ends(directory, mode, seen); !ok)
    return ok.error();
  auto filter = std::make_unique<replay_filter>(directory, durability::os);
  rocksdb::DB* opened = nullptr;
  auto status = rocksdb::DB::OpenForReadOnly(
    reading_options(directory, filter.get()), directory.string(), &opened);
  if (!status.ok())
    return to_open_error(status, directory);
  std::unique_ptr<rocksdb::DB> db{opened};
  if (filter->found_gap())
    (mode == durability::sync ? seen.findings : seen.notes)
      .push_back("the log has a gap: what was committed behind it is lost");
  compare_positions(directory, db->GetLatestSequenceNumber(), seen);
  if (status = db->VerifyChecksum(); !status.ok())
    seen.findings.push_back("the files do not fit their checksums: " + to_error(status).context);
  seen.store =
    std::make_unique<read_only_store>(*std::move(lock), std::move(filter), std::move(db));
  return seen;
}

} // namespace codeq::storage
