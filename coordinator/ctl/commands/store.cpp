// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator.hpp"

#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/text.hpp"

#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

constexpr std::uint64_t findings_told_max = 1'000'000;

struct verify_options {
  std::filesystem::path directory;
  bool sync = true;
  std::size_t findings_max = 100;
};

struct restore_options {
  std::filesystem::path backups;
  std::filesystem::path directory;
  /// Number of the backup; 0: the newest.
  std::uint32_t number = 0;
  /// The file that `backup --cluster` wrote; empty for the backup of one coordinator.
  std::filesystem::path cluster;
};

struct backup_options {
  /// The file to write of the backup of a cluster; empty: one coordinator is backed up.
  std::filesystem::path cluster;
};

option place_option(const char* name, std::string help, std::filesystem::path& target) {
  return required(placed(config::path_option(name, name, std::move(help), target)));
}

std::vector<option> verify_grammar(verify_options& to) {
  return {
    place_option("DIR", "The coordinator's data directory", to.directory),
    config::durability_option(
      "The coordinator's --durability; with os, the log may lack its last second after a power cut "
      "[default: sync]",
      to.sync),
    count_option(
      "limit",
      "Maximum number of findings to print, 1 to 1000000; all are counted [default: 100]",
      to.findings_max,
      {1, findings_told_max})};
}

std::vector<option> backup_grammar(backup_options& to) {
  return {config::path_option(
    "cluster",
    "FILE",
    "Back up all coordinators of the cluster, and write to this new file what `codeqctl restore` "
    "has to know [default: a coordinator that is alone]",
    to.cluster)};
}

std::vector<option> restore_grammar(restore_options& to) {
  return {
    place_option(
      "BACKUPS",
      "The coordinator's --backup-dir or a copy of it; with --cluster a directory that has those "
      "of all coordinators under their names",
      to.backups),
    config::path_option(
      "cluster",
      "FILE",
      "The file of `codeqctl backup --cluster` [default: the backup is of one coordinator]",
      to.cluster),
    place_option("DIR", "The new data directory; missing or empty", to.directory),
    count_option(
      "number",
      "Number of the backup, as `codeqctl backups` prints it [default: the newest]",
      to.number,
      {1, std::numeric_limits<std::uint32_t>::max()})};
}

void write_report(base::json_writer& out, const store_report& report) {
  // As text: a JSON number cannot hold every store id exactly.
  out.field("store_id", std::to_string(report.store_id)).field("format", report.format);
  out.field("epoch", report.epoch).begin_array("shards");
  for (const auto& [shard, kinds] : report.records) {
    out.begin_object().field("shard", value(shard)).begin_object("records");
    for (const auto& [kind, count] : kinds)
      out.field(kind, count);
    out.end_object().end_object();
  }
  out.end_array().begin_array("findings");
  for (const auto& finding : report.findings)
    out.text(printable(finding));
  out.end_array().field("findings_count", report.findings_count).begin_array("notes");
  for (const auto& note : report.notes)
    out.text(printable(note));
  out.end_array();
}

std::string summary_of(const store_report& report) {
  auto text = "store " + std::to_string(report.store_id) + " format "
              + std::to_string(report.format) + " epoch " + std::to_string(report.epoch) + "\n";
  for (const auto& [shard, kinds] : report.records) {
    text += "shard " + std::to_string(value(shard)) + ":";
    for (const auto& [kind, count] : kinds)
      text += " " + kind + "=" + std::to_string(count);
    text += "\n";
  }
  return text;
}

std::string to_text(const store_report& report) {
  auto text = summary_of(report);
  for (const auto& note : report.notes)
    text += "note: " + in_one_line(note) + "\n";
  for (const auto& finding : report.findings)
    text += "finding: " + in_one_line(finding) + "\n";
  auto untold = report.findings_count - report.findings.size();
  if (untold > 0)
    text += "and " + std::to_string(untold) + " more findings\n";
  return text + (report.findings_count == 0 ? "sound\n" : "not sound\n");
}

std::string to_json(const cluster_backup& made) {
  base::json_writer out;
  out.begin_object().field("cluster", made.cluster).begin_array("coordinators");
  for (const auto& part : made.parts) {
    out.begin_object().field("node", part.node).field("backup", part.number);
    out.field("bytes", part.bytes).field("files", part.files).end_object();
  }
  return out.end_array().end_object().take() + "\n";
}

std::string to_text(const cluster_backup& made) {
  std::vector<std::vector<std::string>> rows{{"NODE", "BACKUP", "BYTES", "FILES"}};
  for (const auto& part : made.parts)
    rows.push_back(
      {part.node,
       std::to_string(part.number),
       std::to_string(part.bytes),
       std::to_string(part.files)});
  return format_table(rows);
}

int back_up_cluster(context& with, const std::filesystem::path& file) {
  const auto made = with.api.back_up_cluster(file);
  if (!made)
    return fail(made.error(), with.json);
  print(with.json ? to_json(*made) : to_text(*made));
  return exit_done;
}

