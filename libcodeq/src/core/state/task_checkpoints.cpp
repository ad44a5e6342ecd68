// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_checkpoints.hpp"

namespace codeq::core {

bool is_newer_checkpoint(const shard_state& state, sequence seq, const checkpoint_mark& mark) {
  auto at = state.checkpoints.find(seq);
  return at == state.checkpoints.end() || at->second.token != mark.token
         || mark.number > at->second.number;
}

void set_checkpoint(shard_state& state, sequence seq, const checkpoint_mark& mark) {
  state.checkpoints.insert_or_assign(seq, mark);
}

void forget_checkpoint(shard_state& state, sequence seq) {
  state.checkpoints.erase(seq);
}

} // namespace codeq::core
