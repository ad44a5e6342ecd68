// SPDX-License-Identifier: Apache-2.0
#include "http/json/schedule_json.hpp"

#include "base/rfc3339.hpp"
#include "base/text_encoding.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/limit_json.hpp"
#include "http/json/task_input.hpp"
#include "http/json/task_json.hpp"
#include "schedule/rule.hpp"

namespace codeq::http {

namespace {

void write_time(base::json_writer& json, const schedule_time& time) {
  json.field("nominalTime", time.nominal).field("at", base::to_rfc3339(time.at));
  if (!time.local.empty())
    json.field("local", time.local);
}

void write_scheduled_task(base::json_writer& json, const task_spec& task) {
  json.begin_object("task")
    .field("command", task.queue)
    .field("queue", task.queue)
    .field("priority", task.priority);
  write_value(json.key("payload"), task.payload.view());
  if (!task.key.empty() && base::is_utf8(task.key))
    json.field("idempotencyKey", task.key);
  if (!task.group.empty() && base::is_utf8(task.group))
    json.field("group", task.group);
  if (!task.fairness_key.empty() && base::is_utf8(task.fairness_key))
    json.field("fairnessKey", task.fairness_key);
  if (task.fairness_weight != 1)
    json.field("fairnessWeight", task.fairness_weight);
  write_task_limits(json, task.limits);
  if (task.max_attempts)
    json.field("maxAttempts", *task.max_attempts);
  if (!task.headers.empty()) {
    json.begin_object("headers");
    for (const auto& [name, value] : task.headers)
      json.field(name, value);
    json.end_object();
  }
  json.end_object();
}

} // namespace

result<schedule_spec> make_schedule(const input& from, const std::string& tenant) {
  auto text = [&](std::string_view name) { return from.text(name); };
  auto cron = text("cron");
  auto every = text("every");
  auto anchor = text("anchor");
  auto zone = text("zone");
  auto gap = text("gap");
  auto fold = text("fold");
  auto start = text("start");
  auto end = text("end");
  auto jitter = text("jitter");
  if (from.has("rule") && !(cron.empty() && every.empty()))
    return refuse_input({}, "'rule' and 'cron' or 'every' are both given; give one of them");
  auto rule = from.has("rule") ? schedule::parse_rule(text("rule"))
                               : schedule::parse_rule(
                                 {cron, every, anchor, zone, gap, fold, start, end, jitter});
  if (!rule)
    return rule.error();
  schedule_spec spec;
  spec.rule = schedule::to_string(*rule);
  if (auto policy = from.choice("misfire"))
    spec.misfire = static_cast<misfire_policy>(*policy);
  if (auto policy = from.choice("overlap"))
    spec.overlap = static_cast<overlap_policy>(*policy);
  spec.catch_up = from.period("catchUp").value_or(spec.catch_up);
  spec.task = make_task(*from.object("task"), tenant);
  return spec;
}

void write_times(base::json_writer& json, const std::vector<schedule_time>& times) {
  json.begin_array("next");
  for (const auto& time : times) {
    json.begin_object();
    write_time(json, time);
    json.end_object();
  }
  json.end_array();
}

void write_occurrence(base::json_writer& json, const schedule_occurrence& entry) {
  json.begin_object().field("number", entry.number);
  write_time(json, entry.when);
  json.field("decidedAt", base::to_rfc3339(entry.decided_at))
    .field("cause", to_string(entry.cause))
    .field("state", to_string(entry.state))
    .field("count", entry.count);
  if (entry.task)
    json.field("taskId", to_string(*entry.task));
  if (entry.ended_at)
    json.field("endedAt", base::to_rfc3339(*entry.ended_at));
  json.end_object();
}

std::string explanation_of(const schedule_answer& answer, timestamp now) {
  return answer.what == schedule_result::deleted ? "deleted, so it does not fire any more"
                                                 : explain(answer.schedule, now);
}

void write_schedule(base::json_writer& json, const schedule_info& schedule, timestamp now) {
  write_schedule(json, schedule_answer{schedule_result::unchanged, schedule}, now);
}

void write_schedule(base::json_writer& json, const schedule_answer& answer, timestamp now) {
  const auto& schedule = answer.schedule;
  const auto& spec = schedule.spec;
  json.begin_object()
    .field("name", schedule.name.name)
    .field("tenantId", schedule.name.tenant)
    .field("rule", spec.rule)
    .field("misfire", to_string(spec.misfire))
    .field("catchUpMs", spec.catch_up.count())
    .field("overlap", to_string(spec.overlap));
  write_scheduled_task(json, spec.task);
  json.field("paused", schedule.paused)
    .field("running", schedule.running)
    .field("waiting", schedule.has_waiting)
    .field("occurrences", schedule.occurrences);
  write_times(json, schedule.next);
  if (schedule.latest)
    write_occurrence(json.key("latest"), *schedule.latest);
  json.field("explanation", explanation_of(answer, now)).end_object();
}

} // namespace codeq::http
