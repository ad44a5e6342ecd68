// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "core/commands/effect.hpp"
#include "core/state/shard_state.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::bench {

/// One shard with one queue and one worker under a manual clock, without storage and threads. Each
/// call is one turn; snapshots are taken when a coordinator would take them.
class key_shard {
public:
  /// `concurrency`: that of a limit that all tasks name; empty: they name none.
  explicit key_shard(std::optional<std::uint32_t> concurrency = std::nullopt);

  /// Tasks of a request: pairs of a fairness key and its number of tasks.
  using keyed_tasks = std::vector<std::pair<std::string, std::uint32_t>>;

  void enqueue(const keyed_tasks& tasks);

  using granted_runs = std::vector<core::granted_run>;

  /// Gives the worker credits for so many tasks more. Returns the tasks that are leased now;
  /// further ones follow when tasks are complete.
  granted_runs claim(std::uint32_t tasks);

  /// Returns the tasks that are leased now.
  granted_runs complete(std::vector<core::task_lease> leases);

  void advance(duration by) { clock_.advance(by); }

  [[nodiscard]] timestamp now() { return clock_.now().shard; }

  /// The first sequence of tasks that are enqueued from now on.
  [[nodiscard]] sequence next_sequence() const noexcept { return state_.sequences.next; }

private:
  std::vector<core::effect> run(const core::command& c);
  granted_runs grants_of(const core::command& c);

  base::manual_clock clock_;
  bool is_limited_;
  core::shard_state state_{shard_id{}, 1};
  producer_id session_ = make_producer_id(clock_.now().shard, 1, 2);
  std::uint64_t requests_ = 0;
};

} // namespace codeq::bench
