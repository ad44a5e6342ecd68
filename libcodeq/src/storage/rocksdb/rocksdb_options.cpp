// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/rocksdb_options.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/retention/retention_filter.hpp"
#include "storage/rocksdb/rocksdb_memtable.hpp"

#include <rocksdb/cache.h>
#include <rocksdb/compaction_filter.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <utility>

namespace codeq::storage {

namespace {

/// Number of memtables that share the write buffers. A flush merges two of them, so that a key and
/// its `single_remove` that are in them are never written to a table.
constexpr int memtables_max = 4;
constexpr int memtables_per_flush = 2;

/// Memtables grow by blocks of this size, or of an eighth of a memtable. The allocator rounds sizes
/// that are not powers of two up, by 60 % for an eighth of 5 MiB, and RocksDB counts it as used.
constexpr std::size_t memtable_block_bytes_max = 256u << 10;

/// Part of a memtable that its key filter uses.
constexpr double memtable_filter_share = 0.02;

/// Maximum size of the log that a start may have to replay; with one column family the write
/// buffers already bound it.
constexpr std::uint64_t log_bytes_max = 64u << 20;

/// Number of flushed tables before a compaction. Most records are short-lived, so the more tables
/// are merged at once, the less is written; but each table costs a filter check in every read.
constexpr int tables_before_compaction = 10;

constexpr double filter_bits_per_key = 10;
constexpr std::size_t table_block_bytes = 16u << 10;

/// Few threads read. A table's filter must be small compared with a shard of the cache; otherwise
/// each read loads it again: half a megabyte for one body.
constexpr int cache_shard_bits = 2;

/// Passes background errors on, and keeps RocksDB from resuming by itself after one: a log whose
/// append failed may contain writes that were never acknowledged.
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

/// Drops records whose retention has passed. One filter is created for each file that is written;
/// it uses the horizons of that moment.
class retention_filter final : public rocksdb::CompactionFilter {
public:
  retention_filter(
    std::shared_ptr<retention_horizons> horizons, std::shared_ptr<const store_access> access)
    : horizons_(std::move(horizons)), view_(horizons_->view()), access_(std::move(access)) {}

  retention_filter(const retention_filter&) = delete;
  retention_filter& operator=(const retention_filter&) = delete;

  ~retention_filter() override { horizons_->count_evicted(evicted_); }

  const char* Name() const override { return "codeq_retention_filter"; }

  Decision FilterV2(
    int,
    const rocksdb::Slice& key,
    ValueType type,
    const rocksdb::Slice& value,
    std::string*,
    std::string* skip_until) const override {
    if (type != ValueType::kValue)
      return Decision::kKeep;
    auto is_there = [this](std::string_view record) { return has(record); };
    auto how = judge(view_, key.ToStringView(), value.ToStringView(), is_there);
    if (how == verdict::keep)
      return Decision::kKeep;
    evicted_ += how == verdict::evicted ? 1 : 0;
    if (may_hide_older(key.ToStringView()))
      return Decision::kRemove;
    // Unlike `kRemove`, this leaves no tombstone. These keys are written once, except histories: an
    // older entry that becomes visible belongs to the same task and is dropped when its file is
    // rewritten.
    skip_until->assign(key.data(), key.size());
    skip_until->push_back('\0');
    return Decision::kRemoveAndSkipUntil;
  }

private:
  [[nodiscard]] bool has(std::string_view key) const {
    const auto* store = access_->load();
    if (!store)
      return true;
    auto found = store->read(key);
    return !found || found->has_value();
  }

  std::shared_ptr<retention_horizons> horizons_;
  retention_view view_;
  std::shared_ptr<const store_access> access_;
  // Only one thread uses a filter, but RocksDB's interface is const.
  mutable std::uint64_t evicted_ = 0;
};

class retention_factory final : public rocksdb::CompactionFilterFactory {
public:
  retention_factory(
    std::shared_ptr<retention_horizons> horizons, std::shared_ptr<const store_access> access)
    : horizons_(std::move(horizons)), access_(std::move(access)) {}

  const char* Name() const override { return "codeq_retention_filters"; }

  bool ShouldFilterTableFileCreation(rocksdb::TableFileCreationReason reason) const override {
    return reason == rocksdb::TableFileCreationReason::kFlush
           || reason == rocksdb::TableFileCreationReason::kCompaction;
  }

