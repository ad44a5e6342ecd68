// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator.hpp"

#include "base/random.hpp"
#include "base/wall_clock.hpp"
#include "maintenance/store_restore.hpp"
#include "maintenance/store_verifier.hpp"
#include "storage/rocksdb/rocksdb_backup.hpp"
#include "storage/rocksdb/rocksdb_inspection.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace codeq {

namespace {

namespace fs = std::filesystem;

/// Syncs the whole file system that contains the directory.
result<void> sync_files_of(const fs::path& directory) {
  int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool done = file >= 0 && ::syncfs(file) == 0;
  auto code = errno;
  if (file >= 0)
    ::close(file);
  if (done)
    return {};
  return error{
    errc::io_error,
    "cannot sync " + directory.string() + ": " + std::generic_category().message(code)};
}

/// The absolute path without a trailing slash, so that other names can be derived from it.
fs::path plain(const fs::path& directory) {
  auto absolute = fs::absolute(directory).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

result<void> check_target(const fs::path& directory) {
  std::error_code failure;
  bool is_free = !fs::exists(directory, failure)
                 || (fs::is_directory(directory, failure) && fs::is_empty(directory, failure));
  if (failure)
    return error{errc::io_error, directory.string() + ": " + failure.message()};
  if (!is_free)
    return error{
      errc::invalid_argument,
      directory.string() + " is not empty; a backup is restored to a directory of its own"};
  return {};
}

/// Copies the backup to `draft` and gives it its own identity.
result<restored_store> restore_to(const fs::path& draft, const restore_options& options) {
  std::error_code failure;
  // Left over from a restore that was interrupted.
  fs::remove_all(draft, failure);
  auto copied = storage::fetch_backup(options.backups, options.number, draft);
  if (!copied)
    return copied.error();
  restored_store restored;
  restored.number = copied->number;
  restored.bytes = copied->bytes;
  {
    storage::rocksdb_store_options how;
    how.directory = draft;
    auto store = storage::open_rocksdb_store(how);
    if (!store)
      return store.error();
    auto identity = maintenance::give_identity(**store, base::random_bits() | 1, base::wall_now());
    if (!identity)
      return identity.error();
    restored.store_id = identity->store_id;
    restored.epoch = identity->epoch;
  }
  auto report = verify_store({.directory = draft});
  if (!report)
    return report.error();
  restored.report = std::move(*report);
  return restored;
}

} // namespace

result<store_report> verify_store(const verify_options& options) {
  auto mode = options.sync ? storage::durability::sync : storage::durability::os;
  auto seen = storage::inspect_rocksdb_store(options.directory, mode);
  if (!seen)
    return seen.error();
  store_report report;
  report.findings_count = seen->findings.size();
  report.findings = std::move(seen->findings);
  report.notes = std::move(seen->notes);
  auto ok = maintenance::verify_records(*seen->store, options.findings_max, report);
  if (!ok && ok.error().code == errc::incompatible_store)
    return ok.error();
  if (!ok) {
    ++report.findings_count;
    report.findings.push_back("the records cannot be checked: " + to_string(ok.error()));
  }
  return report;
}

result<std::vector<backup_info>> list_backups(const fs::path& directory) {
  std::error_code failure;
  if (!fs::is_directory(directory, failure))
    return error{errc::unavailable, directory.string() + " is not a directory"};
  auto found = storage::find_backups(directory);
  if (!found)
    return found.error();
  std::vector<backup_info> backups;
  for (const auto& backup : *found)
    backups.push_back({backup.number, backup.at, backup.bytes, backup.files});
  return backups;
}

result<restored_store> restore_store(const restore_options& options) {
  auto target = plain(options.directory);
  if (auto ok = check_target(target); !ok)
    return ok.error();
  auto draft = target;
  draft += ".restoring";
  auto restored = restore_to(draft, options);
  if (!restored)
    return restored;
  if (restored->report.findings_count > 0)
    return error{
      errc::corruption,
      "backup " + std::to_string(restored->number) + " is not sound ("
        + std::to_string(restored->report.findings_count) + " findings; the first: "
        + restored->report.findings.front() + "); what was restored is left in " + draft.string()};
  if (auto ok = sync_files_of(draft); !ok)
    return ok.error();
  std::error_code failure;
  fs::rename(draft, target, failure);
  if (failure)
    return error{
      errc::io_error,
      "cannot rename " + draft.string() + " to " + target.string() + ": " + failure.message()};
  if (auto ok = sync_files_of(target.parent_path()); !ok)
    return ok.error();
  return restored;
}

} // namespace codeq
