// SPDX-License-Identifier: Apache-2.0
#include "config/ctl_commands.hpp"

#include <limits>

namespace codeq::config {

namespace {

constexpr std::uint64_t findings_told_max = 1'000'000;

option place_option(const char* name, std::string help, std::filesystem::path& target) {
  auto entry = path_option(name, name, std::move(help), target);
  entry.required = entry.positional = true;
  return entry;
}

void add_verify(ctl_commands& to) {
  auto target = std::make_shared<verify_command>();
  to.add<verify_command>(
    {"verify",
     "Check everything in a data directory that no coordinator has open",
     {place_option("DIR", "The coordinator's data directory", target->directory),
      durability_option(
        "What the coordinator is started with; os: the log may lack its last second after a power "
        "cut [default: sync]",
        target->sync),
      count_option(
        "limit",
        "How many findings are printed, 1 to 1000000; all are counted [default: 100]",
        target->findings_max,
        {1, findings_told_max})}},
    target);
}

void add_restore(ctl_commands& to) {
  auto target = std::make_shared<restore_command>();
  to.add<restore_command>(
    {"restore",
     "Make a data directory of a backup, with an identity of its own, and verify it",
     {place_option("BACKUPS", "The coordinator's --backup-dir or a copy of it", target->backups),
      place_option("DIR", "The new data directory; missing or empty", target->directory),
      count_option(
        "number",
        "Which backup, as printed by backup [default: the newest]",
        target->number,
        {1, std::numeric_limits<std::uint32_t>::max()})}},
    target);
}

} // namespace

void add_store_commands(ctl_commands& to) {
  to.add<backup_command>(
    {"backup", "Have the coordinator back its store up, and wait until that is done", {}},
    std::make_shared<backup_command>());
  add_verify(to);
  add_restore(to);
}

} // namespace codeq::config
