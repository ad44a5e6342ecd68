// SPDX-License-Identifier: Apache-2.0
#include "core/state/epoch.hpp"

#include "base/tuning.hpp"

namespace codeq::core {

namespace {

/// An eighth of an epoch.
constexpr std::uint64_t numbers_left_least = (tuning::token_counter_max + 1) / 8;

bool is_spent(const id_counter& counter) {
  return tuning::token_counter_max - (counter.next & tuning::token_counter_max)
         < numbers_left_least;
}

} // namespace

bool is_epoch_spent(const shard_state& state) {
  return is_spent(state.tokens) || is_spent(state.sequences) || is_spent(state.positions);
}

void begin_epoch(shard_state& state, std::uint32_t epoch) {
  CODEQ_ASSERT(epoch > state.epoch);
  state.epoch = epoch;
  state.tokens.next = state.sequences.next = state.positions.next = first_of_epoch(epoch);
}

} // namespace codeq::core
