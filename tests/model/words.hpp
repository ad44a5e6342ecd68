// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include "core/commands/effect.hpp"

#include <string>
#include <vector>

/// Effects as lines of text, one per fact. The reference's expectations and the core's effects use
/// the same words, so that both can be compared and read.
namespace codeq::model {

struct reference_task;

/// A sequence or token for people: `epoch.counter`.
[[nodiscard]] std::string short_number(std::uint64_t number);

[[nodiscard]] std::string say_task(sequence seq, fencing_token token);

/// `kinds`: one per task, or empty when all were created.
[[nodiscard]] std::string say_enqueued(
  core::peer_id peer,
  std::uint64_t number,
  const std::vector<sequence>& tasks,
  const std::vector<enqueue_kind>& kinds);

[[nodiscard]] std::string say_refused(core::peer_id peer, std::uint64_t number, errc code);

[[nodiscard]] std::string say_revoked(core::peer_id peer, std::uint32_t credits);

[[nodiscard]] std::string
say_answered(core::peer_id peer, const core::task_lease& lease, errc code);

[[nodiscard]] std::string say_taken(shard_id from, std::uint64_t number);

/// All fields of the run, and the bodies of its tasks.
[[nodiscard]] std::string say_run(const core::enqueue_run& run);

[[nodiscard]] std::string say_lost(core::peer_id peer, const core::task_lease& lease);

[[nodiscard]] std::string say_resumed(core::peer_id peer);

[[nodiscard]] std::string
say_redelivered(core::peer_id peer, const core::task_lease& lease, std::uint32_t attempt);

[[nodiscard]] std::string say_saved(core::peer_id peer, const core::saved_checkpoint& saved);

/// The checkpoint of the task, or the one granted with a task of the run.
[[nodiscard]] std::string say_checkpoint(const reference_task& task);
[[nodiscard]] std::string say_checkpoint(const core::granted_run& run, sequence seq);

[[nodiscard]] std::string say_timer(const core::task_lease& lease, monotonic_time deadline);

[[nodiscard]] std::string say_timer_dropped(fencing_token token);

[[nodiscard]] std::string say_parked(core::peer_id peer);

[[nodiscard]] std::string say_available(core::peer_id peer);

[[nodiscard]] std::string
say_stop(core::peer_id peer, const core::task_lease& lease, duration grace);

[[nodiscard]] std::string say_changed(const core::change_answered& answer);

[[nodiscard]] std::string say_bulk(const core::bulk_answered& answer);

/// Status of a known task, as a peer that asked for it gets it.
struct told_task {
  sequence seq = 0;
  task_state state = task_state::ready;
  fencing_token token{};
  std::uint32_t attempt = 0;
};

[[nodiscard]] std::string say_described(const core::inquiry& why, const told_task& task);

/// Why a task does not run, as a peer that asked for it gets it.
struct told_reason {
  core::peer_id peer = 0;
  std::uint64_t number = 0;
  sequence seq = 0;
  task_reason reason = task_reason::next;
  timestamp until{};
  sequence blocker = 0;
  task_state blocker_state = task_state::ready;
  std::string worker{};
  duration lease_left{0};
};

[[nodiscard]] std::string say_explained(const told_reason& told);

/// An event of a task's history, followed by the attempt that it belongs to, if any.
[[nodiscard]] std::string say_event(task_event::kind what, task_state state);
[[nodiscard]] std::string say_attempt(std::uint32_t attempt, const std::string& worker);

/// List requests are numbered from here on.
inline constexpr std::uint64_t first_list_number = 1'000'000;

/// Describes the settings that a queue has from now on.
[[nodiscard]] std::string say_queue(const core::queue_answered& answer);
[[nodiscard]] std::string say_tripped(const core::breaker_tripped& tripped);

[[nodiscard]] std::string say_queue_refused(core::peer_id peer, std::uint64_t number, errc code);

[[nodiscard]] std::string say_progress(const core::progress_told& told);

[[nodiscard]] std::string say_unknown(const core::inquiry& why, sequence seq);

} // namespace codeq::model
