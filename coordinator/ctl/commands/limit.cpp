// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/limit_options.hpp"
#include "ctl/text.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::ctl {

namespace {

struct named_limit {
  limit_address name;
};

struct keys_options : named_limit {
  limit_keys_request page{};
};

struct key_options_of_limit : named_limit {
  std::string key;
  duration closed_for{0};
};

void write_definition(base::json_writer& out, const limit_definition& definition) {
  if (definition.concurrency)
    out.field("concurrency", *definition.concurrency);
  const auto& rate = definition.rate;
  if (rate)
    out.begin_object("rate")
      .field("count", rate->count)
      .field("period_ms", rate->period.count())
      .field("burst", rate->burst)
      .end_object();
}

void write_limit(base::json_writer& out, const limit_info& info) {
  out.begin_object().field("tenant", info.limit.tenant).field("name", info.limit.name);
  write_definition(out, info.definition);
  out.field("leased", info.leased).field("held", info.held).field("keys", info.keys);
  out.field("keys_above", info.keys_above).field("uniform", info.is_uniform);
  write_shards(out, "missing", info.missing);
  if (const auto& forecast = info.forecast)
    out.begin_object("would_hold")
      .field("tasks", forecast->tasks)
      .field("keys", forecast->keys)
      .field("whole", forecast->is_whole)
      .end_object();
  out.end_object();
}

void write_key(base::json_writer& out, const limit_key_info& info) {
  out.begin_object().bytes_field("key", info.key);
  out.field("leased", info.leased).field("held", info.held);
  if (auto start = next_start_of(info))
    out.field("next_start", base::to_rfc3339(*start));
  if (info.closed_until != timestamp{})
    out.field("closed_until", base::to_rfc3339(info.closed_until));
  write_shards(out, "missing", info.missing);
  out.end_object();
}

std::string to_json(const limit_info& info) {
  base::json_writer out;
  write_limit(out, info);
  return out.take() + "\n";
}

std::string to_json(const limit_key_info& info) {
  base::json_writer out;
  write_key(out, info);
  return out.take() + "\n";
}

std::string to_json(const limit_list& all) {
  base::json_writer out;
  out.begin_object().begin_array("limits");
  for (const auto& one : all.limits)
    write_limit(out, one);
  out.end_array();
  write_shards(out, "missing", all.missing);
  return out.end_object().take() + "\n";
}

std::string to_json(const limit_keys_page& page) {
  base::json_writer out;
  out.begin_object().begin_array("keys");
  for (const auto& one : page.keys)
    write_key(out, one);
  out.end_array().field("more", page.more);
  write_shards(out, "missing", page.missing);
  return out.end_object().take() + "\n";
}

std::string concurrency_text(const limit_definition& definition) {
  return definition.concurrency ? std::to_string(*definition.concurrency) : "-";
}

std::string key_text(const std::string& key) {
  return key.empty() ? "(empty)" : in_one_line(key);
}

std::string forecast_text(const limit_forecast& forecast) {
  using std::to_string;
  return std::string("\nNothing was changed. The limit would hold back ")
         + (forecast.is_whole ? "" : "at least ")
         + to_string(forecast.tasks) + " waiting tasks of " + to_string(forecast.keys)
         + " keys at once.\n";
}

std::string to_text(const limit_info& info) {
  using std::to_string;
  auto text = format_fields(
    {{"limit", info.limit.tenant + "/" + info.limit.name},
     {"concurrency", concurrency_text(info.definition)},
     {"rate", rate_text(info.definition.rate)},
     {"leased", to_string(info.leased)},
     {"held back", to_string(info.held)},
     {"keys in use", to_string(info.keys)}});
  if (info.keys_above > 0)
    text += "\n" + to_string(info.keys_above)
            + " of the keys have more leases than that; they run to their ends.\n";
  if (info.forecast)
    text += forecast_text(*info.forecast);
  if (!info.is_uniform && info.missing.empty())
    text += "\nThe shards differ, because a change did not reach all of them: make it again.\n";
  return text + missing_text(info.missing);
}

/// The limit as it was.
std::string deleted_json(const limit_info& gone) {
  return to_json(gone);
}

std::string deleted_text(const limit_info& gone) {
  return "limit " + gone.limit.tenant + "/" + gone.limit.name + " is deleted; "
         + std::to_string(gone.held) + " tasks that it held back go on without it\n"
         + missing_text(gone.missing);
}

std::string to_text(const limit_key_info& info) {
  return format_fields(
           {{"key", key_text(info.key)},
            {"leased", std::to_string(info.leased)},
            {"held back", std::to_string(info.held)},
            {"next start", start_text(info)},
            {"closed until", closed_text(info)}})
         + left_out_text(info.missing, 0, "waiting tasks");
}

std::string to_text(const limit_list& all) {
  using std::to_string;
  std::vector<std::vector<std::string>> rows{
    {"LIMIT", "CONCURRENCY", "RATE", "LEASED", "HELD BACK", "KEYS IN USE"}};
  for (const auto& one : all.limits)
    rows.push_back(
      {one.limit.name,
       concurrency_text(one.definition),
       rate_text(one.definition.rate),
       to_string(one.leased),
       to_string(one.held),
       to_string(one.keys)});
  return format_table(rows) + left_out_text(all.missing, 0, "tasks");
}

std::string to_text(const limit_keys_page& page) {
  std::vector<std::vector<std::string>> rows{
    {"KEY", "LEASED", "HELD BACK", "NEXT START", "CLOSED UNTIL"}};
  for (const auto& one : page.keys)
    rows.push_back(
      {key_text(one.key),
       std::to_string(one.leased),
       std::to_string(one.held),
       start_text(one),
       closed_text(one)});
  auto text = format_table(rows);
  if (page.more)
    text += "more with --after '" + in_one_line(page.keys.back().key) + "'\n";
  return text + left_out_text(page.missing, 0, "keys");
}

template <class T>
int show_answer(const context& with, const answer<T>& got) {
  return show(
    with,
    got,
    [](const T& told) { return to_json(told); },
    [](const T& told) { return to_text(told); });
}

int set_limit(const context& with, const limit_options& given) {
  const auto got = with.api.set_limit(given.name, given.definition(), given.is_dry_run);
  if (given.is_dry_run)
    return show_answer(with, got);
  return show_change(
    with,
    got,
    [](const limit_info& told) { return to_json(told); },
    [](const limit_info& told) { return to_text(told); });
}

int delete_limit(const context& with, const named_limit& given) {
  return show_change(with, with.api.delete_limit(given.name), deleted_json, deleted_text);
}

/// The closed keys of a limit, as far as the first page of its keys has them; empty without any.
std::string closed_keys_text(const limit_keys_page& page) {
  constexpr std::size_t rows_max = 20;
  std::vector<std::vector<std::string>> rows{{"CLOSED KEY", "UNTIL"}};
  bool has_more = page.more;
  for (const auto& one : page.keys) {
    if (one.closed_until <= wall_time())
      continue;
    if (rows.size() <= rows_max)
      rows.push_back({key_text(one.key), closed_text(one)});
    else
      has_more = true;
  }
  if (rows.size() == 1)
    return {};
  return "\n" + format_table(rows) + (has_more ? "there may be more: codeqctl limit keys\n" : "");
}

int show_limit(const context& with, const named_limit& given) {
  const auto got = with.api.show_limit(given.name);
  const auto status = show_answer(with, got);
  const auto* info = got ? std::get_if<limit_info>(&*got) : nullptr;
  if (!info || info->keys == 0 || with.json)
    return status;
  const auto keys = with.api.limit_keys(given.name, {.limit = limits::limits_page_max});
  if (const auto* page = keys ? std::get_if<limit_keys_page>(&*keys) : nullptr)
    print(closed_keys_text(*page));
  return status;
}

std::vector<option> name_grammar(named_limit& to) {
  return {limit_option(to.name.name), tenant_option(to.name.tenant)};
}

std::vector<option> keys_grammar(keys_options& to) {
  auto options = name_grammar(to);
  auto take_after = [&to](const std::string& text) -> result<void> {
    to.page.after = text;
    return {};
  };
  options.push_back(count_option(
    "limit",
    "Maximum number of keys [default: 100]",
    to.page.limit,
    {1, limits::limits_page_max}));
  options.push_back(
    {.name = "after",
     .value = "KEY",
     .help = "Only keys that come after this one [default: from the first key on]",
     .take = take_after});
  options.push_back(switch_option(
    "busy",
    "Only keys that run or hold back tasks [default: all in use]",
    to.page.only_busy));
  return options;
}

std::vector<option> key_grammar(key_options_of_limit& to) {
  auto options = name_grammar(to);
  options.push_back(placed(text_option(
    "KEY",
    "Key of the limit [default: the key of tasks that give none]",
    to.key,
    limits::limit_key_bytes_max)));
  return options;
}

std::vector<option> close_grammar(key_options_of_limit& to) {
  auto options = key_grammar(to);
  options.push_back(required(duration_option(
    "for",
    "How long nothing of the key starts",
    to.closed_for,
    {duration{1}, limits::limit_closed_max})));
  return options;
}

void add_views(command_table& to) {
  to.add(command<named_limit>{
    .name = "limit show",
    .help = "Show a limit, how many of its tasks run and are held back, and its closed keys",
    .grammar = name_grammar,
    .run = [](context& with, const named_limit& given) { return show_limit(with, given); },
    .details = "With --json, and through a gateway, `codeqctl limit keys` shows which keys are "
               "closed."});
  to.add(command<named_limit>{
    .name = "limit list",
    .help = "List the limits of a tenant",
    .grammar =
      [](named_limit& given) {
        return std::vector<option>{tenant_option(given.name.tenant)};
      },
    .run = [](context& with, const named_limit& given) {
      return show_answer(with, with.api.list_limits(given.name.tenant));
    }});
  to.add(command<keys_options>{
    .name = "limit keys",
    .help = "List the keys of a limit that are in use: tasks that run and are held back, the next "
            "possible start, and how long the key is closed",
    .grammar = keys_grammar,
    .run = [](context& with, const keys_options& given) {
      return show_answer(with, with.api.limit_keys(given.name, given.page));
    }});
}

} // namespace

