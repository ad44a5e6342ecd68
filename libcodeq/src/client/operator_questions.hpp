// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/queue.hpp"
#include "codeq/task.hpp"

#include "core/commands/operator_command.hpp"
#include "protocol/frame.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Builds the requests of operators, one function per request. The number is passed when the
/// request is sent.
namespace codeq::client {

using question = std::function<protocol::wire_frame(std::uint64_t number)>;

/// Identifies a task by its id, or by its key and the key's shard.
struct task_address {
  task_id task;
  /// When set, identifies the task in place of `task.seq`.
  std::optional<task_key> key{};
};

/// The address of a key. @pre shard_count > 0
[[nodiscard]] task_address address_of(const task_key& key, std::uint16_t shard_count);

/// Position of a walk over the tasks of a shard.
struct walk_position {
  std::uint16_t shard = 0;
  sequence after = 0;
  /// Number of tasks to examine.
  std::uint32_t limit = 0;
  /// Only smaller sequences; 0: no bound.
  sequence below = 0;
  /// In descending order of sequences; for lists only.
  bool newest_first = false;
};

/// With `with_body` the reply contains the task's body, too.
[[nodiscard]] question ask_status(const task_address& task, bool with_body = false);
[[nodiscard]] question ask_change(const task_address& task, task_change what);
[[nodiscard]] question ask_force(task_id task, force_kind how, const std::string& text);
[[nodiscard]] question ask_explain(task_id task);
[[nodiscard]] question ask_events(task_id task);
[[nodiscard]] question ask_stats();
[[nodiscard]] question ask_workers();

/// The answer lists only that worker, or none when the coordinator does not know it.
[[nodiscard]] question ask_drain(const std::string& worker, bool is_drained);

/// `of_shard`: for what this shard has, instead of all that the store of shard 0 has.
[[nodiscard]] question
ask_audit(const audit_filter& filter, std::optional<std::uint16_t> of_shard = {});
[[nodiscard]] question ask_backup(const backup_wish& wish);
[[nodiscard]] question ask_backups();

/// An empty level only reads it.
[[nodiscard]] question ask_log_level(const std::string& level);

[[nodiscard]] question show_queue(std::uint16_t shard, const queue_address& queue);

/// As `show_queue`, with the reasons of the waiting tasks.
[[nodiscard]] question explain_queue(std::uint16_t shard, const queue_address& queue);

/// As `show_queue`, with a part of the shard's fairness keys.
[[nodiscard]] question show_fairness(
  std::uint16_t shard, const queue_address& queue, const core::fairness_part& part);

/// The number that all parts of a command on several shards share; 0: none.
enum class operation : std::uint64_t {};

/// `part` is this shard's configuration. `weights`: when set, how the weights of fairness keys
/// change; otherwise those of `part` replace them.
[[nodiscard]] question set_queue(
  std::uint16_t shard,
  const queue_address& queue,
  const queue_config& part,
  operation whole = {},
  const std::optional<weight_changes>& weights = {});
[[nodiscard]] question weigh_keys(
  std::uint16_t shard,
  const queue_address& queue,
  const weight_changes& weights,
  operation whole = {});
[[nodiscard]] question pause_queue(
  std::uint16_t shard, const queue_address& queue, bool paused, operation whole = {});

[[nodiscard]] question list_tasks(const task_filter& filter, const walk_position& at);

/// An empty queue name means every queue of the tenant.
[[nodiscard]] question
change_many(
  core::bulk_kind what, const queue_address& of, const walk_position& at, operation whole = {});

/// Changes or counts dead tasks of a list. @pre core::is_of_list(what); `tasks` ascend
[[nodiscard]] question change_listed(
  core::bulk_kind what,
  const queue_address& of,
  std::uint16_t shard,
  std::vector<core::dead_task> tasks,
  operation whole = {});

} // namespace codeq::client
