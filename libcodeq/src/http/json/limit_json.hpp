// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/queue.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"
#include "codeq/task_limits.hpp"

#include "base/json_writer.hpp"
#include "http/json/input.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

/// How limits look on this surface.
namespace codeq::http {

/// A limit that a task names.
inline constexpr auto task_limit_fields = std::to_array<input_field>({
  {.name = "name", .type = input_type::queue, .is_required = true},
  {.name = "key", .range = at_most(limits::limit_key_bytes_max)},
  {.name = "cost", .type = input_type::integer, .range = {1, limits::limit_cost_max}},
});

/// A limit that a queue gives to its tasks.
inline constexpr auto queue_limit_fields = std::to_array<input_field>({
  {.name = "name", .type = input_type::queue, .is_required = true},
  {.name = "key", .range = at_most(limits::limit_key_bytes_max)},
  {.name = "header", .is_never_empty = true, .range = {1, limits::limit_key_bytes_max}},
  {.name = "cost", .type = input_type::integer, .range = {1, limits::limit_cost_max}},
});

/// The actual cost of an attempt for a limit of its task.
inline constexpr auto cost_fields = std::to_array<input_field>({
  {.name = "name", .type = input_type::queue, .is_required = true},
  {.name = "cost",
   .type = input_type::integer,
   .is_required = true,
   .range = {0, limits::limit_cost_settled_max}},
});

inline constexpr input_field costs_field{
  .name = "costs",
  .type = input_type::objects,
  .range = at_most(limits::task_limits_max),
  .members = cost_fields};

/// Rates take whole seconds, a period such as `90s`, or milliseconds.
inline constexpr auto rate_fields = std::to_array<input_field>({
  {.name = "count",
   .type = input_type::integer,
   .is_required = true,
   .range = {1, limits::limit_rate_count_max}},
  {.name = "perSeconds",
   .type = input_type::seconds,
   .is_required = true,
   .range = seconds_in(std::chrono::seconds(1), limits::limit_rate_period_max)},
  {.name = "per",
   .type = input_type::period,
   .same_as = "perSeconds",
   .range = milliseconds_in(limits::limit_rate_period_min, limits::limit_rate_period_max)},
  {.name = "perMs",
   .type = input_type::milliseconds,
   .same_as = "perSeconds",
   .range = milliseconds_in(limits::limit_rate_period_min, limits::limit_rate_period_max)},
  {.name = "burst", .type = input_type::integer, .range = {1, limits::limit_rate_count_max}},
});

/// The definition of a limit.
inline constexpr auto limit_fields = std::to_array<input_field>({
  {.name = "concurrency",
   .type = input_type::integer,
   .range = {0, limits::limit_concurrency_max}},
  {.name = "rate",
   .type = input_type::object,
   .takes_all_names = true,
   .members = rate_fields},
});

/// How long a key is closed.
inline constexpr auto close_fields = std::to_array<input_field>({
  {.name = "seconds",
   .type = input_type::seconds,
   .is_required = true,
   .range = seconds_in(std::chrono::seconds(1), limits::limit_closed_max)},
  {.name = "for",
   .type = input_type::period,
   .same_as = "seconds",
   .range = milliseconds_in(duration{1}, limits::limit_closed_max)},
});

/// The values of `limit_fields`. Errors: `invalid_argument` when the limit would limit nothing.
[[nodiscard]] result<limit_definition> make_limit(const input& from);

/// The limits in a field whose elements have `task_limit_fields`.
[[nodiscard]] std::vector<task_limit> make_task_limits(const std::vector<input>& from);

/// The limits in a field whose elements have `queue_limit_fields`.
[[nodiscard]] std::vector<queue_limit> make_queue_limits(const std::vector<input>& from);

/// Refuses a limit that is named twice, or has both a key and a header. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_queue_limits(const std::vector<queue_limit>& all);

/// Refuses a limit that the field `field` names twice. Errors: `invalid_argument`.
[[nodiscard]] result<void>
check_task_limits(const std::vector<task_limit>& all, std::string_view field = "limits");

/// The actual costs in `costs_field`. Errors: `invalid_argument` for a limit that is named twice.
[[nodiscard]] result<std::vector<task_limit>> read_costs(const input& from);

/// Refuses a limit that the task does not have, or a key that is not the task's for it; empty ones
/// are not checked. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_limit_meant(
  const std::vector<task_limit>& all, const std::string& name, const std::string& key);

/// Writes the member `limits`; nothing for a task that has none.
void write_task_limits(base::json_writer& json, const std::vector<task_limit>& all);

/// Writes the member `limits`, empty for a queue that gives none.
void write_queue_limits(base::json_writer& json, const std::vector<queue_limit>& all);

void write_limit(base::json_writer& json, const limit_info& info);

/// A next start that is past is shown as `now`, in shard time.
void write_limit_key(base::json_writer& json, const limit_key_info& info, timestamp now);
void write_limit_keys(base::json_writer& json, const limit_keys_page& page, timestamp now);

/// Writes why the tasks of a queue wait.
void write_explanation(base::json_writer& json, const queue_explanation& why, timestamp now);

} // namespace codeq::http
