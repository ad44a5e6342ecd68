// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/routes/router.hpp"

#include <string>
#include <vector>

/// Changes of many tasks, one part after the other.
namespace codeq::http {

/// Selects the tasks to change and limits the speed.
struct bulk_wish {
  /// An empty queue name selects every queue of the tenant.
  queue_address of;
  /// The largest number of tasks to change; 0 changes all.
  std::uint64_t limit = 0;
  /// The largest number of tasks per second; 0 does not limit the rate.
  std::uint64_t rate = 0;
};

/// Applies one change to all selected tasks, one shard after the other, and answers
/// `{"changed":n}`. When the client goes away, the walk ends after the current part.
void change_all(
  gateway_context& context, const exchange_ptr& call, core::bulk_kind what, const bulk_wish& wish);

/// Changes these tasks of the caller, and answers `{"changed":n,"results":[{"id","outcome"}]}`.
void change_each(
  gateway_context& context,
  const exchange_ptr& call,
  const std::vector<std::string>& ids,
  task_change what);

} // namespace codeq::http
