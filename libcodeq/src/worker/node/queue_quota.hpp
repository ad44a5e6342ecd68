// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace codeq::worker {

/// Bounds the tasks of one queue that a node holds, so that a slow queue cannot fill the whole
/// prefetch.
struct queue_quota {
  /// Maximum number of tasks; when it is reached, the coordinators are told to send none of this
  /// queue.
  std::size_t most = 0;
  /// When the number has fallen to this, they are told to send again.
  std::size_t reopen = 0;
};

/// The quota of a queue that may use `own` of `slots` slots and the same part of the prefetch. @pre
/// 0 < own <= slots
[[nodiscard]] queue_quota make_quota(std::size_t own, std::size_t slots, std::size_t prefetch);

} // namespace codeq::worker
