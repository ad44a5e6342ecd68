// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb_store.hpp"

#include "storage/keyspace.hpp"
#include "storage/log_check.hpp"
#include "storage/position_hint.hpp"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/wal_filter.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <utility>

namespace codeq::storage {

namespace {

/// How many memtables share the write buffers; two are merged by a flush, so that a key and its
/// `single_remove` that meet there never reach a table.
constexpr int memtables_max = 4;
constexpr int memtables_per_flush = 2;

/// What a start may have to replay, in bytes; with one family the write buffers bound it already.
constexpr std::uint64_t log_bytes_max = 64u << 20;

constexpr double filter_bits_per_key = 10;
constexpr std::size_t block_bytes = 16u << 10;

/// In `sync` mode the position hint is refreshed once in so many commits.
constexpr std::uint64_t commits_per_hint = 1024;

/// The one place where RocksDB's words become ours. @pre `status` is not OK.
error to_error(const rocksdb::Status& status) {
  auto text = status.ToString();
  if (status.IsCorruption())
    return {errc::corruption, std::move(text)};
  // What is asked of RocksDB is always the same, so it is the stored format that does not fit.
  if (status.IsInvalidArgument() || status.IsNotSupported())
    return {errc::incompatible_store, std::move(text)};
  return {errc::io_error, std::move(text)};
}

error to_open_error(const rocksdb::Status& status, const rocksdb_store_options& options) {
  auto translated = to_error(status);
  auto directory = options.directory.string();
  if (status.IsIOError()) {
    // RocksDB has no code for a lock that is held, only these two texts.
    auto text = status.ToString();
    if (
      text.find("While lock file") != std::string::npos
      || text.find("lock hold by current process") != std::string::npos)
      return {
        errc::incompatible_store, "another process holds the directory " + directory + ": " + text};
  }
  translated.context = "cannot open the store in " + directory + ": " + translated.context;
  return translated;
}

/// Passes background errors on, and keeps RocksDB from resuming by itself after one: a log whose
/// append failed may hold what nobody was told of.
class error_listener final : public rocksdb::EventListener {
public:
  explicit error_listener(std::function<void(const error&)> report) : report_(std::move(report)) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    if (report_ && status && !status->ok())
      report_(to_error(*status));
  }

  void OnErrorRecoveryBegin(
    rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }

private:
  std::function<void(const error&)> report_;
};

/// Lets `log_continuity` see what is replayed.
class replay_filter final : public rocksdb::WalFilter {
public:
  explicit replay_filter(const rocksdb_store_options& options)
    : continuity_(options.directory), mode_(options.mode) {}

  const char* Name() const override { return "codeq_replay_filter"; }

  void ColumnFamilyLogNumberMap(
    const std::map<std::uint32_t, std::uint64_t>& oldest_logs,
    const std::map<std::string, std::uint32_t>&) override {
    continuity_.begin(oldest_logs.empty() ? 0 : oldest_logs.begin()->second);
  }

  WalProcessingOption LogRecordFound(
    unsigned long long log,
    const std::string&,
    const rocksdb::WriteBatch& batch,
    rocksdb::WriteBatch*,
    bool*) override {
    if (continuity_.follows(log, batch.Data()))
      return WalProcessingOption::kContinueProcessing;
    return mode_ == durability::sync ? WalProcessingOption::kCorruptedRecord
                                     : WalProcessingOption::kStopReplay;
  }

