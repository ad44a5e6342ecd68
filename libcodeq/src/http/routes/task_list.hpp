// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/json/task_fields.hpp"
#include "http/routes/router.hpp"

#include <array>
#include <optional>

/// Lists of tasks, and the answer to a change of one.
namespace codeq::http {

inline constexpr input_field after_field{.name = "after"};
inline constexpr input_field limit_field{
  .name = "limit", .type = input_type::integer, .range = {1, limits::http_listed_tasks_max}};

/// What the query of a list may have.
inline constexpr auto page_parameters =
  std::to_array<input_field>({queue_filter_field, command_filter_field, limit_field, after_field});

/// Answers with a page of the caller's tasks, newest first, `{"tasks":[...],"after":"..."}`, as the
/// query's `page_parameters` say, of one state or of all. `after` is missing on the last page.
void list_newest(
  gateway_context& context, const exchange_ptr& call, std::optional<task_state> state);

/// Changes a task and answers with what it came to.
void change_task(
  gateway_context& context,
  const exchange_ptr& call,
  const client::task_address& task,
  task_change what);

/// `{"id","outcome","status","state"}`; a task that is not there is 404.
void answer_change(const exchange_ptr& call, const result<change_outcome>& outcome);

} // namespace codeq::http
