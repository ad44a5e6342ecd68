// SPDX-License-Identifier: Apache-2.0
#include "support/fault_disk.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <utility>

#include <pthread.h>

namespace codeq::test {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t sector_bytes = 512;

/// Torn parts of a sector shorter than this keep their bytes: a few zeros cannot be told from data,
/// and a store that finds them under a wrong checksum is right to refuse.
constexpr std::uint64_t shortest_tear_bytes = 64;

file_kind kind_of(const std::string& file) {
  auto name = fs::path(file).filename().string();
  if (name.ends_with(".log"))
    return file_kind::log;
  if (name.starts_with("MANIFEST"))
    return file_kind::manifest;
  if (name.ends_with(".sst"))
    return file_kind::table;
  return file_kind::any;
}

/// RocksDB's info log and its lock file do not belong to the data.
bool is_untracked(const std::string& file) {
  auto name = fs::path(file).filename().string();
  return name.starts_with("LOG") || name.starts_with("LOCK");
}

disk_user current_user() {
  std::array<char, 16> name{};
  ::pthread_getname_np(::pthread_self(), name.data(), name.size());
  std::string_view text{name.data()};
  if (text.starts_with("rocksdb:high"))
    return disk_user::flush;
  if (text.starts_with("rocksdb:low"))
    return disk_user::compaction;
  return disk_user::any;
}

} // namespace

fault_file_system::disk::open_file fault_file_system::disk::open(const std::string& name) const {
  std::lock_guard lock{mutex_};
  return {name, generation_};
}

bool fault_file_system::disk::is_dead(const open_file& file) const {
  return !is_in_use() || file.generation != generation_;
}

bool fault_file_system::disk::reaches(const std::string& file, disk_operation operation) {
  if (!armed_ || armed_->point.operation != operation)
    return false;
  auto& point = armed_->point;
  if (point.kind != file_kind::any && point.kind != kind_of(file))
    return false;
  if (point.user != disk_user::any && point.user != current_user())
    return false;
  if (point.countdown > 1) {
    --point.countdown;
    return false;
  }
  armed_->reached = true;
  return true;
}

verdict fault_file_system::disk::strike() {
  if (armed_->cut) {
    cut(*armed_->cut);
  } else {
    ++counts_.errors;
  }
  return verdict::fail;
}

/// Limits `bytes` to the number that may be appended, and returns the verdict on the append.
verdict fault_file_system::disk::admit(const std::string& file, std::size_t& bytes) {
  if (armed_ && !armed_->cut && reaches(file, disk_operation::append)) {
    bytes = up_to(bytes);
    return strike();
  }
  if (!space_ || *space_ >= bytes) {
    if (space_)
      *space_ -= bytes;
    return verdict::proceed;
  }
  bytes = std::exchange(*space_, 0);
  ++counts_.errors;
  return verdict::no_space;
}

/// A file that was not created since the last cut is completely on the disk.
fault_file_system::disk::file_state& fault_file_system::disk::state_of(const std::string& file) {
  auto [at, is_new] = files_.try_emplace(file);
  if (is_new && fs::exists(file))
    at->second.size = at->second.synced = fs::file_size(file);
  return at->second;
}

verdict fault_file_system::disk::append(
  const open_file& file, std::size_t wanted, const std::function<bool(std::size_t)>& write) {
  std::lock_guard lock{mutex_};
  if (is_dead(file))
    return verdict::fail;
  auto& state = state_of(file.name);
  auto bytes = wanted;
  auto outcome = admit(file.name, bytes);
  if (bytes > 0 && !write(bytes))
    return verdict::fail;
  state.size += bytes;
  state.unsynced.push_back({++order_, state.size});
  if (armed_ && armed_->cut && reaches(file.name, disk_operation::append))
    return strike();
  return outcome;
}

