// SPDX-License-Identifier: Apache-2.0
#include "coordinator/registrar.hpp"

#include "codeq/limits.hpp"

#include "coordinator/access.hpp"
#include "observe/log.hpp"
#include "protocol/reply.hpp"
#include "protocol/version.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

namespace {

/// Replaced incarnations remembered per name; an older one than these is no longer recognised.
constexpr std::size_t superseded_max = 16;

/// Names remembered before those of nobody connected are forgotten.
constexpr std::size_t worker_names_max = 65536;

std::string_view role_name(schema::Role role) {
  switch (role) {
  case schema::Role::WORKER:
    return "worker";
  case schema::Role::PRODUCER:
    return "producer";
  case schema::Role::OPERATOR:
    return "operator";
  }
  return "unknown";
}

protocol::hello_ack make_ack(const registrar_options& options) {
  return protocol::hello_ack::build([&](auto r) {
    r.setVersion(protocol::version);
    r.setShardCount(static_cast<std::uint16_t>(options.shards.size()));
    r.setCoordinatorId(options.coordinator_id);
    r.setStoreId(options.store_id);
    r.setPingIntervalMs(static_cast<std::uint32_t>(limits::ping_interval.count()));
    r.setNowMs(options.clock->now().shard.time_since_epoch().count());
  });
}

} // namespace

void registrar_state::start(
  actors::registrar_internal_actor::pointer self, const registrar_options& options) {
  self_ = self;
  options_ = options;
}

result<std::shared_ptr<const security::principal>>
registrar_state::authenticate(const protocol::node_introduction& node) const {
  std::shared_ptr<const security::principal> bearer;
  if (!options_.tokens)
    return bearer;
  if (node.token.empty())
    return error{errc::unauthorized, "this coordinator takes nobody in without a token"};
  bearer = options_.tokens->current()->authenticate(node.token);
  if (!bearer)
    return error{errc::unauthorized, "this coordinator does not know the token"};
  if (auto ok = access::check(*bearer, node); !ok)
    return ok.error();
  return bearer;
}

result<registrar_state::newcomer> registrar_state::introduce(const actors::peer_hello& m) const {
  auto node = protocol::to_introduction(m.hello);
  if (!node)
    return node.error();
  if (stopping_)
    return error{errc::going_away, "the coordinator is stopping"};
  bool speaks_ours =
    node->min_version <= protocol::version && node->max_version >= protocol::version;
  if (!speaks_ours)
    return error{
      errc::protocol_error,
      "this coordinator speaks protocol version " + std::to_string(protocol::version)
        + ", the node " + std::to_string(node->min_version) + ".."
        + std::to_string(node->max_version)};
  auto bearer = authenticate(*node);
  if (!bearer)
    return bearer.error();
  node->token.clear();
  // Else a tenant's worker could take over the leases of another tenant's one.
  if (*bearer)
    node->identity.name = (*bearer)->tenant + "/" + node->identity.name;
  return newcomer{std::move(*node), std::move(*bearer)};
}

void registrar_state::welcome(const actors::peer_hello& m) {
  auto who = introduce(m);
  if (!who)
    return refuse(m, who.error());
  if (who->node.role == schema::Role::WORKER)
    welcome_worker(m, *who);
  else
    accept(m, *who);
}

void registrar_state::welcome_worker(const actors::peer_hello& m, const newcomer& who) {
  const auto& identity = who.node.identity;
  auto& name = workers_[identity.name];
  const auto& old = name.superseded;
  if (std::find(old.begin(), old.end(), identity.incarnation) != old.end())
    return refuse(m, {errc::superseded, "a newer process has the name " + identity.name});
  auto current = session_of(name);
  bool is_other = current != sessions_.end() && name.incarnation != identity.incarnation;
  if (!is_other)
    return take_over(m, who);
  // Another process has the name: it keeps it if it still lives.
  auto probed = current->first;
  self_->request(current->second.connection, 2 * limits::name_probe_timeout, actors::probe_peer{})
    .then(
      [this, m, probed](bool is_alive) { decide_probed(m, probed, is_alive); },
      [this, m, probed](const caf::error&) { decide_probed(m, probed, false); });
}

void registrar_state::decide_probed(
  const actors::peer_hello& m, const caf::actor_addr& probed, bool is_alive) {
  auto who = introduce(m);
  if (!who)
    return refuse(m, who.error());
  const auto& name = who->node.identity.name;
  auto current = session_of(workers_[name]);
  // Meanwhile the name may have passed to a connection that nobody probed.
  if (current != sessions_.end() && current->first != probed)
    return welcome_worker(m, *who);
  if (is_alive && current != sessions_.end())
    return refuse(m, {errc::name_in_use, "another living worker is named " + name});
  take_over(m, *who);
}

