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

/// Where the turns of a core go and from where a restarted one comes.
class history {
public:
  virtual ~history() = default;

  /// Keeps the events of one turn.
  virtual void append(const std::vector<core::event>& events) = 0;

  /// Forgets all but the first `turns` of the turns appended.
  virtual void cut(std::size_t turns) = 0;

  /// The shard after the turns kept, in a new epoch; leases start afresh at `steady`.
  [[nodiscard]] virtual std::unique_ptr<core::shard_state>
  recover(std::uint32_t epoch, monotonic_time steady) = 0;

  /// What is wrong with that which can be read back of the turns kept, in words.
  [[nodiscard]] virtual std::string
  find_unreadable(const reference_shard&, core::shard_state&) const {
    return {};
  }
};

using history_maker = std::function<std::unique_ptr<history>()>;

/// How a run of steps ended badly: at which step, and what was wrong.
struct failure {
  std::size_t step = 0;
  std::string what;
};

/// Drives the core and the reference through the same steps and compares them after each turn.
class lock_step {
public:
  lock_step(std::unique_ptr<history> kept, const core::paging_limits& paging);

  /// Runs the steps; nothing when core and reference agreed all the way.
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
  /// Segments whose survivors the next turn is given.
  std::vector<core::survivors> sparse_;
  /// No task of the open turn lies before it.
  sequence turn_begin_ = 0;
  reference_shard reference_;
  observer observer_;
  step_maker maker_;
  /// The reference after each turn kept; the first is the empty shard.
  std::vector<reference_shard> snapshots_;
  test::closed_keys closed_keys_;
  /// One for each of `snapshots_`.
  std::vector<test::closed_keys> closed_keys_then_{closed_keys_};
  /// How many of them a recovery found: it writes them to the disk, and no later end loses them.
  std::size_t recovered_ = 1;
  std::size_t turns_ = 0;
  std::string wrong_;
};

/// Runs `count` sequences of `steps` steps from the seed on; at the first that fails, drops what
/// steps it can and returns in words the seed, what was wrong and the steps that are left.
[[nodiscard]] std::string find_failure(
  std::uint64_t seed, std::size_t count, std::size_t steps, const history_maker& make_history);

/// Keeps the events themselves and replays all of them.
[[nodiscard]] std::unique_ptr<history> make_event_history();

} // namespace codeq::model
