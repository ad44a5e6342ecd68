// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "http/wakeups/subscription.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::http {

/// One call that is due.
struct wakeup {
  subscription to;
  std::string queue;
  std::uint64_t ready = 0;
};

/// For each tenant, its queues that have ready tasks, and how many.
using ready_queues = std::map<std::string, std::map<std::string, std::uint64_t>>;

/// The subscriptions of all tenants, and who of them is to be woken; pure. Used from one thread.
class subscription_list {
public:
  /// Adds a subscription, or replaces the one with its id. `record` is the task that stores it.
  void put(const subscription& s, task_id record);

  void remove(const std::string& id);

  /// Null when there is none with that id.
  [[nodiscard]] const subscription* find(const std::string& id) const;

  [[nodiscard]] task_id record_of(const std::string& id) const { return all_.at(id).record; }

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

  /// The tenants that have subscriptions.
  [[nodiscard]] std::set<std::string> tenants() const;

  /// Tenant and subject of those who subscribed.
  [[nodiscard]] std::set<std::pair<std::string, std::string>> owners() const;

  /// The ids of their subscriptions.
  [[nodiscard]] std::vector<std::string>
  of_owner(const std::string& tenant, const std::string& subject) const;

  /// The ids of those whose records are on the shard.
  [[nodiscard]] std::vector<std::string> of_shard(shard_id shard) const;

  /// The ids of those that have expired.
  [[nodiscard]] std::vector<std::string> expired(timestamp now) const;

  /// Whether a subscriber may be woken for the queue.
  using may_wake_function = std::function<bool(const subscription&, const std::string& queue)>;

  /// Who is to be woken now, and for which queue. A subscriber, or a group of mode `group`, is
  /// woken for one of its ready queues at a time, in turn, and at most once per interval. One that
  /// may not be woken takes the place of no other.
  [[nodiscard]] std::vector<wakeup>
  take_due(const ready_queues& ready, monotonic_time now, const may_wake_function& may_wake);

private:
  /// Who is woken together: one subscriber, or a group.
  struct turn {
    std::optional<monotonic_time> told{};
    std::string queue{};
  };

  struct entry {
    subscription what;
    task_id record;
    turn last{};
  };

  using group_name = std::pair<std::string, std::string>;
  using queue_counts = std::map<std::string, std::uint64_t>;

  /// The ready queues of each subscriber of a hash group, by its id.
  using owned_queues = std::map<std::string, queue_counts>;

  /// One call of `take_due`.
  struct look {
    monotonic_time now;
    const may_wake_function& may_wake;

    [[nodiscard]] bool wakes(const subscription& s, const std::string& queue) const {
      return s.wants(queue) && may_wake(s, queue);
    }
  };

  [[nodiscard]] static std::optional<wakeup>
  wake_one(entry& e, const queue_counts& ready, const look& by);
  [[nodiscard]] std::optional<wakeup>
  wake_group(const group_name& name, const queue_counts& ready, const look& by);
  [[nodiscard]] entry*
  next_of(const group_name& name, const std::string& queue, const look& by);
  [[nodiscard]] const std::string* chosen_by_hash(
    const std::set<std::string>& members, const std::string& queue, const look& by) const;

  /// Divides the ready queues over the members. Linear in the product of both.
  [[nodiscard]] owned_queues divide(
    const std::set<std::string>& members, const queue_counts& ready, const look& by) const;

  void take_due_of_hash(const ready_queues& ready, const look& by, std::vector<wakeup>& due);

  /// By id.
  std::map<std::string, entry> all_;
  /// The ids of the members of each group of a tenant, of either mode.
  std::map<group_name, std::set<std::string>> groups_;
  std::map<group_name, turn> group_turns_;
};

} // namespace codeq::http
