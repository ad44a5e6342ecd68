// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/json/task_fields.hpp"
#include "http/routes/router.hpp"


/// Lists of tasks, and the answer to a change of one.
namespace codeq::http {

inline constexpr input_field after_field{.name = "after"};
inline constexpr input_field limit_field{
  .name = "limit", .type = input_type::integer, .range = {1, limits::http_listed_tasks_max}};

/// In the order of `list_order`.
inline constexpr auto order_names = std::to_array<std::string_view>({"oldest", "newest"});
inline constexpr input_field order_field{
  .name = "order", .type = input_type::choice, .choices = order_names};

inline constexpr input_field group_filter_field{
  .name = "group", .range = at_most(limits::group_bytes_max)};

/// A part of the latest error text.
inline constexpr input_field error_filter_field{
  .name = "error", .range = at_most(limits::error_text_bytes_max)};

/// How long ago a task died.
inline constexpr input_field older_field{
  .name = "olderThan",
  .type = input_type::period,
  .range = milliseconds_in(duration{0}, limits::not_before_ahead_max)};
inline constexpr input_field newer_field{
  .name = "newerThan",
  .type = input_type::period,
  .range = milliseconds_in(duration{0}, limits::not_before_ahead_max)};

/// Answers with a page of the caller's tasks, `{"tasks":[...],"after":"...","partial":true}`, as
/// the query's `queue`, `order`, `limit` and `after` say; the newest come first by default. `after`
/// is missing on the last page; `partial` marks a page that ended early, because it examined as
/// many records as it may. The filter's queue and tenant are the query's and the caller's.
void list_page(gateway_context& context, const exchange_ptr& call, task_filter filter);

/// The queue that a list or a summary is about. Errors: `unauthorized`.
[[nodiscard]] result<std::string> queue_listed(const caller& by, const std::string& queue);

/// Refuses `all` beside a filter, and when `is_loss` is set a change with neither, which would be
/// one of all tasks. Errors: `invalid_argument`. @pre the body has `all_field`
[[nodiscard]] result<void> check_whole(const input& body, bool has_filter, bool is_loss);

/// Changes a task and answers with what it came to.
void change_task(
  gateway_context& context,
  const exchange_ptr& call,
  const client::task_address& task,
  task_change what);

/// Why a task is not changed; empty when it is, or when there is no such task.
[[nodiscard]] std::string outcome_text(const change_outcome& outcome);

/// `{"id","outcome","status","state"}`, and a `message` unless it was changed; a task that is not
/// there is 404.
void answer_change(const exchange_ptr& call, const result<change_outcome>& outcome);

} // namespace codeq::http
