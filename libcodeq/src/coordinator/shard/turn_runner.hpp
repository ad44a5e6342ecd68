// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "core/turn/turn.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// When turns are closed and snapshots taken.
struct turn_limits {
  /// Maximum number of commands in a turn, and maximum size of their bodies.
  std::size_t commands_max = tuning::turn_commands_max;
  std::size_t bytes_max = tuning::turn_bytes_max;
  /// Number of records since the last snapshot after which the next one is taken at once.
  std::size_t snapshot_records = tuning::snapshot_records;
  /// Time after which a snapshot is taken even when little was written.
  duration snapshot_interval = tuning::snapshot_interval;
};

/// Connects the core with the journal: opens and closes turns, takes snapshots in time, holds the
/// effects of a turn until the journal has committed it and all earlier ones, and schedules
/// wake-ups. Used from one thread.
class turn_runner {
public:
  /// No task of a limit with a rate starts while turns wait for a commit and the last one is longer
  /// ago than this: each commit lets go of what started in at most this time.
  static constexpr duration stalled_min{50};
  /// Interval at which starts that were put off for that reason are looked at again.
  static constexpr duration stalled_look{10};

  /// @pre `state` outlives the runner
  turn_runner(core::shard_state& state, monotonic_time now, const turn_limits& limits = {});

  /// Decides a command in the current turn. True when it opened one: the turn is to be closed after
  /// the messages that are already queued.
  bool decide(const core::command& command, const instant& now);

  /// Keeps the share, if there is one, until the next command's effects are durable.
  void hold(enqueue_share share) {
    if (share)
      shares_.push_back(std::move(share));
  }

  [[nodiscard]] bool has_turn() const noexcept { return turn_ != nullptr; }

  /// True when the turn has reached its limits and is to be closed at once.
  [[nodiscard]] bool is_full() const;

  /// Closes the turn and returns its events. If there are any, they are the journal's commit number
  /// `submitted()`. @pre has_turn()
  [[nodiscard]] std::vector<core::event> close(const instant& now);

  /// The events of the turn that was closed last have to be synced in both durability modes.
  [[nodiscard]] bool must_sync() const noexcept { return must_sync_; }

  /// The number of the latest commit.
  [[nodiscard]] std::uint64_t submitted() const noexcept { return submitted_; }

  /// The turn closed last, without a snapshot, took this many bytes of the log, which a start would
  /// replay.
  void note_written(std::size_t bytes) noexcept { written_bytes_ += bytes; }

  /// The journal has committed everything up to this number.
  void committed(std::uint64_t number, monotonic_time now);

  [[nodiscard]] std::uint64_t committed() const noexcept { return committed_; }

  /// The effects of the next turn that may be carried out; empty when there is none.
  [[nodiscard]] std::optional<std::vector<core::effect>> release();

  /// Number of tasks that are granted to a claim of another coordinator in turns that were not
  /// released.
  [[nodiscard]] std::uint32_t granted_to(core::peer_id peer) const;

  /// True when there is no open turn and everything is committed.
  [[nodiscard]] bool is_settled() const noexcept { return !turn_ && submitted_ == committed_; }

  /// A wake-up that the shard sends itself; it replaces an earlier one.
  struct wakeup {
    duration wait{0};
    std::uint64_t number = 0;
  };

  /// The wake-up for what becomes due by time alone; empty when an earlier wake-up is pending.
  /// `timers`: when to check for expired leases, if at all.
  [[nodiscard]] std::optional<wakeup>
  arm(const instant& now, const std::optional<monotonic_time>& timers);

  /// Handles a wake-up. False when it is stale.
  [[nodiscard]] bool wake(std::uint64_t number);

private:
  /// When the next snapshot is due by time: soon when there is much for a start to replay or for a
  /// snapshot to pack.
  [[nodiscard]] monotonic_time next_snapshot() const;

  /// True when the turn must end with a snapshot: the last one is too old, or too much was written
  /// since.
  [[nodiscard]] bool is_snapshot_due(monotonic_time now) const;

  [[nodiscard]] bool is_stalled(monotonic_time now) const;

  struct held_turn {
    std::uint64_t commit = 0;
    std::vector<core::effect> effects;
    std::vector<enqueue_share> shares;
  };

  core::shard_state& state_;
  turn_limits limits_;
  std::unique_ptr<core::turn> turn_;
  /// Bytes written since the last snapshot.
  std::size_t written_bytes_ = 0;
  std::uint64_t submitted_ = 0;
  bool must_sync_ = false;
  std::uint64_t committed_ = 0;
  /// The latest commit, or the close of the first turn that waits for one.
  monotonic_time waiting_since_{};
  std::deque<held_turn> held_;
  /// See `granted_to`.
  std::unordered_map<core::peer_id, std::uint32_t> granted_;
  /// Shares of the current turn, or of the next one.
  std::vector<enqueue_share> shares_;
  monotonic_time last_snapshot_;
  std::optional<monotonic_time> armed_;
  std::uint64_t armed_number_ = 0;
};

} // namespace codeq::coordinator
