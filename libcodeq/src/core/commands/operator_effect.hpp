// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "core/commands/event.hpp"
#include "core/commands/heartbeat_command.hpp"
#include "core/commands/operator_command.hpp"

#include <memory>
#include <string>
#include <vector>

/// Answers to operators. As with all effects, none may be carried out before the turn's events, and
/// those of all earlier turns, are durable.
namespace codeq::core {

/// Answers a change of one task; `state` is the task's state after it.
struct change_answered {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  change_result result = change_result::unchanged;
  task_state state = task_state::ready;
};

/// Answers a command for a queue, with its settings after the command.
struct queue_answered {
  peer_id peer = 0;
  std::uint64_t number = 0;
  queue_address queue;
  queue_settings settings;
  /// An error when nothing was done.
  result<void> allowed{};
  /// With `show_queue`: there is no such queue, and the settings are the defaults.
  bool is_unknown = false;
  /// With `show_queue::fairness`; else null.
  std::shared_ptr<const fairness_page> fairness{};
  /// With `show_queue::is_explained`; else null.
  std::shared_ptr<const queue_explanation> explanation{};
  /// With `show_queue`, of a claimer: tasks of its queues are ready, and their shard may get slots
  /// or permits for them soon.
  bool awaits_slots = false;
  /// Too few copies of the shard are in sync or answer, so that it grants no leases. Set by the
  /// shard's host.
  bool lacks_copies = false;
};

/// Answers one part of a bulk change.
struct bulk_answered {
  peer_id peer = 0;
  std::uint64_t number = 0;
  /// Number of changed tasks.
  std::uint64_t changed = 0;
  /// Where the next part begins.
  sequence after = 0;
  /// False when no further tasks can match the filter.
  bool more = false;
};

/// The state of a task without the text of its latest outcome.
struct task_view {
  sequence seq = 0;
  queue_address queue;
  std::uint8_t priority = 0;
  std::uint16_t max_attempts = 0;
  timestamp enqueued_at;
  /// Set for a scheduled task.
  timestamp eligible_at{};
  task_entry entry;
  /// The holder of the lease, and when it was granted.
  std::string worker;
  timestamp granted_at{};
  /// Remaining time of the lease if no further heartbeat arrives.
  duration lease_left{0};
  /// The latest report of the lease's handler; null when there is none.
  std::shared_ptr<const lease_progress> progress{};
  std::string group;
  std::string key;
  /// Where the task's body is stored; `segment` is 0 when that is unknown.
  sequence segment = 0;
  bool aside = false;
  bool replaced = false;
  // Known to the store only; a list contains them.
  timestamp ended_at{};
  std::string error_text{};
  fairness_mark fairness{};
  std::vector<task_limit> limits{};
};

/// Answers a list with the tasks in memory. Those whose segments are closed, and what a filter asks
/// of texts, headers and workers, are in the store: see `needs_store`.
struct tasks_listed {
  peer_id peer = 0;
  std::uint64_t number = 0;
  std::vector<task_view> tasks;
  sequence after = 0;
  bool more = false;
  /// As in the command.
  task_part part{};
  /// See `task_not_here`.
  std::shared_ptr<const purge_marks> purged{};
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
  /// Number of attached workers that claim from the queue.
  std::uint32_t workers = 0;
  /// With `limited`; see `task_explanation`.
  std::string limit{};
  std::string limit_key{};
  std::uint64_t limit_before = 0;
  /// With `leased`; see `task_explanation`.
  bool waits_at_worker = false;
  /// With `fairness`; see `task_explanation`.
  std::string fairness_key{};
  std::uint64_t fairness_before = 0;
  duration fairness_wait{0};
};

} // namespace codeq::core