verdict fault_file_system::disk::on_sync(const open_file& file) {
  std::lock_guard lock{mutex_};
  if (is_dead(file))
    return verdict::fail;
  auto struck = reaches(file.name, disk_operation::sync);
  // The cut may come before or after the disk has done the operation; the caller cannot tell which.
  if (struck && (!armed_->cut || up_to(1) == 0))
    return strike();
  if (lies_)
    return verdict::pretend;
  auto& state = state_of(file.name);
  state.synced = state.size;
  state.unsynced.clear();
  return struck ? strike() : verdict::pretend;
}

verdict fault_file_system::disk::on_read(const std::string& file) {
  std::lock_guard lock{mutex_};
  if (!is_in_use())
    return verdict::fail;
  return reaches(file, disk_operation::read) ? strike() : verdict::proceed;
}

verdict fault_file_system::disk::on_directory_sync(const open_file& directory) {
  std::lock_guard lock{mutex_};
  if (is_dead(directory))
    return verdict::fail;
  for (const auto& change : changes_)
    if (!change.backup.empty())
      fs::remove(change.backup);
  changes_.clear();
  return verdict::pretend;
}

verdict fault_file_system::disk::on_truncate(const open_file& file, std::uint64_t size) {
  std::lock_guard lock{mutex_};
  if (is_dead(file))
    return verdict::fail;
  auto& state = state_of(file.name);
  state.size = size;
  state.synced = std::min(state.synced, size);
  return verdict::proceed;
}

verdict fault_file_system::disk::on_create(const std::string& file) {
  std::lock_guard lock{mutex_};
  if (!is_in_use())
    return verdict::fail;
  if (reaches(file, disk_operation::create))
    return strike();
  if (is_untracked(file))
    return verdict::proceed;
  if (!fs::exists(file))
    changes_.push_back({entry_change::kind::created, file, {}, {}});
  files_[file] = {};
  return verdict::proceed;
}

verdict fault_file_system::disk::remove(const std::string& file) {
  std::lock_guard lock{mutex_};
  if (!is_in_use())
    return verdict::fail;
  if (is_untracked(file) || !fs::exists(file))
    return verdict::proceed;
  changes_.push_back({entry_change::kind::removed, file, {}, set_aside(file)});
  return verdict::pretend;
}

verdict fault_file_system::disk::rename(const std::string& from, const std::string& to) {
  std::lock_guard lock{mutex_};
  if (!is_in_use())
    return verdict::fail;
  if (is_untracked(from))
    return verdict::proceed;
  changes_.push_back({entry_change::kind::renamed, from, to, fs::exists(to) ? set_aside(to) : ""});
  fs::rename(from, to);
  if (auto state = files_.extract(from)) {
    state.key() = to;
    files_.insert(std::move(state));
  }
  return verdict::pretend;
}

/// Moves a file to where RocksDB does not see it, together with its state.
std::string fault_file_system::disk::set_aside(const std::string& file) {
  auto folder = fs::path(file).parent_path().string() + ".undo";
  fs::create_directories(folder);
  auto backup = folder + "/" + std::to_string(++backups_);
  fs::rename(file, backup);
  if (auto state = files_.extract(file)) {
    state.key() = backup;
    files_.insert(std::move(state));
  }
  return backup;
}

void fault_file_system::disk::cut_power(cut_policy policy) {
  std::lock_guard lock{mutex_};
  cut(policy);
}

void fault_file_system::disk::end_process() {
  std::lock_guard lock{mutex_};
  has_process_ = false;
  ++generation_;
}

void fault_file_system::disk::cut(cut_policy policy) {
  if (!has_power_)
    return;
  has_power_ = false;
  ++generation_;
  ++counts_.power_cuts;
  // File systems keep the order of changes to a directory.
  auto kept = policy == cut_policy::lose_all ? 0 : up_to(changes_.size());
  counts_.entries_lost += changes_.size() - kept;
  for (; changes_.size() > kept; changes_.pop_back())
    undo(changes_.back());
  changes_.clear();
  std::uint64_t oldest = order_;
  for (const auto& [file, state] : files_)
    if (!state.unsynced.empty())
      oldest = std::min(oldest, state.unsynced.front().order);
  cut_order_ = oldest + up_to(order_ - oldest);
  for (const auto& [file, state] : files_)
    if (state.size > state.synced && fs::exists(file))
      cut_file(file, state, policy);
  files_.clear();
}

