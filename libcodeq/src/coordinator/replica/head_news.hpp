// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/flow/ready_board.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace codeq::coordinator {

/// The first ready task of a queue on the shards of a coordinator; empty when none may be granted.
struct queue_head {
  queue_address queue;
  std::optional<core::rival_head> head{};
};

/// A coordinator's news for another one about its first ready tasks.
struct head_news {
  /// Number of queues in one message.
  static constexpr std::size_t queues_max = 512;

  /// Earlier news are void.
  bool is_whole = false;
  /// The queues whose first task has changed.
  std::vector<queue_head> heads;
};

} // namespace codeq::coordinator
