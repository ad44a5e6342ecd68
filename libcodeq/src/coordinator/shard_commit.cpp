// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard.hpp"
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
  request.writes = std::move(writes);
  self_->send(options_.journal, std::move(request));
}

} // namespace codeq::coordinator