void add_limit(command_table& to) {
  to.group("limit", "Set, show and delete limits on tasks; close and open their keys");
  to.add(command<limit_options>{
    .name = "limit set",
    .help = "Define a limit, or change it as a whole; running tasks continue",
    .grammar = limit_grammar,
    .run = [](context& with, const limit_options& given) { return set_limit(with, given); },
    .check = [](const limit_options& given) { return given.check(); },
    .details = "Tasks name it with `codeqctl enqueue --limit NAME[:KEY[:COST]]`."});
  add_views(to);
  to.add(command<named_limit>{
    .name = "limit delete",
    .help = "Delete a limit; the tasks that it holds back go on without it",
    .grammar = name_grammar,
    .run = [](context& with,
              const named_limit& given) { return delete_limit(with, given); },
    .details = "Refused while a queue gives the limit to its tasks (`codeqctl queue set --limit`), "
               "since new tasks of the queue would be refused; the error names such queues."});
  to.add(command<key_options_of_limit>{
    .name = "limit close",
    .help = "Start nothing of a key for some time; running tasks continue",
    .grammar = close_grammar,
    .run = [](context& with, const key_options_of_limit& given) {
      return show_answer(
        with, with.api.close_limit_key(given.name, given.key, given.closed_for));
    }});
  to.add(command<key_options_of_limit>{
    .name = "limit open",
    .help = "Open a key that is closed",
    .grammar = key_grammar,
    .run = [](context& with, const key_options_of_limit& given) {
      return show_answer(with, with.api.open_limit_key(given.name, given.key));
    }});
}

} // namespace codeq::ctl
