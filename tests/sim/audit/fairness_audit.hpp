// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace codeq::sim {

/// Checks the order of fairness keys on each shard: how long a key waits for a turn on any shard,
/// the order within a key, that the measured run times are those of the leases, and that tasks have
/// the keys that their queue takes from a header. It looks at the tasks of a shard after each of
/// its turns.
class fairness_audit {
public:
  using breach_function = std::function<void(const std::string& rule, const std::string& what)>;

  explicit fairness_audit(breach_function breach) : breach_(std::move(breach)) {}

  void turn_sealed(core::shard_state& state, const std::vector<core::event>& events);

  /// The coordinator ended, and with it what it measured.
  void forget() {
    waiting_.clear();
    run_times_.clear();
    created_.clear();
  }

private:
  using queue_place = std::pair<shard_id, queue_address>;
  using key_name = std::pair<queue_place, std::string>;
  /// A key of one priority.
  using key_place = std::tuple<queue_place, std::uint8_t, std::string>;

  /// A key with ready tasks.
  struct waiting_key {
    sequence first = 0;
    /// Expected run times of the tasks that other keys were granted since it waits.
    std::int64_t waited = 0;
  };

  struct held_lease {
    key_name key;
    timestamp granted_at;
  };

  using waiting_keys = std::map<key_place, waiting_key>;

  /// Tasks that name no key have that of their header in a queue that takes keys from there.
  void check_new_tasks(const core::shard_state& state, const std::vector<core::event>& events);
  void check(core::shard_state& state, const core::batch_granted& grant);
  void count_turn(core::shard_state& state, const key_place& served, std::int64_t cost);
  /// A task of the key was granted; the shards of a coordinator give its turns together.
  void end_wait(const key_place& served);
  void note(const core::shard_state& state, const core::leases_ended& ended);
  void check_run_times(const core::shard_state& state);
  /// A queue that was removed and created again knows nothing of its keys.
  void forget_removed(const core::shard_state& state);
  [[nodiscard]] static waiting_keys waiting_on(core::shard_state& state);
  [[nodiscard]] static key_place
  place_of(const core::shard_state& state, const core::segment& s);

  breach_function breach_;
  std::map<shard_id, waiting_keys> waiting_;
  /// The largest expected run time of a task so far.
  std::map<queue_place, std::int64_t> largest_;
  /// The number of each queue in the order of their creation.
  std::map<queue_place, std::uint64_t> created_;
  std::map<std::pair<shard_id, fencing_token>, held_lease> leases_;
  /// The moving average of each key, in milliseconds.
  std::map<key_name, double> run_times_;
};

} // namespace codeq::sim
