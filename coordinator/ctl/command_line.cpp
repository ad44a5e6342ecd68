// SPDX-License-Identifier: Apache-2.0
#include "ctl/command_line.hpp"

#include "config/access_options.hpp"
#include "config/value_options.hpp"
#include "ctl/commands.hpp"

#include <utility>

namespace codeq::ctl {

namespace {

constexpr auto footer =
  "Durations have a unit: 500ms, 30s, 5m, 1h, 7d. Exit status: 0 done; 1 failed; 2 wrong usage "
  "(invalid_argument), or a destructive command that was not confirmed; 3 the task has not ended; "
  "4 the task is dead or cancelled; 5 the answer lacks shards of the cluster that did not answer, "
  "and names them. Exit status of verify: 0 sound; 1 findings; 2 cannot be opened. The options of "
  "`codeqctl --help` may stand before or after the subcommand, in the environment (--coordinator "
  "is CODEQ_COORDINATOR) or in the TOML file of --config; a flag takes precedence over the "
  "environment, the environment over the file. A subcommand's --tenant may stand in the "
  "environment as CODEQ_TENANT; without both, the tenant of the token is meant.";

void add_global_options(config::option_set& options, invocation& given) {
  options.add(config::coordinator_option(given.node.coordinators));
  options.add(
    {.name = "http",
     .value = "URL",
     .help = "Send requests to this HTTP gateway instead, http://HOST:PORT or https://HOST:PORT; "
             "--json then leaves out what a gateway does not tell, such as the gauges of stats, "
             "the number of shards and, in get, a result, and adds what only it tells, such as a "
             "task's payload [default: none]",
     .take = [&given](const std::string& text) -> result<void> {
       bool is_url = text.starts_with("http://") || text.starts_with("https://");
       if (!is_url)
         return error{errc::invalid_argument, "must be http://HOST:PORT or https://HOST:PORT"};
       given.http = text;
       return {};
     }});
  options.add(
    config::switch_option("json", "Print one JSON object per answer [default: off]", given.json));
  options.add(config::duration_option(
    "timeout",
    "How long to wait for a connection and for each answer, 1ms to 1h [default: 10s]",
    given.node.timeout,
    {duration{1}, std::chrono::hours(1)}));
  config::add_access_options(options, given.node.access);
}

} // namespace

config::parsed<invocation> parse_command_line(const config::command_line& line) {
  invocation given;
  config::option_set options("codeqctl", "Operates a codeq coordinator.", footer);
  command_table table(options);
  add_global_options(options, given);
  for (auto* add : commands)
    add(table);
  if (auto end = options.parse(line))
    return *end;
  if (auto tenant = line.env("CODEQ_TENANT"); tenant && !tenant->empty()) {
    auto name = config::parse_name(*tenant);
    if (!name)
      return options.refuse("CODEQ_TENANT (environment): " + name.error().context);
    given.tenant = std::move(*name);
  }
  auto run = table.chosen(options.chosen());
  if (!run)
    return options.refuse(options.chosen() + ": " + run.error().context);
  given.run = std::move(*run);
  config::take_token(given.node.access, line.env);
  return given;
}

} // namespace codeq::ctl
