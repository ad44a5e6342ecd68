// SPDX-License-Identifier: Apache-2.0
#include "http/routes/queue_policy.hpp"

#include "codeq/limits.hpp"

#include "http/json/json_reader.hpp"

#include <algorithm>
#include <charconv>

namespace codeq::http {

namespace {

/// No token of a tenant can see this tenant, unless an operator created a token for its name.
constexpr auto topics_tenant = "codeq.topics";

constexpr std::size_t tiers_max = limits::priority_max + 1;

std::optional<std::int64_t> read_tier(std::string_view json) {
  std::int64_t tier = 0;
  auto [end, failure] = std::from_chars(json.data(), json.data() + json.size(), tier);
  bool is_whole = failure == std::errc{} && end == json.data() + json.size();
  return is_whole && tier >= 0 && tier <= limits::priority_max ? std::optional(tier) : std::nullopt;
}

} // namespace

task_key key_of_policy(const queue_address& queue) {
  return {{topics_tenant, queue.tenant}, {}, queue.queue};
}

task_spec to_task(const queue_address& queue, const queue_policy& record) {
  auto key = key_of_policy(queue);
  task_spec task;
  task.tenant = key.queue.tenant;
  task.queue = key.queue.queue;
  task.key = key.key;
  task.duplicate = on_duplicate::replace_ended;
  task.replace_payload = true;
  base::json_writer json;
  json.begin_object().begin_array("tiers");
  for (auto tier : record.tiers)
    json.number(tier);
  json.end_array()
    .field("version", record.version)
    .field("createdAtMs", record.created_at.time_since_epoch().count())
    .field("updatedAtMs", record.updated_at.time_since_epoch().count())
    .field("deleted", false)
    .end_object();
  task.payload = json.take();
  return task;
}

std::optional<queue_policy> read_policy(const task_detail& task) {
  auto json = task.payload ? json_object::parse(*task.payload) : std::optional<json_object>();
  // Older versions marked deleted topics, and left their records live.
  if (is_terminal(task.status.state) || !json || json->flag("deleted").value_or(true))
    return std::nullopt;
  queue_policy record;
  record.tiers = read_tiers(json->raw("tiers")).value_or(std::vector<std::int64_t>{});
  record.version = json->integer("version").value_or(1);
  record.created_at = timestamp{duration{json->integer("createdAtMs").value_or(0)}};
  record.updated_at = timestamp{duration{json->integer("updatedAtMs").value_or(0)}};
  return json->ok() ? std::optional(record) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> read_tiers(std::string_view json) {
  auto elements = elements_of(json, tiers_max + 1);
  if (!elements || elements->empty() || elements->size() > tiers_max)
    return std::nullopt;
  std::vector<std::int64_t> tiers;
  for (auto element : *elements) {
    auto tier = read_tier(element);
    if (!tier || std::find(tiers.begin(), tiers.end(), *tier) != tiers.end())
      return std::nullopt;
    tiers.push_back(*tier);
  }
  return tiers;
}

} // namespace codeq::http
