// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/json/json_reader.hpp"
#include "http/routes/router.hpp"

#include <functional>
#include <string>

/// How a worker's reports find their lease, and what becomes of results.
namespace codeq::http {

/// The lease that a worker means.
struct lease_wish {
  /// Empty: the latest that the worker was granted of this task.
  std::optional<fencing_token> token;
};

/// Reads `fencingToken`. Errors: `invalid_argument` for one that is none, or when one is needed.
[[nodiscard]] result<lease_wish> lease_meant(json_object& body, bool needs_token);

/// The token to report with. Errors: `stale_lease` when the task is not leased, `unauthorized`
/// (`not-owner`) when it is leased to somebody else.
[[nodiscard]] result<fencing_token>
token_of(const task_detail& task, const lease_wish& wish, const caller& by);

/// Ends the caller's attempt as the body says. Errors: `unknown_task`, `unauthorized`,
/// `stale_lease`, or what is wrong with the body.
void submit_result(
  gateway_context& context,
  const exchange_ptr& call,
  const std::string& id,
  json_object& body,
  std::function<void(result<result_record>)> done);

} // namespace codeq::http
