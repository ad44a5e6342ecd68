// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/queue_settings.hpp"
#include "ctl/text.hpp"

#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

constexpr std::uint64_t queue_limit_max = 1'000'000'000'000;

struct queue_options {
  queue_address queue{};
  /// Used by `queue set` only.
  queue_changes changes{};
};

std::vector<option> grammar(queue_options& to) {
  return {queue_option(to.queue.queue), tenant_option(to.queue.tenant)};
}

std::vector<option> set_grammar(queue_options& to) {
  auto options = grammar(to);
  for (auto& one : settings_options(
         to.changes, [](const char*) { return std::string("[default: unchanged]"); }))
    options.push_back(std::move(one));
  options.push_back(count_option(
    "max-depth",
    "Maximum number of tasks that have not ended; 0 is no limit; each shard takes an equal part, "
    "rounded up [default: unchanged]",
    to.changes.max_depth,
    {0, queue_limit_max}));
  options.push_back(count_option(
    "max-leased",
    "Maximum number of leased tasks; 0 is no limit; each shard takes an equal part, rounded up "
    "[default: unchanged]",
    to.changes.max_leased,
    {0, queue_limit_max}));
  options.push_back(
    {.name = "keep-payload",
     .value = "true|false",
     .help = "Must be false: this version deletes the payload of a task when it is completed "
             "[default: unchanged]",
     .take = put_into(to.changes.keep_payload, config::parse_switch)});
  return options;
}

std::string to_json(const queue_info& info) {
  base::json_writer out;
  out.begin_object().field("tenant", info.queue.tenant).field("queue", info.queue.queue);
  out.field("paused", info.paused).field("shards", info.shards);
  out.field("exists", info.exists).field("uniform", info.is_uniform);
  write_config(out, info.config);
  return out.end_object().take() + "\n";
}

/// For example "12 (4 shards have 3 each, rounded up)".
std::string limit_over_shards(std::uint64_t limit, const queue_info& info) {
  auto text = limit_text(limit);
  if (limit == 0 || info.shards < 2 || !info.is_uniform)
    return text;
  return text + " (" + std::to_string(info.shards) + " shards take "
         + std::to_string(limit / info.shards) + " each; what is set is divided and rounded up)";
}

std::string to_text(const queue_info& info) {
  std::vector<std::pair<std::string, std::string>> fields{
    {"queue", info.queue.tenant + "/" + info.queue.queue},
    {"paused", info.paused ? "yes" : "no"},
    {"max-depth", limit_over_shards(info.config.max_depth, info)},
    {"max-leased", limit_over_shards(info.config.max_leased, info)}};
  for (auto& field : config_fields(info.config))
    fields.push_back(std::move(field));
  auto text = format_fields(fields);
  if (!info.exists)
    text += "\nThere is no such queue yet: these are the defaults.\n";
  if (!info.is_uniform)
    text += "\nThe shards differ, because a change did not reach all of them: make it again.\n";
  return text;
}

using runner = int (*)(context&, const queue_options&);

void add(command_table& to, const char* name, const char* help, runner run) {
  to.add(command<queue_options>{.name = name, .help = help, .grammar = grammar, .run = run});
}

int show_info(const context& with, const answer<queue_info>& got) {
  return show(with, got, to_json, to_text);
}

} // namespace

void add_queue(command_table& to) {
  to.group("queue", "Configure, pause, resume, purge and count queues");
  add(
    to,
    "queue show",
    "Show the settings of a queue",
    [](context& with, const queue_options& given) {
      return show_info(with, with.api.show_queue(given.queue));
    });
  to.add(command<queue_options>{
    .name = "queue set",
    .help = "Change settings of a queue: its limits, and the defaults of tasks that are enqueued "
            "from now on; settings that are not named stay",
    .grammar = set_grammar,
    .run = [](context& with, const queue_options& given) {
      return show_info(with, with.api.configure_queue(given.queue, given.changes));
    }});
  add(
    to,
    "queue pause",
    "Hand out no more tasks of a queue; running tasks continue",
    [](context& with, const queue_options& given) {
      return show_info(with, with.api.pause_queue(given.queue, true));
    });
  add(
    to,
    "queue resume",
    "Hand out tasks of a queue again",
    [](context& with, const queue_options& given) {
      return show_info(with, with.api.pause_queue(given.queue, false));
    });
}

} // namespace codeq::ctl
