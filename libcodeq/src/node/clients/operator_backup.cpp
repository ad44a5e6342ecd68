// SPDX-License-Identifier: Apache-2.0
#include "base/random.hpp"
#include "cluster/backup/backup_json.hpp"
#include "node/clients/operator_impl.hpp"
#include "security/private_file.hpp"

#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>

/// Backups of whole clusters.
namespace codeq {

namespace {

/// How often backups are asked whether they have ended.
constexpr auto backup_look = std::chrono::milliseconds(200);

/// Longer than an answer takes. When this client dies, follow-ups between shards wait for so long.
constexpr auto hold_time = std::chrono::seconds(10);

result<void> check_held(const cluster::told_backups& held, const cluster::told_backups& now) {
  auto ok = cluster::check_hold(held, now);
  return ok ? cluster::check_backups(held, now) : ok;
}

} // namespace

result<cluster_status>
operator_client::impl::begin_cluster_backup(const cluster::told_backups& held, std::uint64_t run) {
  auto status = whole_cluster();
  if (!status)
    return status;
  if (auto ok = cluster::check_start(*status, held); !ok)
    return ok.error();
  auto now = backups_of_all({true, hold_time, run});
  while (now && !cluster::are_fixed(*now)) {
    if (auto ok = check_held(held, *now); !ok)
      return ok.error();
    std::this_thread::sleep_for(backup_look);
    now = backups_of_all({false, hold_time, 0});
  }
  // Asked once more, after the last one was fixed: the hold has lasted until then.
  if (now)
    now = backups_of_all({false, hold_time, 0});
  if (!now)
    return now.error();
  if (auto ok = check_held(held, *now); !ok)
    return ok.error();
  return status;
}

result<cluster_backup> operator_client::impl::make_cluster_backup() {
  const auto run = base::random_bits() | 1;
  const auto held = backups_of_all({false, hold_time, 0});
  if (!held)
    return held.error();
  auto status = begin_cluster_backup(*held, run);
  // It ends by itself where this does not arrive.
  auto now = backups_of_all({false, duration{0}, 0});
  if (!status)
    return status.error();
  while (now && cluster::are_running(*now)) {
    std::this_thread::sleep_for(backup_look);
    now = backups_of_all({});
  }
  if (!now)
    return now.error();
  if (auto ok = cluster::check_backups(*held, *now); !ok)
    return ok.error();
  return cluster::whole_of(*status, *now, run);
}

result<cluster_backup> operator_client::back_up_cluster(const std::filesystem::path& file) {
  std::error_code failure;
  if (std::filesystem::exists(file, failure))
    return error{
      errc::invalid_argument,
      file.string() + " exists already; each backup of a cluster needs a file of its own"};
  const auto directory = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(directory, failure))
    return error{
      errc::invalid_argument,
      file.string() + ": " + directory.string() + " is no directory; create the directory first"};
  auto told = security::private_file::create(file);
  if (!told)
    return told.error();
  auto made = impl_->make_cluster_backup();
  if (!made)
    return made;
  if (auto ok = told->write(cluster::encode(*made)); !ok)
    return ok.error();
  return made;
}

result<cluster_backup> read_cluster_backup(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in)
    return error{errc::io_error, "cannot read " + file.string()};
  auto backup = cluster::decode_backup(text.str());
  if (!backup)
    return error{backup.error().code, file.string() + ": " + backup.error().context};
  return backup;
}

} // namespace codeq
