// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/keeper.hpp"

#include "base/tuning.hpp"

#include <utility>

namespace codeq::coordinator {

void keeper_state::start(keeper_actor::pointer self, keeper_options options) {
  self_ = self;
  options_ = std::move(options);
  keeper_.emplace(options_.keep);
  self_->delayed_send(self_, tuning::retention_look_interval, look_at_retention{});
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
  };
}

} // namespace codeq::coordinator
