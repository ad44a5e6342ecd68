// SPDX-License-Identifier: Apache-2.0
#include "core/turn/known_rival.hpp"

namespace codeq::core {

void known_rival::read(std::size_t priority) {
  if (!board_ || (read_at_ && priority >= *read_at_))
    return;
  read_at_ = priority;
  rival_ = board_->best_elsewhere();
  far_ = board_->best_far();
}

std::optional<shard_id> known_rival::before(const ready_head& own) {
  read(own.priority);
  return rival_ && is_outranked(own, rival_->head) ? std::optional(rival_->shard) : std::nullopt;
}

std::optional<shard_id> known_rival::far_before(const ready_head& own) {
  read(own.priority);
  return far_ && is_outranked_from_afar(own, far_->head) ? std::optional(far_->shard)
                                                         : std::nullopt;
}

} // namespace codeq::core
