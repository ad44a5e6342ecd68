// SPDX-License-Identifier: Apache-2.0
#include "core/turn.hpp"

#include <utility>

namespace codeq::core {

void turn::save_all(const heartbeat& c) {
  checkpoints_saved saved{c.peer, {}};
  leases_lost lost{c.peer, {}};
  for (const auto& checkpoint : c.checkpoints) {
    if (save(checkpoint))
      saved.checkpoints.push_back({checkpoint.seq, checkpoint.mark});
    else
      lost.leases.push_back({checkpoint.seq, checkpoint.mark.token});
  }
  if (!saved.checkpoints.empty())
    effects_.emplace_back(std::move(saved));
  if (!lost.leases.empty())
    effects_.emplace_back(std::move(lost));
}

bool turn::save(const lease_checkpoint& c) {
  const auto* l = state_.leases.find(c.mark.token);
  bool is_held = l && l->seq == c.seq;
  if (!is_held)
    return false;
  // What came before already is as durable as this turn will be.
  if (!is_news(state_, c.seq, c.mark))
    return true;
  hand_on(state_, c.seq, c.mark);
  body_bytes_ += c.data.size();
  dropped_.erase(c.seq);
  saved_.insert_or_assign(c.seq, c);
  return true;
}

void turn::drop_checkpoint(sequence seq) {
  if (!state_.checkpoints.contains(seq))
    return;
  forget_checkpoint(state_, seq);
  saved_.erase(seq);
  dropped_.insert(seq);
}

void turn::close_checkpoints() {
  if (saved_.empty() && dropped_.empty())
    return;
  checkpoints_handed_on e;
  e.position = state_.positions.take(1);
  // Only what is saved has a record that tells the time; of the others the ends of their tasks do.
  if (!saved_.empty())
    e.at = now_.shard;
  for (auto& [seq, checkpoint] : saved_)
    e.saved.push_back(std::move(checkpoint));
  e.dropped.assign(dropped_.begin(), dropped_.end());
  handed_on_.push_back(std::move(e));
}

} // namespace codeq::core
