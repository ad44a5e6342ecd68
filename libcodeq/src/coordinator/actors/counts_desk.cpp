// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/counts_desk.hpp"

#include "coordinator/actors/gather_stats.hpp"
#include "coordinator/session/stats_sum.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace codeq::coordinator {

void counts_desk::start(counts_actor::pointer self, const std::vector<shard_actor>& shards) {
  self_ = self;
  shards_ = shards;
  connect(counts_, {});
  connect(counts_with_leases_, {.with_leases = true});
}

void counts_desk::connect(question& shared, ask_shard_stats asked) {
  using parts_result = result<std::vector<base::coordinator_counts>>;
  using sum_result = result<base::coordinator_counts>;
  shared.connect([this, asked](std::function<void(const counts_told&)> done) {
    auto add = [done = std::move(done)](const parts_result& parts) {
      auto sum = parts ? sum_result(sum_of(*parts)) : sum_result(parts.error());
      done(counts_told{std::make_shared<const sum_result>(std::move(sum))});
    };
    gather_stats(self_, shards_, std::move(add), asked);
  });
}

caf::result<counts_told> counts_desk::ask(const ask_counts& m) {
  auto promise = self_->make_response_promise<counts_told>();
  auto tell = [promise](const counts_told& told) mutable { promise.deliver(told); };
  (m.with_leases ? counts_with_leases_ : counts_).ask(std::move(tell));
  return promise;
}

counts_actor::behavior_type drive_counts_desk(
  counts_actor::stateful_pointer<counts_desk> self,
  const caf::strong_actor_ptr& owner,
  const std::vector<shard_actor>& shards) {
  self->set_default_handler(caf::drop);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); });
  self->monitor(owner);
  self->state.start(self, shards);
  return {
    [self](const ask_counts& m) { return self->state.ask(m); },
  };
}

} // namespace codeq::coordinator
