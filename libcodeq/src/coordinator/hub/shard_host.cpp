// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/shard_host.hpp"

#include <variant>

namespace codeq::coordinator {

void shard_host_state::attach(const attach_peer& m) {
  // The peer claims anew from a shard that comes later.
  peers_.insert_or_assign(m.who.peer, m).first->second.first_claim.reset();
  pass_on(m);
  // The shard may have come or left after the peer had looked and before it was attached.
  const auto is_here = static_cast<bool>(shard_);
  if (is_here || m.hears_absence)
    self_->send(m.actor, shard_moved{id_, is_here});
}

void shard_host_state::detach(const detach_peer& m) {
  if (m.ending)
    forget_queues(m.peer);
  else
    peers_.erase(m.peer);
  pass_on(m);
}

void shard_host_state::forget_queues(core::peer_id peer) {
  const auto at = peers_.find(peer);
  if (at == peers_.end())
    return;
  at->second.who.queues = {};
  at->second.who.prefixes = {};
  at->second.who.without = {};
}

void shard_host_state::note_queues(const shard_command& m) {
  const auto* change = std::get_if<core::change_queues>(&m.what);
  const auto peer = change ? peers_.find(change->peer) : peers_.end();
  if (peer == peers_.end())
    return;
  // A shard that comes later attaches the worker with the queues that it claims from now.
  auto& who = peer->second.who;
  who.queues = change->queues;
  who.prefixes = change->prefixes;
  who.without = change->without;
}

caf::result<base::coordinator_counts> shard_host_state::stats(const ask_shard_stats& m) {
  if (!shard_)
    return base::coordinator_counts{};
  auto promise = self_->make_response_promise<base::coordinator_counts>();
  promise.delegate(shard_, m);
  return promise;
}

caf::result<bool> shard_host_state::stop() {
  if (!shard_)
    return true;
  auto promise = self_->make_response_promise<bool>();
  promise.delegate(shard_, stop_shard{});
  return promise;
}

void shard_host_state::attach_to_shard(const attach_peer& m) {
  // An earlier process of the same name may have leases that the shard recovered.
  if (m.who.worker)
    pass_on(shard_command{core::replace_worker{m.who.worker}});
  pass_on(m);
}

void shard_host_state::host(const host_shard& m) {
  const auto was_here = static_cast<bool>(shard_);
  shard_ = m.shard;
  for (const auto& [peer, who] : peers_) {
    if (was_here)
      self_->send(who.actor, shard_moved{id_, false});
    if (!shard_)
      continue;
    attach_to_shard(who);
    self_->send(who.actor, shard_moved{id_, true});
  }
}

void shard_host_state::tell(places_changed m) {
  for (const auto& [peer, who] : peers_)
    self_->send(who.actor, m);
}

shard_host_actor::behavior_type
shard_host(shard_host_actor::stateful_pointer<shard_host_state> self, shard_id shard) {
  self->set_default_handler(caf::drop);
  self->state.start(self, shard);
  return {
    [self](const peer_request& m) { self->state.pass_on(m); },
    [self](const shard_command& m) {
      self->state.note_queues(m);
      self->state.pass_on(m);
    },
    [self](const attach_peer& m) { self->state.attach(m); },
    [self](const detach_peer& m) { self->state.detach(m); },
    [self](const ask_shard_stats& m) { return self->state.stats(m); },
    [self](stop_shard) { return self->state.stop(); },
    [self](const host_shard& m) { self->state.host(m); },
    [self](places_changed m) { self->state.tell(m); },
  };
}

} // namespace codeq::coordinator
