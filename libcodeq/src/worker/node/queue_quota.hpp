// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace codeq::worker {

/// How many tasks of one queue a node holds, so that a slow queue does not fill the room of all.
struct queue_quota {
  /// No more than these; with as many the coordinators are told to send none of this queue.
  std::size_t most = 0;
  /// With so few left they are told to send again.
  std::size_t reopen = 0;
};

/// The slots that the queue may use of all `slots`, and as large a part of the prefetch.
/// @pre 0 < own <= slots
[[nodiscard]] queue_quota make_quota(std::size_t own, std::size_t slots, std::size_t prefetch);

} // namespace codeq::worker
