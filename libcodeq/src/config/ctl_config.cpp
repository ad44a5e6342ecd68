// SPDX-License-Identifier: Apache-2.0
#include "config/ctl_config.hpp"

#include "config/access_options.hpp"
#include "config/ctl_commands.hpp"
#include "config/value_options.hpp"

namespace codeq::config {

namespace {

constexpr auto footer =
  "Durations have a unit: 500ms, 30s, 5m, 1h, 7d. Exit status: 0 done; 1 failed; 2 wrong usage; 3 "
  "the task has not ended yet; 4 the task is dead or cancelled; of verify: 0 sound; 1 findings; 2 "
  "cannot be opened. The options above may also be "
  "given "
  "in the environment (CODEQ_COORDINATOR) or in the TOML file of --config; a flag wins over the "
  "environment, the environment over the file.";

void add_global_options(option_set& options, ctl_config& config) {
  options.add(coordinator_option(config.coordinators));
  options.add(
    {.name = "http",
     .value = "URL",
     .help = "Ask the HTTP gateway there instead, http://HOST:PORT or https://HOST:PORT; answers "
             "are then the gateway's [default: none]",
     .take = [&config](const std::string& text) -> result<void> {
       bool is_url = text.starts_with("http://") || text.starts_with("https://");
       if (!is_url)
         return error{errc::invalid_argument, "must be http://HOST:PORT or https://HOST:PORT"};
       config.http = text;
       return {};
     }});
  options.add(
    switch_option("json", "Print one JSON object per answer [default: off]", config.json));
  options.add(duration_option(
    "timeout",
    "How long to wait for a connection and for each answer, 1ms to 1h [default: 10s]",
    config.timeout,
    {duration{1}, std::chrono::hours(1)}));
  add_access_options(options, config.access);
}

void add_groups(option_set& options) {
  options.add_group("dead", "List, redrive or purge dead tasks");
  options.add_group("queue", "Configure, pause, resume, purge and count queues");
  options.add_group("tenant", "Purge a tenant");
  options.add_group("force", "End a lease or a task without its worker");
  options.add_group("token", "Create, list and revoke access tokens in a coordinator's file");
}

} // namespace

parsed<ctl_config> parse_ctl(const command_line& line) {
  ctl_config config;
  option_set options("codeqctl", "Operates a codeq coordinator.", footer);
  ctl_commands commands(options);
  add_global_options(options, config);
  add_groups(options);
  add_enqueue_command(commands);
  add_task_commands(commands);
  add_bulk_commands(commands);
  add_queue_commands(commands);
  add_token_commands(commands);
  add_store_commands(commands);
  auto stats = std::make_shared<stats_command>();
  commands.add<stats_command>(
    {"stats", "Show counts per queue and the coordinator's gauges", {}}, stats);
  if (auto end = options.parse(line))
    return *end;
  auto command = commands.finish(options.chosen());
  if (!command)
    return options.refuse(options.chosen() + ": " + command.error().context);
  config.command = std::move(*command);
  take_token(config.access, line.env);
  return config;
}

} // namespace codeq::config
