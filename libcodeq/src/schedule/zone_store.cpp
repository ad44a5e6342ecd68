// SPDX-License-Identifier: Apache-2.0
#include "schedule/zone_store.hpp"

#include "base/nearest_name.hpp"
#include "schedule/zone_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace codeq::schedule {

namespace {

/// Far above the largest zone file, which has 4 KiB.
constexpr std::size_t file_bytes_max = 256u << 10;
constexpr std::string_view file_mark = "TZif";

bool is_zone_name(std::string_view name) {
  auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || c == '-' || c == '+' || c == '/';
  };
  // All names of the database begin so; other files of the folder, and folders that repeat the
  // zones with leap seconds, do not.
  // An empty part would be one more name of the same file.
  bool has_empty_part = name.ends_with('/') || name.find("//") != name.npos;
  return !name.empty() && name[0] >= 'A' && name[0] <= 'Z' && !has_empty_part
         && std::all_of(name.begin(), name.end(), is_allowed);
}

error io_error(const std::string& path) {
  return {errc::io_error, "cannot read " + path + ": " + std::strerror(errno)};
}

result<std::string> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes(file_bytes_max, '\0');
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) && !file.eof())
    return io_error(path);
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

bool is_zone_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string mark(file_mark.size(), '\0');
  return file.read(mark.data(), static_cast<std::streamsize>(mark.size())) && mark == file_mark;
}

} // namespace

zone_store::zone_store(std::string folder, std::function<void(const change&)> on_change)
  : folder_(std::move(folder)), on_change_(std::move(on_change)) {}

result<zone_ptr> zone_store::find(std::string_view name) {
  std::lock_guard lock(mutex_);
  if (auto found = known_.find(name); found != known_.end())
    return found->second.zone;
  std::string key(name);
  if (auto simple = zone_without_file(name)) {
    auto zone = std::make_shared<const time_zone>(std::move(*simple));
    known_[key] = {zone, version{}};
    return zone_ptr(zone);
  }
  auto seen = is_zone_name(name) ? version_of(key) : version{};
  if (seen == version{})
    return unknown(name);
  auto zone = read(key);
  if (zone)
    known_[key] = {*zone, seen};
  return zone;
}

error zone_store::unknown(std::string_view name) {
  if (names_.empty())
    names_ = names();
  constexpr std::size_t shown_bytes_max = 64;
  auto text = "zone: `" + std::string(name.substr(0, shown_bytes_max)) + "` is not known";
  if (names_.empty())
    return {
      errc::invalid_argument,
      text + "; there are no zone files in " + folder_ + ", only UTC and offsets such as +05:30"};
  std::vector<std::string_view> known(names_.begin(), names_.end());
  auto near = base::nearest_name(name, known);
  return {
    errc::invalid_argument,
    text
      + (near ? "; did you mean " + std::string(*near) + "?"
              : "; give a name such as Europe/Berlin, UTC, or an offset such as +05:30")};
}

void zone_store::await(std::string_view name) {
  if (zone_without_file(name))
    return;
  change missing{std::string(name), error{errc::io_error, {}}, false};
  {
    std::lock_guard lock(mutex_);
    bool has_file = is_zone_name(name) && !zone_without_file(name);
    if (!has_file || known_.contains(name) || awaited_.contains(name))
      return;
    auto seen = version_of(missing.name);
    missing.zone = seen == version{} ? no_file(missing.name) : read(missing.name);
    // The file came back a moment ago.
    if (missing.zone)
      return;
    awaited_.emplace(missing.name, seen);
  }
  if (on_change_)
    on_change_(missing);
}

std::vector<zone_store::change> zone_store::refresh() {
  auto changes = find_changes();
  if (on_change_)
    for (const auto& each : changes)
      on_change_(each);
  return changes;
}

std::vector<zone_store::change> zone_store::find_changes() {
  std::lock_guard lock(mutex_);
  names_.clear();
  std::vector<change> changes;
  for (auto& [name, entry] : known_) {
    if (zone_without_file(name))
      continue;
    auto seen = version_of(name);
    if (seen == entry.seen)
      continue;
    entry.seen = seen;
    auto zone = seen == version{} ? no_file(name) : read(name);
    if (zone && **zone == *entry.zone)
      continue;
    if (zone) {
      entry.zone = *zone;
      ++generation_;
    }
    changes.push_back({name, std::move(zone)});
  }
  find_awaited(changes);
  return changes;
}

void zone_store::find_awaited(std::vector<change>& changes) {
  for (auto at = awaited_.begin(); at != awaited_.end();) {
    auto& [name, before] = *at;
    auto seen = version_of(name);
    if (seen == std::exchange(before, seen) || seen == version{}) {
      ++at;
      continue;
    }
    auto zone = read(name);
    bool is_found = zone.has_value();
    if (is_found) {
      known_[name] = {*zone, seen};
      ++generation_;
    }
    changes.push_back({name, std::move(zone), false});
    at = is_found ? awaited_.erase(at) : std::next(at);
  }
}

std::uint64_t zone_store::generation() const {
  std::lock_guard lock(mutex_);
  return generation_;
}

std::vector<std::string> zone_store::names() const {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code failed;
  fs::recursive_directory_iterator at(folder_, failed);
  for (; !failed && at != fs::recursive_directory_iterator{}; at.increment(failed)) {
    auto name = at->path().lexically_relative(folder_).generic_string();
    if (!is_zone_name(name) && at->is_directory(failed))
      at.disable_recursion_pending();
    else if (is_zone_name(name) && at->is_regular_file(failed) && is_zone_file(at->path()))
      found.push_back(std::move(name));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string zone_store::path_of(const std::string& name) const {
  return folder_ + "/" + name;
}

result<zone_ptr> zone_store::no_file(const std::string& name) const {
  return error{errc::io_error, "there is no file " + path_of(name)};
}

result<zone_ptr> zone_store::read(const std::string& name) const {
  auto path = path_of(name);
  auto bytes = read_file(path);
  if (!bytes)
    return bytes.error();
  if (bytes->size() == file_bytes_max)
    return error{
      errc::corruption,
      path + " has more than " + std::to_string(file_bytes_max) + " bytes, so it is no zone file"};
  auto zone = decode_zone_file(name, *bytes);
  if (!zone)
    return error{zone.error().code, path + ": " + zone.error().context};
  return std::make_shared<const time_zone>(std::move(*zone));
}

zone_store::version zone_store::version_of(const std::string& name) const {
  struct stat file {};
  if (::stat(path_of(name).c_str(), &file) != 0 || !S_ISREG(file.st_mode))
    return {};
  return {
    file.st_dev, file.st_ino, file.st_size,
    file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec};
}

} // namespace codeq::schedule
