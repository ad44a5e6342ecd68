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

std::string to_json(const task_explanation& why) {
  base::json_writer out;
  out.begin_object().field("id", to_string(why.task.id));
  out.field("state", to_string(why.task.state)).field("reason", to_string(why.reason));
  out.bytes_field("sentence", to_sentence(why));
  out.field("attempt", why.task.attempt).field("max_attempts", why.task.max_attempts);
  out.field("workers", why.workers);
  if (why.until != timestamp{})
    out.field("until_ms", why.until.time_since_epoch().count());
  if (why.reason == task_reason::gated || why.reason == task_reason::blocked)
    out.field("blocker", to_string(why.blocker))
      .field("blocker_state", to_string(why.blocker_state));
  if (why.reason == task_reason::limited)
    out.field("limit", why.limit)
      .bytes_field("limit_key", why.limit_key)
      .field("held_before", why.limit_before);
  if (why.reason == task_reason::leased)
    out.field("worker", why.task.worker).field("lease_left_ms", why.lease_left.count());
  out.begin_object("queue_settings");
  write_config(out, why.queue);
  out.end_object();
  return out.end_object().take() + "\n";
}

std::string to_text(const task_explanation& why) {
  std::vector<std::pair<std::string, std::string>> fields{
    {"max-depth", limit_text(why.queue.max_depth)},
    {"max-leased", limit_text(why.queue.max_leased)}};
  for (auto& field : config_fields(why.queue))
    fields.push_back(std::move(field));
  return printable(to_sentence(why)) + "\n\nsettings of its queue on its shard\n"
         + format_fields(fields);
}

int run(context& with, const task_id& task) {
  return show(with, with.api.explain(task), to_json, to_text);
}

} // namespace

void add_explain(command_table& to) {
  to.add(command<task_id>{
    .name = "explain",
    .help = "Show why a task does not run, and the settings of its queue",
    .grammar = [](task_id& task) { return std::vector{id_option(task)}; },
    .run = run});
}

} // namespace codeq::ctl
