// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/known_queue.hpp"
#include "ctl/limit_options.hpp"
#include "ctl/queue_settings.hpp"
#include "ctl/text.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

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
    "Maximum number of tasks that have not ended, over all shards; 0 is no limit [default: "
    "unchanged]",
    to.changes.max_depth,
    {0, limits::queue_maximum_max}));
  options.push_back(count_option(
    "max-leased",
    "Maximum number of leased tasks, over all shards; 0 is no limit [default: unchanged]",
    to.changes.max_leased,
    {0, limits::queue_maximum_max}));
  options.push_back(count_option(
    "quarantine-after",
    "Number of started attempts lost in a row after which a task is dead, whatever attempts are "
    "left, at most 255; 0 is off [default: unchanged]",
    to.changes.quarantine_after,
    {0, limits::quarantine_after_max}));
  options.push_back(
    {.name = "pause-when-failing",
     .value = "N%/WINDOW",
     .help = "Pause the queue when more than N per cent of the attempts that ended in the window "
             "failed, for example 50%/1m; a shard decides from 20 attempts on; off: never "
             "[default: unchanged]",
     .take = put_into(to.changes.pause_when_failing, parse_breaker)});
  options.push_back(
    {.name = "keep-payload",
     .value = "true|false",
     .help = "Must be false: this version deletes the payload of a task when it is completed "
             "[default: unchanged]",
     .take = put_into(to.changes.keep_payload, config::parse_switch)});
  for (auto& one : limits_of_queue_options(to.changes.limits))
    options.push_back(std::move(one));
  for (auto& one : fairness_key_options(to.changes.fairness_header))
    options.push_back(std::move(one));
  return options;
}

/// Without this check it would add a queue that nobody asked for, for example with a wrong name.
result<void> check_changes(const queue_options& given) {
  if (given.changes != queue_changes{})
    return {};
  return error{
    errc::invalid_argument,
    "at least one setting is required, such as --max-attempts 5; nothing was changed; `codeqctl "
    "queue show` shows the settings"};
}

std::string to_json(const queue_info& info) {
  base::json_writer out;
  out.begin_object().field("tenant", info.queue.tenant).field("queue", info.queue.queue);
  out.field("paused", info.paused).field("pause_reason", info.pause_reason);
  out.field("shards", info.shards);
  out.field("exists", info.exists).field("uniform", info.is_uniform);
  write_shards(out, "differing", info.differing);
  write_shards(out, "missing", info.missing);
  write_config(out, info.config);
  return out.end_object().take() + "\n";
}

std::string paused_text(const queue_info& info) {
  if (!info.paused)
    return "no";
  return info.pause_reason.empty() ? "yes" : "yes: " + info.pause_reason;
}

std::string to_text(const queue_info& info) {
  std::vector<std::pair<std::string, std::string>> fields{
    {"queue", info.queue.tenant + "/" + info.queue.queue},
    {"paused", paused_text(info)},
    {"max-depth", limit_text(info.config.max_depth)},
    {"max-leased", limit_text(info.config.max_leased)}};
  for (auto& field : config_fields(info.config))
    fields.push_back(std::move(field));
  auto text = format_fields(fields);
  if (!info.exists)
    text += "\nThe queue has no tasks and no settings of its own: these are the defaults.\n";
  if (!info.differing.empty())
    text += "\nOther settings are in force on " + shards_text(info.differing)
            + ". In a cluster shard 0 passes its own on; otherwise make the change again.\n";
  else if (!info.is_uniform && info.missing.empty())
    text += "\nThe shards differ, because a change did not reach all of them: make it again.\n";
  return text + missing_text(info.missing);
}

struct fairness_options {
  queue_address queue{};
  std::optional<std::string> after{};
  std::size_t limit = limits::fairness_page_default;
  /// Whose weight to change.
  std::optional<std::string> key{};
  /// 0: not given.
  std::uint32_t weight = 0;
  bool takes_weight_away = false;
};

std::vector<option> fairness_grammar(fairness_options& to) {
  auto take_after = [&to](const std::string& text) -> result<void> {
    to.after = text;
    return {};
  };
  auto take_key = [&to](const std::string& text) -> result<void> {
    to.key = text;
    return {};
  };
  return {
    queue_option(to.queue.queue),
    tenant_option(to.queue.tenant),
    {.name = "key",
     .value = "KEY",
     .help = "Change the weight of this key; then the settings of the queue are printed [default: "
             "show all keys]",
     .take = take_key},
    count_option(
      "weight",
      "New weight of --key, in place of those of its tasks [default: unchanged]",
      to.weight,
      {1, limits::fairness_weight_max}),
    switch_option(
      "no-weight",
      "Let the next tasks of --key give its weight again [default: off]",
      to.takes_weight_away),
    count_option(
      "limit", "Maximum number of keys [default: 100]", to.limit, {1, limits::fairness_page_max}),
    {.name = "after",
     .value = "KEY",
     .help = "Only keys that come after this one [default: from the first key on]",
     .take = take_after}};
}

