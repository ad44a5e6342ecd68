// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ctl/command.hpp"
#include "ctl/operator_api.hpp"

#include <cstdint>
#include <string>
#include <variant>

/// Tells a mistyped queue from one that is empty: no queue has to be declared, so commands find
/// nothing in a queue that never was.
namespace codeq::ctl {

/// True when the worker claims from the queue, by its name or by a prefix of it.
[[nodiscard]] bool serves(const worker_info& worker, const queue_address& queue);

/// That no queue has that name. `given` is the queue as the command names it: without a tenant,
/// other tenants are pointed out when `tenant` is the default one.
[[nodiscard]] error no_such_queue(const queue_address& given, const std::string& tenant);

/// Checks that the queue has tasks, records of ended ones, settings, or a worker that claims from
/// it. Asks the coordinator; what cannot be found out, for example for want of rights, counts as
/// known. Errors: `unknown_queue`.
[[nodiscard]] result<void> check_known(operator_api& api, const queue_address& queue);

// True when an answer about a queue has nothing in it.

[[nodiscard]] bool is_empty(const document& said);
[[nodiscard]] inline bool is_empty(std::uint64_t changed) { return changed == 0; }
[[nodiscard]] inline bool is_empty(const task_page& page) {
  return page.tasks.empty() && page.after.empty() && page.missing.empty();
}
[[nodiscard]] inline bool is_empty(const dead_summary& summary) { return summary.tasks == 0; }
[[nodiscard]] inline bool is_empty(const coordinator_stats& stats) {
  return stats.queues.empty() && stats.missing.empty() && stats.missing_unnamed == 0;
}
[[nodiscard]] inline bool is_empty(const queue_info& info) {
  return !info.exists && info.missing.empty();
}

/// As `show`, for a request about one queue, or about all when its name is empty: fails with
/// `unknown_queue` when nothing was found because there is no such queue.
template <class T, class ToJson, class ToText>
[[nodiscard]] int show_of(
  const context& with,
  const queue_address& queue,
  const answer<T>& got,
  const ToJson& to_json,
  const ToText& to_text) {
  auto is_nothing = [](const auto& found) { return is_empty(found); };
  if (got && !queue.queue.empty() && std::visit(is_nothing, *got))
    if (auto ok = check_known(with.api, queue); !ok)
      return fail(ok.error(), with.json);
  return show(with, got, to_json, to_text);
}

} // namespace codeq::ctl
