// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator.hpp"

#include "base/random.hpp"
#include "base/wall_clock.hpp"
#include "maintenance/cluster_gathering.hpp"
#include "maintenance/store_restore.hpp"
#include "maintenance/store_verifier.hpp"
#include "storage/replica/replica_store.hpp"
#include "storage/rocksdb/rocksdb_backup.hpp"
#include "storage/rocksdb/rocksdb_inspection.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

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

result<storage::backup_report>
fetch(const fs::path& backups, std::uint32_t number, const fs::path& draft) {
  std::error_code failure;
  // Left over from a restore that was interrupted.
  fs::remove_all(draft, failure);
  return storage::fetch_backup(backups, number, draft);
}

result<std::unique_ptr<storage::task_store>> open(const fs::path& directory) {
  storage::rocksdb_store_options how;
  how.directory = directory;
  return storage::open_rocksdb_store(how);
}

/// The stores of other coordinators, in directories beside the draft, which are removed with this
/// object.
class other_stores {
public:
  explicit other_stores(const fs::path& draft) : draft_(draft) {}

  other_stores(const other_stores&) = delete;
  other_stores& operator=(const other_stores&) = delete;

  ~other_stores() {
    stores_.clear();
    std::error_code failure;
    for (const auto& directory : directories_)
      fs::remove_all(directory, failure);
  }

  /// Where the next store is to be brought.
  [[nodiscard]] const fs::path& next_place() {
    auto directory = draft_;
    directory += "." + std::to_string(directories_.size() + 1);
    directories_.push_back(directory);
    return directories_.back();
  }

  void add(std::unique_ptr<storage::task_store> store) { stores_.push_back(std::move(store)); }

  [[nodiscard]] std::vector<const storage::task_store*> with(const storage::task_store& first) {
    std::vector<const storage::task_store*> all{&first};
    for (const auto& store : stores_)
      all.push_back(store.get());
    return all;
  }

private:
  fs::path draft_;
  std::vector<fs::path> directories_;
  std::vector<std::unique_ptr<storage::task_store>> stores_;
};

/// Copies the backup of a coordinator to `place`. Errors: `invalid_argument` when it is of another
/// run than that of the cluster.
result<storage::backup_report> fetch_part(
  const fs::path& backups,
  const cluster_backup_part& part,
  std::uint64_t run,
  const fs::path& place) {
  auto copied = fetch(backups, part.number, place);
  if (copied && copied->run != run)
    return error{
      errc::invalid_argument,
      "backup " + std::to_string(part.number) + " in " + backups.string() + " is not the one of "
        + part.node + " that belongs to this backup of the cluster, but of another run"};
  return copied;
}

/// The parts of a cluster's backup that are in the directory.
struct found_parts {
  std::vector<cluster_backup_part> present;
  /// Names of the nodes of the others.
  std::string missing;
};

/// Errors: `unavailable` when none is there.
result<found_parts> find_parts(const restore_options& options) {
  found_parts found;
  std::error_code failure;
  for (const auto& part : options.cluster->parts) {
    if (fs::is_directory(options.backups / part.node, failure))
      found.present.push_back(part);
    else
      found.missing += " " + part.node;
  }
  if (found.present.empty())
    return error{
      errc::unavailable,
      options.backups.string() + " holds no backups of a coordinator; missing:" + found.missing};
  return found;
}

/// Brings the stores of all coordinators into that of the first one.
result<std::uint32_t> gather(
  storage::task_store& into,
  const fs::path& draft,
  const found_parts& parts,
  const restore_options& options) {
  other_stores others(draft);
  for (std::size_t i = 1; i < parts.present.size(); ++i) {
    const auto& part = parts.present[i];
    const auto& place = others.next_place();
    auto copied = fetch_part(options.backups / part.node, part, options.cluster->run, place);
    if (!copied)
      return copied.error();
    auto store = open(place);
    if (!store)
      return store.error();
    others.add(std::move(*store));
  }
  const auto stores = others.with(into);
  auto chosen = maintenance::choose_copies(stores, options.cluster->shards);
  if (!chosen && !parts.missing.empty())
    return error{
      chosen.error().code,
      chosen.error().context + "; " + options.backups.string() + " lacks the backups of"
        + parts.missing};
  if (!chosen)
    return chosen.error();
  if (auto ok = maintenance::gather_copies(into, stores, *chosen); !ok)
    return ok.error();
  return chosen->epoch;
}

/// Gives a store that was brought together its own identity.
result<restored_store>
finish(storage::task_store& store, const storage::backup_report& copied, std::uint32_t reached) {
  auto identity = maintenance::give_identity(
    store, base::random_bits() | 1, base::wall_now(), reached);
  if (!identity)
    return identity.error();
  restored_store restored;
  restored.number = copied.number;
  restored.bytes = copied.bytes;
  restored.store_id = identity->store_id;
  restored.epoch = identity->epoch;
  return restored;
}

/// Copies the backup of a coordinator that is alone to `draft`.
result<restored_store> bring_one(const fs::path& draft, const restore_options& options) {
  auto copied = fetch(options.backups, options.number, draft);
  if (!copied)
    return copied.error();
  auto store = open(draft);
  if (!store)
    return store.error();
  auto is_of_cluster = storage::has_replicas(**store);
  if (!is_of_cluster)
    return is_of_cluster.error();
  if (*is_of_cluster)
    return error{
      errc::invalid_argument,
      "backup " + std::to_string(copied->number)
        + " is of a coordinator of a cluster, and lacks what others have; restore the backup of "
          "the whole cluster"};
  return finish(**store, *copied, 0);
}

/// Brings the backups of a cluster's coordinators together in `draft`.
result<restored_store> bring_cluster(const fs::path& draft, const restore_options& options) {
  auto parts = find_parts(options);
  if (!parts)
    return parts.error();
  const auto& first = parts->present.front();
  auto copied = fetch_part(options.backups / first.node, first, options.cluster->run, draft);
  if (!copied)
    return copied.error();
  auto store = open(draft);
  if (!store)
    return store.error();
  auto reached = gather(**store, draft, *parts, options);
  if (!reached)
    return reached.error();
  return finish(**store, *copied, *reached);
}

result<restored_store> restore_to(const fs::path& draft, const restore_options& options) {
  auto restored = options.cluster ? bring_cluster(draft, options) : bring_one(draft, options);
  if (!restored)
    return restored;
  auto report = verify_store({.directory = draft});
  if (!report)
    return report.error();
  restored->report = std::move(*report);
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
  if (!fs::is_directory(directory / "meta", failure))
    return error{errc::unavailable, directory.string() + " holds no backups"};
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
