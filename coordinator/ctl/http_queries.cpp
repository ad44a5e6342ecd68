// SPDX-License-Identifier: Apache-2.0
#include "ctl/http_queries.hpp"

#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "ctl/command_options.hpp"
#include "ctl/gateway.hpp"

#include <algorithm>
#include <variant>

namespace codeq::ctl {

std::string path_of(task_id task) {
  return "/tasks/" + to_string(task);
}

std::string path_of(const task_key& key) {
  auto path = "/queues/" + http::escape(key.queue.queue) + "/keys/" + http::escape(key.key);
  return key.group.empty() ? path : path + "?group=" + http::escape(key.group);
}

std::string path_of(const queue_address& queue) {
  return "/admin/queues/" + http::escape(queue.queue);
}

std::string path_of(const limit_address& name) {
  return "/admin/limits/" + http::escape(name.name);
}

std::string path_of(const limit_address& name, const std::string& key, const char* verb) {
  auto path = path_of(name);
  if (!key.empty())
    path += "/keys/" + http::escape(key);
  return path + verb;
}

std::string path_of(const limit_address& name, const limit_keys_request& page) {
  auto path = path_of(name) + "/keys?limit=" + std::to_string(page.limit);
  if (page.only_busy)
    path += "&busy=true";
  if (page.after)
    path += "&after=" + http::escape(*page.after);
  return path;
}

std::string path_with(const task_target& task, const std::string& verb) {
  auto path = std::visit([](const auto& named) { return path_of(named); }, task);
  auto query = path.find('?');
  return query == path.npos ? path + verb : path.insert(query, verb);
}

const char* path_of(dead_change what) {
  return what == dead_change::redrive ? "/admin/dead/redrive" : "/admin/dead/purge";
}

void add_parameter(std::string& query, const std::string& name, const std::string& value) {
  if (!value.empty())
    query += "&" + name + "=" + http::escape(value);
}

namespace {

std::string age_at(timestamp now, timestamp at) {
  return std::to_string(std::max<duration::rep>((now - at).count(), 0)) + "ms";
}

bool is_bounded(const time_window& window) {
  return window.since != timestamp{} || window.until != timestamp{};
}

/// A cancel or a purge of all tasks of the tenant.
bool is_loss_of_all(const operation_start& what) {
  const auto& filter = what.filter;
  bool is_cancel = what.kind == operation_verb::cancel;
  bool is_loss = is_cancel || what.kind == operation_verb::purge;
  bool has_name = !filter.queue.empty() || !filter.group.empty() || !filter.key.empty()
                  || !filter.error.empty() || !filter.workers.empty() || !filter.headers.empty();
  bool has_state = is_cancel && filter.state;
  return is_loss && !has_name && !has_state && !is_bounded(filter.enqueued)
         && !is_bounded(filter.ended);
}

} // namespace

std::vector<std::pair<std::string, std::string>> fields_of(const dead_filter& filter) {
  std::vector<std::pair<std::string, std::string>> fields;
  auto add = [&](const char* name, const std::string& value) {
    if (!value.empty())
      fields.emplace_back(name, value);
  };
  auto now = wall_time();
  add("queue", filter.queue);
  add("group", filter.group);
  add("error", filter.error);
  if (filter.died.since != timestamp{})
    add("newerThan", age_at(now, filter.died.since));
  if (filter.died.until != timestamp{})
    add("olderThan", age_at(now, filter.died.until));
  return fields;
}

std::string dead_query(const task_filter& filter) {
  dead_filter dead;
  dead.queue = filter.queue;
  dead.group = filter.group;
  dead.error = filter.error;
  dead.died = filter.ended;
  std::string query;
  for (const auto& [name, value] : fields_of(dead))
    add_parameter(query, name, value);
  return filter.is_blocking ? query + "&blocking=true" : query;
}

std::string task_query(const task_filter& filter) {
  std::string query;
  add_parameter(query, "queue", filter.queue);
  if (filter.state)
    add_parameter(query, "state", std::string(to_string(*filter.state)));
  add_parameter(query, "group", filter.group);
  add_parameter(query, "key", filter.key);
  add_parameter(query, "error", filter.error);
  for (const auto& worker : filter.workers)
    add_parameter(query, "worker", worker);
  for (const auto& [name, value] : filter.headers)
    add_parameter(query, "header." + http::escape(name), value);
  if (filter.enqueued.since != timestamp{})
    add_parameter(query, "since", base::to_rfc3339(filter.enqueued.since));
  if (filter.enqueued.until != timestamp{})
    add_parameter(query, "until", base::to_rfc3339(filter.enqueued.until));
  return query;
}

std::string body_of(const operation_start& what) {
  const auto& filter = what.filter;
  base::json_writer json;
  json.begin_object().field("kind", operation_kind_names[static_cast<std::size_t>(what.kind)]);
  dead_filter common;
  common.queue = filter.queue;
  common.group = filter.group;
  common.error = filter.error;
  common.died = filter.ended;
  for (const auto& [name, value] : fields_of(common))
    json.field(name, value);
  if (filter.state)
    json.field("state", to_string(*filter.state));
  if (!filter.key.empty())
    json.field("key", filter.key);
  for (const auto& worker : filter.workers)
    json.field("worker", worker);
  if (!filter.headers.empty()) {
    json.begin_object("headers");
    for (const auto& [name, value] : filter.headers)
      json.field(name, value);
    json.end_object();
  }
  if (filter.enqueued.since != timestamp{})
    json.field("since", base::to_rfc3339(filter.enqueued.since));
  if (filter.enqueued.until != timestamp{})
    json.field("until", base::to_rfc3339(filter.enqueued.until));
  // The coordinator wants to be told that no filter was forgotten.
  if (is_loss_of_all(what))
    json.field("all", true);
  json.field("limit", what.limit).field("rate", what.rate);
  if (what.canary)
    json.field("canary", *what.canary);
  json.end_object();
  return json.take();
}

} // namespace codeq::ctl
