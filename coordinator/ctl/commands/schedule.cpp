// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/schedule_options.hpp"
#include "ctl/task_options.hpp"
#include "ctl/text.hpp"
#include "http/json/schedule_json.hpp"

#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

struct named_schedule {
  schedule_address name;
};

struct next_options : named_schedule {
  std::uint32_t count = limits::schedule_next_default;
};

struct backfill_options : named_schedule {
  std::optional<timestamp> from;
  std::optional<timestamp> until;
};

void write_time(base::json_writer& out, const schedule_time& time) {
  out.field("nominal", time.nominal).field("at", base::to_rfc3339(time.at));
  out.field("local", time.local);
}

void write_times(base::json_writer& out, const std::vector<schedule_time>& times) {
  out.begin_array("next");
  for (const auto& time : times) {
    write_time(out.begin_object(), time);
    out.end_object();
  }
  out.end_array();
}

void write_entry(base::json_writer& out, const schedule_occurrence& entry) {
  out.begin_object().field("number", entry.number);
  write_time(out, entry.when);
  out.field("decided_at", base::to_rfc3339(entry.decided_at));
  out.field("cause", to_string(entry.cause)).field("state", to_string(entry.state));
  out.field("count", entry.count);
  if (entry.task)
    out.field("id", to_string(*entry.task));
  if (entry.ended_at)
    out.field("ended_at", base::to_rfc3339(*entry.ended_at));
  out.end_object();
}

void write_schedule(base::json_writer& out, const schedule_answer& answer) {
  const auto& info = answer.schedule;
  const auto& spec = info.spec;
  out.begin_object().field("tenant", info.name.tenant).field("name", info.name.name);
  out.field("rule", spec.rule).field("misfire", to_string(spec.misfire));
  out.field("catch_up_ms", spec.catch_up.count()).field("overlap", to_string(spec.overlap));
  out.field("queue", spec.task.queue).bytes_field("payload", spec.task.payload.view());
  out.field("paused", info.paused).field("running", info.running);
  out.field("waiting", info.has_waiting).field("occurrences", info.occurrences);
  write_times(out, info.next);
  if (info.latest)
    write_entry(out.key("latest"), *info.latest);
  out.field("explanation", http::explanation_of(answer, wall_time())).end_object();
}

std::string to_json(const schedule_info& info) {
  base::json_writer out;
  write_schedule(out, {schedule_result::unchanged, info});
  return out.take() + "\n";
}

std::string to_json(const schedule_answer& answer) {
  base::json_writer out;
  out.begin_object().field("result", to_string(answer.what));
  write_schedule(out.key("schedule"), answer);
  return out.end_object().take() + "\n";
}

std::string times_json(const std::vector<schedule_time>& times) {
  base::json_writer out;
  write_times(out.begin_object(), times);
  return out.end_object().take() + "\n";
}

std::string to_json(const std::vector<schedule_info>& all) {
  base::json_writer out;
  out.begin_object().begin_array("schedules");
  for (const auto& one : all)
    write_schedule(out, {schedule_result::unchanged, one});
  return out.end_array().end_object().take() + "\n";
}

std::string to_json(const std::vector<schedule_occurrence>& history) {
  base::json_writer out;
  out.begin_object().begin_array("occurrences");
  for (const auto& entry : history)
    write_entry(out, entry);
  return out.end_array().end_object().take() + "\n";
}

/// One line per time: in the schedule's zone and in UTC.
std::string times_text(const std::vector<schedule_time>& times) {
  std::vector<std::vector<std::string>> rows{{"LOCAL TIME", "UTC"}};
  for (const auto& time : times)
    rows.push_back({time.local, to_string(time.at)});
  return format_table(rows);
}

std::string fields_text(const schedule_answer& answer) {
  const auto& info = answer.schedule;
  const auto& spec = info.spec;
  return format_fields(
    {{"schedule", info.name.tenant + "/" + info.name.name},
     {"rule", spec.rule},
     {"misfire",
      std::string(to_string(spec.misfire)) + ", within " + format_duration(spec.catch_up)},
     {"overlap", std::string(to_string(spec.overlap))},
     {"queue", spec.task.queue},
     {"payload", in_one_line(spec.task.payload.view())},
     {"paused", info.paused ? "yes" : "no"},
     {"running", std::to_string(info.running)},
     {"occurrences", std::to_string(info.occurrences)},
     {"now", http::explanation_of(answer, wall_time())}});
}

std::string to_text(const schedule_info& info) {
  return fields_text({schedule_result::unchanged, info});
}

std::string to_text(const schedule_answer& answer) {
  return std::string(to_string(answer.what)) + "\n" + fields_text(answer);
}

std::string to_text(const std::vector<schedule_info>& all) {
  std::vector<std::vector<std::string>> rows{{"NAME", "RULE", "QUEUE", "NEXT"}};
  for (const auto& one : all)
    rows.push_back(
      {one.name.name,
       one.spec.rule,
       one.spec.task.queue,
       one.paused         ? "paused"
       : one.next.empty() ? "-"
                          : to_string(one.next.front().at)});
  return format_table(rows);
}

std::string to_text(const std::vector<schedule_occurrence>& history) {
  std::vector<std::vector<std::string>> rows{
    {"NOMINAL TIME", "DECIDED", "CAUSE", "STATE", "TIMES", "TASK"}};
  for (const auto& entry : history)
    rows.push_back(
      {entry.when.nominal,
       to_string(entry.decided_at),
       std::string(to_string(entry.cause)),
       std::string(to_string(entry.state)),
       std::to_string(entry.count),
       entry.task ? to_string(*entry.task) : "-"});
  return format_table(rows);
}

