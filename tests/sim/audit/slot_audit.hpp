// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/state/shard_state.hpp"
#include "sim/world.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace codeq::sim {

/// Tenant, limit and key.
using limit_key = std::tuple<std::string, std::string, std::string>;

/// Number of leases, on all shards.
using leases_of_keys = std::map<limit_key, std::uint64_t>;

/// Checks that no slot of a limit idles for long while a task could have it: a ready task of a
/// queue that may grant it, for which a worker has credits on the task's shard. It looks at the
/// tasks and workers of a shard after each of its turns, and knows nothing of permits.
///
/// Tasks with a limit whose rate is limited are left out. A run closes keys at the start of the
/// coordinator only, and they are open again before anything is checked.
class slot_audit {
public:
  using breach_function = std::function<void(const std::string& rule, const std::string& what)>;

  slot_audit(const world& all, breach_function breach) : world_(all), breach_(std::move(breach)) {}

  void turn_sealed(core::shard_state& state, const leases_of_keys& leased);

  /// The coordinator ended.
  void forget();

private:
  struct slot_use {
    limit_key key;
    std::uint64_t concurrency = 0;
  };

  /// A shard after its latest turn.
  struct shard_view {
    /// False while it grants nothing, because its disk is full or its numbers run out.
    bool serves = false;
    /// The ready tasks that a worker would take, with all their limits.
    std::map<sequence, std::vector<slot_use>> waiting;
  };

  /// Tasks that wait although all their limits have free slots, and since when.
  using idle_tasks = std::map<std::pair<shard_id, sequence>, virtual_time>;

  [[nodiscard]] static shard_view view_of(core::shard_state& state);

  /// Empty when a limit has no concurrency, or a rate.
  [[nodiscard]] static std::vector<slot_use>
  uses_of(const core::shard_state& state, const core::segment& s);

  void report(virtual_time now);
  [[nodiscard]] bool is_quiet(virtual_time now) const;
  [[nodiscard]] idle_tasks find_idle(const leases_of_keys& leased, virtual_time now) const;

  const world& world_;
  breach_function breach_;
  std::optional<virtual_time> started_at_;
  std::map<shard_id, shard_view> shards_;
  idle_tasks idle_;
};

} // namespace codeq::sim
