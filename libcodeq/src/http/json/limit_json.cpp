// SPDX-License-Identifier: Apache-2.0
#include "http/json/limit_json.hpp"

#include "base/rfc3339.hpp"
#include "base/text_encoding.hpp"
#include "http/json/input_refusal.hpp"

#include <algorithm>
#include <chrono>

namespace codeq::http {

namespace {

/// A key, or what says that it is no text.
void write_key(base::json_writer& json, const std::string& key) {
  if (base::is_utf8(key))
    json.field("key", key);
  else
    json.field("keyBase64", base::to_base64(key));
}

void write_rate(base::json_writer& json, const start_rate& rate) {
  using std::chrono::seconds;
  auto whole = std::chrono::duration_cast<seconds>(rate.period);
  json.begin_object("rate").field("count", rate.count).field("perMs", rate.period.count());
  if (whole == rate.period)
    json.field("perSeconds", whole.count());
  json.field("burst", rate.burst).end_object();
}

/// The member `missingShards`.
template <class Shards>
void write_missing(base::json_writer& json, const Shards& missing) {
  json.begin_array("missingShards");
  for (auto shard : missing)
    json.number(static_cast<std::uint64_t>(shard));
  json.end_array();
}

void write_key_members(base::json_writer& json, const limit_key_info& info, timestamp now) {
  write_key(json, info.key);
  json.field("leased", info.leased).field("held", info.held);
  if (info.next_start)
    json.field("nextStart", base::to_rfc3339(std::max(*info.next_start, now)));
  if (info.closed_until != timestamp{})
    json.field("closedUntil", base::to_rfc3339(info.closed_until));
  if (!info.missing.empty())
    write_missing(json, info.missing);
}

/// The limits that hold tasks of a queue, and their keys.
void write_waits(base::json_writer& json, const queue_explanation& why, timestamp now) {
  json.begin_array("limits");
  for (const auto& wait : why.limits)
    json.begin_object().field("name", wait.limit).field("held", wait.at.held).end_object();
  json.end_array().begin_array("keys");
  for (const auto& wait : why.keys) {
    json.begin_object().field("limit", wait.limit);
    write_key_members(json, wait.at, now);
    json.end_object();
  }
  json.end_array().field("allKeys", why.has_all_keys);
}

std::uint32_t cost_of(const input& from) {
  return static_cast<std::uint32_t>(from.integer("cost").value_or(1));
}

std::string name_of(std::string_view field, std::size_t index) {
  return quote_name({}, std::string(field) + "[" + std::to_string(index) + "].name");
}

/// The names of a task's limits in words.
std::string names_of(const std::vector<task_limit>& all) {
  std::string names;
  for (const auto& one : all)
    names += (names.empty() ? "" : ", ") + quote(one.name);
  return names.empty() ? "left out, since the task has no limits" : "one of the task's: " + names;
}

} // namespace

result<limit_definition> make_limit(const input& from) {
  limit_definition made;
  if (auto concurrency = from.integer("concurrency"))
    made.concurrency = static_cast<std::uint32_t>(*concurrency);
  if (const auto* rate = from.object("rate")) {
    start_rate starts;
    starts.count = static_cast<std::uint32_t>(*rate->integer("count"));
    starts.period = *rate->period("perSeconds");
    starts.burst = static_cast<std::uint32_t>(rate->integer("burst").value_or(1));
    made.rate = starts;
  }
  if (!made.concurrency && !made.rate)
    return refuse_input({}, "'concurrency' or 'rate' is required");
  return made;
}

std::vector<task_limit> make_task_limits(const std::vector<input>& from) {
  std::vector<task_limit> all;
  for (const auto& one : from)
    all.push_back({one.text("name"), one.text("key"), cost_of(one)});
  return all;
}

result<void> check_task_limits(const std::vector<task_limit>& all, std::string_view field) {
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t earlier = 0; earlier < i; ++earlier)
      if (all[i].name == all[earlier].name)
        return refuse_input(
          {},
          describe_value(
            name_of(field, i),
            quote(all[i].name),
            "another one than " + name_of(field, earlier)));
  return {};
}

std::vector<queue_limit> make_queue_limits(const std::vector<input>& from) {
  std::vector<queue_limit> all;
  for (const auto& one : from)
    all.push_back({one.text("name"), one.text("key"), cost_of(one), one.text("header")});
  return all;
}

