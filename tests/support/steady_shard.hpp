// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "base/clock.hpp"
#include "core/commands/effect.hpp"
#include "core/commands/queue_settings.hpp"
#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "storage/retention/retention_filter.hpp"
#include "storage/task_store.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace codeq::test {

/// One shard that processes one queue, without the threads and messages of a coordinator. Each call
/// is one turn and returns its events. Failures throw.
class steady_shard {
public:
  /// Without a store: events are only returned.
  steady_shard();

  /// Commits each turn to `store`, and publishes each snapshot to `horizons` unless that is null;
  /// all commits count as synced.
  steady_shard(storage::task_store& store, std::shared_ptr<storage::retention_horizons> horizons);

  /// Adds tasks whose results are kept for `retention`.
  std::vector<core::event>
  enqueue(std::uint32_t tasks, duration retention = limits::retention_completed_default);

  /// Leases `tasks` tasks, or as many as are ready; with a store, reads their bodies.
  std::vector<core::event> claim(std::uint32_t tasks);

  /// Ends all leases. Every `failing`-th attempt fails and is retried; 0: none fails.
  std::vector<core::event> finish(std::uint32_t failing = 0);

  /// Ends all leases: a first attempt fails and is retried by its task's policy, others complete.
  std::vector<core::event> fail_first_attempts();

  std::vector<core::event> take_snapshot();

  void advance(duration by) { clock_.advance(by); }

  [[nodiscard]] std::uint64_t completed() const;

private:
  steady_shard(storage::task_store* store, std::shared_ptr<storage::retention_horizons> horizons);

  std::vector<core::event> run(const core::command& c);
  void commit(const std::vector<core::event>& events);
  void take(const core::tasks_granted& granted);

  /// Null without a store.
  storage::task_store* store_;
  std::shared_ptr<storage::retention_horizons> horizons_;
  base::manual_clock clock_;
  core::shard_state state_{shard_id{}, 1};
  producer_id session_ = make_producer_id(clock_.now().shard, 1, 2);
  std::uint64_t requests_ = 0;
  std::uint64_t ended_ = 0;
  std::vector<core::lease_report> held_;
  /// One for each report: the task was leased before.
  std::vector<bool> is_retried_;
};

} // namespace codeq::test
