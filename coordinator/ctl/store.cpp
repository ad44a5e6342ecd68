// SPDX-License-Identifier: Apache-2.0
#include "codeq/store_tools.hpp"

#include "base/json_writer.hpp"
#include "ctl/client.hpp"
#include "ctl/commands.hpp"
#include "ctl/output.hpp"
#include "ctl/text.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

void write_report(base::json_writer& out, const store_report& report) {
  // As text: it may be larger than what a JSON number holds exactly.
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

/// Until the backup that was begun has ended.
result<backup_status> back_up(operator_client& client) {
  constexpr auto pause = std::chrono::milliseconds(200);
  auto status = client.start_backup();
  while (status && status->state == backup_state::running) {
    std::this_thread::sleep_for(pause);
    status = client.backup();
  }
  if (!status || status->state == backup_state::done)
    return status;
  if (status->state == backup_state::none)
    return error{errc::going_away, "the coordinator was started anew before the backup was whole"};
  return error{errc::unavailable, status->problem};
}

} // namespace

int run(const config::ctl_config& config, const config::backup_command&) {
  return ask_and_show(config, back_up, [&](const backup_status& status) {
    base::json_writer out;
    out.begin_object().field("backup", status.number).field("bytes", status.bytes);
    out.field("files", status.files).end_object();
    auto text = "backup " + std::to_string(status.number) + " of " + std::to_string(status.bytes)
                + " bytes in " + std::to_string(status.files) + " files\n";
    print(config.json ? out.take() + "\n" : text);
    return exit_done;
  });
}

int run(const config::ctl_config& config, const config::verify_command& command) {
  auto report = verify_store({command.directory, command.sync, command.findings_max});
  if (!report) {
    static_cast<void>(fail(report.error(), config.json));
    return exit_not_opened;
  }
  base::json_writer out;
  if (config.json) {
    out.begin_object();
    write_report(out, *report);
    out.end_object();
  }
  print(config.json ? out.take() + "\n" : to_text(*report));
  return report->findings_count == 0 ? exit_done : exit_failed;
}

int run(const config::ctl_config& config, const config::restore_command& command) {
  auto restored = restore_store({command.backups, command.number, command.directory});
  if (!restored)
    return fail(restored.error(), config.json);
  base::json_writer out;
  if (config.json) {
    out.begin_object().field("backup", restored->number).field("bytes", restored->bytes);
    write_report(out, restored->report);
    out.end_object();
  }
  auto text = "backup " + std::to_string(restored->number) + " restored, "
              + std::to_string(restored->bytes) + " bytes\n" + to_text(restored->report);
  print(config.json ? out.take() + "\n" : text);
  return exit_done;
}

} // namespace codeq::ctl