int show_answer(const context& with, const answer<schedule_answer>& got) {
  return show(
    with,
    got,
    [](const schedule_answer& a) { return to_json(a); },
    [](const schedule_answer& a) { return to_text(a); });
}

int show_times(const context& with, const answer<std::vector<schedule_time>>& got) {
  return show(with, got, times_json, times_text);
}

int set(context& with, const schedule_options& given) {
  auto spec = given.spec();
  if (!spec)
    return fail(spec.error(), with.json);
  auto payload = payload_of(given.payload);
  if (!payload)
    return fail(payload.error(), with.json);
  spec->task.payload = std::move(*payload);
  if (given.is_dry_run)
    return show_times(with, with.api.preview_schedule(given.name, *spec, given.count));
  return show_answer(with, with.api.set_schedule(given.name, *spec));
}

std::vector<option> name_grammar(named_schedule& to) {
  return {schedule_option(to.name.name), tenant_option(to.name.tenant)};
}

std::vector<option> next_grammar(next_options& to) {
  auto options = name_grammar(to);
  options.push_back(count_option(
    "count",
    "Number of times, 1 to 1000 [default: 20]",
    to.count,
    {1, limits::schedule_next_max}));
  return options;
}

std::vector<option> backfill_grammar(backfill_options& to) {
  auto options = name_grammar(to);
  options.push_back(required(
    {.name = "from",
     .value = "TIME",
     .help = "Begin of the range, such as 2026-01-31T12:00:00Z",
     .take = put_into(to.from, parse_time)}));
  options.push_back(required(
    {.name = "until",
     .value = "TIME",
     .help = "End of the range, exclusive; not in the future",
     .take = put_into(to.until, parse_time)}));
  return options;
}

template <schedule_action What>
int change(context& with, const named_schedule& given) {
  return show_answer(with, with.api.change_schedule(given.name, What));
}

using runner = int (*)(context&, const named_schedule&);

void add(command_table& to, const char* name, const char* help, runner run) {
  to.add(command<named_schedule>{.name = name, .help = help, .grammar = name_grammar, .run = run});
}

void add_views(command_table& to) {
  add(
    to,
    "schedule show",
    "Show a schedule, when it fires next and why",
    [](context& with, const named_schedule& given) {
      return show(
        with,
        with.api.show_schedule(given.name),
        [](const schedule_info& info) { return to_json(info); },
        [](const schedule_info& info) { return to_text(info); });
    });
  to.add(command<named_schedule>{
    .name = "schedule list",
    .help = "List the schedules of a tenant",
    .grammar =
      [](named_schedule& given) {
        return std::vector<option>{tenant_option(given.name.tenant)};
      },
    .run = [](context& with, const named_schedule& given) {
      return show(
        with,
        with.api.list_schedules(given.name.tenant),
        [](const std::vector<schedule_info>& all) { return to_json(all); },
        [](const std::vector<schedule_info>& all) { return to_text(all); });
    }});
  to.add(command<next_options>{
    .name = "schedule next",
    .help = "Show when a schedule fires next, in its zone and in UTC",
    .grammar = next_grammar,
    .run = [](context& with, const next_options& given) {
      return show(
        with,
        with.api.next_of(given.name, given.count),
        [](const schedule_info& info) { return times_json(info.next); },
        [](const schedule_info& info) { return times_text(info.next); });
    }});
  add(
    to,
    "schedule history",
    "Show the latest 100 occurrences of a schedule",
    [](context& with, const named_schedule& given) {
      return show(
        with,
        with.api.schedule_history(given.name),
        [](const std::vector<schedule_occurrence>& all) { return to_json(all); },
        [](const std::vector<schedule_occurrence>& all) { return to_text(all); });
    });
}

} // namespace

void add_schedule(command_table& to) {
  to.group("schedule", "Set, show, run, pause, resume and delete schedules, which enqueue tasks");
  to.add(command<schedule_options>{
    .name = "schedule set",
    .help = "Set a schedule; one that is equal is not changed",
    .grammar = schedule_grammar,
    .run = set,
    .details = "A changed schedule keeps what has fired. Every task has the headers "
               "codeq-schedule and codeq-nominal-time, which together are unique."});
  add_views(to);
  add(
    to,
    "schedule run",
    "Fire a schedule now, once, whatever its rule and its running tasks",
    change<schedule_action::run>);
  add(
    to,
    "schedule pause",
    "Stop a schedule from firing; running tasks continue",
    change<schedule_action::pause>);
  add(
    to,
    "schedule resume",
    "Let a schedule fire again; what was due while it was paused is left out",
    change<schedule_action::resume>);
  to.add(command<backfill_options>{
    .name = "schedule backfill",
    .help = "Fire the past times of a range, at most 1000, whether they have fired or not",
    .grammar = backfill_grammar,
    .run = [](context& with, const backfill_options& given) {
      return show_answer(
        with, with.api.backfill_schedule(given.name, *given.from, *given.until));
    }});
  add(
    to,
    "schedule delete",
    "Delete a schedule with its history; running tasks continue",
    change<schedule_action::remove>);
}

} // namespace codeq::ctl
