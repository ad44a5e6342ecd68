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

void write_rule(base::json_writer& out, const limit_rule& rule) {
  if (rule.concurrency)
    out.field("concurrency", *rule.concurrency);
  if (!rule.rate)
    return;
  out.begin_object("rate").field("count", rule.rate->count);
  out.field("per_ms", rule.rate->per.count()).field("burst", rule.rate->burst).end_object();
}

void write_limit(base::json_writer& out, const limit_info& info) {
  out.begin_object().field("tenant", info.name.tenant).field("name", info.name.name);
  write_rule(out, info.rule);
  out.field("busy_keys", info.busy_keys).field("in_use", info.in_use);
  out.field("waiting", info.waiting).end_object();
}

void write_key(base::json_writer& out, const limit_key_info& info) {
  out.begin_object().bytes_field("key", info.key);
  out.field("in_use", info.in_use).field("waiting", info.waiting);
  if (info.next_start != timestamp{})
    out.field("next_start", base::to_rfc3339(info.next_start));
  if (info.closed_until != timestamp{})
    out.field("closed_until", base::to_rfc3339(info.closed_until));
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

std::string to_json(const std::vector<limit_info>& all) {
  base::json_writer out;
  out.begin_object().begin_array("limits");
  for (const auto& one : all)
    write_limit(out, one);
  return out.end_array().end_object().take() + "\n";
}

std::string to_json(const limit_keys_page& page) {
  base::json_writer out;
  out.begin_object().begin_array("keys");
  for (const auto& one : page.keys)
    write_key(out, one);
  return out.end_array().field("more", page.more).end_object().take() + "\n";
}

std::string concurrency_text(const limit_rule& rule) {
  return rule.concurrency ? std::to_string(*rule.concurrency) : "-";
}

std::string key_text(const std::string& key) {
  return key.empty() ? "(none)" : in_one_line(key);
}

std::string time_text(timestamp at) {
  return at == timestamp{} ? "-" : to_string(at);
}

std::string to_text(const limit_info& info) {
  using std::to_string;
  return format_fields(
    {{"limit", info.name.tenant + "/" + info.name.name},
     {"concurrency", concurrency_text(info.rule)},
     {"rate", rate_text(info.rule.rate)},
     {"busy keys", to_string(info.busy_keys)},
     {"in use", to_string(info.in_use)},
     {"waiting", to_string(info.waiting)}});
}

std::string to_text(const limit_key_info& info) {
  return format_fields(
    {{"key", key_text(info.key)},
     {"in use", std::to_string(info.in_use)},
     {"waiting", std::to_string(info.waiting)},
     {"next start", time_text(info.next_start)},
     {"closed until", time_text(info.closed_until)}});
}

std::string to_text(const std::vector<limit_info>& all) {
  using std::to_string;
  std::vector<std::vector<std::string>> rows{
    {"LIMIT", "CONCURRENCY", "RATE", "BUSY KEYS", "IN USE", "WAITING"}};
  for (const auto& one : all)
    rows.push_back(
      {one.name.name,
       concurrency_text(one.rule),
       rate_text(one.rule.rate),
       to_string(one.busy_keys),
       to_string(one.in_use),
       to_string(one.waiting)});
  return format_table(rows);
}

std::string to_text(const limit_keys_page& page) {
  std::vector<std::vector<std::string>> rows{
    {"KEY", "IN USE", "WAITING", "NEXT START", "CLOSED UNTIL"}};
  for (const auto& one : page.keys)
    rows.push_back(
      {key_text(one.key),
       std::to_string(one.in_use),
       std::to_string(one.waiting),
       time_text(one.next_start),
       time_text(one.closed_until)});
  auto text = format_table(rows);
  if (page.more)
    text += "more with --after '" + in_one_line(page.keys.back().key) + "'\n";
  return text;
}

template <class T>
int show_answer(const context& with, const answer<T>& got) {
  return show(
    with,
    got,
    [](const T& told) { return to_json(told); },
    [](const T& told) { return to_text(told); });
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
    {1, limits::limit_keys_page_max}));
  options.push_back(
    {.name = "after",
     .value = "KEY",
     .help = "Only keys that come after this one [default: from the first key on]",
     .take = take_after});
  options.push_back(switch_option(
    "busy", "Only keys with tasks that run or wait [default: also closed ones]", to.page.only_busy));
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
    {duration{1}, limits::limit_close_max})));
  return options;
}

void add_views(command_table& to) {
  to.add(command<named_limit>{
    .name = "limit show",
    .help = "Show a limit, and how many of its tasks run and wait",
    .grammar = name_grammar,
    .run = [](context& with, const named_limit& given) {
      return show_answer(with, with.api.show_limit(given.name));
    }});
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
    .help = "List the keys of a limit that are in use, waited for or closed: tasks that run and "
            "wait, the next possible start, and how long the key is closed",
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
    .run =
      [](context& with, const limit_options& given) {
        return show_answer(with, with.api.set_limit(given.name, given.rule()));
      },
    .check = [](const limit_options& given) { return given.check(); },
    .details = "Tasks name it with `codeqctl enqueue --limit NAME[:KEY[:COST]]`."});
  add_views(to);
  to.add(command<named_limit>{
    .name = "limit delete",
    .help = "Delete a limit; the tasks that it holds back go on without it",
    .grammar = name_grammar,
    .run = [](context& with, const named_limit& given) {
      return show_answer(with, with.api.delete_limit(given.name));
    }});
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
