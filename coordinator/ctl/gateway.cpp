// SPDX-License-Identifier: Apache-2.0
#include "ctl/gateway.hpp"

#include "codeq/limits.hpp"

#include "base/enum_names.hpp"
#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "base/text_encoding.hpp"
#include "config/values.hpp"
#include "ctl/command_options.hpp"
#include "ctl/http_answers.hpp"
#include "http/json/json_reader.hpp"
#include "security/token_file.hpp"

#include <utility>

namespace codeq::ctl {

namespace {

/// Large enough for a page of a thousand tasks or ten payloads.
constexpr std::size_t answer_bytes_max = 64u << 20;

errc code_of(unsigned status) {
  switch (status) {
  case 400:
  case 405:
    return errc::invalid_argument;
  case 401:
  case 403:
    return errc::unauthorized;
  case 409:
    return errc::already;
  case 413:
    return errc::too_large;
  case 429:
  case 503:
    return errc::overloaded;
  case 501:
    return errc::unsupported;
  default:
    return errc::unavailable;
  }
}

/// As a node port tells it: by the kind of thing that is not found, with which the gateway's text
/// begins.
errc code_of_missing(std::string_view said) {
  if (said.ends_with("it belongs to no cluster"))
    return errc::unsupported;
  if (said.starts_with("worker "))
    return errc::invalid_argument;
  if (said.starts_with("queue "))
    return errc::unknown_queue;
  if (said.starts_with("schedule "))
    return errc::unknown_schedule;
  return said.starts_with("limit ") ? errc::unknown_limit : errc::unknown_task;
}

error refusal_of(const http::outgoing_answer& answer) {
  auto body = http::json_object::parse(answer.body);
  auto said = body ? body->text("error") : std::string();
  auto text = "HTTP " + std::to_string(answer.status) + (said.empty() ? "" : ": " + said);
  constexpr unsigned not_found = 404;
  if (answer.status == not_found)
    return {code_of_missing(said), std::move(text)};
  const auto by_status = code_of(answer.status);
  return {body ? code_named(body->text("code"), by_status) : by_status, std::move(text)};
}

/// Why there is no answer. A gateway with a certificate hangs up when it is sent plain HTTP; the
/// port of nodes does not speak HTTP.
error no_answer(const http::http_url& from, const error& why) {
  auto text = http::host_field(from) + ": " + why.context;
  bool was_connected = !why.context.starts_with(http::cannot_connect);
  if (why.code == errc::disconnected && was_connected && !from.is_secured)
    text += "; if the gateway has a certificate, --http takes https://";
  if (why.code == errc::protocol_error)
    text += "; --http takes the address of the coordinator's --http, not that of its --listen";
  return {why.code, std::move(text)};
}

void write_retry(base::json_writer& json, const retry_policy& retry) {
  json.begin_object("retry")
    .field("kind", base::name_of(retry.kind, base::retry_names))
    .field("baseMs", retry.base.count())
    .field("capMs", retry.cap.count())
    .end_object();
}

void write_milliseconds(
  base::json_writer& json, const char* name, const std::optional<duration>& value) {
  if (value)
    json.field(name, value->count());
}

void write_seconds(
  base::json_writer& json, const char* name, const std::optional<duration>& value) {
  if (value)
    json.field(name, std::chrono::ceil<std::chrono::seconds>(*value).count());
}

void write_queue_limits(base::json_writer& json, const std::vector<queue_limit>& given) {
  json.begin_array("limits");
  for (const auto& one : given) {
    json.begin_object().field("name", one.name).field("cost", one.cost);
    if (one.header.empty())
      json.field("key", one.key);
    else
      json.field("header", one.header);
    json.end_object();
  }
  json.end_array();
}

/// The limits of a task; nothing when it has none.
void write_limits(base::json_writer& json, const std::vector<task_limit>& uses) {
  if (uses.empty())
    return;
  json.begin_array("limits");
  for (const auto& use : uses) {
    json.begin_object().field("name", use.name).field("cost", use.cost);
    if (!use.key.empty())
      json.field("key", use.key);
    json.end_object();
  }
  json.end_array();
}

} // namespace

result<gateway> gateway::open(const std::string& url, const operator_options& options) {
  auto parsed = http::parse_url(url);
  if (!parsed)
    return error{parsed.error().code, "--http: " + parsed.error().context};
  gateway opened;
  opened.base_ = std::move(*parsed);
  opened.timeout_ = options.timeout;
  opened.token_ = options.access.token;
  if (!options.access.token_file.empty()) {
    auto token = security::read_bearer(options.access.token_file);
    if (!token)
      return token.error();
    opened.token_ = std::move(*token);
  }
  bool is_open = !opened.base_.is_secured && !config::is_loopback(opened.base_.host);
  if (is_open && !opened.token_.empty())
    return error{
      errc::invalid_argument,
      "--http: " + opened.base_.host
        + " is not a loopback address; a token is sent there by https only"};
  if (!opened.base_.is_secured)
    return opened;
  security::tls_files files{{}, {}, options.access.tls_authority};
  files.trust_system = files.authority.empty();
  auto tls = security::tls_context::load(files, security::tls_side::client);
  if (!tls)
    return tls.error();
  opened.tls_ = std::move(*tls);
  return opened;
}

result<std::string>
gateway::ask(std::string_view method, const std::string& path, std::string body) const {
  return send(method, path, std::move(body), timeout_);
}

result<std::string> gateway::wait_for(const std::string& path) const {
  return send("GET", path, {}, timeout_ + limits::http_wait_max);
}

result<std::string> gateway::send(
  std::string_view method, const std::string& path, std::string body, duration timeout) const {
  http::outgoing_request request;
  request.url = base_;
  request.url.target = (base_.target == "/" ? "" : base_.target) + "/v1/codeq" + path;
  request.method = std::string(method);
  request.body = std::move(body);
  request.tls = tls_;
  request.timeout = timeout;
  request.answer_bytes_max = answer_bytes_max;
  if (!token_.empty())
    request.fields.emplace_back("Authorization", "Bearer " + token_);
  if (!request.body.empty())
    request.fields.emplace_back("Content-Type", "application/json");
  auto answer = http::send_and_wait(std::move(request));
  if (!answer)
    return no_answer(base_, answer.error());
  constexpr unsigned first_refusal = 300;
  if (answer->status >= first_refusal)
    return refusal_of(*answer);
  return with_missing(std::move(answer->body), answer->fields);
}

result<std::string> to_gateway_json(const task_spec& task, const std::string& webhook) {
  if (!http::is_json(task.payload))
    return error{
      errc::unsupported, "over --http a payload has to be JSON; --coordinator takes any bytes"};
  if (!base::is_utf8(task.key) || !base::is_utf8(task.group))
    return error{errc::unsupported, "over --http --key and --group have to be UTF-8"};
  if (!base::is_utf8(task.fairness_key))
    return error{errc::unsupported, "over --http --fairness-key has to be UTF-8"};
  for (const auto& use : task.limits)
    if (!base::is_utf8(use.key))
      return error{errc::unsupported, "over --http the key of --limit has to be UTF-8"};
  for (const auto& [name, value] : task.headers)
    if (!base::is_utf8(name) || !base::is_utf8(value))
      return error{errc::unsupported, "over --http --header has to be UTF-8"};
  base::json_writer json;
  json.begin_object().field("command", task.queue).key("payload").raw(task.payload);
  json.field("priority", task.priority);
  if (task.delay > duration{0})
    json.field("delayMs", task.delay.count());
  if (task.not_before)
    json.field("runAt", base::to_rfc3339(*task.not_before));
  if (!task.headers.empty()) {
    json.begin_object("headers");
    for (const auto& [name, value] : task.headers)
      json.field(name, value);
    json.end_object();
  }
  if (task.max_attempts)
    json.field("maxAttempts", *task.max_attempts);
  if (task.retry)
    write_retry(json, *task.retry);
  write_milliseconds(json, "leaseMs", task.lease);
  write_milliseconds(json, "runTimeoutMs", task.run_timeout);
  write_milliseconds(json, "progressTimeoutMs", task.progress_timeout);
  write_seconds(json, "retentionSeconds", task.retention);
  write_seconds(json, "deadRetentionSeconds", task.dead_retention);
  if (task.when_dead)
    json.field("onDead", base::name_of(*task.when_dead, base::on_dead_names));
  if (!task.group.empty())
    json.field("group", task.group);
  if (!task.key.empty())
    json.field("idempotencyKey", task.key)
      .field("onDuplicate", base::name_of(task.duplicate, base::duplicate_names));
  if (!task.fairness_key.empty())
    json.field("fairnessKey", task.fairness_key);
  if (task.fairness_weight != 1)
    json.field("fairnessWeight", task.fairness_weight);
  write_limits(json, task.limits);
  if (!webhook.empty())
    json.field("webhook", webhook);
  json.field("replacePayload", task.replace_payload);
  json.field("allowPromotion", task.allow_promotion).end_object();
  return json.take();
}

std::string to_gateway_json(const limit_definition& definition) {
  base::json_writer json;
  json.begin_object();
  if (definition.concurrency)
    json.field("concurrency", *definition.concurrency);
  const auto& rate = definition.rate;
  if (rate)
    json.begin_object("rate")
      .field("count", rate->count)
      .field("perMs", rate->period.count())
      .field("burst", rate->burst)
      .end_object();
  json.end_object();
  return json.take();
}

std::string to_gateway_json(const queue_changes& changes) {
  base::json_writer json;
  json.begin_object();
  if (changes.max_attempts)
    json.field("maxAttempts", *changes.max_attempts);
  if (changes.retry || changes.retry_base || changes.retry_cap) {
    json.begin_object("retry");
    if (changes.retry)
      json.field("kind", base::name_of(*changes.retry, base::retry_names));
    write_milliseconds(json, "baseMs", changes.retry_base);
    write_milliseconds(json, "capMs", changes.retry_cap);
    json.end_object();
  }
  write_milliseconds(json, "leaseMs", changes.lease);
  write_milliseconds(json, "runTimeoutMs", changes.run_timeout);
  write_milliseconds(json, "progressTimeoutMs", changes.progress_timeout);
  write_seconds(json, "retentionSeconds", changes.retention);
  write_seconds(json, "deadRetentionSeconds", changes.dead_retention);
  if (changes.when_dead)
    json.field("onDead", base::name_of(*changes.when_dead, base::on_dead_names));
  if (changes.max_depth)
    json.field("maxDepth", *changes.max_depth);
  if (changes.max_leased)
    json.field("maxLeased", *changes.max_leased);
  if (changes.keep_payload)
    json.field("keepPayload", *changes.keep_payload);
  if (changes.quarantine_after)
    json.field("quarantineAfter", *changes.quarantine_after);
  if (const auto& breaker = changes.pause_when_failing)
    json.begin_object("pauseWhenFailing")
      .field("percent", breaker->percent)
      .field("windowMs", breaker->window.count())
      .end_object();
  if (changes.limits)
    write_queue_limits(json, *changes.limits);
  if (changes.fairness_header)
    json.field("fairnessHeader", *changes.fairness_header);
  if (!changes.fairness_weights.empty()) {
    json.begin_array("fairnessWeights");
    for (const auto& [key, weight] : changes.fairness_weights)
      json.begin_object().field("fairnessKey", key).field("fairnessWeight", weight).end_object();
    json.end_array();
  }
  json.end_object();
  return json.take();
}

} // namespace codeq::ctl
