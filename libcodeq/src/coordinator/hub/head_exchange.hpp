// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "base/fair_share.hpp"
#include "coordinator/replica/head_news.hpp"

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace codeq::coordinator {

/// The coordinators of a cluster tell each other about their first ready tasks, so that priority
/// and age hold over all of them, approximately. A coordinator tells of a queue the task that has
/// come first for `steady_looks` ticks: no other coordinator has to wait for a task that is granted
/// soon. The tasks of a coordinator do not count once it has been silent for `silence_max`. Pure;
/// used by one thread. A tick takes time for the queues that have changed only.
class head_exchange {
public:
  /// The time between ticks. So long other coordinators wait for the tasks of a priority after they
  /// have been granted.
  static constexpr duration interval{10};

  /// Others know of a task within 80 ms.
  static constexpr std::size_t steady_looks = 7;

  /// Ages are told when they have changed by as much.
  static constexpr duration age_step{1000};

  static constexpr duration silence_max{400};
  /// The tasks of a coordinator that was silent for so long are forgotten. It cannot be connected
  /// any more if it has told of tasks, and tells all of them again when it connects.
  static constexpr duration forgotten_after{3'600'000};

  /// A coordinator that has told of a task is not silent for longer than so many ticks.
  static constexpr std::size_t silent_ticks_max = 10;

  /// Number of queues of which a coordinator tells, shared by tenants. Of others only its own
  /// shards know.
  static constexpr std::size_t queues_max = 4096;

  /// Shards have numbers below `shards`.
  explicit head_exchange(std::size_t shards) : shards_(shards) {}

  // The tasks of this coordinator.

  /// The first task on the shards here has changed.
  void show(const queue_head& now);

  /// Looks at what has changed. Returns what to tell all other coordinators; empty: nothing.
  [[nodiscard]] std::optional<head_news> tick();

  /// The news for a coordinator to which there is a new connection, in parts.
  [[nodiscard]] std::vector<head_news> all() const;

  // The tasks of other coordinators.

  /// The coordinator has told something.
  void hear(const std::string& node, const head_news& news, monotonic_time now);

  /// The connection to the coordinator is lost: its tasks do not count until it tells again.
  void lose(const std::string& node);

  /// The tasks of coordinators that have been silent do not count until they tell again.
  void pass_over_silent(monotonic_time now);

  struct far_changes {
    /// The queues whose first task at the other coordinators has changed.
    std::vector<queue_head> heads{};
    /// Some of these tasks do not come before as many others as the ones before.
    bool frees_tasks = false;
  };

  /// The changes since the last call.
  [[nodiscard]] far_changes take_changes();

private:
  using head = std::optional<core::rival_head>;

  /// A queue with tasks here, or with some that were told.
  struct own_queue {
    head now{};
    /// The first tasks at the last ticks, the latest first.
    std::array<head, steady_looks - 1> before{};
    head told{};
    bool is_due = false;
  };

  struct other_node {
    monotonic_time heard_at{};
    /// Its tasks count. Otherwise they are kept, since the coordinator tells changes only.
    bool is_heard = false;
    std::map<queue_address, core::rival_head> heads{};
  };

  void look_at(const queue_address& queue, head_news& news);
  void look_later(const queue_address& queue, own_queue& at);
  /// Queues are looked at again whose tenant has a place now.
  void offer_places();
  /// False when the tenant has told of as many queues as it may.
  [[nodiscard]] bool take_place(const queue_address& queue, own_queue& at, const head& next);
  void set_far(other_node& node, const queue_head& told);
  /// Notes what is told of each queue of the node before that changes.
  void note_change(const other_node& node);
  void count(other_node& node, bool is_heard);
  [[nodiscard]] head best_of(const queue_address& queue) const;

  std::size_t shards_;
  std::map<queue_address, own_queue> own_;
  /// The queues to look at in the next ticks.
  std::deque<queue_address> due_;
  /// Queues whose tenant had no place.
  std::deque<queue_address> refused_;
  base::fair_share told_{queues_max};
  /// Ticks since the others heard something.
  std::size_t silent_ticks_ = 0;
  std::map<std::string, other_node> others_;
  /// The queues whose tasks at other coordinators have changed, with the first one before.
  std::map<queue_address, head> changed_;
};

} // namespace codeq::coordinator
