// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "core/commands/effect.hpp"
#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"

#include <cstdint>
#include <vector>

namespace codeq::bench {

/// One shard's state machine by itself, with one queue: no store, no messages.
class lone_shard {
public:
  lone_shard();

  // One turn each; returns what it would write.

  std::vector<core::event> enqueue(std::uint32_t tasks);

  /// Leases as many tasks, all of which are ready.
  std::vector<core::event> claim(std::uint32_t tasks);

  /// Completes what is leased.
  std::vector<core::event> finish();

  std::vector<core::event> take_snapshot();

private:
  std::vector<core::event> run(const core::command& c);

  base::manual_clock clock_;
  core::shard_state state_{shard_id{}, 1};
  producer_id session_ = make_producer_id(clock_.now().shard, 1, 2);
  std::uint64_t requests_ = 0;
  std::vector<core::lease_report> held_;
};

} // namespace codeq::bench
