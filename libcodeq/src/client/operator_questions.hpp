// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/task.hpp"

#include "core/commands/operator_command.hpp"
#include "protocol/frame.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

/// Writes what operators ask a coordinator, one question per function; the number comes when the
/// question is asked.
namespace codeq::client {

using question = std::function<protocol::wire_frame(std::uint64_t number)>;

/// Names a task by its id, or by its key on the shard that owns that.
struct task_address {
  task_id task;
  /// When set, names the task instead of `task.seq`.
  std::optional<task_key> key{};
};

/// The address of a key. @pre shard_count > 0
[[nodiscard]] task_address address_of(const task_key& key, std::uint16_t shard_count);

/// Where a part of a walk over a shard's tasks stands.
struct walk_position {
  std::uint16_t shard = 0;
  sequence after = 0;
  /// Tasks to look at.
  std::uint32_t limit = 0;
  /// Only smaller sequences; 0 is no bound.
  sequence below = 0;
  /// In falling order of sequences; of lists only.
  bool newest_first = false;
};

/// With `with_body` the reply says what the task carries, too.
[[nodiscard]] question ask_status(const task_address& task, bool with_body = false);
[[nodiscard]] question ask_change(const task_address& task, task_change what);
[[nodiscard]] question ask_force(task_id task, force_kind how, const std::string& text);
[[nodiscard]] question ask_explain(task_id task);
[[nodiscard]] question ask_events(task_id task);
[[nodiscard]] question ask_stats();
[[nodiscard]] question ask_backup(bool start);

[[nodiscard]] question show_queue(std::uint16_t shard, const queue_address& queue);

/// `part` is what this shard is to have.
[[nodiscard]] question
set_queue(std::uint16_t shard, const queue_address& queue, const queue_config& part);
[[nodiscard]] question pause_queue(std::uint16_t shard, const queue_address& queue, bool paused);

[[nodiscard]] question list_tasks(const task_filter& filter, const walk_position& at);

/// An empty queue is every queue of the tenant.
[[nodiscard]] question
change_many(core::bulk_kind what, const queue_address& of, const walk_position& at);

} // namespace codeq::client
