// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/rocksdb_reader.hpp"

#include "storage/rocksdb/rocksdb_options.hpp"

#include <rocksdb/db.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace codeq::storage {

namespace {

/// RocksDB looks up this many keys at once; see `MultiGetContext::MAX_BATCH_SIZE`.
constexpr std::size_t keys_per_read = 32;

error to_read_error(const rocksdb::Status& status, const damage_listener& on_damage) {
  auto failure = to_error(status);
  if (failure.code == errc::corruption && on_damage)
    on_damage(failure);
  return failure;
}

/// One iterator: compactions drop records that a snapshot would still see, but not those in the
/// files that an iterator keeps.
class rocksdb_view final : public store_view {
public:
  rocksdb_view(std::unique_ptr<rocksdb::Iterator> at, damage_listener on_damage)
    : at_(std::move(at)), on_damage_(std::move(on_damage)) {}

  result<void>
  scan(std::string_view begin, std::string_view end, const pair_visitor& visit) override {
    for (at_->Seek(rocksdb::Slice(begin)); at_->Valid(); at_->Next()) {
      auto key = at_->key().ToStringView();
      if (key >= end || !visit(key, at_->value().ToStringView()))
        return {};
    }
    if (!at_->status().ok())
      return to_read_error(at_->status(), on_damage_);
    return {};
  }

private:
  std::unique_ptr<rocksdb::Iterator> at_;
  damage_listener on_damage_;
};

} // namespace

result<std::optional<std::string>> rocksdb_reader::read(std::string_view key) const {
  std::string value;
  auto status = db_.Get({}, rocksdb::Slice(key), &value);
  if (status.IsNotFound())
    return std::optional<std::string>{};
  if (!status.ok())
    return to_read_error(status, on_damage_);
  return std::optional{std::move(value)};
}

bool rocksdb_reader::may_have(std::string_view key) const {
  std::string ignored;
  return db_.KeyMayExist({}, rocksdb::Slice(key), &ignored);
}

result<void>
rocksdb_reader::read_many(std::span<const std::string> keys, const value_visitor& visit) const {
  std::array<rocksdb::Slice, keys_per_read> wanted;
  std::array<rocksdb::Status, keys_per_read> found;
  constexpr bool is_sorted = true;
  for (std::size_t begin = 0; begin < keys.size(); begin += keys_per_read) {
    auto count = std::min(keys.size() - begin, keys_per_read);
    std::copy_n(keys.begin() + static_cast<std::ptrdiff_t>(begin), count, wanted.begin());
    // In this scope, since the slices pin blocks of the cache as long as they live.
    std::array<rocksdb::PinnableSlice, keys_per_read> values;
    db_.MultiGet(
      {}, db_.DefaultColumnFamily(), count, wanted.data(), values.data(), found.data(), is_sorted);
    for (std::size_t i = 0; i < count; ++i) {
      if (found[i].IsNotFound())
        continue;
      if (!found[i].ok())
        return to_read_error(found[i], on_damage_);
      if (!visit(begin + i, values[i].ToStringView()))
        return {};
    }
  }
  return {};
}

result<void> rocksdb_reader::scan(
  std::string_view begin, std::string_view end, const pair_visitor& visit) const {
  rocksdb::Slice upper{end};
  rocksdb::ReadOptions how;
  how.iterate_upper_bound = &upper;
  std::unique_ptr<rocksdb::Iterator> at{db_.NewIterator(how)};
  for (at->Seek(rocksdb::Slice(begin)); at->Valid(); at->Next())
    if (!visit(at->key().ToStringView(), at->value().ToStringView()))
      return {};
  if (!at->status().ok())
    return to_read_error(at->status(), on_damage_);
  return {};
}

std::unique_ptr<store_view> rocksdb_reader::view() const {
  rocksdb::ReadOptions how;
  // A copy of a shard must not take the place of what is in use.
  how.fill_cache = false;
  return std::make_unique<rocksdb_view>(
    std::unique_ptr<rocksdb::Iterator>(db_.NewIterator(how)), on_damage_);
}

result<std::optional<std::pair<std::string, std::string>>>
rocksdb_reader::read_last(std::string_view begin, std::string_view end) const {
  rocksdb::Slice lower{begin};
  rocksdb::Slice upper{end};
  rocksdb::ReadOptions how;
  how.iterate_lower_bound = &lower;
  how.iterate_upper_bound = &upper;
  std::unique_ptr<rocksdb::Iterator> at{db_.NewIterator(how)};
  at->SeekToLast();
  if (!at->status().ok())
    return to_read_error(at->status(), on_damage_);
  std::optional<std::pair<std::string, std::string>> found;
  if (at->Valid())
    found.emplace(at->key().ToString(), at->value().ToString());
  return found;
}

result<std::uint64_t>
rocksdb_reader::approximate_bytes(std::string_view begin, std::string_view end) const {
  rocksdb::Range range{rocksdb::Slice(begin), rocksdb::Slice(end)};
  rocksdb::SizeApproximationOptions what;
  what.include_memtables = true;
  std::uint64_t size = 0;
  auto status = db_.GetApproximateSizes(what, db_.DefaultColumnFamily(), &range, 1, &size);
  if (!status.ok())
    return to_read_error(status, on_damage_);
  return size;
}

} // namespace codeq::storage