void registrar_state::take_over(const actors::peer_hello& m, const newcomer& who) {
  const auto& identity = who.node.identity;
  auto& name = workers_[identity.name];
  bool is_other = name.incarnation != identity.incarnation;
  end_session_of(
    name,
    is_other ? error{errc::superseded, "a newer process has the name " + identity.name}
             : error{errc::disconnected, "the node connected again"});
  if (is_other) {
    if (name.incarnation != 0)
      name.superseded.push_back(name.incarnation);
    if (name.superseded.size() > superseded_max)
      name.superseded.pop_front();
    name.incarnation = identity.incarnation;
    // Whatever an earlier process left behind is lost, also when it ran before our own start.
    auto worker = std::make_shared<const worker_identity>(identity);
    for (const auto& shard : options_.shards)
      self_->send(shard, actors::end_leases{worker, true});
  }
  accept(m, who);
}

registrar_state::session_map::iterator registrar_state::session_of(const worker_name& name) {
  // CAF's hash of a null address reads through it.
  return name.session ? sessions_.find(name.session) : sessions_.end();
}

void registrar_state::end_session_of(worker_name& name, const error& reason) {
  auto at = session_of(name);
  if (at == sessions_.end())
    return;
  self_->send(at->second.session, actors::end_session{reason});
  forget_peer(at->second);
  sessions_.erase(at);
}

void registrar_state::accept(const actors::peer_hello& m, const newcomer& who) {
  const auto& node = who.node;
  session_options options{
    ++last_peer_,
    nullptr,
    node,
    m.connection,
    options_.shards,
    m.remote,
    options_.gauges,
    who.bearer,
    options_.limiter,
    options_.backups};
  if (node.role == schema::Role::WORKER)
    options.worker = std::make_shared<const worker_identity>(node.identity);
  auto session = self_->system().spawn(coordinator::session, options);
  self_->monitor(session);
  // Sent from here, as is the end of a session: a shard takes them in this order.
  for (const auto& shard : options_.shards)
    self_->send(
      shard,
      actors::attach_session{options.peer, session, options.worker, node.queues, who.bearer});
  connected c{options.peer, session, m.connection, {}, who.bearer};
  if (options.worker) {
    c.worker_name = node.identity.name;
    workers_[node.identity.name].session = session.address();
  }
  sessions_.emplace(session.address(), std::move(c));
  CODEQ_LOG_INFO(
    "{} connects name={} subject={} remote={} queues={}",
    role_name(node.role),
    node.identity.name,
    who.bearer ? who.bearer->subject : "-",
    m.remote,
    node.queues.size());
  // The acknowledgement is the first frame that the peer gets.
  self_->send(m.connection, make_ack(options_).to_wire());
  self_->send(
    m.connection,
    actors::connection_accepted{
      session_sink(node.role, session), caf::actor_cast<caf::strong_actor_ptr>(session)});
}

void registrar_state::refuse(const actors::peer_hello& m, const error& reason) {
  CODEQ_LOG_WARN("registrar refuses node remote={} reason=\"{}\"", m.remote, to_string(reason));
  self_->send(m.connection, protocol::make_refused(reason).to_wire());
  self_->send(m.connection, actors::close_connection{reason});
}

void registrar_state::forget_peer(const connected& c) {
  for (const auto& shard : options_.shards)
    self_->send(shard, actors::detach_session{c.peer});
  if (auto name = workers_.find(c.worker_name);
      name != workers_.end() && name->second.session == c.session.address())
    name->second.session = nullptr;
}

void registrar_state::forget(const caf::actor_addr& session) {
  auto at = sessions_.find(session);
  if (at == sessions_.end())
    return;
  CODEQ_LOG_INFO(
    "node disconnects peer={} worker={}",
    at->second.peer,
    at->second.worker_name.empty() ? "-" : at->second.worker_name);
  forget_peer(at->second);
  sessions_.erase(at);
  // A process that comes back to a forgotten name still has its leases: they know their owner.
  if (workers_.size() > worker_names_max)
    std::erase_if(workers_, [](const auto& name) { return !name.second.session; });
}

void registrar_state::review_sessions() {
  auto table = options_.tokens->current();
  for (const auto& [address, c] : sessions_) {
    auto now = c.bearer ? table->find(c.bearer->token) : nullptr;
    if (!now)
      self_->send(c.session, actors::end_session{{errc::unauthorized, "the token was revoked"}});
    else if (*now != *c.bearer)
      self_->send(c.session, actors::end_session{{errc::going_away, "the token was changed"}});
  }
}

void registrar_state::stop() {
  stopping_ = true;
  for (const auto& [address, c] : sessions_)
    self_->send(c.session, actors::end_session{{errc::going_away, "the coordinator is stopping"}});
}

actors::registrar_internal_actor::behavior_type registrar(
  actors::registrar_internal_actor::stateful_pointer<registrar_state> self,
  const registrar_options& options) {
  self->set_default_handler(caf::drop);
  self->set_down_handler([self](const caf::down_msg& m) { self->state.forget(m.source); });
  self->state.start(self, options);
  return {
    [self](actors::tokens_replaced) { self->state.review_sessions(); },
    [self](const actors::peer_hello& m) { self->state.welcome(m); },
    [self](actors::stop_registrar) {
      self->state.stop();
      return true;
    },
  };
}

} // namespace codeq::coordinator
