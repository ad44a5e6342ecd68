// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/registrar_driver.hpp"

#include "base/tuning.hpp"
#include "coordinator/actors/counts_desk.hpp"
#include "coordinator/actors/frame_sinks.hpp"
#include "protocol/reply.hpp"
#include "transport/spawn_beside_sockets.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

void registrar_driver::start(
  registrar_internal_actor::pointer self, const registrar_driver_options& options) {
  self_ = self;
  options_ = options;
  options_.registrar.takes_tokens = options_.access != nullptr;
  registrar_.emplace(options_.registrar, *this);
  counts_ = self_->system().spawn(
    drive_counts_desk, caf::actor_cast<caf::strong_actor_ptr>(self_), options_.shards);
}

void registrar_driver::welcome(const actors::peer_hello& m) {
  auto hello = ++last_hello_;
  hellos_.emplace(hello, m);
  registrar_->welcome(hello, m.hello, now());
}

session_driver_options registrar_driver::options_for(
  const session_opening& opening, const actors::peer_hello& from) const {
  return {
    .session = opening.session,
    .connection = from.connection,
    .outgoing = std::make_shared<actors::outgoing_progress>(),
    .shards = options_.shards,
    .counts = counts_,
    .node_name = opening.node.identity.name,
    .remote = from.remote,
    .gauges = options_.gauges,
    .clock = options_.clock,
    .limiter = options_.limiter,
    .backups = options_.backups,
    .list_backups = options_.list_backups,
    .unread = options_.unread,
    .meter = options_.meter,
    .drained = options_.drained,
    .loop = options_.loop,
    .replicas = options_.replicas,
    .claim_count = options_.claim_count};
}

void registrar_driver::open_session(std::uint64_t hello, session_opening opening) {
  auto from = std::move(hellos_.extract(hello).mapped());
  const auto& node = opening.node;
  auto peer = opening.session.peer;
  opening.session.remote = from.remote;
  auto options = options_for(opening, from);
  // A connection that has just come is not idle.
  options.last_message->store(now().time_since_epoch().count(), std::memory_order_relaxed);
  auto session = transport::spawn_beside_sockets(self_->system(), drive_session, options);
  self_->monitor(session);
  // Before the shards and the connection know it, so that no credit of a drained worker gets there.
  follow_drain(opening.session, session);
  peer_attached newcomer{
    peer, opening.session.worker, node.queues, opening.session.bearer, false, node.prefixes};
  newcomer.is_gateway = opening.session.is_gateway;
  attach({std::move(newcomer), session});
  sessions_.emplace(
    peer,
    connected{
      session, from.connection, node.identity.name, node.role, options.last_message,
      opening.session.worker});
  peers_.emplace(session.address(), peer);
  log_.connected(opening, from.remote);
  enqueue_payer payer{.shares = options_.enqueues};
  if (const auto& bearer = opening.session.bearer)
    payer.tenant = bearer->tenant;
  self_->send(from.connection, opening.ack.to_wire());
  if (opening.places)
    self_->send(from.connection, opening.places->to_wire());
  actors::connection_accepted accepted{
    session_sink(node.role, {session, peer, options_.loop}, std::move(payer)),
    caf::actor_cast<caf::strong_actor_ptr>(session),
    std::move(options.outgoing)};
  if (options_.loop)
    accepted.read_done = [loop = options_.loop] { loop->read_done(); };
  self_->send(from.connection, std::move(accepted));
}

void registrar_driver::follow_drain(const session_options& options, const session_actor& session) {
  if (!options.worker)
    return;
  auto tell = [session](bool is_drained) { caf::anon_send(session, drain_session{is_drained}); };
  if (options_.drained->join(*options.worker, options.peer, tell))
    tell(true);
}

void registrar_driver::open_stream(
  std::uint64_t hello, const protocol::node_introduction& node, const protocol::hello_ack& ack) {
  auto from = std::move(hellos_.extract(hello).mapped());
  log_.connected(node, from.remote);
  self_->send(from.connection, ack.to_wire());
  self_->send(
    from.connection,
    actors::connection_accepted{
      stream_sink(options_.replicas, node),
      caf::actor_cast<caf::strong_actor_ptr>(options_.replicas),
      std::make_shared<actors::outgoing_progress>(),
      {},
      tuning::peer_frame_bytes_max});
  self_->monitor(from.connection);
  streams_.emplace(hello, stream{from.connection, from.remote});
}

