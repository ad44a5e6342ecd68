// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "base/enum_names.hpp"
#include "http/json/input_field.hpp"
#include "http/json/limit_json.hpp"
#include "http/server/gateway_limits.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

/// The fields of tasks and of queue settings, and those that several routes have.
namespace codeq::http {

/// The retention classes in seconds, behind the number 0 when `Zero` is set.
template <bool Zero>
[[nodiscard]] constexpr auto retention_seconds() {
  constexpr std::size_t first = Zero ? 1 : 0;
  std::array<std::int64_t, limits::retention_classes.size() + first> all{};
  for (std::size_t i = 0; i < limits::retention_classes.size(); ++i)
    all[first + i] = limits::retention_classes[i] / std::chrono::seconds(1);
  return all;
}

inline constexpr auto retention_numbers = retention_seconds<false>();
inline constexpr auto dead_retention_numbers = retention_seconds<true>();

inline constexpr auto retry_delay_range = milliseconds_in(duration{0}, limits::retry_max);
inline constexpr auto lease_period_range = milliseconds_in(limits::lease_min, limits::lease_max);
inline constexpr auto lease_seconds_range = seconds_in(limits::lease_min, limits::lease_max);
inline constexpr auto run_time_range = milliseconds_in(duration{0}, limits::run_timeout_max);
inline constexpr auto ahead_max = limits::not_before_ahead_max;

inline constexpr auto retry_fields = std::to_array<input_field>({
  {.name = "kind", .type = input_type::choice, .choices = base::retry_names},
  {.name = "baseMs", .type = input_type::milliseconds, .range = retry_delay_range},
  {.name = "capMs", .type = input_type::milliseconds, .range = retry_delay_range},
});

/// The lease of a claim or task; clients of codeQ send 0 for the default.
inline constexpr input_field lease_seconds_field{
  .name = "leaseSeconds",
  .type = input_type::seconds,
  .zero_is_unset = true,
  .range = lease_seconds_range};
inline constexpr input_field lease_field{
  .name = "lease",
  .type = input_type::period,
  .same_as = "leaseSeconds",
  .range = lease_period_range};
inline constexpr input_field lease_ms_field{
  .name = "leaseMs",
  .type = input_type::milliseconds,
  .same_as = "leaseSeconds",
  .range = lease_period_range};

/// How long to wait for a task or a result. Any number counts as the nearest one allowed.
inline constexpr input_field wait_field{
  .name = "waitSeconds",
  .type = input_type::seconds,
  .range = seconds_in(duration{0}, limits::http_wait_max),
  .tolerated = input_range{
    std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}};

inline constexpr auto payload_names = std::to_array<std::string_view>({"text", "json"});

/// How the answer shows payloads.
inline constexpr input_field payload_field{
  .name = "payload", .type = input_type::choice, .choices = payload_names};

inline constexpr auto extended_names = std::to_array<std::string_view>({"extended"});

/// Asks for the larger limit of a batch.
inline constexpr input_field extended_field{
  .name = "limit", .type = input_type::choice, .choices = extended_names};

inline constexpr std::string_view extended_refusal = "batch size exceeds maximum of 1000";
static_assert(limits::http_extended_batch_max == 1000, "a refusal names it");

/// Limits a request to one queue; without it the request is about every queue.
inline constexpr input_field queue_filter_field{
  .name = "queue", .type = input_type::queue, .refusal = "invalid queue"};
inline constexpr input_field command_filter_field{
  .name = "command", .type = input_type::queue, .same_as = "queue", .refusal = "invalid command"};

/// The same in the body of a change of many tasks, where an empty name, of which a client may have
/// expected a queue, would stand for every queue.
inline constexpr input_field queue_changed_field = [] {
  auto field = queue_filter_field;
  field.is_never_empty = true;
  return field;
}();
inline constexpr input_field command_changed_field = [] {
  auto field = command_filter_field;
  field.is_never_empty = true;
  return field;
}();

/// Says that a change of many tasks without a filter is meant for all of them.
inline constexpr input_field all_field{.name = "all", .type = input_type::flag};

/// The lease that a worker's report is about.
inline constexpr input_field token_field{.name = "fencingToken", .refusal = "invalid fencingToken"};

// The settings that a task may have of its own, and a queue as defaults.
inline constexpr input_field retry_field{
  .name = "retry", .type = input_type::object, .members = retry_fields};
inline constexpr input_field run_timeout_field{
  .name = "runTimeoutMs", .type = input_type::milliseconds, .range = run_time_range};
inline constexpr input_field progress_timeout_field{
  .name = "progressTimeoutMs", .type = input_type::milliseconds, .range = run_time_range};
inline constexpr input_field retention_field{
  .name = "retentionSeconds", .type = input_type::seconds, .numbers = retention_numbers};
inline constexpr input_field dead_retention_field{
  .name = "deadRetentionSeconds", .type = input_type::seconds, .numbers = dead_retention_numbers};
inline constexpr input_field on_dead_field{
  .name = "onDead", .type = input_type::choice, .choices = base::on_dead_names};

/// A task to enqueue.
inline constexpr auto task_fields = std::to_array<input_field>({
  {.name = "command", .type = input_type::queue, .is_required = true, .refusal = "invalid command"},
  {.name = "queue", .type = input_type::queue, .same_as = "command", .refusal = "invalid command"},
  {.name = "payload",
   .type = input_type::json,
   .is_required = true,
   .range = at_most(limits::payload_bytes_max)},
  // Load scripts of codeQ send 10.
  {.name = "priority",
   .type = input_type::integer,
   .range = {0, limits::priority_max},
   .tolerated = input_range{0, limits::priority_max + 1}},
  {.name = "webhook", .refusal = "invalid webhook url"},
  {.name = "maxAttempts",
   .type = input_type::integer,
   .zero_is_unset = true,
   .range = {1, limits::attempts_max}},
  {.name = "idempotencyKey", .range = at_most(limits::key_bytes_max)},
  {.name = "key", .same_as = "idempotencyKey", .range = at_most(limits::key_bytes_max)},
  {.name = "runAt", .type = input_type::time, .refusal = "invalid 'runAt' (use RFC3339)"},
  {.name = "notBefore",
   .type = input_type::time,
   .same_as = "runAt",
   .refusal = "invalid 'notBefore' (use RFC3339)"},
  {.name = "delaySeconds",
   .type = input_type::seconds,
   .range = seconds_in(duration{0}, ahead_max),
   .refusal = "invalid 'delaySeconds' (must be >= 0)"},
  {.name = "delay",
   .type = input_type::period,
   .same_as = "delaySeconds",
   .range = milliseconds_in(duration{0}, ahead_max),
   .refusal = "invalid 'delay'"},
  {.name = "delayMs",
   .type = input_type::milliseconds,
   .same_as = "delaySeconds",
   .range = milliseconds_in(duration{0}, ahead_max),
   .refusal = "invalid 'delayMs'"},
  {.name = "group", .range = at_most(limits::group_bytes_max)},
  {.name = "onDuplicate", .type = input_type::choice, .choices = base::duplicate_names},
  {.name = "allowPromotion", .type = input_type::flag},
  {.name = "replacePayload", .type = input_type::flag},
  {.name = "headers", .type = input_type::text_map, .range = at_most(limits::headers_bytes_max)},
  {.name = "fairnessKey", .range = at_most(limits::fairness_key_bytes_max)},
  {.name = "fairnessWeight",
   .type = input_type::integer,
   .range = {1, limits::fairness_weight_max}},
  {.name = "limits",
   .type = input_type::objects,
   .range = at_most(limits::task_limits_max),
   .members = task_limit_fields},
  lease_seconds_field,
  lease_field,
  lease_ms_field,
  retry_field,
  run_timeout_field,
  progress_timeout_field,
  retention_field,
  dead_retention_field,
  on_dead_field,
});

/// A task that a completion adds: a task without a webhook.
inline constexpr auto follow_up_fields = [] {
  std::array<input_field, task_fields.size() - 1> all{};
  std::copy_if(task_fields.begin(), task_fields.end(), all.begin(), [](const input_field& field) {
    return field.name != "webhook";
  });
  return all;
}();

inline constexpr auto breaker_fields = std::to_array<input_field>({
  {.name = "percent", .type = input_type::integer, .range = {0, limits::breaker_percent_max}},
  {.name = "windowMs",
   .type = input_type::milliseconds,
   .range = milliseconds_in(limits::breaker_window_min, limits::breaker_window_max)},
});

inline constexpr auto fairness_weight_fields = std::to_array<input_field>({
  {.name = "fairnessKey", .takes_empty = true, .range = at_most(limits::fairness_key_bytes_max)},
  {.name = "fairnessWeight",
   .type = input_type::integer,
   .is_required = true,
   .range = {0, limits::fairness_weight_max}},
});

/// The settings of a queue that a request changes. Unlike in a task, 0 is no default here.
inline constexpr auto settings_fields = std::to_array<input_field>({
  {.name = "maxAttempts", .type = input_type::integer, .range = {1, limits::attempts_max}},
  {.name = "leaseSeconds", .type = input_type::seconds, .range = lease_seconds_range},
  lease_field,
  lease_ms_field,
  retry_field,
  run_timeout_field,
  progress_timeout_field,
  retention_field,
  dead_retention_field,
  on_dead_field,
  {.name = "maxDepth", .type = input_type::integer, .range = {0, limits::queue_maximum_max}},
  {.name = "maxLeased", .type = input_type::integer, .range = {0, limits::queue_maximum_max}},
  {.name = "keepPayload", .type = input_type::flag},
  {.name = "quarantineAfter",
   .type = input_type::integer,
   .range = {0, limits::quarantine_after_max}},
  {.name = "pauseWhenFailing", .type = input_type::object, .members = breaker_fields},
  {.name = "limits",
   .type = input_type::objects,
   .range = at_most(limits::task_limits_max),
   .members = queue_limit_fields},
  {.name = "fairnessHeader",
   .takes_empty = true,
   .range = at_most(limits::fairness_key_bytes_max)},
  {.name = "fairnessWeights",
   .type = input_type::objects,
   .range = at_most(limits::fairness_weights_max),
   .members = fairness_weight_fields},
});

} // namespace codeq::http
