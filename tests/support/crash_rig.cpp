// SPDX-License-Identifier: Apache-2.0
#include "support/crash_rig.hpp"

#include <utility>

namespace codeq::test {

using namespace storage;

namespace {

/// RocksDB's smallest memtable: a few hundred groups cause flushes and compactions.
constexpr std::size_t small_buffer_bytes = 256u << 10;

/// In `os` mode the log is synced after this many groups.
constexpr std::uint64_t groups_per_sync = 16;

} // namespace

crash_rig::crash_rig(std::uint64_t seed, durability mode, random_writes::shape shape)
  : disk_(seed), mode_(mode), writes_(seed, std::move(shape)) {
}

result<void> crash_rig::open() {
  if (store_)
    return {};
  rocksdb_store_options options;
  options.directory = directory();
  options.mode = mode_;
  options.write_buffer_bytes = small_buffer_bytes;
  options.environment = disk_.environment();
  auto opened = open_rocksdb_store(options);
  if (!opened)
    return opened.error();
  store_ = std::move(opened).value();
  return {};
}

result<void> crash_rig::commit_some(std::size_t groups) {
  for (; groups > 0; --groups) {
    since_.push_back(writes_.next());
    if (auto done = store_->commit(since_.back(), mode_); !done)
      return done;
    acknowledged_ = writes_.made();
    if (mode_ == durability::sync)
      synced_ = acknowledged_;
    else if (acknowledged_ % groups_per_sync == 0)
      if (auto done = sync_log(); !done)
        return done;
  }
  return {};
}

result<void> crash_rig::sync_log() {
  auto done = store_->sync_log();
  if (done)
    synced_ = acknowledged_;
  return done;
}

std::uint64_t crash_rig::required() const {
  return disk_.has_power() ? acknowledged_ : synced_;
}

std::optional<std::string> crash_rig::recover() {
  auto must_survive = required();
  disk_.end_process();
  store_.reset();
  disk_.heal();
  disk_.restore_power();
  if (auto opened = open(); !opened)
    return "does not open: " + to_string(opened.error());
  auto found = read_all(*store_);
  if (!found)
    return "cannot be read: " + to_string(found.error());
  auto number = random_writes::group_in(*found);
  if (number < must_survive)
    return "ends with group " + std::to_string(number) + ", group " + std::to_string(must_survive)
           + " was durable";
  if (number > writes_.made())
    return "holds a group that was never written";
  if (auto difference = compare(*found))
    return difference;
  base_ = *std::move(found);
  base_number_ = acknowledged_ = synced_ = number;
  since_.clear();
  writes_.continue_from(base_);
  return std::nullopt;
}

std::optional<std::string> crash_rig::compare(const contents& found) {
  auto number = random_writes::group_in(found);
  auto model = base_;
  for (auto at = base_number_; at < number; ++at)
    apply_to(model, since_[at - base_number_]);
  if (model == found)
    return std::nullopt;
  return "differs from the model after group " + std::to_string(number) + ": "
         + std::to_string(found.size()) + " keys instead of " + std::to_string(model.size());
}

contents crash_rig::expected() const {
  auto model = base_;
  for (const auto& group : since_)
    apply_to(model, group);
  return model;
}

} // namespace codeq::test
