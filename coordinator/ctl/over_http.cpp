// SPDX-License-Identifier: Apache-2.0
#include "ctl/over_http.hpp"

#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "ctl/commands.hpp"
#include "ctl/gateway.hpp"
#include "ctl/gateway_output.hpp"
#include "ctl/output.hpp"
#include "ctl/over_http_enqueue.hpp"
#include "http/json_reader.hpp"

#include <string>
#include <utility>
#include <variant>

namespace codeq::ctl {

namespace {

using config::ctl_config;

/// Asks, and shows the answer.
int show(
  const ctl_config& config,
  std::string_view method,
  const std::string& path,
  std::string body = {}) {
  auto to = gateway::open(config);
  if (!to)
    return fail(to.error(), config.json);
  auto answer = to->ask(method, path, std::move(body));
  if (!answer)
    return fail(answer.error(), config.json);
  print(config.json ? *answer + (answer->empty() ? "" : "\n") : answer_text(*answer));
  return exit_done;
}

int refuse(const ctl_config& config, const char* what) {
  return fail(
    {errc::unsupported, std::string(what) + " is not possible over --http; it takes --coordinator"},
    config.json);
}

/// Without a token's tenant nothing is asked.
bool names_tenant(const std::string& tenant) {
  return tenant != "default";
}

constexpr auto tenant_text = "another tenant than the token's";

std::string path_of(task_id task) {
  return "/tasks/" + to_string(task);
}

std::string path_of(const task_key& key) {
  auto path = "/queues/" + http::escape(key.queue.queue) + "/keys/" + http::escape(key.key);
  return key.group.empty() ? path : path + "?group=" + http::escape(key.group);
}

std::string path_with(const config::task_target& task, const std::string& verb) {
  auto path = std::visit([](const auto& named) { return path_of(named); }, task);
  auto query = path.find('?');
  return query == path.npos ? path + verb : path.insert(query, verb);
}

bool names_tenant(const config::task_target& task) {
  const auto* key = std::get_if<task_key>(&task);
  return key && names_tenant(key->queue.tenant);
}

int run_there(const ctl_config& config, const config::get_command& command) {
  if (names_tenant(command.task))
    return refuse(config, tenant_text);
  return show(config, "GET", path_with(command.task, {}));
}

int run_there(const ctl_config& config, const config::explain_command& command) {
  return show(config, "GET", path_of(command.task) + "/explain");
}

int run_there(const ctl_config& config, const config::events_command& command) {
  return show(config, "GET", path_of(command.task) + "/events");
}

int run_there(const ctl_config& config, const config::change_command& command) {
  if (names_tenant(command.task))
    return refuse(config, tenant_text);
  bool is_of_live = command.change == task_change::cancel || command.change == task_change::promote;
  if (is_of_live)
    return show(
      config,
      "POST",
      path_with(command.task, command.change == task_change::cancel ? "/cancel" : "/promote"));
  base::json_writer json;
  json.begin_object().begin_array("ids").text(to_string(std::get<task_id>(command.task)));
  json.end_array().end_object();
  bool is_redrive = command.change == task_change::redrive;
  return show(
    config, "POST", is_redrive ? "/admin/dead/redrive" : "/admin/dead/purge", json.take());
}

int run_there(const ctl_config& config, const config::force_command& command) {
  base::json_writer json;
  json.begin_object();
  if (command.how == force_kind::revoke)
    json.field("how", "revoke");
  if (command.how == force_kind::fail)
    json.field("how", "fail").field("error", command.text);
  if (command.how == force_kind::complete) {
    json.field("how", "complete");
    if (http::is_json(command.text))
      json.key("result").raw(command.text);
    else if (!command.text.empty())
      json.field("result", command.text);
  }
  json.end_object();
  return show(config, "POST", "/admin/tasks/" + to_string(command.task) + "/force", json.take());
}

int run_there(const ctl_config& config, const config::list_command& command) {
  const auto& filter = command.filter;
  if (names_tenant(filter.tenant))
    return refuse(config, tenant_text);
  if (filter.is_blocking)
    return refuse(config, "--blocking");
  if (command.limit > limits::http_listed_tasks_max)
    return fail(
      {errc::unsupported,
       "over --http --limit may be at most " + std::to_string(limits::http_listed_tasks_max)},
      config.json);
  auto path = "/tasks?limit=" + std::to_string(command.limit);
  if (!filter.queue.empty())
    path += "&queue=" + http::escape(filter.queue);
  if (filter.state)
    path += "&state=" + std::string(to_string(*filter.state));
  return show(config, "GET", path);
}

int run_there(const ctl_config& config, const config::dead_command& command) {
  const auto& filter = command.filter;
  if (names_tenant(filter.tenant))
    return refuse(config, tenant_text);
  base::json_writer json;
  json.begin_object();
  if (!filter.queue.empty())
    json.field("queue", filter.queue);
  json.field("limit", filter.limit).field("rate", filter.rate).end_object();
  bool is_redrive = command.change == dead_change::redrive;
  return show(
    config, "POST", is_redrive ? "/admin/dead/redrive" : "/admin/dead/purge", json.take());
}

std::string path_of(const queue_address& queue) {
  return "/admin/queues/" + http::escape(queue.queue);
}

int run_there(const ctl_config& config, const config::queue_command& command) {
  using action = config::queue_command::action;
  if (names_tenant(command.queue.tenant))
    return refuse(config, tenant_text);
  auto path = path_of(command.queue);
  switch (command.what) {
  case action::show:
    return show(config, "GET", path + "/settings");
  case action::pause:
    return show(config, "POST", path + "/pause");
  case action::resume:
    return show(config, "POST", path + "/resume");
  case action::purge:
    return show(config, "POST", path + "/purge");
  }
  return exit_failed;
}

int run_there(const ctl_config& config, const config::queue_stats_command& command) {
  if (names_tenant(command.queue.tenant))
    return refuse(config, tenant_text);
  bool is_one = !command.queue.queue.empty();
  return show(config, "GET", is_one ? path_of(command.queue) : "/admin/queues");
}

int run_there(const ctl_config& config, const config::stats_command&) {
  return show(config, "GET", "/admin/queues");
}

int run_there(const ctl_config& config, config::enqueue_command command) {
  return enqueue_over_http(config, std::move(command));
}

int run_there(const ctl_config& config, const config::result_command& command) {
  return result_over_http(config, command);
}

int run_there(const ctl_config& config, const config::queue_set_command& command) {
  if (names_tenant(command.queue.tenant))
    return refuse(config, tenant_text);
  auto changes = to_gateway_json(command.changes);
  return show(config, "PUT", path_of(command.queue) + "/settings", std::move(changes));
}

int run_there(const ctl_config& config, const config::watch_command&) {
  return refuse(config, "watch");
}

int run_there(const ctl_config& config, const config::tenant_purge_command&) {
  return refuse(config, "tenant purge");
}

int run_there(const ctl_config& config, const config::backup_command&) {
  return refuse(config, "backup");
}

// These ask nobody.
template <class Command>
int run_there(const ctl_config& config, const Command& command) {
  return run(config, command);
}

} // namespace

int run_over_http(const config::ctl_config& config, config::ctl_command command) {
  return std::visit([&](auto& chosen) { return run_there(config, std::move(chosen)); }, command);
}

} // namespace codeq::ctl
