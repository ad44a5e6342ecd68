// SPDX-License-Identifier: Apache-2.0
#include "http/json/task_input.hpp"

#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/task_fields.hpp"
#include "http/json/task_json.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace codeq::http {

namespace {

/// Fields that are left out are those of `policy`.
retry_policy read_retry(const input& from, retry_policy policy) {
  if (auto kind = from.choice("kind"))
    policy.kind = static_cast<retry_kind>(*kind);
  policy.base = from.period("baseMs").value_or(policy.base);
  policy.cap = from.period("capMs").value_or(policy.cap);
  return policy;
}

failure_breaker read_breaker(const input& from, failure_breaker breaker) {
  if (auto percent = from.integer("percent"))
    breaker.percent = static_cast<std::uint32_t>(*percent);
  breaker.window = from.period("windowMs").value_or(breaker.window);
  return breaker.percent == 0 ? failure_breaker{} : breaker;
}

void read_times(const input& from, task_spec& to) {
  to.not_before = from.time("runAt");
  // Both may be named, as other clients do: the time counts then.
  if (!to.not_before)
    to.delay = from.period("delaySeconds").value_or(duration{0});
}

void read_names(const input& from, task_spec& to) {
  to.queue = from.text("command");
  to.key = from.text("idempotencyKey");
  to.group = from.text("group");
  to.headers = from.text_map("headers");
  to.allow_promotion = from.flag("allowPromotion").value_or(false);
  to.replace_payload = from.flag("replacePayload").value_or(false);
  to.duplicate = static_cast<on_duplicate>(from.choice("onDuplicate").value_or(0));
  to.fairness_key = from.text("fairnessKey");
  to.fairness_weight = static_cast<std::uint32_t>(from.integer("fairnessWeight").value_or(1));
  to.limits = make_task_limits(from.objects("limits"));
}

void read_limits(const input& from, task_spec& to) {
  to.priority = static_cast<int>(from.integer("priority").value_or(0));
  if (auto attempts = from.integer("maxAttempts"))
    to.max_attempts = static_cast<std::uint32_t>(*attempts);
  if (const auto* retry = from.object("retry")) {
    to.retry = read_retry(*retry, {});
    if (!retry->has("capMs"))
      to.retry->cap = std::max(to.retry->cap, to.retry->base);
  }
  to.lease = from.period("leaseSeconds");
  to.run_timeout = from.period("runTimeoutMs");
  to.progress_timeout = from.period("progressTimeoutMs");
  to.retention = from.period("retentionSeconds");
  to.dead_retention = from.period("deadRetentionSeconds");
  if (auto when = from.choice("onDead"))
    to.when_dead = static_cast<on_dead>(*when);
}

error refused(std::string_view name, const std::string& value, const std::string& rule) {
  return refuse_input({}, describe_value(quote_name({}, name), value, rule));
}

} // namespace

task_spec make_task(const input& from, const std::string& tenant) {
  task_spec task;
  task.tenant = tenant;
  task.payload = std::string(from.raw("payload"));
  read_times(from, task);
  read_names(from, task);
  read_limits(from, task);
  return task;
}

result<void> use_key_of_header(const std::string& key, task_spec& task) {
  constexpr std::string_view header = "Idempotency-Key";
  if (key.empty())
    return {};
  if (key.size() > limits::key_bytes_max)
    return refused(
      header,
      std::to_string(key.size()) + " bytes",
      "at most " + std::to_string(limits::key_bytes_max));
  if (!task.key.empty() && task.key != key)
    return refused(header, quote(key), quote(task.key) + " as in the body");
  task.key = key;
  return {};
}

result<void> check_retry(const retry_policy& retry) {
  if (retry.cap >= retry.base)
    return {};
  return refused(
    "retry.capMs",
    std::to_string(retry.cap.count()),
    "at least 'retry.baseMs', " + std::to_string(retry.base.count()));
}

result<void> check_task(const task_spec& task, timestamp now) {
  if (auto ok = check_retry(task.retry.value_or(retry_policy{})); !ok)
    return ok;
  if (auto ok = check_task_limits(task.limits); !ok)
    return ok;
  bool is_early = task.not_before && task.not_before <= timestamp{};
  bool is_late = task.not_before && *task.not_before - now > limits::not_before_ahead_max;
  if (is_early || is_late)
    return refused(
      "runAt",
      quote(base::to_rfc3339(*task.not_before)),
      "after 1970 and within ten years from now");
  if (!task.key.empty())
    return {};
  constexpr std::string_view without_key = " without 'idempotencyKey'";
  auto duplicate = base::duplicate_names[static_cast<std::size_t>(task.duplicate)];
  if (task.duplicate != on_duplicate::existing)
    return refused(
      "onDuplicate",
      quote(duplicate),
      quote(base::duplicate_names.front()) + std::string(without_key));
  if (task.replace_payload)
    return refused("replacePayload", "true", "false" + std::string(without_key));
  return {};
}

