// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/effect.hpp"
#include "protocol/messages.hpp"

#include <span>
#include <vector>

/// Converts effects of the shard core to messages for a peer.
namespace codeq::protocol {

[[nodiscard]] enqueue_reply
make_enqueue_reply(shard_id shard, const core::enqueue_answered& answer, duration retry_after);

/// `bodies` contains the tasks of each run, in order.
[[nodiscard]] task_batch make_task_batch(
  shard_id shard, const core::tasks_granted& granted, std::span<const core::encoded_tasks> bodies);

[[nodiscard]] result_reply
make_result_reply(shard_id shard, std::span<const core::report_answer> answers);

[[nodiscard]] checkpoints_saved
make_checkpoints_saved(shard_id shard, std::span<const core::saved_checkpoint> checkpoints);

/// Says that there is no room for these checkpoints at present.
[[nodiscard]] checkpoints_saved
make_checkpoints_postponed(shard_id shard, std::span<const core::saved_checkpoint> checkpoints);

[[nodiscard]] leases_lost
make_leases_lost(shard_id shard, std::span<const core::task_lease> leases);

[[nodiscard]] heartbeat_reply make_heartbeat_reply(
  shard_id shard, std::uint64_t number, std::span<const core::task_lease> leases);

[[nodiscard]] resume_reply make_resume_reply(shard_id shard);

/// One task of an await request.
struct awaited_task {
  sequence seq = 0;
  /// `unknown_task` when the task does not exist.
  errc code = errc::none;
  /// `leased` when this is a progress report and the task has not ended.
  task_state state = task_state::completed;
  std::uint16_t attempt = 0;
  bytes text;
  /// Set with `leased`.
  std::uint8_t percent = 0;
};

[[nodiscard]] tasks_ended make_tasks_ended(shard_id shard, std::span<const awaited_task> tasks);

[[nodiscard]] cancel_notice make_cancel_notice(shard_id shard, const core::cancel_wanted& wanted);

[[nodiscard]] refused make_refused(const error& reason);

[[nodiscard]] goodbye make_goodbye(errc code, const producer_id& finished = {});

} // namespace codeq::protocol
