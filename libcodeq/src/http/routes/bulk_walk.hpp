// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/routes/router.hpp"

#include <string>
#include <vector>

/// Changes of many tasks, a part at a time.
namespace codeq::http {

/// Which tasks to change, and how fast.
struct bulk_wish {
  /// An empty queue is every queue of the tenant.
  queue_address of;
  /// Tasks at most; 0 is all.
  std::uint64_t limit = 0;
  /// Tasks per second at most; 0 is as fast as it goes.
  std::uint64_t rate = 0;
};

/// Does the same to all tasks that are picked, one shard after the other, and answers
/// `{"changed":n}`. When the client goes away, what was begun ends with the part at hand.
void change_all(
  gateway_context& context, const exchange_ptr& call, core::bulk_kind what, const bulk_wish& wish);

/// Changes these tasks of the caller, and answers `{"changed":n,"results":[{"id","outcome"}]}`.
void change_each(
  gateway_context& context,
  const exchange_ptr& call,
  const std::vector<std::string>& ids,
  task_change what);

} // namespace codeq::http
