// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/session_messages.hpp"
#include "core/effect.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace codeq::coordinator {

/// Packs granted runs and their bodies into messages that each fit a frame. The core bounds a grant
/// by the average task of each segment, which the real sizes may exceed many times.
class task_batches {
public:
  using sink = std::function<void(actors::tasks_for_peer)>;

  /// `send` gets each message when it is full, `more` left empty.
  task_batches(shard_id shard, bool redelivered, sink send);

  /// Adds a run, which is at most a segment.
  void add(core::granted_run run, core::encoded_tasks bodies);

  /// Sends what was added since the last message, if anything.
  void send();

private:
  shard_id shard_;
  sink send_;
  core::tasks_granted open_;
  std::vector<core::encoded_tasks> bodies_;
  std::uint32_t count_ = 0;
  std::size_t bytes_ = 0;
};

} // namespace codeq::coordinator