  [[nodiscard]] bool found_gap() const { return continuity_.found_gap(); }

private:
  log_continuity continuity_;
  durability mode_;
};

void set_durability(rocksdb::Options& target, durability mode) {
  // An acknowledged write of `sync` can only be missing by damage, so anything but a torn end is
  // refused. In `os` mode the kernel writes pages in any order: a hole ends the usable prefix.
  target.wal_recovery_mode = mode == durability::sync
                               ? rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords
                               : rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  target.track_and_verify_wals_in_manifest = true;
  target.manual_wal_flush = false;
  target.recycle_log_file_num = 0;
  target.max_total_wal_size = log_bytes_max;
  // What was read back may only have been in the page cache; a flush brings it to the disk.
  target.avoid_flush_during_recovery = false;
  target.max_bgerror_resume_count = 0;
}

void set_memory(rocksdb::Options& target, const rocksdb_store_options& options) {
  target.write_buffer_size = options.write_buffer_bytes / memtables_max;
  target.max_write_buffer_number = memtables_max;
  target.min_write_buffer_number_to_merge = memtables_per_flush;
  // One writer and ascending keys per kind and shard: an insert finds its place at once.
  target.allow_concurrent_memtable_write = false;
  target.memtable_insert_with_hint_prefix_extractor.reset(
    rocksdb::NewFixedPrefixTransform(key_prefix_bytes));
}

void set_tables(rocksdb::Options& target, const rocksdb_store_options& options) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(filter_bits_per_key));
  table.block_size = block_bytes;
  target.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  target.level_compaction_dynamic_level_bytes = true;
  // Most records die young: only those that outlive two levels are worth the time.
  target.compression_per_level.assign(
    static_cast<std::size_t>(target.num_levels), rocksdb::kNoCompression);
  auto supported = rocksdb::GetSupportedCompressions();
  if (std::find(supported.begin(), supported.end(), rocksdb::kLZ4Compression) != supported.end())
    std::fill(
      target.compression_per_level.begin() + 2,
      target.compression_per_level.end(),
      rocksdb::kLZ4Compression);
  target.bytes_per_sync = 1u << 20;
  target.max_background_jobs = 2;
}

rocksdb::Options make_options(const rocksdb_store_options& options) {
  rocksdb::Options target;
  target.create_if_missing = true;
  if (options.environment)
    target.env = options.environment;
  set_durability(target, options.mode);
  set_memory(target, options);
  set_tables(target, options);
  target.listeners.push_back(std::make_shared<error_listener>(options.on_background_error));
  target.statistics = rocksdb::CreateDBStatistics();
  target.statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
  target.stats_dump_period_sec = target.stats_persist_period_sec = 0;
  target.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  target.max_log_file_size = 1u << 20;
  target.keep_log_file_num = 2;
  return target;
}

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

class rocksdb_store final : public task_store {
public:
  rocksdb_store(
    std::unique_ptr<replay_filter> filter,
    std::unique_ptr<rocksdb::DB> db,
    std::shared_ptr<rocksdb::Statistics> statistics,
    std::unique_ptr<position_hint> hint)
    : filter_(std::move(filter)),
      db_(std::move(db)),
      statistics_(std::move(statistics)),
      hint_(std::move(hint)) {}

  rocksdb_store(const rocksdb_store&) = delete;
  rocksdb_store& operator=(const rocksdb_store&) = delete;

  ~rocksdb_store() override {
    if (sync_log())
      hint_->write({db_->GetLatestSequenceNumber(), true});
    // An error here is of no consequence: everything acknowledged is in the log.
    db_->Close().PermitUncheckedError();
  }

  result<void>
  commit(std::span<const std::shared_ptr<const write_set>> sets, durability mode) override {
    if (!failure_)
      return failure_.error();
    auto built = fill_batch(sets);
    if (built.ok() && batch_.Count() == 0)
      return {};
    rocksdb::WriteOptions how;
    how.sync = mode == durability::sync;
    auto status = built.ok() ? db_->Write(how, &batch_) : built;
    if (!status.ok())
      return fail(status);
    if (how.sync && ++commits_since_hint_ >= commits_per_hint)
      note_position();
    return {};
  }

  result<void> sync_log() override {
    if (!failure_)
      return failure_.error();
    if (auto status = db_->SyncWAL(); !status.ok())
      return fail(status);
    note_position();
    return {};
  }

  result<std::optional<std::string>> read(std::string_view key) const override {
    std::string value;
    auto status = db_->Get({}, rocksdb::Slice(key), &value);
    if (status.IsNotFound())
      return std::optional<std::string>{};
    if (!status.ok())
      return to_error(status);
    return std::optional{std::move(value)};
  }

