// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/text.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace codeq::ctl {

namespace {

/// A time as 2026-01-31T12:00:00Z, or a duration before now.
result<timestamp> parse_since(const std::string& text) {
  if (auto time = base::parse_rfc3339(text))
    return *time;
  auto age = config::parse_duration_in(text, {duration{0}, limits::audit_retention});
  if (!age)
    return error{
      errc::invalid_argument,
      quote(text) + " is neither a time, such as 2026-01-31T12:00:00Z, nor a duration up to 30d"};
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return timestamp{std::chrono::floor<duration>(now)} - *age;
}

result<audit_place> parse_place(const std::string& text) {
  if (auto place = parse_audit_place(text))
    return *place;
  return error{errc::invalid_argument, quote(text) + " is not what an earlier page printed"};
}

std::vector<option> grammar(audit_filter& to) {
  return {
    {.name = "since",
     .value = "TIME",
     .help = "Only commands from this time on: 2026-01-31T12:00:00Z, or 24h for the last day "
             "[default: 30d]",
     .take = put_into(to.since, parse_since)},
    {.name = "after",
     .value = "PLACE",
     .help =
       "Continue after an earlier page, which printed the place [default: at the latest command]",
     .take = put_into(to.after, parse_place)},
    count_option(
      "limit",
      "Maximum number of commands, 1 to 1000 [default: 100]",
      to.limit,
      {1, limits::audited_max}),
    name_option(
      "tenant",
      "Only commands that changed something of this tenant [default: all that the token may see]",
      to.tenant)};
}

void write_command(base::json_writer& out, const audited_command& command) {
  out.begin_object().field("at_ms", command.at.time_since_epoch().count());
  out.field("action", to_string(command.action));
  out.bytes_field("subject", command.subject).bytes_field("remote", command.remote);
  out.field("tenant", command.tenant).field("queue", command.queue);
  if (command.task)
    out.field("id", to_string(*command.task));
  out.field("changed", command.changed).bytes_field("detail", command.detail).end_object();
}

std::string to_json(const audit_page& page) {
  base::json_writer out;
  out.begin_object().begin_array("commands");
  for (const auto& command : page.commands)
    write_command(out, command);
  out.end_array();
  if (page.after)
    out.field("after", to_string(*page.after));
  write_shards(out, "missing", page.missing);
  return out.end_object().take() + "\n";
}

/// The object of the command: a task, a queue, a tenant, the cluster or the coordinator.
std::string object_of(const audited_command& command) {
  if (command.tenant.empty())
    return command.action == operator_action::cluster_change ? "cluster" : "coordinator";
  auto place = command.queue.empty() ? command.tenant : command.tenant + "/" + command.queue;
  return printable(command.task ? place + " " + to_string(*command.task) : place);
}

std::string to_table(const audit_page& page) {
  std::vector<std::vector<std::string>> rows{
    {"TIME", "WHO", "FROM", "COMMAND", "ON", "TASKS", "DETAIL"}};
  for (const auto& command : page.commands)
    rows.push_back(
      {to_string(command.at),
       command.subject.empty() ? "-" : printable(command.subject),
       command.remote.empty() ? "-" : printable(command.remote),
       std::string(to_string(command.action)),
       object_of(command),
       command.tenant.empty() ? "-" : std::to_string(command.changed),
       in_one_line(command.detail)});
  auto text = format_table(rows);
  if (page.after)
    text += "\nThere is more: --after " + to_string(*page.after) + "\n";
  return text + left_out_text(page.missing, 0, "commands");
}

} // namespace

void add_audit(command_table& to) {
  to.add(command<audit_filter>{
    .name = "audit",
    .help = "Show which operators changed what in the last 30 days, latest first",
    .grammar = grammar,
    .run =
      [](context& with, const audit_filter& filter) {
        return show(with, with.api.audit(filter), to_json, to_table);
      },
    .details =
      "WHO is the holder of the token, - without tokens. TASKS is the number of tasks that the "
      "command changed, - of one that is not about tasks but about the cluster or a coordinator. "
      "Refused commands, and those that changed nothing, are not in the log, nor are cancels and "
      "promotes by producers' tokens; `events` shows those."});
}

} // namespace codeq::ctl
