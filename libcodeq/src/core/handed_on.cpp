// SPDX-License-Identifier: Apache-2.0
#include "core/handed_on.hpp"

#include "core/shard_state.hpp"

namespace codeq::core {

bool is_news(const shard_state& state, sequence seq, const handed_on_mark& mark) {
  auto at = state.checkpoints.find(seq);
  return at == state.checkpoints.end() || at->second.token != mark.token
         || mark.number > at->second.number;
}

void hand_on(shard_state& state, sequence seq, const handed_on_mark& mark) {
  state.checkpoints.insert_or_assign(seq, mark);
}

void forget_checkpoint(shard_state& state, sequence seq) {
  state.checkpoints.erase(seq);
}

} // namespace codeq::core
