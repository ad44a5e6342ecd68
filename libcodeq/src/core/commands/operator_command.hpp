// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/time.hpp"

#include "core/commands/audit_entry.hpp"
#include "core/commands/queue_settings.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Operators' requests to a shard. Every bound of `codeq/limits.hpp` has been checked before a
/// command is created.
namespace codeq::core {

/// Identifies a connected session within this process; chosen by the caller, opaque to the core.
using peer_id = std::uint32_t;

/// Cancels a task. If it is leased, its holder is asked to stop the handler. Effects:
/// `change_answered` or `task_not_here`; `cancel_wanted`.
struct cancel {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  /// When set, identifies the task in place of `seq`.
  std::shared_ptr<const task_key> key{};
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

/// Makes a task that waits for a time ready now; the user's deferral stays unless the task allows
/// promotion. Effects: `change_answered` or `task_not_here`.
struct promote {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  /// When set, identifies the task in place of `seq`.
  std::shared_ptr<const task_key> key{};
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

/// Makes a dead task live again, with all its attempts. Effects: `change_answered` or
/// `task_not_here`.
struct redrive {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

/// Removes a dead task for good. Effects: `change_answered` or `task_not_here`.
struct purge {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

/// Ends a lease or a task without its token, on an operator's request. Effects: `change_answered`
/// or `task_not_here`; `leases_lost` for the holder.
struct force {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  force_kind how = force_kind::revoke;
  bytes text;
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

/// Queries a task. Effects: `task_described` or `task_not_here`.
struct describe_task {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  /// When set, identifies the task in place of `seq`.
  std::shared_ptr<const task_key> key{};
  /// The task's body is wanted, too.
  bool with_body = false;
};

/// Explains why the task does not run now. Effects: `task_explained` or `task_not_here`.
struct explain_task {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
};

/// Sets the configuration of a queue; creates the queue when it does not exist. Effect:
/// `queue_answered`.
struct configure_queue {
  peer_id peer = 0;
  std::uint64_t number = 0;
  queue_address queue;
  queue_config config;
  /// Null when no operator gave the command.
  origin_ptr origin{};
  /// When set, the queue keeps its weights of fairness keys but for these changes, and those of
  /// `config` are ignored.
  std::optional<weight_changes> weights{};
};

/// Changes the weights of some fairness keys of a queue, and no other setting. Creates the queue
/// when it does not exist. Effect: `queue_answered`.
struct weigh_keys {
  peer_id peer = 0;
  std::uint64_t number = 0;
  queue_address queue;
  weight_changes weights;
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

/// Pauses or resumes a queue; leases stay valid. Creates the queue when it does not exist. Effect:
/// `queue_answered`.
struct pause_queue {
  peer_id peer = 0;
  std::uint64_t number = 0;
  queue_address queue;
  bool paused = false;
  /// Null when no operator gave the command.
  origin_ptr origin{};
  /// When set, the breaker of the queue on another shard has paused it. No effect, and nothing
  /// happens when the queue is paused here or has no breaker here.
  std::string breaker_reason{};
};

/// The part of a queue's fairness keys that an answer lists.
struct fairness_part {
  /// Only keys that come after this one.
  std::string after{};
  /// 1..`limits::fairness_page_max`.
  std::uint32_t limit = 0;
  /// Also the keys that `after` would leave out, from the empty one on.
  bool from_start = true;
};

/// Queries a queue; one without a configuration has the default settings. Effect: `queue_answered`.
struct show_queue {
  peer_id peer = 0;
  std::uint64_t number = 0;
  queue_address queue;
  /// Also list these fairness keys.
  std::optional<fairness_part> fairness{};
  /// Also account for its waiting tasks.
  bool is_explained = false;
};

/// Queries the history of a task, which is in the store. Effects: `task_described` or
/// `task_not_here`.
struct tell_history {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
};

/// The part of the tasks matching a filter that a command applies to.
struct task_part {
  task_filter filter;
  /// Only tasks with a greater sequence.
  sequence after = 0;
  /// Only tasks with a smaller sequence; 0: no bound.
  sequence below = 0;
  /// Maximum number of tasks selected by one command, 1..`tuning::bulk_tasks_max`; fewer when the
  /// limit of examined tasks is reached (`tuning::bulk_looked_at_max`).
  std::uint32_t limit = 0;
  /// In descending order of sequences, from `below` on; for lists only.
  bool newest_first = false;
};

/// A bulk change. On the wire, never renumber.
enum class bulk_kind : std::uint8_t {
  redrive = 0,    ///< Dead tasks live again.
  purge_dead = 1, ///< Dead tasks go for good.
  /// Removes tasks of any state for good; leases are revoked. `part.after` is where the previous
  /// part ended. Unless a state is given, the last part also removes the queues' tasks that have
  /// left memory.
  purge_all = 2,
  redrive_listed = 3, ///< As `redrive`, for the tasks of a list.
  purge_listed = 4,   ///< As `purge_dead`, for the tasks of a list.
  count_redrive = 5,  ///< Counts the tasks that `redrive_listed` would redrive; changes nothing.
  count_purge = 6,    ///< The same for `purge_listed`.
};

/// True when the kind of change is about the tasks of a list.
[[nodiscard]] constexpr bool is_of_list(bulk_kind what) noexcept {
  return what >= bulk_kind::redrive_listed;
}

/// True when the command only counts tasks.
[[nodiscard]] constexpr bool is_count(bulk_kind what) noexcept {
  return what == bulk_kind::count_redrive || what == bulk_kind::count_purge;
}

/// A dead task as a list showed it.
struct dead_task {
  sequence seq = 0;
  /// Token of its last lease; the task is left alone when it has another one.
  fencing_token token{};
};

/// Makes the same change to many tasks, one part per command; the answer says where the next part
/// begins. Effect: `bulk_answered`; `leases_lost` for the holders of purged tasks.
struct change_many {
  peer_id peer = 0;
  std::uint64_t number = 0;
  bulk_kind what = bulk_kind::redrive;
  task_part part;
  /// With `is_of_list(what)`: these tasks, if they are dead and of the tenant and queue of the
  /// part's filter. At most `tuning::bulk_tasks_max`.
  std::vector<dead_task> tasks{};
  /// Null when no operator gave the command.
  origin_ptr origin{};
};

/// Lists tasks. Effect: `tasks_listed`, with those in memory, in the part's order of sequences.
struct list_tasks {
  peer_id peer = 0;
  std::uint64_t number = 0;
  task_part part;
};

/// Enters a command in the audit log that changed something other than the shard's tasks.
struct note_command {
  origin_ptr origin;
  operator_action action = operator_action::backup;
  std::string detail{};
  /// Empty when the command was about the coordinator itself.
  std::string tenant{};
};

/// Queries the audit log, which is in the store. Effect: `audit_wanted`.
struct tell_audit {
  peer_id peer = 0;
  std::uint64_t number = 0;
  audit_filter filter;
  /// Only what this shard has, instead of all shards of the store.
  bool is_of_shard = false;
};

} // namespace codeq::core
