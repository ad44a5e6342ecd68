// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"
#include "codeq/ids.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include "core/effect.hpp"

#include <string>
#include <vector>

/// What a shard tells the outside, as one line per fact: the reference says what it expects and the
/// core's effects are put into the same words, so that both can be compared and read.
namespace codeq::model {

/// A sequence or token as people read it: `epoch.counter`.
[[nodiscard]] std::string short_number(std::uint64_t number);

[[nodiscard]] std::string say_task(sequence seq, fencing_token token);

[[nodiscard]] std::string
say_enqueued(core::peer_id peer, std::uint64_t number, const std::vector<sequence>& tasks);

[[nodiscard]] std::string say_refused(core::peer_id peer, std::uint64_t number, errc code);

[[nodiscard]] std::string say_revoked(core::peer_id peer, std::uint32_t credits);

[[nodiscard]] std::string
say_answered(core::peer_id peer, const core::task_lease& lease, errc code);

[[nodiscard]] std::string say_taken(shard_id from, std::uint64_t number);

/// Everything that a run says of its tasks, and their bodies.
[[nodiscard]] std::string say_run(const core::enqueue_run& run);

[[nodiscard]] std::string say_lost(core::peer_id peer, const core::task_lease& lease);

[[nodiscard]] std::string say_resumed(core::peer_id peer);

[[nodiscard]] std::string
say_redelivered(core::peer_id peer, const core::task_lease& lease, std::uint32_t attempt);

[[nodiscard]] std::string say_timer(const core::task_lease& lease, monotonic_time deadline);

[[nodiscard]] std::string say_timer_dropped(fencing_token token);

[[nodiscard]] std::string say_parked(core::peer_id peer);

[[nodiscard]] std::string say_available(core::peer_id peer);

[[nodiscard]] std::string
say_stop(core::peer_id peer, const core::task_lease& lease, duration grace);

[[nodiscard]] std::string say_changed(const core::change_answered& answer);

/// What somebody who asked is told of a task that is known.
struct told_task {
  sequence seq = 0;
  task_state state = task_state::ready;
  fencing_token token{};
  std::uint32_t attempt = 0;
};

[[nodiscard]] std::string say_described(const core::inquiry& why, const told_task& task);

[[nodiscard]] std::string say_unknown(const core::inquiry& why, sequence seq);

} // namespace codeq::model
