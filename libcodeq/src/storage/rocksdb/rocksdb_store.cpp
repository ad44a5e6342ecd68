// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/rocksdb_store.hpp"

#include "storage/rocksdb/log_check.hpp"
#include "storage/rocksdb/position_hint.hpp"
#include "storage/rocksdb/rocksdb_backup.hpp"
#include "storage/rocksdb/rocksdb_options.hpp"
#include "storage/rocksdb/rocksdb_reader.hpp"
#include "storage/rocksdb/rocksdb_reclaim.hpp"
#include "storage/rocksdb/rocksdb_replay.hpp"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/statistics.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <mutex>
#include <utility>

namespace codeq::storage {

namespace {

/// In `sync` mode the position hint is updated once per this many commits.
constexpr std::uint64_t commits_per_hint = 1024;

struct named_ticker {
  std::string_view name;
  rocksdb::Tickers ticker;
};

constexpr std::array named_tickers{
  named_ticker{"keys_written", rocksdb::NUMBER_KEYS_WRITTEN},
  named_ticker{"bytes_written", rocksdb::BYTES_WRITTEN},
  named_ticker{"keys_read", rocksdb::NUMBER_KEYS_READ},
  named_ticker{"wal_synced", rocksdb::WAL_FILE_SYNCED},
  named_ticker{"wal_bytes", rocksdb::WAL_FILE_BYTES},
  named_ticker{"flush_bytes", rocksdb::FLUSH_WRITE_BYTES},
  named_ticker{"compaction_bytes", rocksdb::COMPACT_WRITE_BYTES},
  named_ticker{"stall_micros", rocksdb::STALL_MICROS},
};

/// The parts of an open store.
struct opened_store {
  /// RocksDB's options refer to it.
  std::unique_ptr<replay_filter> filter;
  std::unique_ptr<rocksdb::DB> db;
  std::shared_ptr<rocksdb::Statistics> statistics;
  std::unique_ptr<position_hint> hint;
  /// `log_mark` of the directory.
  std::string mark;
};

class rocksdb_store final : public rocksdb_reader {
public:
  rocksdb_store(opened_store opened, store_access& access, damage_listener on_damage)
    : rocksdb_reader(*opened.db, std::move(on_damage)), opened_(std::move(opened)) {
    access = this;
  }

  rocksdb_store(const rocksdb_store&) = delete;
  rocksdb_store& operator=(const rocksdb_store&) = delete;

  ~rocksdb_store() override {
    if (sync_log())
      opened_.hint->write({opened_.db->GetLatestSequenceNumber(), true});
    // An error has no consequences here: everything acknowledged is in the log.
    opened_.db->Close().PermitUncheckedError();
  }

  result<void>
  commit(std::span<const std::shared_ptr<const write_set>> sets, durability mode) override {
    if (auto ok = failure(); !ok)
      return ok;
    auto built = fill_batch(sets);
    if (built.ok() && batch_.Count() == 0)
      return {};
    // RocksDB's per-thread perf counters cost as much as the key comparisons that they count.
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    rocksdb::WriteOptions how;
    how.sync = mode == durability::sync;
    auto status = built.ok() ? opened_.db->Write(how, &batch_) : built;
    if (!status.ok())
      return fail(status);
    if (how.sync && ++commits_since_hint_ >= commits_per_hint) {
      note_position(opened_.db->GetLatestSequenceNumber());
      commits_since_hint_ = 0;
    }
    return {};
  }

  result<void> sync_log() override {
    if (auto ok = failure(); !ok)
      return ok;
    // Read before the sync, since writes committed during it may not reach the disk.
    auto position = opened_.db->GetLatestSequenceNumber();
    if (auto status = opened_.db->SyncWAL(); !status.ok())
      return fail(status);
    note_position(position);
    return {};
  }

  result<void>
  compact(std::string_view begin, std::string_view end, std::atomic<bool>& cancelled) override {
    rocksdb::Slice first{begin};
    rocksdb::Slice last{end};
    rocksdb::CompactRangeOptions how;
    how.exclusive_manual_compaction = false;
    how.canceled = &cancelled;
    auto status = opened_.db->CompactRange(how, &first, &last);
    if (!status.ok() && !status.IsIncomplete())
      return to_error(status);
    return {};
  }

  result<std::uint64_t> reclaim(
    const std::function<std::uint64_t()>& room, std::atomic<bool>& cancelled) override {
    return reclaim_files(*opened_.db, room, cancelled);
  }

  [[nodiscard]] result<std::vector<backup_report>>
  list_backups(const std::filesystem::path& directory) const override {
    return find_backups(directory);
  }

