// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "core/commands/effect.hpp"
#include "core/commands/task_settings.hpp"
#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "storage/retention/retention_filter.hpp"
#include "storage/task_store.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace codeq::test {

/// One shard that works through one queue, with its turns in a store, as a coordinator has them but
/// without its threads and messages. Anything that goes wrong throws.
class steady_shard {
public:
  /// Tells `horizons` of each snapshot; all commits count as synced.
  steady_shard(storage::task_store& store, std::shared_ptr<storage::retention_horizons> horizons);

  /// One turn that adds tasks; their results are kept for `retention`.
  void enqueue(std::uint32_t tasks, duration retention);

  /// One turn that leases that many tasks, or as many as are ready; reads their bodies.
  void claim(std::uint32_t tasks);

  /// One turn that ends what is leased; every `failing`-th fails and is tried again, 0 is none.
  void finish(std::uint32_t failing);

  void take_snapshot();

  void advance(duration by) { clock_.advance(by); }

  [[nodiscard]] std::uint64_t completed() const;

private:
  void run(const core::command& c);
  void take(const core::tasks_granted& granted);

  storage::task_store& store_;
  std::shared_ptr<storage::retention_horizons> horizons_;
  base::manual_clock clock_;
  core::shard_state state_{shard_id{}, 1};
  producer_id session_ = make_producer_id(clock_.now().shard, 1, 2);
  std::uint64_t requests_ = 0;
  std::uint64_t ended_ = 0;
  std::vector<core::lease_report> held_;
};

} // namespace codeq::test