int back_up(context& with, const backup_options& given) {
  if (!given.cluster.empty())
    return back_up_cluster(with, given.cluster);
  auto status = with.api.back_up();
  if (!status)
    return fail(status.error(), with.json);
  base::json_writer out;
  out.begin_object().field("backup", status->number).field("bytes", status->bytes);
  out.field("files", status->files).end_object();
  auto text = "backup " + std::to_string(status->number) + " of " + std::to_string(status->bytes)
              + " bytes in " + std::to_string(status->files) + " files\n";
  print(with.json ? out.take() + "\n" : text);
  return exit_done;
}

std::string to_json(const std::vector<backup_info>& backups) {
  base::json_writer out;
  out.begin_object().begin_array("backups");
  for (const auto& backup : backups) {
    out.begin_object().field("backup", backup.number);
    out.field("at_ms", backup.at.time_since_epoch().count());
    out.field("bytes", backup.bytes).field("files", backup.files).end_object();
  }
  return out.end_array().end_object().take() + "\n";
}

std::string to_text(const std::vector<backup_info>& backups) {
  std::vector<std::vector<std::string>> rows{{"BACKUP", "MADE", "BYTES", "FILES"}};
  for (const auto& backup : backups)
    rows.push_back(
      {std::to_string(backup.number),
       to_string(backup.at),
       std::to_string(backup.bytes),
       std::to_string(backup.files)});
  return format_table(rows);
}

int list(context& with, const std::filesystem::path& directory) {
  auto found = directory.empty() ? with.api.backups() : list_backups(directory);
  if (!found)
    return fail(found.error(), with.json);
  print(with.json ? to_json(*found) : to_text(*found));
  return exit_done;
}

int verify(context& with, const verify_options& given) {
  auto report = verify_store({given.directory, given.sync, given.findings_max});
  if (!report) {
    static_cast<void>(fail(report.error(), with.json));
    return exit_not_opened;
  }
  base::json_writer out;
  if (with.json) {
    out.begin_object();
    write_report(out, *report);
    out.end_object();
  }
  print(with.json ? out.take() + "\n" : to_text(*report));
  return report->findings_count == 0 ? exit_done : exit_failed;
}

int restore(context& with, const restore_options& given) {
  if (given.number != 0 && !given.cluster.empty())
    return fail(
      {errc::invalid_argument, "--number and --cluster exclude each other: the file names the "
                               "numbers of the backups"},
      with.json);
  codeq::restore_options wanted{given.backups, given.number, std::nullopt, given.directory};
  if (!given.cluster.empty()) {
    auto whole = read_cluster_backup(given.cluster);
    if (!whole)
      return fail(whole.error(), with.json);
    wanted.cluster = std::move(*whole);
  }
  auto restored = restore_store(wanted);
  if (!restored)
    return fail(restored.error(), with.json);
  base::json_writer out;
  if (with.json) {
    out.begin_object().field("backup", restored->number).field("bytes", restored->bytes);
    write_report(out, restored->report);
    out.end_object();
  }
  const auto what = wanted.cluster ? "cluster " + wanted.cluster->cluster + " restored"
                                   : "backup " + std::to_string(restored->number) + " restored, "
                                       + std::to_string(restored->bytes) + " bytes";
  const auto text = what + "\n" + to_text(restored->report);
  print(with.json ? out.take() + "\n" : text);
  return exit_done;
}

} // namespace

void add_store(command_table& to) {
  to.add(command<backup_options>{
    .name = "backup",
    .help = "Make the coordinator back up its store, and wait until that is done",
    .grammar = backup_grammar,
    .run = back_up,
    .details = "In a cluster give --cluster: the backup of one of its coordinators cannot be "
               "restored alone. CLUSTERS.md tells more."});
  to.add(command<std::filesystem::path>{
    .name = "backups",
    .help = "List the backups of the coordinator, or those in a directory",
    .grammar =
      [](std::filesystem::path& directory) {
        return std::vector{placed(config::path_option(
          "DIR",
          "DIR",
          "A --backup-dir or a copy of it, read without a coordinator [default: ask the "
          "coordinator]",
          directory))};
      },
    .run = list,
    .details = "BYTES and FILES include files that a backup shares with earlier ones. `codeqctl "
               "restore --number` takes the number."});
  to.add(command<verify_options>{
    .name = "verify",
    .help = "Check a data directory that no coordinator has open",
    .grammar = verify_grammar,
    .run = verify});
  to.add(command<restore_options>{
    .name = "restore",
    .help = "Create a data directory from a backup, with a store id of its own, and verify it",
    .grammar = restore_grammar,
    .run = restore,
    .details =
      "With --cluster the directory has all shards of the cluster, and is that of the first "
      "coordinator of a new one; the others join it with empty directories. A coordinator whose "
      "backups are missing is left out, as long as others have its shards."});
}

} // namespace codeq::ctl
