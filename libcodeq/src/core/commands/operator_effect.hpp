// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "core/commands/event.hpp"
#include "core/commands/operator_command.hpp"

#include <string>
#include <vector>

/// What a shard answers to operators. As with all effects, none may be carried out before the
/// turn's events, and those of all turns before it, are durable.
namespace codeq::core {

/// Answers a change of one task; `state` is the task's from then on.
struct change_answered {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  change_result result = change_result::unchanged;
  task_state state = task_state::ready;
};

/// Answers a command about a queue: how it stands from then on.
struct queue_answered {
  peer_id peer = 0;
  std::uint64_t number = 0;
  queue_address queue;
  queue_settings settings;
  /// An error when nothing was done.
  result<void> allowed{};
};

/// Answers a part of a change of many tasks.
struct bulk_answered {
  peer_id peer = 0;
  std::uint64_t number = 0;
  /// Tasks changed.
  std::uint64_t changed = 0;
  /// Where the next part begins.
  sequence after = 0;
  /// False when nothing that the filter could pick is left.
  bool more = false;
};

/// All that is known of a task but the text of its latest outcome.
struct task_view {
  sequence seq = 0;
  queue_address queue;
  std::uint8_t priority = 0;
  std::uint16_t max_attempts = 0;
  timestamp enqueued_at;
  /// Of a scheduled task.
  timestamp eligible_at{};
  task_entry entry;
  /// The holder of the lease, and since when.
  std::string worker;
  timestamp granted_at{};
  /// How long the lease still is, unless it is extended.
  duration lease_left{0};
  std::string group;
  std::string key;
  /// Where the task's body is; `segment` is 0 when nothing is known of it.
  sequence segment = 0;
  bool aside = false;
  bool replaced = false;
};

struct tasks_listed {
  peer_id peer = 0;
  std::uint64_t number = 0;
  std::vector<task_view> tasks;
  sequence after = 0;
  bool more = false;
};

struct task_explained {
  peer_id peer = 0;
  std::uint64_t number = 0;
  task_reason reason = task_reason::next;
  task_view view;
  timestamp until{};
  sequence blocker = 0;
  task_state blocker_state = task_state::ready;
  duration lease_left{0};
  queue_settings queue;
  /// Attached workers that claim from the queue.
  std::uint32_t workers = 0;
};

} // namespace codeq::core
