// SPDX-License-Identifier: Apache-2.0
#include "node/damaged_store.hpp"

#include "base/errors.hpp"
#include "coordinator/hub/damage_mark.hpp"
#include "coordinator/hub/etcd_history.hpp"
#include "node/cluster_entry.hpp"
#include "node/coordinator_options.hpp"
#include "observe/log.hpp"
#include "storage/rocksdb/rocksdb_lock.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace codeq::node {

namespace fs = std::filesystem;

using coordinator::damage_mark;
using coordinator::damage_mark_file;
using coordinator::read_damage_mark;
using coordinator::sync_directory;
using coordinator::write_damage_mark;

namespace {

constexpr std::string_view damaged_suffix = ".damaged-";

std::string time_in_name() {
  const auto now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return text.data();
}

/// Without links, and without the slash at the end of "store/".
result<fs::path> real_path(const fs::path& data) {
  std::error_code failure;
  auto path = fs::canonical(data, failure);
  if (failure)
    return error{errc::unavailable, data.string() + ": " + failure.message()};
  return path;
}

error cannot_set_aside(const fs::path& data, const fs::path& to, const std::error_code& failure) {
  const auto is_lasting = base::is_lasting(failure)
                          || failure == std::errc::device_or_resource_busy
                          || failure == std::errc::cross_device_link;
  return {
    is_lasting ? errc::invalid_argument : errc::unavailable,
    "the damaged store in " + data.string() + " cannot be renamed to " + to.string() + ": "
      + failure.message() + "; move everything in " + data.string()
      + " elsewhere, and start again: the cluster does not need it"};
}

/// False for a store of a coordinator that is alone, also when it is to found a cluster: no other
/// coordinator has copies of it.
bool was_open_in_cluster(const store_owner& owner) {
  std::error_code ignored;
  return !owner.cluster.empty()
         && fs::exists(coordinator::etcd_history_file(owner.data), ignored);
}

/// Checks that the mark is of this coordinator, and that its disk may be used again.
result<void> check_mark(const damage_mark& mark, const store_owner& owner) {
  if (mark.cluster != owner.cluster || mark.node != owner.node)
    return error{
      errc::incompatible_store,
      "the store in " + owner.data.string() + " is damaged, and that of node " + mark.node
        + " of cluster " + mark.cluster + "; correct --node and --cluster, or give an empty "
          "--data"};
  const auto before = stores_set_aside(owner.data);
  if (before.size() < damaged_stores_max)
    return {};
  return error{
    errc::corruption,
    "the store in " + owner.data.string() + " is damaged (" + mark.reason + "), as "
      + std::to_string(before.size()) + " were before, the last one in "
      + before.back().string()
      + ": check or replace the disk, then delete those, and start again"};
}

/// Adds to the reason why a damaged store is kept what an operator can do; others stay as they are.
error advise_on_kept_store(error why, const damage_mark& mark, const store_owner& owner) {
  if (why.code != errc::corruption && why.code != errc::unavailable)
    return why;
  const auto data = owner.data.string();
  why.context =
    "the store in " + data + " is damaged (" + mark.reason + "), and is kept: " + why.context;
  why.context +=
    why.code == errc::unavailable
      ? ". Start those that have copies of them; if they have lost these, see CLUSTERS.md, Repair"
      : ". `codeqctl verify " + data
          + "` tells what is damaged. Either make a copy that is behind the primary (`codeqctl "
            "cluster force-primary`), or remove "
          + damage_mark_file(owner.data).string()
          + " so that this coordinator serves until it reads the damage again, or restore a backup "
            "of the cluster; see CLUSTERS.md, Repair";
  return why;
}

[[noreturn]] void end_process(const store_owner& owner, const error& reason) {
  // Held until the end: another thread must not end the process while the mark is written.
  static std::mutex ending;
  const std::lock_guard lock{ending};
  if (reason.code == errc::corruption)
    CODEQ_LOG_ERROR(
      "coordinator stops at once reason=\"{}\"", to_string(note_damage(reason, owner)));
  else
    CODEQ_LOG_ERROR(
      "coordinator stops at once reason=\"{}\" advice=\"check the disk, then start again: "
      "everything acknowledged is recovered\"",
      to_string(reason));
  observe::flush_log();
  ::_exit(EXIT_FAILURE);
}

} // namespace