result<void> check_queue_limits(const std::vector<queue_limit>& all) {
  std::vector<task_limit> uses;
  for (const auto& one : all) {
    if (!one.key.empty() && !one.header.empty())
      return refuse_input(
        {},
        describe_value(
          quote_name({}, "limits[" + std::to_string(uses.size()) + "].key"),
          quote(one.key),
          "left out, since 'header' is " + quote(one.header)));
    uses.push_back({one.name, one.key, one.cost});
  }
  return check_task_limits(uses);
}

result<std::vector<task_limit>> read_costs(const input& from) {
  std::vector<task_limit> costs;
  for (const auto& one : from.objects(costs_field.name))
    costs.push_back({one.text("name"), {}, cost_of(one)});
  if (auto ok = check_task_limits(costs, costs_field.name); !ok)
    return ok.error();
  return costs;
}

result<void> check_limit_meant(
  const std::vector<task_limit>& all, const std::string& name, const std::string& key) {
  auto named = [&](const task_limit& one) { return one.name == name; };
  auto meant = name.empty() ? all.begin() : std::find_if(all.begin(), all.end(), named);
  if (meant == all.end() && !name.empty())
    return refuse_input({}, describe_value("'limit'", quote(name), names_of(all)));
  if (key.empty() || (meant != all.end() && meant->key == key))
    return {};
  return refuse_input(
    {},
    describe_value(
      "'key'",
      quote(key),
      meant == all.end() ? "left out, since the task has no limits"
                         : "the task's for limit " + quote(meant->name) + ", "
                             + quote(meant->key)));
}

void write_task_limits(base::json_writer& json, const std::vector<task_limit>& all) {
  if (all.empty())
    return;
  json.begin_array("limits");
  for (const auto& one : all) {
    json.begin_object().field("name", one.name);
    if (!one.key.empty())
      write_key(json, one.key);
    json.field("cost", one.cost).end_object();
  }
  json.end_array();
}

void write_queue_limits(base::json_writer& json, const std::vector<queue_limit>& all) {
  json.begin_array("limits");
  for (const auto& one : all) {
    json.begin_object().field("name", one.name);
    if (!one.key.empty())
      write_key(json, one.key);
    if (!one.header.empty())
      json.field("header", one.header);
    json.field("cost", one.cost).end_object();
  }
  json.end_array();
}

void write_limit(base::json_writer& json, const limit_info& info) {
  json.begin_object().field("name", info.limit.name).field("tenantId", info.limit.tenant);
  if (info.definition.concurrency)
    json.field("concurrency", *info.definition.concurrency);
  if (info.definition.rate)
    write_rate(json, *info.definition.rate);
  json.field("leased", info.leased)
    .field("held", info.held)
    .field("keys", info.keys)
    .field("keysAbove", info.keys_above)
    .field("uniform", info.is_uniform);
  if (const auto& forecast = info.forecast)
    json.begin_object("wouldHold")
      .field("tasks", forecast->tasks)
      .field("keys", forecast->keys)
      .field("whole", forecast->is_whole)
      .end_object();
  json.end_object();
}

void write_limit_key(base::json_writer& json, const limit_key_info& info, timestamp now) {
  write_key_members(json.begin_object(), info, now);
  json.end_object();
}

void write_limit_keys(base::json_writer& json, const limit_keys_page& page, timestamp now) {
  json.begin_object().field("name", page.limit.name).begin_array("keys");
  for (const auto& key : page.keys)
    write_limit_key(json, key, now);
  json.end_array().field("more", page.more).end_object();
}

void write_explanation(base::json_writer& json, const queue_explanation& why, timestamp now) {
  std::uint64_t backlog = 0;
  for (const auto& [reason, tasks] : why.waiting)
    backlog += tasks;
  json.begin_object()
    .field("command", why.queue.queue)
    .field("queue", why.queue.queue)
    .field("exists", why.exists)
    .field("backlog", backlog)
    .begin_object("waiting");
  for (const auto& [reason, tasks] : why.waiting)
    json.field(to_string(reason), tasks);
  json.end_object()
    .field("leased", why.leased)
    .field("workers", why.workers)
    .field("blocking", why.blocking);
  write_waits(json, why, now);
  json.field("startsPerMinute", why.starts_per_minute);
  if (why.last_start)
    json.field("lastStartMs", why.last_start->count());
  write_missing(json, why.missing_shards);
  json.end_object();
}

} // namespace codeq::http
