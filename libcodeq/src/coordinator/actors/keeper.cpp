// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/keeper.hpp"

#include "base/tuning.hpp"
#include "observe/log.hpp"

#include <utility>

namespace codeq::coordinator {

void keeper_state::start(keeper_actor::pointer self, keeper_options options) {
  self_ = self;
  options_ = std::move(options);
  keeper_.emplace(options_.keep);
  self_->delayed_send(self_, tuning::retention_look_interval, look_at_retention{});
  if (options_.reserve)
    self_->delayed_send(self_, tuning::free_space_look_interval, look_at_space{});
}

void keeper_state::reclaim() {
  if (*options_.cancelled)
    return;
  // A purge is noted before it is written, and may have many parts: wait until none was added.
  auto purges = options_.reserve->purges();
  bool is_settled = purges == std::exchange(seen_purges_, purges);
  auto usable = options_.reserve->usable();
  if (
    is_settled && usable && *usable < options_.reserve->least(options_.free_bytes)
    && is_due(purges))
    reclaim_now(*usable);
  self_->delayed_send(self_, tuning::free_space_look_interval, look_at_space{});
}

bool keeper_state::is_due(std::uint64_t purges) {
  // The store drops the records of purged tasks only after the next snapshot of their shard, so
  // one try is not enough.
  constexpr unsigned tries_max = 6;
  if (std::exchange(purges_, purges) != purges) {
    tries_ = tries_max;
    looks_left_ = 0;
  }
  if (tries_ == 0 || looks_left_-- > 0)
    return false;
  looks_left_ = 1u << (tries_max - --tries_);
  return true;
}

void keeper_state::reclaim_now(std::uint64_t before) {
  CODEQ_LOG_INFO("store frees the space of purged tasks, since the disk is full free={}", before);
  // Files get smaller only after larger ones were written.
  disk_reserve::loan lent{*options_.reserve};
  auto room = [this] {
    auto bytes = options_.reserve->room();
    return bytes ? *bytes : 0;
  };
  auto left_out = options_.keep.store->reclaim(room, *options_.cancelled);
  if (!left_out)
    return options_.on_failure(left_out.error());
  auto after = options_.reserve->usable();
  CODEQ_LOG_INFO("store has freed space free={} left_out={}", after ? *after : 0, *left_out);
  if (*left_out > 0)
    CODEQ_LOG_WARN(
      "store cannot rewrite files because the disk is full bytes={} advice=\"make space on the "
      "disk, then purge again\"",
      *left_out);
}

void keeper_state::look() {
  if (*options_.cancelled)
    return;
  const auto& keep = options_.keep;
  auto evicted = keep.horizons->evicted();
  if (auto ok = keeper_->look(*options_.cancelled); !ok)
    return options_.on_failure(ok.error());
  if (keep.horizons->evicted() > evicted)
    options_.meter->note({"retention_bytes", keep.bytes_max, "owner", "store"});
  self_->delayed_send(self_, tuning::retention_look_interval, look_at_retention{});
}

keeper_actor::behavior_type
keeper(keeper_actor::stateful_pointer<keeper_state> self, const keeper_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  return {
    [self](look_at_retention) { self->state.look(); },
    [self](look_at_space) { self->state.reclaim(); },
  };
}

} // namespace codeq::coordinator
