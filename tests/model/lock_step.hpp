// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "model/observer.hpp"
#include "model/reference_shard.hpp"
#include "model/step.hpp"
#include "support/closed_keys.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::model {

/// Stores the turns of a core and recovers a restarted core from them.
class history {
public:
  virtual ~history() = default;

  /// Appends the events of one turn.
  virtual void append(const std::vector<core::event>& events) = 0;

  /// Drops all but the first `turns` of the turns appended.
  virtual void cut(std::size_t turns) = 0;

  /// The shard recovered from the remaining turns, in a new epoch; leases start afresh at `steady`.
  [[nodiscard]] virtual std::unique_ptr<core::shard_state>
  recover(std::uint32_t epoch, monotonic_time steady) = 0;

  /// Describes records of the remaining turns that cannot be read back correctly; empty when all
  /// can.
  [[nodiscard]] virtual std::string
  find_unreadable(const reference_shard&, core::shard_state&) const {
    return {};
  }
};

using history_maker = std::function<std::unique_ptr<history>()>;

/// Why a run of steps failed, and at which step.
struct failure {
  std::size_t step = 0;
  std::string what;
};

/// Drives the core and the reference through the same steps and compares them after each turn.
class lock_step {
public:
  lock_step(std::unique_ptr<history> kept, const core::paging_limits& paging);

  /// Runs the steps; empty when core and reference agreed at every step.
  [[nodiscard]] std::optional<failure> run(const std::vector<step>& steps);

private:
  void pass(duration time);
  void open_turn();
  void decide(const core::command& c);
  /// The tasks that the last command added, ascending.
  [[nodiscard]] std::vector<sequence> added_tasks() const;
  void close_turn();
  /// Gives the turn the bodies of survivors, for the next snapshot.
  void copy_survivors();
  void compare_turn(observed_turn& seen);
  void compare_parts(const std::vector<core::bulk_answered>& parts);
  void compare_state();
  void compare_task(const reference_task& expected, core::segment& s);
  void compare_totals();
  void compare_settings();
  void compare_keys();
  void compare_checkpoints();
  void compare_recovery();
  void restart(const step& s);
  void require(bool condition, const std::string& what);

  base::manual_clock clock_;
  std::unique_ptr<history> history_;
  core::paging_limits paging_;
  std::uint32_t epoch_ = 1;
  std::unique_ptr<core::shard_state> state_;
  std::unique_ptr<core::turn> turn_;
  /// Segments whose survivors' bodies the next turn receives.
  std::vector<core::survivors> sparse_;
  /// Every task that the open turn added has at least this sequence.
  sequence turn_begin_ = 0;
  reference_shard reference_;
  observer observer_;
  step_maker maker_;
  /// The reference after each remaining turn; the first is the empty shard.
  std::vector<reference_shard> snapshots_;
  test::closed_keys closed_keys_;
  /// One for each of `snapshots_`.
  std::vector<test::closed_keys> closed_keys_then_{closed_keys_};
  std::vector<observer::purge_notes> purges_then_{{}};
  /// Number of `snapshots_` that a recovery has seen: it writes them to disk, so no later crash
  /// loses them.
  std::size_t recovered_ = 1;
  std::size_t turns_ = 0;
  std::string wrong_;
};

/// Runs `count` sequences of `steps` steps, from the seed on. At the first that fails, it removes
/// as many steps as it can and returns a description: the seed, the failure and the remaining
/// steps.
[[nodiscard]] std::string find_failure(
  std::uint64_t seed, std::size_t count, std::size_t steps, const history_maker& make_history);

/// Stores the events themselves and recovers by replaying all of them.
[[nodiscard]] std::unique_ptr<history> make_event_history();

} // namespace codeq::model
