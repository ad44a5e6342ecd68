// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "http/server/caller.hpp"
#include "http/server/gateway_limits.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::http {

/// A lease that a claim answered.
struct answered_lease {
  task_id task;
  fencing_token token{};
  std::string queue;
  std::shared_ptr<const caller> holder;
};

/// The leases that claims answered last, so that a report needs no question about its task. Only
/// the shard knows whether a lease is still valid. Each lease has one place, which it shares with
/// others: a newer one takes it. Used by the gateway's actor.
class recent_leases {
public:
  void note(answered_lease lease);

  /// Takes out the lease of the task that `by` holds; empty when none is known.
  [[nodiscard]] std::optional<answered_lease> take(const task_id& task, const caller& by);

private:
  [[nodiscard]] answered_lease& place_of(const task_id& task);

  std::vector<answered_lease> places_{limits::http_recent_leases_max};
};

} // namespace codeq::http