void registrar_driver::end_stream(std::uint64_t hello, const error& reason) {
  const auto at = streams_.find(hello);
  if (at == streams_.end())
    return;
  log_.refused(at->second.remote, reason, self_->clock().now());
  close(at->second.connection, reason);
}

void registrar_driver::close(
  const actors::connection_actor& connection, const error& reason) {
  self_->send(connection, protocol::make_refused(reason).to_wire());
  self_->send(connection, actors::close_connection{.reason = reason, .is_logged = true});
}

void registrar_driver::attach(const attach_peer& who) {
  // Sent by this actor, like the end of a session, so that a shard gets both in this order.
  tell_shards([&who](turn_loop& loop, shard_id to) { return loop.attach(to, who); }, who);
}

void registrar_driver::note_full(const std::string& tenant) {
  options_.meter->note({"connections_max", options_.registrar.connections_max, "tenant", tenant});
}

void registrar_driver::refuse(std::uint64_t hello, const error& reason) {
  auto from = std::move(hellos_.extract(hello).mapped());
  log_.refused(from.remote, reason, self_->clock().now());
  close(from.connection, reason);
}

void registrar_driver::probe(core::peer_id peer, std::uint64_t hello) {
  auto answered = [this, peer, hello](bool is_alive) {
    registrar_->probed(hello, peer, is_alive, now());
  };
  self_
    ->request(sessions_.at(peer).connection, 2 * tuning::name_probe_timeout, actors::probe_peer{})
    .then(answered, [answered](const caf::error&) { answered(false); });
}

void registrar_driver::end_session(core::peer_id peer, const error& reason) {
  if (auto at = sessions_.find(peer); at != sessions_.end())
    self_->send(at->second.session, coordinator::end_session{reason});
}

std::int64_t registrar_driver::last_message(core::peer_id peer) const {
  auto at = sessions_.find(peer);
  return at == sessions_.end() ? 0 : at->second.last_message->load(std::memory_order_relaxed);
}

void registrar_driver::detach(core::peer_id peer) {
  tell_shards(
    [peer](turn_loop& loop, shard_id from) { return loop.detach(from, peer); },
    detach_peer{peer});
}

void registrar_driver::to_shards(core::command command) {
  const shard_command message{std::move(command)};
  tell_shards(
    [&message](turn_loop& loop, shard_id to) { return loop.command(to, message.what); }, message);
}

std::shared_ptr<const security::principal>
registrar_driver::authenticate(const std::string& token) const {
  return options_.access->authenticate(token);
}

result<void> registrar_driver::review(const security::principal& bearer) const {
  return options_.access->review(bearer);
}

void registrar_driver::review_after(duration wait) {
  self_->delayed_send(self_, wait, expiry_tick{});
}

void registrar_driver::forget_stream(const caf::actor_addr& connection) {
  const auto at = std::find_if(streams_.begin(), streams_.end(), [&](const auto& known) {
    return known.second.connection.address() == connection;
  });
  if (at == streams_.end())
    return;
  registrar_->forget_stream(at->first);
  streams_.erase(at);
}

void registrar_driver::forget(const caf::actor_addr& gone) {
  auto at = peers_.find(gone);
  if (at == peers_.end())
    return forget_stream(gone);
  auto peer = at->second;
  const auto& session = sessions_.at(peer);
  log_.disconnected(session.role, session.node_name);
  if (session.worker)
    options_.drained->leave(session.worker->name, peer);
  peers_.erase(at);
  sessions_.erase(peer);
  registrar_->forget(peer);
}

registrar_internal_actor::behavior_type drive_registrar(
  registrar_internal_actor::stateful_pointer<registrar_driver> self,
  const registrar_driver_options& options) {
  self->set_default_handler(caf::drop);
  self->set_down_handler([self](const caf::down_msg& m) { self->state.forget(m.source); });
  self->state.start(self, options);
  return {
    [self](const actors::peer_hello& m) { self->state.welcome(m); },
    [self](tokens_replaced) { self->state.hosted().review_sessions(); },
    [self](expiry_tick) { self->state.hosted().review_due(); },
    [self](stop_registrar) {
      self->state.hosted().stop();
      return true;
    },
  };
}

} // namespace codeq::coordinator