namespace {

/// Refuses a key that is given twice.
result<void> check_weights(const std::vector<input>& from) {
  std::set<std::string> keys;
  for (const auto& one : from) {
    auto key = one.text("fairnessKey");
    auto place = "fairnessWeights[" + std::to_string(keys.size()) + "].fairnessKey";
    if (!keys.insert(key).second)
      return refused(place, quote(key), "another key than those before it");
  }
  return {};
}

} // namespace

result<void> check_settings(const input& from) {
  if (auto ok = check_queue_limits(make_queue_limits(from.objects("limits"))); !ok)
    return ok;
  if (auto ok = check_weights(from.objects("fairnessWeights")); !ok)
    return ok;
  if (!from.flag("keepPayload").value_or(false))
    return {};
  return refused(
    "keepPayload", "true", "false, since this version does not keep payloads of completed tasks");
}

namespace {

void write_weights(base::json_writer& json, const std::map<std::string, std::uint32_t>& weights) {
  json.begin_array("fairnessWeights");
  for (const auto& [key, weight] : weights)
    json.begin_object()
      .field("fairnessKey", shown_text(key))
      .field("fairnessWeight", weight)
      .end_object();
  json.end_array();
}

} // namespace

weight_changes weights_of(const input& from) {
  weight_changes weights;
  for (const auto& one : from.objects("fairnessWeights"))
    weights[one.text("fairnessKey")] =
      static_cast<std::uint32_t>(one.integer("fairnessWeight").value_or(0));
  return weights;
}

void apply_settings(const input& from, queue_config& to) {
  auto& defaults = to.defaults;
  if (auto attempts = from.integer("maxAttempts"))
    defaults.max_attempts = static_cast<std::uint32_t>(*attempts);
  if (const auto* retry = from.object("retry"))
    defaults.retry = read_retry(*retry, defaults.retry);
  auto take = [&](std::string_view name, duration& field) {
    field = from.period(name).value_or(field);
  };
  take("leaseSeconds", defaults.lease);
  take("runTimeoutMs", defaults.run_timeout);
  take("progressTimeoutMs", defaults.progress_timeout);
  take("retentionSeconds", defaults.retention);
  take("deadRetentionSeconds", defaults.dead_retention);
  if (auto when = from.choice("onDead"))
    defaults.when_dead = static_cast<on_dead>(*when);
  auto take_count = [&](std::string_view name, std::uint64_t& field) {
    if (auto count = from.integer(name))
      field = static_cast<std::uint64_t>(*count);
  };
  take_count("maxDepth", to.max_depth);
  take_count("maxLeased", to.max_leased);
  to.keep_payload = from.flag("keepPayload").value_or(to.keep_payload);
  if (auto losses = from.integer("quarantineAfter"))
    to.quarantine_after = static_cast<std::uint32_t>(*losses);
  if (const auto* breaker = from.object("pauseWhenFailing"))
    to.pause_when_failing = read_breaker(*breaker, to.pause_when_failing);
  if (from.has("limits"))
    to.limits = make_queue_limits(from.objects("limits"));
  if (from.has("fairnessHeader"))
    to.fairness_header = from.text("fairnessHeader");
  to.change_weights(weights_of(from));
}

void write_settings(base::json_writer& json, const queue_config& config) {
  auto seconds = [](duration d) {
    return std::chrono::duration_cast<std::chrono::seconds>(d).count();
  };
  const auto& defaults = config.defaults;
  json.begin_object()
    .field("maxAttempts", defaults.max_attempts)
    .key("retry")
    .begin_object()
    .field("kind", base::retry_names[static_cast<std::size_t>(defaults.retry.kind)])
    .field("baseMs", defaults.retry.base.count())
    .field("capMs", defaults.retry.cap.count())
    .end_object()
    .field("leaseSeconds", seconds(defaults.lease))
    .field("runTimeoutMs", defaults.run_timeout.count())
    .field("progressTimeoutMs", defaults.progress_timeout.count())
    .field("retentionSeconds", seconds(defaults.retention))
    .field("deadRetentionSeconds", seconds(defaults.dead_retention))
    .field("onDead", base::on_dead_names[static_cast<std::size_t>(defaults.when_dead)])
    .field("maxDepth", config.max_depth)
    .field("maxLeased", config.max_leased)
    .field("keepPayload", config.keep_payload)
    .field("quarantineAfter", config.quarantine_after)
    .key("pauseWhenFailing")
    .begin_object()
    .field("percent", config.pause_when_failing.percent)
    .field("windowMs", config.pause_when_failing.window.count())
    .end_object();
  write_queue_limits(json, config.limits);
  json.field("fairnessHeader", config.fairness_header);
  write_weights(json, config.fairness_weights);
  json.end_object();
}

} // namespace codeq::http
