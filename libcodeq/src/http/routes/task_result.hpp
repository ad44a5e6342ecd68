// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/json/task_fields.hpp"
#include "http/routes/router.hpp"

#include <array>
#include <functional>
#include <string>

/// How a worker's reports find their lease, and what becomes of results.
namespace codeq::http {

inline constexpr auto result_names = std::to_array<std::string_view>({"COMPLETED", "FAILED"});

inline constexpr auto artifact_fields = std::to_array<input_field>({
  {.name = "name",
   .is_required = true,
   .range = {.least = 1},
   .refusal = "artifact name is required"},
  {.name = "url"},
  {.name = "contentBase64"},
  {.name = "contentType"},
});

/// How an attempt ended. The worker is the caller, whatever `workerId` says, as with codeQ.
inline constexpr auto result_fields = std::to_array<input_field>({
  {.name = "status",
   .type = input_type::choice,
   .is_required = true,
   .choices = result_names,
   .refusal = "invalid status"},
  {.name = "result", .type = input_type::json, .range = at_most(limits::result_bytes_max)},
  {.name = "error", .range = at_most(limits::error_text_bytes_max)},
  {.name = "permanent", .type = input_type::flag},
  {.name = "artifacts",
   .type = input_type::objects,
   .range = at_most(limits::http_artifacts_max),
   .members = artifact_fields},
  {.name = "workerId"},
  {.name = "followUps",
   .type = input_type::objects,
   .range = at_most(limits::follow_ups_max),
   .members = follow_up_fields},
  costs_field,
  token_field,
});

/// The lease that a worker means.
struct lease_wish {
  /// Empty: the latest that the worker was granted of this task.
  std::optional<fencing_token> token;
};

/// Reads `fencingToken`. Errors: `invalid_argument` for one that is none, or when one is needed.
[[nodiscard]] result<lease_wish> lease_meant(const input& body, bool needs_token);

/// The token to report with. Errors: `stale_lease` when the task is not leased, `unauthorized`
/// (`not-owner`) when it is leased to somebody else.
[[nodiscard]] result<fencing_token>
token_of(const task_detail& task, const lease_wish& wish, const caller& by);

/// Ends the caller's attempt as the body, of `result_fields`, says. Errors: `unknown_task`,
/// `unauthorized`, `stale_lease`, or what is wrong with the body.
void submit_result(
  gateway_context& context,
  const exchange_ptr& call,
  const std::string& id,
  const input& body,
  std::function<void(result<result_record>)> done);

} // namespace codeq::http
