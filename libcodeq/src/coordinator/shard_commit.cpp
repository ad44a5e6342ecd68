// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard.hpp"
#include "core/epoch.hpp"
#include "storage/projection.hpp"
#include "storage/retention_filter.hpp"

#include <utility>

namespace codeq::coordinator {

void shard_actor_state::commit(std::vector<core::event> events) {
  actors::commit_request request{
    caf::actor_cast<actors::shard_internal_actor>(self_), turns_->submitted(), nullptr};
  auto writes = std::make_shared<storage::write_set>();
  for (auto& e : events) {
    storage::project(state_->id, e, *writes);
    cache_->take_bodies(e);
    // The last event of its turn, so that the state is the checkpoint's.
    if (const auto* checkpoint = std::get_if<core::checkpoint_taken>(&e))
      request.horizon =
        std::make_shared<const storage::shard_horizon>(storage::horizon_of(*state_, *checkpoint));
  }
  if (!request.horizon)
    turns_->note_written(writes->byte_size());
  request.writes = std::move(writes);
  self_->send(options_.journal, std::move(request));
}

void shard_actor_state::renew_epoch() {
  if (next_epoch_) {
    core::begin_epoch(*state_, *std::exchange(next_epoch_, std::nullopt));
    wants_epoch_ = false;
  }
  bool is_spent = !wants_epoch_ && core::is_epoch_spent(*state_);
  if (!is_spent)
    return;
  wants_epoch_ = true;
  self_->send(
    options_.journal, actors::raise_epoch{caf::actor_cast<actors::shard_internal_actor>(self_)});
}

void shard_actor_state::raise_epoch(std::uint32_t epoch) {
  next_epoch_ = epoch;
  if (!turns_->has_turn())
    renew_epoch();
}

} // namespace codeq::coordinator
