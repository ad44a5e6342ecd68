// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/time.hpp"

#include "core/commands/task_settings.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

/// What operators ask of a shard. Every bound of `codeq/limits.hpp` has been checked before a
/// command is made.
namespace codeq::core {

/// Names a connected session within this process; chosen by the caller, meaningless to the core.
using peer_id = std::uint32_t;

/// Ends a task that is not leased; asks the holder of a leased one to stop. Effects:
/// `change_answered` or `task_not_here`; `cancel_wanted`.
struct cancel {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  /// When set, names the task instead of `seq`.
  std::shared_ptr<const task_key> key{};
};

/// Makes a task that waits for a time ready now; its user's deferral counts on unless the task
/// allows promotion. Effects: `change_answered` or `task_not_here`.
struct promote {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  /// When set, names the task instead of `seq`.
  std::shared_ptr<const task_key> key{};
};

/// Gives a dead task all its attempts again. Effects: `change_answered` or `task_not_here`.
struct redrive {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
};

/// Removes a dead task for good; from then on nobody knows it. Effects: `change_answered` or
/// `task_not_here`.
struct purge {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
};

/// Ends a lease or a task without its token, by an operator's will. Effects: `change_answered` or
/// `task_not_here`; `leases_lost` for the holder.
struct force {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  force_kind how = force_kind::revoke;
  bytes text;
};

/// Effects: `task_described` or `task_not_here`.
struct describe_task {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  /// When set, names the task instead of `seq`.
  std::shared_ptr<const task_key> key{};
  /// The task's body is wanted too.
  bool with_body = false;
};

/// Why the task does not run at this moment. Effects: `task_explained` or `task_not_here`.
struct explain_task {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
};

/// Sets what a queue gives its tasks and how much it takes. The queue is made when it is new.
/// Effect: `queue_answered`.
struct configure_queue {
  peer_id peer = 0;
  std::uint64_t number = 0;
  queue_address queue;
  queue_config config;
};

/// Stops or resumes handing out a queue's tasks; leases run on. The queue is made when it is new.
/// Effect: `queue_answered`.
struct pause_queue {
  peer_id peer = 0;
  std::uint64_t number = 0;
  queue_address queue;
  bool paused = false;
};

/// Effect: `queue_answered`; a queue that nobody has configured has the usual settings.
struct show_queue {
  peer_id peer = 0;
  std::uint64_t number = 0;
  queue_address queue;
};

/// What happened to the task; the store has it. Effects: `task_described` or `task_not_here`.
struct tell_history {
  peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
};

/// Which of the tasks that a filter picks a command is about.
struct task_part {
  task_filter filter;
  /// Only tasks with a greater sequence.
  sequence after = 0;
  /// Only tasks with a smaller sequence; 0 is no bound.
  sequence below = 0;
  /// Tasks taken in one command, 1..`limits::bulk_tasks_max`; fewer when so many others had to be
  /// looked at that the command's work is enough (`limits::bulk_looked_at_max`).
  std::uint32_t limit = 0;
  /// In falling order of sequences, from `below` on; of lists only.
  bool newest_first = false;
};

/// What happens to many tasks. On the wire, never renumber.
enum class bulk_kind : std::uint8_t {
  redrive = 0,    ///< Dead tasks live again.
  purge_dead = 1, ///< Dead tasks go for good.
  /// Tasks go for good whatever their state; leases are revoked. `part.after` is where the part
  /// before ended: with the last part, unless a state is asked for, everything of the queues that
  /// ended long ago goes as well.
  purge_all = 2,
};

/// Does the same to many tasks, a part per command: the answer says where to go on. Effect:
/// `bulk_answered`; `leases_lost` for the holders of purged tasks.
struct change_many {
  peer_id peer = 0;
  std::uint64_t number = 0;
  bulk_kind what = bulk_kind::redrive;
  task_part part;
};

/// Only tasks in memory: live and dead ones, and others for a while. Effect: `tasks_listed`, in
/// the part's order of their sequences.
struct list_tasks {
  peer_id peer = 0;
  std::uint64_t number = 0;
  task_part part;
};

} // namespace codeq::core
