// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/blocks/packed_set.hpp"
#include "core/commands/schedule_command.hpp"
#include "core/commands/schedule_event.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace codeq::core {

/// One schedule of the shard.
struct schedule_entry {
  definition_ptr definition;
  schedule_progress progress;
  /// Number of the entry in the table. Volatile, as is the next.
  std::uint64_t number = 0;
  /// When it has to be looked at; empty: not before it changes.
  std::optional<timestamp> next{};
};

/// Counts of a shard's schedules since the start of the process.
struct schedule_counts {
  std::uint64_t fired = 0;
  std::uint64_t skipped_overlap = 0;
  std::uint64_t skipped_misfire = 0;
  std::uint64_t late = 0;
};

/// The schedules of a shard by tenant and name, with indexes by time and by task.
class schedule_table {
public:
  /// A schedule by its tenant and name.
  using map = std::map<schedule_address, schedule_entry>;

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// Size of all definitions and names in bytes.
  [[nodiscard]] std::size_t byte_size() const noexcept { return bytes_; }

  /// What the schedules of a tenant take.
  struct use {
    std::size_t schedules = 0;
    std::size_t bytes = 0;
  };

  [[nodiscard]] use use_of(std::string_view tenant) const;

  /// Null when there is none.
  [[nodiscard]] const schedule_entry* find(const schedule_address& name) const;

  /// Sets a schedule's state, as of an event or a record; adds the schedule when it is new. It is
  /// to be looked at at once.
  void put(const schedule_address& name, definition_ptr definition, schedule_progress progress);

  /// A schedule's progress, to be changed in place. The caller leaves its open occurrences alone,
  /// which are indexed. @pre the schedule exists
  [[nodiscard]] schedule_progress& progress_of(const schedule_address& name);

  // The open occurrences of a schedule, by their place in its progress. @pre the schedule exists.

  void add_open(const schedule_address& name, open_occurrence added);
  void remove_open(const schedule_address& name, std::size_t place);
  void replace_open(const schedule_address& name, std::size_t place, open_occurrence by);

  /// Does nothing when there is no such schedule.
  void erase(const schedule_address& name);

  /// Sets when a schedule has to be looked at. @pre it exists
  void look_at(const schedule_address& name, std::optional<timestamp> when);

  /// All schedules have to be looked at again: the rules of time zones changed.
  void look_at_all();

  /// When the first schedule has to be looked at.
  [[nodiscard]] std::optional<timestamp> next_look() const;

  /// The schedules to look at by `now`, the earliest first; at most `limit`.
  [[nodiscard]] std::vector<schedule_address> due(timestamp now, std::size_t limit) const;

  /// The schedule with an open occurrence of that task; null when there is none.
  [[nodiscard]] const schedule_address* owner_of(shard_id shard, sequence task) const;

  /// The schedules with open occurrences that were sent to the shard in that record, by the place
  /// of the task in it.
  [[nodiscard]] std::map<std::uint32_t, schedule_address>
  sent_in(shard_id shard, log_position record) const;

  /// The tasks of open occurrences that are on other shards.
  [[nodiscard]] std::map<shard_id, std::vector<sequence>> tasks_elsewhere(shard_id own) const;

  [[nodiscard]] map::const_iterator begin() const noexcept { return entries_.begin(); }

  [[nodiscard]] map::const_iterator end() const noexcept { return entries_.end(); }

  /// The first schedule behind that name.
  [[nodiscard]] map::const_iterator behind(const schedule_address& name) const {
    return entries_.upper_bound(name);
  }

  schedule_counts counts;

private:
  using task_place = std::pair<shard_id, sequence>;
  using sent_place = std::tuple<shard_id, log_position, std::uint32_t>;

  [[nodiscard]] map::value_type& existing(const schedule_address& name);
  void index(const open_occurrence& open, const schedule_address& name);
  void forget(const open_occurrence& open);
  void index_open(const map::value_type& entry);
  void forget_open(const map::value_type& entry);
  void set_look(map::value_type& entry, std::optional<timestamp> when);

  map entries_;
  std::map<std::string, use, std::less<>> by_tenant_;
  std::size_t bytes_ = 0;
  /// (time, number) of the schedules that have to be looked at.
  packed_set looks_;
  std::unordered_map<std::uint64_t, map::iterator> by_number_;
  std::uint64_t numbers_ = 0;
  std::map<task_place, const schedule_address*> by_task_;
  std::map<sent_place, const schedule_address*> by_sent_;
};

/// Checks that a tenant may have another schedule, or a larger definition of this. The schedules
/// of a tenant may not take more of the shard's space than is free then, so that every other tenant
/// finds some: one tenant alone gets half. Errors: `too_large`.
[[nodiscard]] result<void> check_room(
  const schedule_table& table, const schedule_address& name, const schedule_definition& wanted);

} // namespace codeq::core
