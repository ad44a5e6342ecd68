// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/limits.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Queues: their counts, their configuration, and their fairness keys.
namespace codeq {

/// Counts and limits of a queue, over all shards.
struct queue_stats {
  queue_address queue;
  std::uint64_t scheduled = 0;
  std::uint64_t gated = 0;
  std::uint64_t ready = 0;
  std::uint64_t leased = 0;
  /// Ends of tasks since the store was created.
  std::uint64_t completed = 0;
  std::uint64_t dead = 0;
  /// Leases that expired, since the store was created.
  std::uint64_t lost = 0;
  /// Tasks that were cancelled, since the store was created.
  std::uint64_t cancelled = 0;
  /// Dead tasks that are still stored.
  std::uint64_t dead_now = 0;
  /// The queue grants no leases.
  bool paused = false;
  /// Time since the oldest ready task was added, or since the end of its deferral; zero: none is
  /// ready.
  duration oldest_ready{0};
  /// Limits of the queue's settings; 0: unlimited.
  std::uint64_t max_depth = 0;
  std::uint64_t max_leased = 0;
  std::uint64_t held = 0; ///< Ready tasks that a limit holds back.
  /// `ready`, split by priority. A coordinator of an older version does not say it: its tasks are
  /// counted by `ready` only.
  std::array<std::uint64_t, limits::priority_max + 1> ready_by_priority{};
};

/// When a queue pauses itself because its attempts fail.
struct failure_breaker {
  /// The queue is paused when more than that part of the attempts that ended within `window`
  /// failed; 1..99, 0: never. Each shard counts its own attempts, at least
  /// `limits::breaker_attempts_min`; the first that decides so pauses the queue on all shards.
  std::uint32_t percent = 0;
  /// `limits::breaker_window_min` to `limits::breaker_window_max`.
  duration window{std::chrono::minutes(1)};

  friend bool operator==(const failure_breaker&, const failure_breaker&) = default;
};

/// A limit that a queue gives to those of its tasks that do not name it themselves.
struct queue_limit {
  /// Name of a limit of the queue's tenant.
  std::string name;
  /// Key of all of them, at most `limits::limit_key_bytes_max` bytes; empty when `header` is set.
  std::string key{};
  /// Number of starts that each of them counts as, 1 to `limits::limit_cost_max`.
  std::uint32_t cost = 1;
  /// Name of the header of a task whose value is the key, at most `limits::limit_key_bytes_max`
  /// bytes; a task without that header has the empty key. Empty: `key` is the key.
  std::string header{};

  friend bool operator==(const queue_limit&, const queue_limit&) = default;
};

/// New weights of fairness keys; 0 takes the weight of a key away. Those of other keys stay.
using weight_changes = std::map<std::string, std::uint32_t>;

/// Configuration of a queue: the defaults of its tasks, and its limits.
struct queue_config {
  /// Values for the fields that a producer leaves unset.
  task_settings defaults{};
  /// Maximum number of live tasks of the whole queue, at most `limits::queue_maximum_max`; 0:
  /// unlimited. An enqueue above it is refused with `queue_full`. Tasks of schedules and
  /// follow-ups, and redriven ones, are added above it.
  std::uint64_t max_depth = 0;
  /// Maximum number of leases of the whole queue, at most `limits::queue_maximum_max`; 0:
  /// unlimited. Lowering it revokes none.
  std::uint64_t max_leased = 0;
  /// Payloads of completed tasks are not kept yet: true is refused with `unsupported`.
  bool keep_payload = false;
  /// Number of started attempts lost in a row after which a task is dead, however many attempts it
  /// has left; 0: lost attempts count as failed ones only. At most `limits::quarantine_after_max`.
  std::uint32_t quarantine_after = 0;
  failure_breaker pause_when_failing{};
  /// Limits of its tasks from now on, at most `limits::task_limits_max`, each name once. A task
  /// that names one of them keeps its own key and cost, and has the others beside its own ones.
  std::vector<queue_limit> limits{};
  /// Name of the header whose value is the fairness key of those of its tasks from now on that give
  /// none themselves, at most `limits::fairness_key_bytes_max` bytes; empty: they have no key. A
  /// task whose header is longer than a fairness key is refused with `too_large`.
  std::string fairness_header{};
  /// Weights of fairness keys, 1..`limits::fairness_weight_max`, in place of those that their tasks
  /// give, and of keys without tasks. The weight of a key without a `/` is also that of its group.
  /// At most `limits::fairness_weights_max`. A key whose weight is taken away keeps it until its
  /// next task gives one; a group whose own key has no live tasks has weight 1 again.
  std::map<std::string, std::uint32_t> fairness_weights{};
  /// Set by codeq, for older coordinators: each shard's part of `max_leased`, rounded up.
  std::uint64_t max_leased_part = 0;
  /// The same of `max_depth`.
  std::uint64_t max_depth_part = 0;

  void change_weights(const weight_changes& changes) {
    for (const auto& [key, weight] : changes) {
      if (weight == 0)
        fairness_weights.erase(key);
      else
        fairness_weights[key] = weight;
    }
  }

  friend bool operator==(const queue_config&, const queue_config&) = default;
};

/// Configuration and state of a queue, over all shards.
struct queue_info {
  queue_address queue;
  /// Limits are the sums over the shards.
  queue_config config;
  /// The queue grants no leases; all other requests are served.
  bool paused = false;
  /// Why the queue paused itself, for people; empty when an operator paused it.
  std::string pause_reason{};
  std::uint32_t shards = 0;
  /// False when a change did not reach every shard; a cluster makes up for it by itself.
  bool is_uniform = true;
  /// The shards that have other settings than shard 0, ascending.
  std::vector<shard_id> differing{};
  /// The shards that have not answered, ascending: whether a change is in force there is not known.
  std::vector<shard_id> missing{};
  /// False when no shard knows the queue: it has neither tasks nor settings.
  bool exists = true;
};

/// A fairness key of a queue, over all shards.
struct fairness_share {
  std::string key;
  /// Weight of the key among the keys with the same part before the first `/`; without a `/` the
  /// weight of all keys that begin with it.
  std::uint32_t weight = 1;
  /// Number of ready tasks.
  std::uint64_t ready = 0;
  /// Part of the run time of all tasks that the key gets while the same keys have ready tasks, in
  /// millionths; 0 when it has no ready task.
  std::uint32_t share_ppm = 0;
  /// Expected run time of one of its tasks.
  duration expected_run{0};
  /// Maximum time until a task of the key starts, as long as the number of leases stays the same; 0
  /// when it has no ready task, `duration::max()` when no worker starts tasks, or it is longer.
  duration wait{0};

  friend bool operator==(const fairness_share&, const fairness_share&) = default;
};

/// A part of the fairness keys of a queue that have live tasks, in the order of their bytes.
struct fairness_page {
  queue_address queue;
  std::vector<fairness_share> keys;
  /// Number of fairness keys with live tasks; keys that are on several shards count once for each.
  std::uint64_t active_keys = 0;
  /// Further keys follow the last one.
  bool more = false;
  /// The shards that have not answered, ascending. Their tasks are not counted.
  std::vector<shard_id> missing{};
};

} // namespace codeq
