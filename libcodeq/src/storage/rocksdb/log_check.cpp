// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/log_check.hpp"

#include "storage/rocksdb/log_format.hpp"
#include "storage/rocksdb/manifest_position.hpp"

#include <charconv>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace codeq::storage {

namespace fs = std::filesystem;

namespace {

std::optional<std::uint64_t> number_of_log(const fs::path& file) {
  auto stem = file.stem().string();
  std::uint64_t number = 0;
  auto [rest, failure] = std::from_chars(stem.data(), stem.data() + stem.size(), number);
  if (file.extension() != ".log" || failure != std::errc{} || rest != stem.data() + stem.size())
    return std::nullopt;
  return number;
}

/// Calls `visit(number, path)` for each log in the directory.
template <class Visit>
void visit_logs(const fs::path& directory, Visit visit) {
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator{directory, failure})
    if (auto number = number_of_log(entry.path()))
      visit(*number, entry.path());
}

/// The newest log that is not empty; an empty log is left over from a start that did not complete.
std::optional<fs::path> newest_log(const fs::path& directory) {
  std::optional<std::pair<std::uint64_t, fs::path>> newest;
  visit_logs(directory, [&](std::uint64_t number, const fs::path& file) {
    std::error_code failure;
    if ((!newest || number > newest->first) && fs::file_size(file, failure) > 0 && !failure)
      newest.emplace(number, file);
  });
  if (!newest)
    return std::nullopt;
  return newest->second;
}

std::optional<fs::path> current_manifest(const fs::path& directory) {
  std::ifstream current{directory / "CURRENT"};
  std::string name;
  if (!std::getline(current, name) || !name.starts_with("MANIFEST-"))
    return std::nullopt;
  return directory / name;
}

bool truncate_and_sync(const fs::path& path, std::uint64_t size) {
  int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool done = ::ftruncate(file, static_cast<off_t>(size)) == 0 && ::fsync(file) == 0;
  ::close(file);
  return done;
}

std::string read_file(const fs::path& path) {
  std::ifstream stream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

log_inspection inspect_newest_log(const fs::path& directory) {
  auto path = newest_log(directory);
  return path ? inspect_log(read_file(*path), log_mark(directory)) : log_inspection{};
}

/// The sequence of the first batch in a log; empty when it has none.
std::optional<std::uint64_t> first_sequence(const fs::path& log) {
  auto bytes = read_file(log);
  auto first = log_format::read_header(bytes, 0);
  if (!first)
    return std::nullopt;
  auto prefix = log_format::record_prefix(bytes, *first, log_format::batch_header_bytes);
  if (prefix.size() < log_format::batch_header_bytes)
    return std::nullopt;
  return log_format::read_little_endian(prefix, 8);
}

/// True when the logs go on where the tables end, for a manifest that ends at that position.
bool logs_follow(const fs::path& directory, const manifest_position& tables) {
  std::map<std::uint64_t, std::uint64_t> sequences;
  visit_logs(directory, [&](std::uint64_t number, const fs::path& file) {
    if (auto sequence = first_sequence(file); sequence && number >= tables.log_number)
      sequences.emplace(number, *sequence);
  });
  return !sequences.empty() && sequences.begin()->second <= tables.last_sequence + 1;
}

log_inspection inspect_current_manifest(const fs::path& directory) {
  auto path = current_manifest(directory);
  if (!path)
    return {};
  auto bytes = read_file(*path);
  auto found = inspect_manifest(bytes);
  auto whole = std::string_view{bytes}.substr(0, found.whole_bytes);
  if (
    found.end == log_end::damaged && found.has_gap
    && logs_follow(directory, read_manifest_position(whole)))
    found.end = log_end::torn;
  return found;
}

/// Truncates a file whose last record is unfinished.
log_end cut_torn(const std::optional<fs::path>& path, const log_inspection& found) {
  if (found.end == log_end::torn && truncate_and_sync(*path, found.whole_bytes))
    return log_end::intact;
  return found.end;
}

} // namespace

log_continuity::log_continuity(fs::path directory) : directory_(std::move(directory)) {
}

void log_continuity::begin(std::uint64_t oldest_log) {
  first_log_.reset();
  next_sequence_.reset();
  found_gap_ = false;
  visit_logs(directory_, [&](std::uint64_t number, const fs::path&) {
    if (number >= oldest_log && (!first_log_ || number < *first_log_))
      first_log_ = number;
  });
}

bool log_continuity::follows(std::uint64_t log, std::string_view batch) {
  if (found_gap_ || batch.size() < log_format::batch_header_bytes)
    return !found_gap_;
  // RocksDB starts a log file only when it has a record for it, so the replay skips no file.
  auto begin = log_format::read_little_endian(batch, 8);
  found_gap_ = next_sequence_ ? begin != *next_sequence_ : first_log_ && log != *first_log_;
  next_sequence_ = begin + log_format::read_little_endian(batch.substr(8), 4);
  return !found_gap_;
}

std::string log_mark(const fs::path& directory) {
  std::ifstream identity{directory / "IDENTITY"};
  std::string mark;
  std::getline(identity, mark);
  return mark;
}

log_end look_at_log(const fs::path& directory) {
  return inspect_newest_log(directory).end;
}

log_end look_at_manifest(const fs::path& directory) {
  return inspect_current_manifest(directory).end;
}

log_end cut_torn_log(const fs::path& directory) {
  return cut_torn(newest_log(directory), inspect_newest_log(directory));
}

log_end cut_torn_manifest(const fs::path& directory) {
  return cut_torn(current_manifest(directory), inspect_current_manifest(directory));
}

error damaged_manifest(const fs::path& directory) {
  return {errc::corruption, "the manifest in " + directory.string() + " is damaged"};
}

} // namespace codeq::storage