void fault_file_system::disk::undo(const entry_change& change) {
  auto move = [this](const std::string& from, const std::string& to) {
    fs::rename(from, to);
    if (auto state = files_.extract(from)) {
      state.key() = to;
      files_.insert(std::move(state));
    }
  };
  switch (change.what) {
  case entry_change::kind::created:
    fs::remove(change.file);
    files_.erase(change.file);
    break;
  case entry_change::kind::removed:
    move(change.backup, change.file);
    break;
  case entry_change::kind::renamed:
    move(change.target, change.file);
    if (!change.backup.empty())
      move(change.backup, change.target);
    break;
  }
}

void fault_file_system::disk::cut_file(
  const std::string& file, const file_state& state, cut_policy policy) {
  auto end = kept_end(state, policy);
  counts_.bytes_lost += state.size - end;
  fs::resize_file(file, end);
  if (policy == cut_policy::torn && end > state.synced)
    tear(file, state.synced, end);
}

std::uint64_t fault_file_system::disk::kept_end(const file_state& state, cut_policy policy) {
  switch (policy) {
  case cut_policy::lose_all:
    break;
  case cut_policy::keep_prefix: {
    auto end = state.synced;
    for (const auto& write : state.unsynced)
      if (write.order < cut_order_)
        end = write.end;
      else if (write.order == cut_order_)
        end += up_to(write.end - end);
    return end;
  }
  case cut_policy::per_file:
  case cut_policy::torn:
    // To keep nothing and to keep everything are as likely as anything in between.
    switch (up_to(3)) {
    case 0:
      return state.synced;
    case 1:
      return state.size;
    default:
      return state.synced + up_to(state.size - state.synced);
    }
  }
  return state.synced;
}

void fault_file_system::disk::tear(
  const std::string& file, std::uint64_t begin, std::uint64_t end) {
  std::fstream stream{file, std::ios::in | std::ios::out | std::ios::binary};
  for (auto sector = begin / sector_bytes; sector * sector_bytes < end; ++sector) {
    if (up_to(2) != 0)
      continue;
    auto from = std::max(begin, sector * sector_bytes);
    auto to = std::min(end, (sector + 1) * sector_bytes);
    if (to - from < shortest_tear_bytes)
      continue;
    stream.seekp(static_cast<std::streamoff>(from));
    stream << std::string(to - from, '\0');
    counts_.bytes_lost += to - from;
  }
}

void fault_file_system::disk::arm(const fault_point& point, std::optional<cut_policy> cut) {
  std::lock_guard lock{mutex_};
  armed_ = armed_fault{point, cut};
}

void fault_file_system::disk::restore_power() {
  std::lock_guard lock{mutex_};
  has_power_ = has_process_ = true;
  armed_.reset();
}

void fault_file_system::disk::limit_space(std::uint64_t bytes) {
  std::lock_guard lock{mutex_};
  space_ = bytes;
}

void fault_file_system::disk::lie_about_syncs() {
  std::lock_guard lock{mutex_};
  lies_ = true;
}

void fault_file_system::disk::heal() {
  std::lock_guard lock{mutex_};
  armed_.reset();
  space_.reset();
  lies_ = false;
}

bool fault_file_system::disk::has_power() const {
  std::lock_guard lock{mutex_};
  return has_power_;
}

bool fault_file_system::disk::was_reached() const {
  std::lock_guard lock{mutex_};
  return armed_ && armed_->reached;
}

fault_counts fault_file_system::disk::counts() const {
  std::lock_guard lock{mutex_};
  return counts_;
}

} // namespace codeq::test
