// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/routes/router.hpp"

#include <string>

/// Lists of tasks, and the answer to a change of one.
namespace codeq::http {

/// Answers with a page of the caller's tasks, newest first, `{"tasks":[...],"after":"..."}`: as
/// many as the query's `limit`, of its `queue`, of the state with that name (empty is any), behind
/// the place that its `after` names. `after` is missing on the last page.
void list_newest(gateway_context& context, const exchange_ptr& call, const std::string& state);

/// Changes a task and answers with what it came to.
void change_task(
  gateway_context& context,
  const exchange_ptr& call,
  const client::task_address& task,
  task_change what);

/// `{"id","outcome","state"}`; a task that is not there is 404.
void answer_change(const exchange_ptr& call, const result<change_outcome>& outcome);

} // namespace codeq::http
