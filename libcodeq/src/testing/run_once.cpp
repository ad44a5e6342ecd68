// SPDX-License-Identifier: Apache-2.0
#include "protocol/task_validation.hpp"
#include "testing/said_runtime.hpp"
#include "worker/handlers/call_handler.hpp"
#include "worker/host/handler_set.hpp"
#include "worker/node/report.hpp"

#include <stdexcept>
#include <utility>
#include <variant>

namespace codeq::testing {

namespace {

/// The outcome, or what a worker makes of it when the coordinator would not accept it.
outcome as_reported(outcome answer) {
  auto made = worker::make_report({}, {}, answer);
  if (made.what == answer.what())
    return answer;
  return made.what == disposition::failed ? outcome::failed(std::move(made.text))
                                          : outcome::failed_permanently(std::move(made.text));
}

} // namespace

run_result
run_once(const handler_function& function, const task_spec& spec, const attempt_options& options) {
  task attempt;
  attempt.id = {shard_id{0}, 1};
  attempt.tenant = protocol::tenant_of(spec);
  attempt.queue = spec.queue;
  attempt.key = spec.key;
  attempt.group = spec.group;
  attempt.priority = spec.priority;
  attempt.attempt = options.attempt;
  attempt.max_attempts = spec.max_attempts.value_or(limits::attempts_default);
  attempt.token = options.token;
  attempt.lease = spec.lease.value_or(limits::lease_default);
  attempt.enqueued_at = options.enqueued_at;
  attempt.payload = spec.payload;
  attempt.checkpoint = options.checkpoint;
  attempt.headers = spec.headers;
  attempt.cancel = std::make_shared<cancellation>();
  auto runtime =
    std::make_shared<said_runtime>(said_runtime::hearer{[left = attempt.lease] { return left; }});
  attempt.runtime = runtime;
  if (options.cancelled)
    attempt.cancel->request();
  auto ended = as_reported(worker::call_handler(function, attempt));
  return {std::move(ended), runtime->said()};
}

run_result
run_once(const handler_registry& handlers, const task_spec& spec, const attempt_options& options) {
  auto all = worker::handler_set::load({handlers, {}, {}, {}});
  auto handler = all ? all->handler_of(spec.queue) : all.error();
  if (!handler)
    throw std::invalid_argument("run_once: " + handler.error().context);
  if (const auto* function = std::get_if<handler_function>(&handler->handler))
    return run_once(*function, spec, options);
  throw std::invalid_argument(
    "run_once: queue `" + spec.queue + "` is not handled by a function, its kind is "
    + std::string(all->kind_of(*handler)) + "; use a testbed");
}

} // namespace codeq::testing
