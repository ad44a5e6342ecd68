// SPDX-License-Identifier: Apache-2.0
#include "core/turn/known_rival.hpp"

namespace codeq::core {

const std::optional<rival_head>& known_rival::at(std::size_t priority) {
  if (board_ && (!read_at_ || priority < *read_at_)) {
    read_at_ = priority;
    rival_ = board_->best_elsewhere();
  }
  return rival_;
}

} // namespace codeq::core