store_owner owner_of(const coordinator_node_options& options) {
  if (options.cluster.name.empty())
    return {options.data, "", ""};
  return {options.data, options.cluster.name, name_in_cluster(options)};
}

error advise_on_damage(error why, const store_owner& owner) {
  if (why.code != errc::corruption)
    return why;
  why.context += "; the store is damaged: `codeqctl verify " + owner.data.string()
                 + "` tells more. Keep the directory, and ";
  why.context += owner.cluster.empty()
                   ? "restore the newest backup into another one for --data"
                   : "start with an empty --data and the same --node if the other coordinators "
                     "have copies of its shards; else see CLUSTERS.md, Repair";
  return why;
}

error note_damage(error why, const store_owner& owner) {
  if (why.code != errc::corruption || !was_open_in_cluster(owner))
    return advise_on_damage(std::move(why), owner);
  auto marked = write_damage_mark(owner.data, {owner.cluster, owner.node, to_string(why)});
  if (!marked) {
    CODEQ_LOG_WARN("store cannot be marked as damaged reason=\"{}\"", to_string(marked.error()));
    return advise_on_damage(std::move(why), owner);
  }
  why.code = errc::unavailable;
  why.context += "; the store is damaged: the next start sets it aside and gets copies of its "
                 "shards from other coordinators, unless it has the last copy of one";
  return why;
}

std::function<void(const error&)> end_on_failure(const coordinator_node_options& options) {
  return [owner = owner_of(options)](const error& reason) { end_process(owner, reason); };
}

result<fs::path> set_aside(const fs::path& data) {
  auto path = real_path(data);
  if (!path)
    return path.error();
  auto to = *path;
  to += std::string(damaged_suffix) + time_in_name();
  std::error_code failure;
  if (fs::exists(to, failure))
    return cannot_set_aside(data, to, std::make_error_code(std::errc::device_or_resource_busy));
  fs::rename(*path, to, failure);
  if (failure)
    return cannot_set_aside(data, to, failure);
  // An end of the process here leaves no directory; the next start creates it.
  fs::create_directory(*path, to, failure);
  if (failure)
    return error{
      errc::unavailable, path->string() + ": cannot be created: " + failure.message()};
  if (auto ok = sync_directory(path->parent_path()); !ok)
    return ok.error();
  return to;
}

std::vector<fs::path> stores_set_aside(const fs::path& data) {
  std::vector<fs::path> found;
  auto path = real_path(data);
  if (!path)
    return found;
  const auto begin = path->filename().string() + std::string(damaged_suffix);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path->parent_path(), ignored))
    if (entry.path().filename().string().starts_with(begin))
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

result<void> replace_damaged_store(const coordinator_node_options& options) {
  const auto owner = owner_of(options);
  std::error_code ignored;
  if (!fs::exists(damage_mark_file(owner.data), ignored))
    return {};
  // Held over the rename: another process may replace the store, too, and use the new one.
  auto lock = storage::directory_lock::take(owner.data);
  if (!lock)
    return lock.error();
  auto mark = read_damage_mark(owner.data);
  if (!mark)
    return mark.error();
  if (!*mark)
    return {};
  if (auto ok = check_mark(**mark, owner); !ok)
    return ok;
  CODEQ_LOG_WARN(
    "store is damaged and is not opened directory={} reason=\"{}\"",
    owner.data.string(),
    (*mark)->reason);
  auto door = cluster_door::open(options);
  if (!door)
    return door.error();
  if (auto ok = (*door)->await_unneeded_store(); !ok)
    return advise_on_kept_store(ok.error(), **mark, owner);
  auto kept = set_aside(owner.data);
  if (!kept)
    return kept.error();
  CODEQ_LOG_WARN(
    "damaged store is set aside, the coordinator starts with an empty one and gets copies again "
    "directory={} advice=\"look at the disk; `rm -r {}` once nothing in it is needed\"",
    kept->string(),
    kept->string());
  return {};
}

} // namespace codeq::node
