// SPDX-License-Identifier: Apache-2.0
#include "core/state/task_checkpoints.hpp"

namespace codeq::core {

bool is_newer_checkpoint(const shard_state& state, sequence seq, const checkpoint_mark& mark) {
  auto at = state.checkpoints.find(seq);
  return at == state.checkpoints.end() || at->second.token != mark.token
         || mark.number > at->second.number;
}

std::uint32_t
next_checkpoint_number(const shard_state& state, sequence seq, fencing_token attempt) {
  auto at = state.checkpoints.find(seq);
  bool is_first = at == state.checkpoints.end() || at->second.token != attempt;
  return is_first ? 1 : at->second.number + 1;
}

void set_checkpoint(shard_state& state, sequence seq, const checkpoint_mark& mark) {
  state.checkpoints.insert_or_assign(seq, mark);
}

void forget_checkpoint(shard_state& state, sequence seq) {
  state.checkpoints.erase(seq);
}

} // namespace codeq::core
