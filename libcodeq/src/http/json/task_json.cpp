// SPDX-License-Identifier: Apache-2.0
#include "http/json/task_json.hpp"

#include "base/rfc3339.hpp"
#include "base/text_encoding.hpp"
#include "http/json/json_reader.hpp"
#include "http/json/limit_json.hpp"

namespace codeq::http {

namespace {

/// No node may have a name with a colon or a slash in it.
constexpr std::string_view worker_prefix = "http:";

/// The members of a stored result with artifacts, in their order.
constexpr std::string_view artifacts_name = "codeq:artifacts";
constexpr std::string_view result_name = "result";

std::string_view location_name(task_state state) noexcept {
  switch (state) {
  case task_state::scheduled:
    return "DELAYED_ZSET";
  case task_state::gated:
  case task_state::ready:
    return "PENDING_LIST";
  case task_state::leased:
    return "INPROG_SET";
  case task_state::dead:
    return "DLQ_SET";
  case task_state::completed:
  case task_state::cancelled:
    return "NONE";
  }
  return "NONE";
}

void write_payload(base::json_writer& json, const task_detail& task, bool as_json) {
  if (!task.payload)
    json.key("payload").null().field("payloadExpired", true);
  else if (!base::is_utf8(*task.payload))
    json.key("payload").null().field("payloadBase64", base::to_base64(*task.payload));
  else if (as_json)
    write_value(json.key("payload"), *task.payload);
  else
    json.field("payload", *task.payload);
}

void write_headers(base::json_writer& json, const std::map<std::string, std::string>& headers) {
  if (headers.empty())
    return;
  json.begin_object("headers");
  for (const auto& [name, value] : headers)
    json.field(shown_text(name), shown_text(value));
  json.end_object();
}

void write_lease(base::json_writer& json, const task_detail& task, timestamp now) {
  json.field("workerId", subject_of(task.status.worker))
    .field("leaseUntil", base::to_rfc3339(now + task.lease_left))
    .field("fencingToken", std::to_string(value(task.status.token)));
  if (const auto& progress = task.status.progress)
    json.begin_object("progress")
      .field("percent", progress->percent)
      .field("note", shown_text(progress->note))
      .end_object();
  if (!task.checkpoint.empty())
    write_value(json.key("checkpoint"), task.checkpoint);
}

void write_names(base::json_writer& json, const task_summary& task) {
  if (!task.key.empty() && base::is_utf8(task.key))
    json.field("idempotencyKey", task.key).field("key", task.key);
  if (!task.group.empty() && base::is_utf8(task.group))
    json.field("group", task.group);
  if (!task.fairness_key.empty() && base::is_utf8(task.fairness_key))
    json.field("fairnessKey", task.fairness_key);
  if (task.fairness_weight != 1)
    json.field("fairnessWeight", task.fairness_weight);
  write_task_limits(json, task.limits);
}

/// The stored result as the object that `stored_result` writes; empty for any other.
std::optional<json_object> with_artifacts(std::string_view stored) {
  if (!stored.starts_with("{\"codeq:artifacts\":"))
    return std::nullopt;
  auto object = json_object::parse(stored);
  if (!object || object->members().size() != 2)
    return std::nullopt;
  const auto& artifacts = object->members().front();
  bool is_written_so = artifacts.name == artifacts_name
                       && object->members().back().name == result_name
                       && (artifacts.raw.starts_with('[') || artifacts.raw == "null");
  return is_written_so ? std::move(object) : std::nullopt;
}

void write_error(base::json_writer& json, std::string_view text) {
  if (!text.empty())
    json.field("error", shown_text(text));
}

void write_place(base::json_writer& json, const task_summary& task) {
  json.field("id", to_string(task.id)).field("command", task.queue).field("queue", task.queue);
}

/// Writes what an enqueue came to, if the task answers one.
void write_outcome(base::json_writer& json, const task_detail& task) {
  if (task.outcome)
    json.field("outcome", to_string(*task.outcome));
  if (!task.webhook_error.empty())
    json.field("webhookError", shown_text(task.webhook_error));
}

/// Writes the members that all views of a task have, except its names.
void write_common(base::json_writer& json, const task_summary& task) {
  json.field("priority", task.priority)
    .field("status", status_name(task.state))
    .field("lastKnownLocation", location_name(task.state))
    .field("state", to_string(task.state))
    .field("attempts", task.attempt)
    .field("maxAttempts", task.max_attempts)
    .field("tenantId", task.tenant)
    .field("createdAt", base::to_rfc3339(task.enqueued_at));
  if (task.eligible_at)
    json.field("eligibleAt", base::to_rfc3339(*task.eligible_at));
  if (task.cancel_requested)
    json.field("cancelRequested", true);
  write_names(json, task);
}

} // namespace

std::string shown_text(std::string_view text) {
  return base::is_utf8(text) ? std::string(text) : "base64:" + base::to_base64(text);
}

std::string worker_name_of(std::string_view tenant, std::string_view subject) {
  std::string name(worker_prefix);
  name.append(tenant).append("/").append(subject);
  return name;
}

bool is_http_worker(std::string_view worker_name) noexcept {
  return worker_name.starts_with(worker_prefix);
}

std::string_view subject_of(std::string_view worker_name) noexcept {
  if (!is_http_worker(worker_name))
    return worker_name;
  return worker_name.substr(worker_name.find('/') + 1);
}

std::string_view status_name(task_state state) noexcept {
  switch (state) {
  case task_state::scheduled:
  case task_state::gated:
  case task_state::ready:
    return "PENDING";
  case task_state::leased:
    return "IN_PROGRESS";
  case task_state::completed:
    return "COMPLETED";
  case task_state::dead:
  case task_state::cancelled:
    return "FAILED";
  }
  return "FAILED";
}

void write_task(base::json_writer& json, const task_detail& task, const task_view& view) {
  const auto& status = task.status;
  write_place(json.begin_object(), status);
  if (!task.is_known) {
    json.field("tenantId", status.tenant);
    write_outcome(json, task);
    json.end_object();
    return;
  }
  write_payload(json, task, view.payload_as_json);
  write_headers(json, task.headers);
  write_common(json, status);
  json.field("updatedAt", base::to_rfc3339(task.updated_at.value_or(status.enqueued_at)));
  if (status.state == task_state::leased)
    write_lease(json, task, view.now);
  if (status.state == task_state::completed)
    json.field("resultKey", "codeq:results");
  write_outcome(json, task);
  write_error(json, status.error_text);
  json.end_object();
}

void write_listed(base::json_writer& json, const task_summary& task) {
  write_place(json.begin_object(), task);
  write_common(json, task);
  if (!task.worker.empty())
    json.field("workerId", subject_of(task.worker));
  if (task.ended_at)
    json.field("endedAt", base::to_rfc3339(*task.ended_at));
  write_error(json, task.error_text);
  json.end_object();
}

void write_kind(base::json_writer& json, const dead_kind& kind) {
  json.begin_object()
    .field("fingerprint", shown_text(kind.fingerprint))
    .field("tasks", kind.tasks)
    .field("firstDiedAt", base::to_rfc3339(kind.first_died))
    .field("lastDiedAt", base::to_rfc3339(kind.last_died))
    .field("lastTaskId", to_string(kind.last));
  write_error(json, kind.error_text);
  json.end_object();
}

void write_fairness(base::json_writer& json, const fairness_page& page) {
  json.begin_object()
    .field("command", page.queue.queue)
    .field("queue", page.queue.queue)
    .field("activeKeys", page.active_keys)
    .begin_array("keys");
  for (const auto& share : page.keys) {
    json.begin_object()
      .field("fairnessKey", shown_text(share.key))
      .field("fairnessWeight", share.weight)
      .field("ready", share.ready)
      .field("sharePpm", share.share_ppm)
      .field("expectedRunMs", share.expected_run.count());
    if (share.wait != duration::max())
      json.field("waitMs", share.wait.count());
    json.end_object();
  }
  json.end_array().field("more", page.more).end_object();
}

void write_value(base::json_writer& json, std::string_view bytes) {
  if (bytes.empty())
    json.null();
  else if (is_json(bytes))
    json.raw(bytes);
  else if (base::is_utf8(bytes))
    json.text(bytes);
  else
    json.begin_object().field("base64", base::to_base64(bytes)).end_object();
}

void write_result(base::json_writer& json, const result_record& record) {
  json.begin_object()
    .field("taskId", to_string(record.id))
    .field("status", record.is_failure ? "FAILED" : "COMPLETED");
  if (record.state)
    json.field("state", to_string(*record.state));
  if (record.is_failure)
    write_error(json, record.error_text);
  else
    write_stored_result(json, record.result, false);
  json.field("completedAt", base::to_rfc3339(record.at));
  if (record.will_retry)
    json.field("willRetry", *record.will_retry);
  if (record.retry_at)
    json.field("retryAt", base::to_rfc3339(*record.retry_at));
  json.end_object();
}

void write_stored_result(base::json_writer& json, std::string_view stored, bool always) {
  auto object = with_artifacts(stored);
  if (object)
    json.key("result").raw(object->raw(result_name));
  else
    write_value(json.key("result"), stored);
  auto artifacts = object ? object->raw(artifacts_name) : std::string_view("null");
  if (always || artifacts != "null")
    json.key("artifacts").raw(artifacts);
}

void write_explanation(base::json_writer& json, const task_explanation& why) {
  auto shown = why;
  shown.task.worker = subject_of(why.task.worker);
  shown.error_text = shown_text(why.error_text);
  json.begin_object()
    .field("id", to_string(why.task.id))
    .field("reason", to_string(why.reason))
    .field("sentence", to_sentence(shown))
    .field("status", status_name(why.task.state))
    .field("state", to_string(why.task.state))
    .field("command", why.task.queue)
    .field("queue", why.task.queue)
    .field("workers", why.workers);
  if (why.until != timestamp{})
    json.field("until", base::to_rfc3339(why.until));
  if (why.blocker.seq != 0)
    json.field("blocker", to_string(why.blocker))
      .field("blockerState", to_string(why.blocker_state));
  if (why.reason == task_reason::limited)
    json.field("limit", why.limit)
      .field("limitKey", shown_text(why.limit_key))
      .field("heldBefore", why.limit_before);
  if (why.is_out_of_limit_keys)
    json.field("outOfLimitKeys", true);
  if (why.limit_closed_until != timestamp{})
    json.field("closedUntil", base::to_rfc3339(why.limit_closed_until));
  if (why.reason == task_reason::fairness)
    json.field("fairnessKey", shown_text(why.fairness_key))
      .field("turnsBefore", why.fairness_before);
  if (why.reason == task_reason::fairness && why.fairness_wait != duration::max())
    json.field("waitMs", why.fairness_wait.count());
  if (why.reason == task_reason::leased)
    json.field("workerId", shown.task.worker)
      .field("leaseLeftMs", why.lease_left.count())
      .field("cancelRequested", why.task.cancel_requested);
  json.end_object();
}

void write_timeline(base::json_writer& json, const task_timeline& timeline) {
  json.begin_object().key("events").begin_array();
  for (const auto& event : timeline.events) {
    json.begin_object()
      .field("at", base::to_rfc3339(event.at))
      .field("event", to_string(event.what))
      .field("by", to_string(event.by))
      .field("state", to_string(event.state));
    if (event.until != timestamp{})
      json.field("until", base::to_rfc3339(event.until));
    if (event.attempt != 0)
      json.field("attempt", event.attempt);
    if (value(event.token) != 0)
      json.field("fencingToken", std::to_string(value(event.token)));
    if (!event.worker.empty())
      json.field("workerId", subject_of(event.worker));
    if (!event.subject.empty())
      json.field("subject", event.subject);
    if (!event.text.empty())
      json.field(
        "text", base::is_utf8(event.text) ? event.text : "base64:" + base::to_base64(event.text));
    json.end_object();
  }
  json.end_array()
    .field("dropped", timeline.dropped)
    .field("state", to_string(timeline.state))
    .end_object();
}

std::string stored_result(std::string_view result, std::string_view artifacts) {
  // A result that looks like one with artifacts is written like one without any.
  if (artifacts.empty() && !with_artifacts(result))
    return std::string(result);
  base::json_writer json;
  json.begin_object().key(artifacts_name).raw(artifacts.empty() ? "null" : artifacts);
  json.key(result_name).raw(result.empty() ? "null" : result).end_object();
  return json.take();
}

} // namespace codeq::http
