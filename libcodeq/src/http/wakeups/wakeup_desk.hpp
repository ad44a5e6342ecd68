// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/coordinator_counts.hpp"
#include "base/fair_share.hpp"
#include "http/desk/record_walk.hpp"
#include "http/desk/record_wishes.hpp"
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
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::http {

/// Calls subscribers when queues of theirs have ready tasks. While there are subscriptions, it
/// looks at the counts of the queues once per `limits::wakeup_round`; a call that fails is not
/// repeated, since the next one comes as long as tasks are ready. Each subscription is stored as a
/// task, its record, in a tenant of its own, so that it survives a restart. In a cluster a
/// subscription belongs to the coordinator that serves the shard of its record, and moves with it;
/// the others pass changes on to that one. The gateway's actor owns the desk.
class wakeup_desk {
public:
  /// The answers to a change of a subscription.
  struct change_events {
    /// The change is as it is stored, and durable.
    shard_desk::then<subscription> ended;
    /// The change is being stored or passed on, which may be given up.
    std::function<void(const enqueue_ticket&)> began = [](const enqueue_ticket&) {};
  };

  /// Which tokens subscribers may have.
  struct token_rules {
    find_callers callers_of{};
    /// A subject without a token in the token file may be that of a JWT, whose subscriptions end by
    /// their time only. It is none if it had a token there a `limits::wakeup_round` ago.
    bool accepts_jwts = false;
  };

  /// Reads the stored subscriptions. `post` tells the actor, which calls `answered`, that a call
  /// has ended. A subscription ends when its subject has no token in the token file any more.
  void start(
    shard_desk& desk,
    webhook_options options,
    token_rules tokens,
    std::function<void(std::uint64_t number)> post);

  void stop() {
    stopped_ = true;
    walk_.stop();
    wishes_.stop();
  }

  /// Makes a subscription, at this coordinator if it serves a shard; its id and when it expires are
  /// chosen here. Errors: `invalid_argument` for a URL that cannot be called; `overloaded` for a
  /// subscription too many; those of an enqueue; `timeout` when another coordinator does not
  /// answer.
  void subscribe(subscription s, change_events events);

  /// Renews the subscription with that id, tenant and subject for `ttl`, or as before if that is
  /// zero. Errors: `unknown_task`, also when it has expired; `overloaded` while the stored ones are
  /// being read; those of a read and an enqueue; `timeout` when the coordinator that has it does
  /// not answer.
  void renew(const subscription& s, change_events events);

  /// A call has ended.
  void answered(std::uint64_t number);

private:
  [[nodiscard]] bool is_own(const subscription& s) const;
  [[nodiscard]] std::string new_id(const std::string& tenant) const;
  [[nodiscard]] result<void> check_url(const std::string& url) const;
  /// Refuses a subscription too many.
  [[nodiscard]] result<void> check_room(const subscription& fresh) const;
  /// Refuses to renew `stored` when it has expired, or is another subject's than `wished`.
  [[nodiscard]] result<void>
  check_renewal(const subscription& stored, const subscription& wished) const;
  /// The stored subscription, renewed.
  [[nodiscard]] result<subscription> renewed(const subscription& wished) const;
  [[nodiscard]] result<subscription> find_own(const subscription& wished) const;

  void change(const subscription_wish& wish, change_events events);
  void change_own(const subscription_wish& wish, change_events events);
  void put(const subscription& s, change_events events);
  /// Has the coordinator change it that has the shard of its record.
  void pass_on(const subscription_wish& wish, change_events events);
  /// Carries out the wish of another coordinator.
  void grant(const std::string& text, shard_desk::then<std::string> done);

  void read_record(task_id record, const std::string& tenant);
  void leave(shard_id shard);
  void take_up(const subscription& s, task_id record);
  void arm();
  void look();
  void drop_expired();
  void drop(const std::string& id);

  /// Drops the subscriptions of subjects whose tokens were revoked.
  void drop_revoked();

  void close(task_id record);
  void wake(const base::coordinator_counts& stats);

  /// Calls that are due for one queue.
  using calls = std::shared_ptr<const std::vector<wakeup>>;

  /// Finds the queue's oldest ready task from that shard on, then makes the calls.
  void find_oldest(const calls& due, std::uint16_t shard, std::optional<timestamp> oldest);
  void call(const wakeup& w, std::optional<timestamp> oldest);

  shard_desk* desk_ = nullptr;
  webhook_options options_;
  token_rules tokens_;
  /// The owners that had a token in the token file at the last look.
  std::set<std::pair<std::string, std::string>> listed_;
  std::function<void(std::uint64_t)> post_;
  subscription_list list_;
  /// The tenants' shares of the places for subscriptions and of the simultaneous calls.
  base::fair_share places_{limits::subscriptions_max};
  base::fair_share flights_{limits::webhook_flights_max};
  /// The tenants whose calls are under way.
  std::map<std::uint64_t, std::string> calls_;
  std::uint64_t last_number_ = 0;
  record_walk walk_;
  record_wishes wishes_;
  bool armed_ = false;
  bool stopped_ = false;
};

} // namespace codeq::http