  result<backup_report> back_up(const backup_order& order, backup_progress& progress) override {
    return add_backup(*opened_.db, order, progress);
  }

  std::uint64_t counter(std::string_view name) const override {
    for (const auto& [known, ticker] : named_tickers)
      if (known == name)
        return opened_.statistics->getTickerCount(ticker);
    return 0;
  }

private:
  rocksdb::Status fill_batch(std::span<const std::shared_ptr<const write_set>> sets) {
    batch_.Clear();
    // Stored in the log only. It lets a start recognise records after a missing sector.
    auto status = batch_.PutLogData(opened_.mark);
    for (const auto& set : sets)
      for (const auto& operation : set->operations())
        if (status = add(operation); !status.ok())
          return status;
    return status;
  }

  rocksdb::Status add(const write_set::operation& operation) {
    switch (operation.what) {
    case write_set::kind::put:
      return batch_.Put(operation.key, operation.value);
    case write_set::kind::remove:
      return batch_.Delete(operation.key);
    case write_set::kind::single_remove:
      return batch_.SingleDelete(operation.key);
    }
    return rocksdb::Status::InvalidArgument("unknown kind of operation");
  }

  /// After the first failure the state of the log's end is unknown, so nothing may be written after
  /// it.
  error fail(const rocksdb::Status& status) {
    auto failure = to_error(status);
    std::lock_guard lock{mutex_};
    failure_ = failure;
    return failure;
  }

  result<void> failure() const {
    std::lock_guard lock{mutex_};
    return failure_;
  }

  /// @pre everything up to the position is on disk
  void note_position(rocksdb::SequenceNumber position) { opened_.hint->write({position, false}); }

  opened_store opened_;
  rocksdb::WriteBatch batch_;
  /// Guards `failure_`, which a commit and a sync may set at the same time.
  mutable std::mutex mutex_;
  result<void> failure_;
  std::uint64_t commits_since_hint_ = 0;
};

/// Checks the logs before RocksDB reads them; takes the lock, since files may be cut.
result<void> check_logs(const rocksdb_store_options& options, rocksdb::Env* environment) {
  rocksdb::FileLock* lock = nullptr;
  auto status = environment->LockFile((options.directory / "LOCK").string(), &lock);
  if (!status.ok())
    return to_open_error(status, options.directory);
  auto manifest = cut_torn_manifest(options.directory);
  auto end = options.mode == durability::sync ? cut_torn_log(options.directory) : log_end::intact;
  environment->UnlockFile(lock).PermitUncheckedError();
  if (manifest == log_end::damaged)
    return damaged_manifest(options.directory);
  if (end == log_end::damaged)
    return error{
      errc::corruption,
      "the newest log in " + options.directory.string() + " is damaged before its end"};
  return {};
}

/// Refuses or reports a loss that recovery found.
result<void> check_recovery(
  const rocksdb_store_options& options, const position_hint& hint, std::uint64_t recovered) {
  auto loss = describe_loss(hint.read(), recovered);
  if (loss.is_certain && options.mode == durability::sync)
    return error{errc::corruption, options.directory.string() + ": " + loss.text};
  if (!loss.text.empty() && options.mode == durability::os && options.on_recovery)
    options.on_recovery(loss.text);
  return {};
}

} // namespace

result<std::unique_ptr<task_store>> open_rocksdb_store(const rocksdb_store_options& options) {
  if (has_only_parts(options.directory))
    return error{
      errc::corruption,
      options.directory.string() + " has parts of a store, but its file CURRENT is missing"};
  auto hint = position_hint::open(options.directory);
  if (!hint)
    return hint.error();
  auto access = std::make_shared<store_access>();
  auto target = make_options(options, access);
  auto filter = std::make_unique<replay_filter>(options.directory, options.mode);
  target.wal_filter = filter.get();
  if (auto checked = check_logs(options, target.env); !checked)
    return checked.error();
  rocksdb::DB* opened = nullptr;
  auto status = rocksdb::DB::Open(target, options.directory.string(), &opened);
  if (!status.ok())
    return to_open_error(status, options.directory);
  std::unique_ptr<rocksdb::DB> db{opened};
  if (filter->found_gap() && options.on_recovery)
    options.on_recovery("the log has a gap: what was committed behind it was left out");
  if (auto checked = check_recovery(options, **hint, db->GetLatestSequenceNumber()); !checked)
    return checked.error();
  opened_store parts{
    std::move(filter),
    std::move(db),
    std::move(target.statistics),
    *std::move(hint),
    log_mark(options.directory)};
  return std::unique_ptr<task_store>{
    std::make_unique<rocksdb_store>(std::move(parts), *access, options.on_damage)};
}

} // namespace codeq::storage
