// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/rocksdb_options.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/retention/retention_filter.hpp"

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

/// How many memtables share the write buffers; two are merged by a flush, so that a key and its
/// `single_remove` that meet there never reach a table.
constexpr int memtables_max = 4;
constexpr int memtables_per_flush = 2;

/// Memtables grow by blocks of this size, or of an eighth of a memtable. The allocator rounds what
/// is no power of two up, by 60 % for an eighth of 5 MiB, and RocksDB counts it as used.
constexpr std::size_t memtable_block_bytes_max = 256u << 10;

/// Of a memtable, for its filter of keys.
constexpr double memtable_filter_share = 0.02;

/// What a start may have to replay, in bytes; with one family the write buffers bound it already.
constexpr std::uint64_t log_bytes_max = 64u << 20;

/// Of those just flushed. Most records die young, so the more are merged at once, the less is left
/// to write; each costs a look at its filter when something is read.
constexpr int tables_before_compaction = 10;

constexpr double filter_bits_per_key = 10;
constexpr std::size_t block_bytes = 16u << 10;

/// Few threads read. A table's filter must be small beside a shard of the cache, or each read loads
/// it anew: half a megabyte for one body.
constexpr int cache_shard_bits = 2;

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

/// Leaves out what has passed its retention. One is made for each file that is written, and judges
/// by the horizons of that moment.
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
    // Unlike `kRemove`, leaves no tombstone. These keys are written once, but for histories: an
    // older entry that comes to light is of the same task, and goes when its file is rewritten.
    skip_until->assign(key.data(), key.size());
    skip_until->push_back('\0');
    return Decision::kRemoveAndSkipUntil;
  }

private:
  [[nodiscard]] bool has(std::string_view key) const {
    const auto* store = access_->load();
    auto found = store ? store->read(key) : result<std::optional<std::string>>{error{}};
    return !found || found->has_value();
  }

  std::shared_ptr<retention_horizons> horizons_;
  retention_view view_;
  std::shared_ptr<const store_access> access_;
  // One thread uses a filter, but RocksDB's interface is const.
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

/// One budget: what the memtables take is charged to the cache, which holds the blocks, indexes and
/// filters of the tables as well.
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
  // One writer and ascending keys per kind and shard: an insert finds its place at once.
  target.allow_concurrent_memtable_write = false;
  // What is read is mostly in a table by then; a memtable is to be passed over at once.
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
  table.block_size = block_bytes;
  // In parts of a block's size each, so that of a store of any size the cache holds what is used.
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = block_bytes;
  table.pin_top_level_index_and_filter = true;
  target.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  target.level_compaction_dynamic_level_bytes = true;
  target.level0_file_num_compaction_trigger = tables_before_compaction;
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

} // namespace

error to_error(const rocksdb::Status& status) {
  auto text = status.ToString();
  if (status.IsCorruption())
    return {errc::corruption, std::move(text)};
  // What is asked of RocksDB is always the same, so it is the stored format that does not fit.
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