  std::unique_ptr<rocksdb::CompactionFilter>
  CreateCompactionFilter(const rocksdb::CompactionFilter::Context&) override {
    return std::make_unique<retention_filter>(horizons_, access_);
  }

private:
  std::shared_ptr<retention_horizons> horizons_;
  std::shared_ptr<const store_access> access_;
};

void set_durability(rocksdb::Options& target, durability mode) {
  // In `sync` mode an acknowledged write can only be missing because of damage, so anything but a
  // torn end is refused. In `os` mode the kernel writes pages in any order: a hole ends the usable
  // prefix.
  target.wal_recovery_mode = mode == durability::sync
                               ? rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords
                               : rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  target.track_and_verify_wals_in_manifest = true;
  target.manual_wal_flush = false;
  target.recycle_log_file_num = 0;
  target.max_total_wal_size = log_bytes_max;
  // Data that was replayed may only have been in the page cache; a flush makes it durable.
  target.avoid_flush_during_recovery = false;
  target.max_bgerror_resume_count = 0;
}

/// One memory budget: memtables are charged to the cache, which also contains the blocks, indexes
/// and filters of tables.
std::shared_ptr<rocksdb::Cache> make_cache(const rocksdb_store_options& options) {
  return rocksdb::NewLRUCache(
    options.write_buffer_bytes + options.block_cache_bytes, cache_shard_bits);
}

void set_memory(
  rocksdb::Options& target,
  const rocksdb_store_options& options,
  const std::shared_ptr<rocksdb::Cache>& cache) {
  constexpr bool stalls_writers = false;
  target.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(
    options.write_buffer_bytes, cache, stalls_writers);
  target.write_buffer_size = options.write_buffer_bytes / memtables_max;
  target.arena_block_size = std::min(memtable_block_bytes_max, target.write_buffer_size / 8);
  target.max_write_buffer_number = memtables_max;
  target.min_write_buffer_number_to_merge = memtables_per_flush;
  target.memtable_factory = make_memtable_factory();
  // There is one writer, and keys ascend per kind and shard, so inserts are fast without
  // concurrency.
  target.allow_concurrent_memtable_write = false;
  // Reads mostly find their key in a table, so memtables must be skipped quickly.
  target.memtable_whole_key_filtering = true;
  target.memtable_prefix_bloom_size_ratio = memtable_filter_share;
  target.memtable_insert_with_hint_prefix_extractor.reset(
    rocksdb::NewFixedPrefixTransform(key_prefix_bytes));
}

void set_tables(rocksdb::Options& target, const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(filter_bits_per_key));
  table.block_size = table_block_bytes;
  // In parts of about a block's size, so that the cache of a store of any size contains the parts
  // in use.
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = table_block_bytes;
  table.pin_top_level_index_and_filter = true;
  target.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  target.level_compaction_dynamic_level_bytes = true;
  target.level0_file_num_compaction_trigger = tables_before_compaction;
  // Most records are short-lived: only those that outlive two levels are worth compressing.
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

} // namespace

error to_error(const rocksdb::Status& status) {
  auto text = status.ToString();
  if (status.IsCorruption())
    return {errc::corruption, std::move(text)};
  // Our requests to RocksDB are always valid, so such an error means that the stored format does
  // not fit.
  if (status.IsInvalidArgument() || status.IsNotSupported())
    return {errc::incompatible_store, std::move(text)};
  return {errc::io_error, std::move(text)};
}

rocksdb::Options make_options(
  const rocksdb_store_options& options, const std::shared_ptr<const store_access>& access) {
  rocksdb::Options target;
  target.create_if_missing = true;
  if (options.environment)
    target.env = options.environment;
  set_durability(target, options.mode);
  auto cache = make_cache(options);
  set_memory(target, options, cache);
  set_tables(target, cache);
  if (options.horizons)
    target.compaction_filter_factory =
      std::make_shared<retention_factory>(options.horizons, access);
  target.listeners.push_back(std::make_shared<error_listener>(options.on_background_error));
  target.statistics = rocksdb::CreateDBStatistics();
  target.statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
  target.stats_dump_period_sec = target.stats_persist_period_sec = 0;
  target.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  target.max_log_file_size = 1u << 20;
  target.keep_log_file_num = 2;
  return target;
}

} // namespace codeq::storage
