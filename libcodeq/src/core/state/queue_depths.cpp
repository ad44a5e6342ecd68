// SPDX-License-Identifier: Apache-2.0
#include "core/state/queue_depths.hpp"

#include "base/queue_maximum.hpp"

#include <algorithm>
#include <string>

namespace codeq::core {

namespace {

bool is_counted_elsewhere(const shard_state& state, const queue_address& queue) {
  return state.permits
    .owner_elsewhere(queue.tenant, {std::string(depth_limit), queue.queue, 1})
    .has_value();
}

/// Number of tasks that other shards may have. A shard of which nothing was heard counts with its
/// part of the maximum, which an older version limits it to.
std::uint64_t booked_elsewhere(const shard_state& state, const queue_state& queue) {
  const std::uint64_t others = state.permits.shard_count() - 1u;
  const auto* count = state.depths.find(queue.address);
  const auto known = count ? count->booked.size() : 0;
  const auto part =
    base::part_of_maximum(queue.settings.config.max_depth, state.permits.shard_count());
  return state.depths.total(queue.address) + (others - std::min(others, known)) * part;
}

/// True when shards of which nothing is booked have not been asked how many tasks they have.
bool is_any_unknown(const shard_state& state, const queue_state& queue) {
  const auto* count = state.depths.find(queue.address);
  const std::uint64_t known = count ? count->booked.size() : 0;
  return known + 1 < state.permits.shard_count() && !(count && count->are_all_asked);
}

bool is_doubtful(const shard_state& state, const queue_state& queue) {
  const auto* count = state.depths.find(queue.address);
  return count && count->is_doubtful;
}

} // namespace

void join_depth(shard_state& state, std::uint32_t index) {
  const auto& queue = *state.queues[index];
  if (queue.settings.config.max_depth != 0 && is_counted_elsewhere(state, queue.address))
    state.permits.open_depth(
      index, queue.address, queue.settings.config.max_depth, queue.depth());
}

void abandon_depths(shard_state& state) {
  state.depths.for_each([&](const queue_address& queue, const depth_book::count&) {
    if (!state.queue_index.contains(queue))
      state.depths.abandon(queue);
  });
}

void change_depth(shard_state& state, std::uint32_t index, std::uint64_t before) {
  const auto& queue = *state.queues[index];
  const auto after = queue.settings.config.max_depth;
  if (before == after || !is_counted_elsewhere(state, queue.address))
    return;
  // Room that was given of the other maximum is void. The owner is told in a later turn, which may
  // have nothing to write.
  state.permits.depths().close(index);
  state.permits.sync_turn();
  if (after != 0)
    state.permits.open_depth(index, queue.address, after, queue.depth());
}

void note_depth(shard_state& state, std::uint32_t index) {
  const auto& queue = *state.queues[index];
  if (queue.settings.config.max_depth != 0 && has_quota(state, index))
    state.permits.depths().raise(index, queue.depth());
}

bool has_quota(const shard_state& state, std::uint32_t index) {
  return state.permits.depths().has_quota(index);
}

bool is_within_maximum(const shard_state& state, std::uint32_t index) {
  const auto& queue = *state.queues[index];
  return !is_doubtful(state, queue)
         && booked_elsewhere(state, queue) + queue.depth() <= queue.settings.config.max_depth;
}

std::uint64_t depth_room(const shard_state& state, std::uint32_t index) {
  const auto& queue = *state.queues[index];
  auto most = queue.settings.config.max_depth;
  if (has_quota(state, index))
    most = state.permits.depths().quota(index, state.steady);
  else if (is_any_unknown(state, queue) || is_doubtful(state, queue))
    return 0;
  else
    most -= std::min(most, booked_elsewhere(state, queue));
  return most - std::min(most, queue.depth());
}

} // namespace codeq::core
