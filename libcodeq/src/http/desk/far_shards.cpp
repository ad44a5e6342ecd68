// SPDX-License-Identifier: Apache-2.0
#include "http/desk/far_shards.hpp"

#include "base/tuning.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <utility>

namespace codeq::http {

void far_shards::start(gateway_actor::pointer self, far_shards_options options, events then) {
  self_ = self;
  options_ = std::move(options);
  then_ = std::move(then);
  gateway_actor me = self_;
  auto sink = [me](const protocol::wire_frame& frame) -> result<void> {
    caf::anon_send(me, frame_arrived{frame});
    return {};
  };
  peers_.dial(
    self_->system(),
    {{options_.coordinator},
     options_.identity,
     std::move(sink),
     caf::actor_cast<caf::strong_actor_ptr>(me),
     options_.tls});
}

std::string far_shards::node_of(shard_id shard) const {
  const auto* place = peers_.map().of(shard);
  return place ? place->node : std::string();
}

actors::connection_actor far_shards::claims_connection_of(shard_id shard) const {
  const auto* to = peers_.claims_connection_of(shard);
  return to && node_of(shard) != options_.node ? *to : actors::connection_actor{};
}

client::peers::members far_shards::others() const {
  return peers_.all_members(options_.node);
}

void far_shards::take(const actors::link_up& m) {
  auto came = peers_.take_up(m);
  if (!came)
    return;
  for (const auto& ended : came->replaced)
    then_.lost(ended);
  follow(*came);
}

void far_shards::take(const actors::link_down& m) {
  const auto lost = peers_.connection_on(m.link);
  // All coordinators are used all the time, so it makes no difference which one counts as in use.
  static_cast<void>(peers_.take_down(m));
  if (lost)
    then_.lost(lost);
}

void far_shards::take(const actors::from_link<schema::ClusterMap>& m) {
  follow(peers_.take_places(m));
}

void far_shards::follow(const client::peers::arrival& came) {
  if (!came.resend.empty())
    then_.moved(came.resend);
  if (came.retries)
    retry_later();
}

void far_shards::retry_later() {
  then_.after(tuning::not_here_pause, [this] {
    const auto again = peers_.retry();
    if (!again.resend.empty())
      then_.retried(again.resend);
    // Others stay nowhere for a longer pause.
    if (again.retries)
      retry_later();
  });
}

} // namespace codeq::http