result<void> check_weight(const fairness_options& given) {
  bool has_weight = given.weight != 0;
  if (has_weight && given.takes_weight_away)
    return error{errc::invalid_argument, "--weight and --no-weight exclude each other"};
  bool changes = has_weight || given.takes_weight_away;
  if (given.key.has_value() == changes)
    return {};
  return error{
    errc::invalid_argument,
    changes ? "--key is required with --weight and --no-weight"
            : "--weight or --no-weight is required with --key"};
}

std::string fairness_json(const fairness_page& page) {
  base::json_writer out;
  out.begin_object().field("tenant", page.queue.tenant).field("queue", page.queue.queue);
  out.field("active_keys", page.active_keys).begin_array("keys");
  for (const auto& share : page.keys) {
    out.begin_object();
    out.bytes_field("fairness_key", share.key);
    out.field("fairness_weight", share.weight).field("ready", share.ready);
    out.field("share_ppm", share.share_ppm);
    out.field("expected_run_ms", share.expected_run.count());
    if (share.wait != duration::max())
      out.field("wait_ms", share.wait.count());
    out.end_object();
  }
  out.end_array().field("more", page.more);
  write_shards(out, "missing", page.missing);
  return out.end_object().take() + "\n";
}

/// A part in millionths as per cent, for example "12.5%".
std::string percent_of(std::uint32_t ppm) {
  constexpr std::uint32_t per_mille = 1000;
  auto mille = (ppm + per_mille / 2) / per_mille;
  return std::to_string(mille / 10) + "." + std::to_string(mille % 10) + "%";
}

std::string wait_text(const fairness_share& share) {
  if (share.ready == 0)
    return "-";
  return share.wait == duration::max() ? "unknown" : format_duration(share.wait);
}

std::string shares_text(const fairness_page& page) {
  using std::to_string;
  std::vector<std::vector<std::string>> rows{
    {"FAIRNESS KEY", "READY", "WEIGHT", "SHARE", "EXPECTED RUN", "WAIT AT MOST"}};
  for (const auto& share : page.keys)
    rows.push_back(
      {share.key.empty() ? "(empty)" : in_one_line(share.key),
       to_string(share.ready),
       to_string(share.weight),
       percent_of(share.share_ppm),
       format_duration(share.expected_run),
       wait_text(share)});
  if (page.keys.empty() && page.active_keys > 0)
    return "no key comes after that one\n";
  if (page.keys.empty())
    return "no task of the queue has a fairness key\n";
  auto text = format_table(rows);
  if (page.more)
    text += "more with --after '" + in_one_line(page.keys.back().key) + "'\n";
  return text;
}

std::string fairness_text(const fairness_page& page) {
  return shares_text(page) + left_out_text(page.missing, 0, "tasks");
}

using runner = int (*)(context&, const queue_options&);

void add(command_table& to, const char* name, const char* help, runner run) {
  to.add(command<queue_options>{.name = name, .help = help, .grammar = grammar, .run = run});
}

int show_changed(const context& with, const answer<queue_info>& got) {
  return show_change(with, got, to_json, to_text);
}

int set_weight(context& with, const fairness_options& given) {
  queue_changes changes;
  changes.fairness_weights[*given.key] = given.weight;
  return show_changed(with, with.api.configure_queue(given.queue, changes));
}

} // namespace

void add_queue(command_table& to) {
  to.group("queue", "Configure, pause, resume, purge and count queues");
  add(
    to,
    "queue show",
    "Show the settings of a queue",
    [](context& with, const queue_options& given) {
      return show_of(with, given.queue, with.api.show_queue(given.queue), to_json, to_text);
    });
  to.add(command<queue_options>{
    .name = "queue set",
    .help = "Change settings of a queue: its limits, and the defaults of tasks that are enqueued "
            "from now on; settings that are not named stay",
    .grammar = set_grammar,
    .run = [](context& with, const queue_options& given) {
      return show_changed(with, with.api.configure_queue(given.queue, given.changes));
    },
    .check = check_changes});
  add(
    to,
    "queue pause",
    "Hand out no more tasks of a queue; running tasks continue",
    [](context& with, const queue_options& given) {
      return show_changed(with, with.api.pause_queue(given.queue, true));
    });
  add(
    to,
    "queue resume",
    "Hand out tasks of a queue again",
    [](context& with, const queue_options& given) {
      return show_changed(with, with.api.pause_queue(given.queue, false));
    });
  to.add(command<fairness_options>{
    .name = "queue fairness",
    .help = "Show the fairness keys of a queue that have live tasks: ready tasks, weight, share of "
            "run time, expected run time of a task, and the longest wait for the next start; or "
            "set the weight of a key",
    .grammar = fairness_grammar,
    .run =
      [](context& with, const fairness_options& given) {
        if (given.key)
          return set_weight(with, given);
        auto page = with.api.fairness(given.queue, given.after, given.limit);
        return show(with, page, fairness_json, fairness_text);
      },
    .check = check_weight,
    .details = "With --key and --weight it sets the weight of a key at once, whether the key has "
               "tasks or not. A queue keeps at most 100 such weights, until --no-weight; a key "
               "whose weight was taken away keeps it until its next task gives one."});
}

} // namespace codeq::ctl
