// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "coordinator/shard/shard_messages.hpp"
#include "core/turn/turn.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// When a turn is closed and when a snapshot is taken.
struct turn_limits {
  /// Commands of a turn, and bytes of the bodies that they bring.
  std::size_t commands_max = limits::turn_commands_max;
  std::size_t bytes_max = limits::turn_bytes_max;
  /// Records since the last snapshot after which one is taken at once.
  std::size_t snapshot_records = limits::snapshot_records;
  /// Time after which a snapshot is taken even when little was written since the last one.
  duration snapshot_interval = limits::snapshot_interval;
};

/// What a shard does between the core and the journal, without either's threads: opens and
/// closes turns, takes snapshots in time, holds what a turn leads to until the journal has
/// committed it and all before it, and says when to wake up. Used from one thread.
class turn_runner {
public:
  /// @pre `state` outlives the runner
  turn_runner(core::shard_state& state, monotonic_time now, const turn_limits& limits = {});

  /// Decides a command in the current turn. True when it opened one: it is to be closed after the
  /// messages that are there already.
  bool decide(const core::command& command, const instant& now);

  /// Keeps the share, if there is one, until what the next command leads to is durable.
  void hold(enqueue_share share) {
    if (share)
      shares_.push_back(std::move(share));
  }

  [[nodiscard]] bool has_turn() const noexcept { return turn_ != nullptr; }

  /// True when the turn has as much as one may have, so that it is to be closed at once.
  [[nodiscard]] bool is_full() const;

  /// Closes the turn and returns its events. When there are any they are the journal's commit
  /// number `submitted()`. @pre has_turn()
  [[nodiscard]] std::vector<core::event> close(const instant& now);

  /// The number of the latest commit.
  [[nodiscard]] std::uint64_t submitted() const noexcept { return submitted_; }

  /// The turn closed last, without a snapshot, took so many bytes of the log, which a start would
  /// replay.
  void note_written(std::size_t bytes) noexcept { written_bytes_ += bytes; }

  /// The journal has committed everything up to this number.
  void committed(std::uint64_t number);

  [[nodiscard]] std::uint64_t committed() const noexcept { return committed_; }

  /// The effects of the next turn that may be carried out; empty when none may.
  [[nodiscard]] std::optional<std::vector<core::effect>> release();

  /// True when there is no open turn and everything is committed.
  [[nodiscard]] bool is_settled() const noexcept { return !turn_ && submitted_ == committed_; }

  /// A wake-up to send to oneself; an older one that is under way means nothing any more.
  struct wakeup {
    duration wait{0};
    std::uint64_t number = 0;
  };

  /// When to wake up for what happens by time alone; empty when an earlier wake-up is under way.
  /// `timers`: when to look for leases that ran out, or none.
  [[nodiscard]] std::optional<wakeup>
  arm(const instant& now, const std::optional<monotonic_time>& timers);

  /// A wake-up came. False when it is to be ignored.
  [[nodiscard]] bool wake(std::uint64_t number);

private:
  /// When the next snapshot is due by time: soon when there is much that a start would replay, or
  /// that a snapshot would pack.
  [[nodiscard]] monotonic_time next_snapshot() const;

  /// True when closing a turn takes a snapshot: the last one is too old, or too much was written
  /// since.
  [[nodiscard]] bool is_snapshot_due(monotonic_time now) const;

  struct held_turn {
    std::uint64_t commit = 0;
    std::vector<core::effect> effects;
    std::vector<enqueue_share> shares;
  };

  core::shard_state& state_;
  turn_limits limits_;
  std::unique_ptr<core::turn> turn_;
  /// Since the last snapshot.
  std::size_t written_bytes_ = 0;
  std::uint64_t submitted_ = 0;
  std::uint64_t committed_ = 0;
  std::deque<held_turn> held_;
  /// Of the current turn, or the next one.
  std::vector<enqueue_share> shares_;
  monotonic_time last_snapshot_;
  std::optional<monotonic_time> armed_;
  std::uint64_t armed_number_ = 0;
};

} // namespace codeq::coordinator
