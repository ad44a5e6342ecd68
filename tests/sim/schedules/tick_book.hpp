// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/command.hpp"
#include "core/commands/event.hpp"
#include "sim/schedules/tick_rule.hpp"
#include "sim/sim_disk.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::sim {

/// Checks schedules against the contract from the records of the shards: which occurrences fire,
/// when, and that each has its task. It knows the rules from the workload, and looks for their
/// times itself.
class tick_book {
public:
  using breach_function = std::function<void(const std::string& rule, const std::string& what)>;

  /// `is_held`: occurrences may have been held back by a full disk.
  tick_book(breach_function breach, const bool& is_held, const sim_disk& disk)
    : breach_(std::move(breach)), is_held_(is_held), disk_(disk) {}

  /// Remembers what a schedule is to be. Returns the payload of its tasks, which identifies it.
  [[nodiscard]] std::string remember(const tick_wish& wish);

  /// True for the payload of a schedule's task.
  [[nodiscard]] static bool is_tick(std::string_view payload);

  /// True when an occurrence may cancel the task of an earlier one.
  [[nodiscard]] bool cancels(const std::string& payload) const;

  // Requests of the operator.

  /// A request for the schedule is sent.
  /// Returns its number, for `pause_answered`.
  std::uint64_t change_asked(const schedule_address& name);

  /// The pause with that number was answered.
  void pause_answered(const schedule_address& name, std::uint64_t number);

  // The coordinator's life.

  /// A shard begins to serve at this shard time.
  void serves_since(shard_id shard, timestamp since) { since_[shard] = since; }

  void asked(shard_id shard, const core::command& c);
  void follow(shard_id shard, const std::vector<core::event>& events, timestamp sealed_at);

  /// A process ended: from now on only these records count.
  void rebuild(const std::vector<std::pair<shard_id, core::event>>& durable);

  /// The power was cut: what a client was told of a pause may be lost.
  void power_was_cut() { paused_.clear(); }

  /// A task was delivered to a worker.
  void delivered(const task_id& task);

  /// Checks that nothing is overdue on a shard that serves.
  void check_due(shard_id shard, timestamp now);

  /// Occurrences whose tasks have not arrived at their shards; empty when all have.
  [[nodiscard]] std::string missing() const;

  [[nodiscard]] std::uint64_t fired() const noexcept { return fired_; }

  /// The schedules that exist according to the records.
  [[nodiscard]] std::vector<schedule_address> names() const;

private:
  /// An occurrence as its task's headers name it.
  struct occurrence_name {
    std::string schedule;
    std::string nominal;
    /// Number of the wish.
    std::size_t wish = 0;

    friend auto operator<=>(const occurrence_name&, const occurrence_name&) = default;
  };

  struct view {
    shard_id shard{};
    std::size_t wish = 0;
    core::schedule_progress progress;
    /// Numbers of the entries whose tasks were enqueued.
    std::set<std::uint64_t> started{};
    /// When the next tick is due.
    std::optional<timestamp> next{};
  };

  /// The other records of a turn.
  struct turn_notes {
    /// Schedules that a command may have changed.
    std::set<schedule_address> changed;
    std::vector<task_id> tasks;
    std::set<core::log_position> sent;
  };

  void breach(const std::string& rule, const schedule_address& name, const std::string& what);
  void note(const core::segment_appended& e);
  void note(const core::follow_ups_sent& e);
  void read(const core::schedule_changed& e);
  void take_entries(const core::schedule_changed& e, const view& old, view& now);
  void start(const core::schedule_changed& e, const core::occurrence& entry, view& of);
  [[nodiscard]] std::optional<occurrence_name>
  body_of(const core::schedule_changed& e, const core::occurrence& entry) const;
  void check_write(const core::schedule_changed& e, const core::occurrence& entry);
  void check_times(const core::schedule_changed& e, const view& old);
  /// `all` are the ticks that were open before the event; the entry is about `count` of them from
  /// the one with number `first` on.
  void check_missed(
    const core::schedule_changed& e, const core::occurrence& entry, const std::vector<tick>& all,
    std::size_t first);
  void check_overlap(
    const core::schedule_changed& e, const core::occurrence& entry, const view& old);
  void check_mark(const core::schedule_changed& e, const view& now);
  void check_pause(const core::schedule_changed& e, const view& old);
  void arrive(const task_id& task);
  [[nodiscard]] std::string clock_of(std::size_t wish) const;

  breach_function breach_;
  const bool& is_held_;
  const sim_disk& disk_;
  std::vector<tick_wish> wishes_;
  std::map<schedule_address, view> views_;
  std::map<shard_id, timestamp> since_;
  std::map<schedule_address, std::uint64_t> asked_;
  /// Schedules that a client knows to be paused, until another request for them.
  std::set<schedule_address> paused_;
  std::map<shard_id, std::set<schedule_address>> changed_;
  /// Nominal times that fired or wait, by schedule and clock.
  std::map<std::pair<schedule_address, std::string>, std::set<schedule::nominal_time>> done_;
  /// How many tasks each occurrence enqueued, and how many of them became tasks of a shard.
  std::map<occurrence_name, std::int64_t> started_;
  std::map<occurrence_name, std::int64_t> arrived_;
  /// The bodies of tasks and of follow-ups; records that come back after a crash have no
  /// bodies.
  std::map<task_id, occurrence_name> bodies_;
  std::map<std::pair<shard_id, core::log_position>, std::vector<occurrence_name>> sent_bodies_;
  std::map<std::string, shard_id> homes_;
  /// Nominal times that an operator fired, so they may have several tasks.
  std::set<std::pair<std::string, std::string>> by_hand_;
  /// The task of each occurrence that a worker got.
  std::map<occurrence_name, task_id> delivered_;
  turn_notes turn_;
  shard_id shard_{};
  std::uint64_t fired_ = 0;
  bool checking_ = true;
};

} // namespace codeq::sim