  result<void> scan(
    std::string_view begin,
    std::string_view end,
    const std::function<bool(std::string_view key, std::string_view value)>& visit) const override {
    rocksdb::Slice upper{end};
    rocksdb::ReadOptions how;
    how.iterate_upper_bound = &upper;
    std::unique_ptr<rocksdb::Iterator> at{db_->NewIterator(how)};
    for (at->Seek(rocksdb::Slice(begin)); at->Valid(); at->Next())
      if (!visit(at->key().ToStringView(), at->value().ToStringView()))
        return {};
    if (!at->status().ok())
      return to_error(at->status());
    return {};
  }

  result<std::optional<std::pair<std::string, std::string>>>
  read_last(std::string_view begin, std::string_view end) const override {
    rocksdb::Slice lower{begin};
    rocksdb::Slice upper{end};
    rocksdb::ReadOptions how;
    how.iterate_lower_bound = &lower;
    how.iterate_upper_bound = &upper;
    std::unique_ptr<rocksdb::Iterator> at{db_->NewIterator(how)};
    at->SeekToLast();
    if (!at->status().ok())
      return to_error(at->status());
    std::optional<std::pair<std::string, std::string>> found;
    if (at->Valid())
      found.emplace(at->key().ToString(), at->value().ToString());
    return found;
  }

  std::uint64_t counter(std::string_view name) const override {
    for (const auto& [known, ticker] : named_tickers)
      if (known == name)
        return statistics_->getTickerCount(ticker);
    return 0;
  }

private:
  rocksdb::Status fill_batch(std::span<const std::shared_ptr<const write_set>> sets) {
    batch_.Clear();
    rocksdb::Status status;
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

  /// After the first failure nothing is known about the end of the log: nothing may follow it.
  error fail(const rocksdb::Status& status) {
    auto failure = to_error(status);
    failure_ = failure;
    return failure;
  }

  /// @pre everything committed so far is on the disk.
  void note_position() {
    hint_->write({db_->GetLatestSequenceNumber(), false});
    commits_since_hint_ = 0;
  }

  /// RocksDB's options point to it.
  std::unique_ptr<replay_filter> filter_;
  std::unique_ptr<rocksdb::DB> db_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<position_hint> hint_;
  rocksdb::WriteBatch batch_;
  result<void> failure_;
  std::uint64_t commits_since_hint_ = 0;
};

/// Looks at the logs before RocksDB does; under its lock, since files may be cut.
result<void> check_logs(const rocksdb_store_options& options, rocksdb::Env* environment) {
  rocksdb::FileLock* lock = nullptr;
  auto status = environment->LockFile((options.directory / "LOCK").string(), &lock);
  if (!status.ok())
    return to_open_error(status, options);
  // What is damaged in a manifest, RocksDB reports by itself.
  static_cast<void>(mend_manifest(options.directory));
  auto end = options.mode == durability::sync ? mend_log(options.directory) : log_end::intact;
  environment->UnlockFile(lock).PermitUncheckedError();
  if (end == log_end::damaged)
    return error{
      errc::corruption,
      "the newest log in " + options.directory.string() + " is damaged before its end"};
  return {};
}

/// Refuses or reports what recovery found missing.
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
  auto hint = position_hint::open(options.directory);
  if (!hint)
    return hint.error();
  auto target = make_options(options);
  auto filter = std::make_unique<replay_filter>(options);
  target.wal_filter = filter.get();
  if (auto checked = check_logs(options, target.env); !checked)
    return checked.error();
  rocksdb::DB* opened = nullptr;
  auto status = rocksdb::DB::Open(target, options.directory.string(), &opened);
  if (!status.ok())
    return to_open_error(status, options);
  std::unique_ptr<rocksdb::DB> db{opened};
  if (filter->found_gap() && options.on_recovery)
    options.on_recovery("the log has a gap: what was committed behind it was left out");
  if (auto checked = check_recovery(options, **hint, db->GetLatestSequenceNumber()); !checked)
    return checked.error();
  return std::unique_ptr<task_store>{std::make_unique<rocksdb_store>(
    std::move(filter), std::move(db), std::move(target.statistics), *std::move(hint))};
}

} // namespace codeq::storage
