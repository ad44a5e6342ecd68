// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/coordinator_counts.hpp"
#include "base/fair_share.hpp"
#include "http/desk/record_walk.hpp"
#include "http/desk/shard_desk.hpp"
#include "http/server/caller.hpp"
#include "http/server/gateway_limits.hpp"
#include "http/wakeups/subscription_list.hpp"
#include "http/webhooks/webhook_options.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::http {

/// Calls subscribers when queues of theirs have ready tasks. While there are subscriptions, it
/// looks at the counts of the queues once per `limits::wakeup_round`; a call that fails is not
/// repeated, since the next one comes as long as tasks are ready. Each subscription is stored as a
/// task, its record, in a tenant of its own, so that it survives a restart. In a cluster a
/// subscription belongs to the coordinator that serves the shard of its record, and moves with it.
/// The gateway's actor owns the desk.
class wakeup_desk {
public:
  /// Reads the stored subscriptions. `post` tells the actor, which calls `answered`, that a call
  /// has ended. A subscription ends with the last token of its subject.
  void start(
    shard_desk& desk,
    webhook_options options,
    find_callers callers_of,
    std::function<void(std::uint64_t number)> post);

  void stop() {
    stopped_ = true;
    walk_.stop();
  }

  /// Refuses a URL that cannot be called, or a subscription too many. Errors: `invalid_argument`,
  /// `overloaded`; `not_owner` when this coordinator serves no shard.
  [[nodiscard]] result<void> check(const std::string& tenant, const std::string& url) const;

  /// Stores a new subscription, or one that was renewed, and calls `done` when that is durable.
  /// Errors: the errors of the enqueue, which the returned ticket names.
  enqueue_ticket put(const subscription& s, std::function<void(result<void>)> done);

  /// An id for a new subscription, which belongs to this coordinator. @pre it serves a shard
  [[nodiscard]] std::string new_id(const std::string& tenant) const;

  /// The tenant's subscription with that id. Errors: `unknown_task`; `not_owner`, with the
  /// coordinator that has it, if it exists; `overloaded` while the stored ones are being read.
  [[nodiscard]] result<subscription>
  find(const std::string& tenant, const std::string& id) const;

  /// A call has ended.
  void answered(std::uint64_t number);

private:
  void read_record(task_id record, const std::string& tenant);
  void leave(shard_id shard);
  void take_up(const subscription& s, task_id record);
  void arm();
  void look();
  void drop_expired();
  void drop(const std::string& id);

  /// Drops the subscriptions of subjects whose tokens were revoked.
  void drop_revoked();

  /// True when a token of the subscriber allows to claim from the queue.
  [[nodiscard]] bool may_claim(const subscription& s, const std::string& queue) const;
  void close(task_id record);
  void wake(const base::coordinator_counts& stats);

  /// Calls that are due for one queue.
  using calls = std::shared_ptr<const std::vector<wakeup>>;

  /// Finds the queue's oldest ready task from that shard on, then makes the calls.
  void find_oldest(const calls& due, std::uint16_t shard, std::optional<timestamp> oldest);
  void call(const wakeup& w, std::optional<timestamp> oldest);

  shard_desk* desk_ = nullptr;
  webhook_options options_;
  find_callers callers_of_;
  std::function<void(std::uint64_t)> post_;
  subscription_list list_;
  /// The tenants' shares of the places for subscriptions and of the simultaneous calls.
  base::fair_share places_{limits::subscriptions_max};
  base::fair_share flights_{limits::webhook_flights_max};
  /// The tenants whose calls are under way.
  std::map<std::uint64_t, std::string> calls_;
  std::uint64_t last_number_ = 0;
  record_walk walk_;
  bool armed_ = false;
  bool stopped_ = false;
};

} // namespace codeq::http
