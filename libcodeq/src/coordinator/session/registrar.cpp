// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/registrar.hpp"

#include "base/errors.hpp"
#include "base/tuning.hpp"
#include "coordinator/shard/access.hpp"
#include "protocol/map_convert.hpp"
#include "protocol/version.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace codeq::coordinator {

namespace {

/// Number of replaced incarnations remembered per name; older ones are no longer recognised.
constexpr std::size_t superseded_max = 16;

/// Above this number of names, those that are not connected are dropped.
constexpr std::size_t worker_names_max = 65536;

/// How often sessions are checked for expired tokens, while there are any that expire.
constexpr duration expiry_interval = std::chrono::seconds(1);

error name_taken_over(const std::string& name) {
  return {errc::superseded, "a newer process has the name " + name};
}

} // namespace

result<std::optional<protocol::replica_frame>>
read_stream_frame(const protocol::wire_frame& frame) {
  std::optional<protocol::replica_frame> messages;
  if (frame.type == protocol::frame_type<schema::Goodbye>)
    return messages;
  if (frame.type != protocol::frame_type<schema::ReplicaFrame>)
    return error{
      errc::protocol_error,
      "a coordinator sends a frame of type " + std::to_string(frame.type)
        + "; it may send replicas' messages only"};
  auto parsed = protocol::replica_frame::parse(frame.body);
  if (!parsed)
    return parsed.error();
  messages = std::move(*parsed);
  return messages;
}

registrar::registrar(const registrar_options& options, registrar_port& port)
  : options_(options), port_(port), shares_(options.connections_max) {
}

result<std::shared_ptr<const security::principal>>
registrar::authenticate(const protocol::node_introduction& node) const {
  if (!options_.takes_tokens)
    return std::shared_ptr<const security::principal>();
  if (node.token.empty())
    return base::refused("this coordinator " + std::string(base::token_required_words));
  auto bearer = port_.authenticate(node.token);
  if (!bearer)
    return base::refused(
      "this coordinator does not know the token, or it has expired; the coordinator's log has the "
      "reason");
  if (auto ok = access::check(*bearer, node); !ok)
    return ok.error();
  return bearer;
}

result<registrar::newcomer> registrar::introduce(const protocol::hello& message) const {
  auto node = protocol::to_introduction(message);
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
  if (options_.places && !node->takes_map && node->role != schema::Role::COORDINATOR)
    return error{
      errc::unsupported, "this coordinator is one of a cluster, which takes a newer client"};
  auto bearer = authenticate(*node);
  if (!bearer)
    return bearer.error();
  if (*bearer)
    if (auto ok = check_share((*bearer)->tenant); !ok)
      return ok.error();
  if (*bearer && node->role == schema::Role::WORKER)
    if (auto ok = access::narrow(**bearer, node->queues, node->prefixes); !ok)
      return ok.error();
  node->token.clear();
  // Otherwise a worker of one tenant could take over the leases of another tenant's worker.
  if (*bearer && node->role != schema::Role::COORDINATOR)
    node->identity.name = (*bearer)->tenant + "/" + node->identity.name;
  return newcomer{std::move(*node), std::move(*bearer)};
}

result<void> registrar::check_share(const std::string& tenant) const {
  if (shares_.has_room(tenant) || shares_.debtor_of(tenant))
    return {};
  port_.note_full(tenant);
  return error{
    errc::overloaded,
    "tenant " + tenant + " has " + std::to_string(shares_.used_by(tenant)) + " of "
      + std::to_string(shares_.used()) + " connections; all tenants share "
      + std::to_string(shares_.total())};
}

core::peer_id registrar::most_idle_of(const std::string& tenant) const {
  core::peer_id found = 0;
  std::int64_t last = 0;
  for (const auto& [peer, c] : sessions_) {
    if (!c.bearer || c.bearer->tenant != tenant)
      continue;
    auto used = port_.last_message(peer);
    if (found == 0 || used < last) {
      found = peer;
      last = used;
    }
  }
  return found;
}

void registrar::take_share(const std::string& tenant) {
  auto debtor = shares_.has_room(tenant) ? std::nullopt : shares_.debtor_of(tenant);
  if (debtor) {
    auto peer = most_idle_of(*debtor);
    port_.note_full(*debtor);
    port_.end_session(
      peer,
      {errc::overloaded,
       "tenant " + *debtor + " has " + std::to_string(shares_.used_by(*debtor)) + " of "
         + std::to_string(shares_.total())
         + " connections; this one was idle for the longest time and made room for tenant "
         + tenant});
    drop(peer);
  }
  shares_.force(tenant);
}

void registrar::welcome(std::uint64_t hello, const protocol::hello& message, timestamp now) {
  auto who = introduce(message);
  if (!who)
    return port_.refuse(hello, who.error());
  if (who->node.role == schema::Role::COORDINATOR)
    return welcome_coordinator(hello, *who, now);
  if (who->node.role != schema::Role::WORKER)
    return accept(hello, *who, now);
  probing_.insert_or_assign(hello, message);
  welcome_worker(hello, *who, now);
}

void registrar::welcome_coordinator(std::uint64_t hello, const newcomer& who, timestamp now) {
  if (options_.cluster.empty())
    return port_.refuse(
      hello, {errc::unsupported, "this coordinator is alone; it belongs to no cluster"});
  if (who.node.cluster != options_.cluster)
    return port_.refuse(
      hello,
      {errc::unauthorized,
       "this coordinator is of cluster " + options_.cluster + ", not of " + who.node.cluster});
  port_.open_stream(hello, who.node, make_ack(who, now));
  if (!who.bearer)
    return;
  streams_.emplace(hello, who.bearer);
  if (who.bearer->expires)
    review_later();
}

void registrar::welcome_worker(std::uint64_t hello, const newcomer& who, timestamp now) {
  const auto& identity = who.node.identity;
  const auto& name = workers_[identity.name];
  const auto& old = name.superseded;
  if (std::find(old.begin(), old.end(), identity.incarnation) != old.end()) {
    probing_.erase(hello);
    return port_.refuse(hello, name_taken_over(identity.name));
  }
  bool is_other = name.peer != 0 && name.incarnation != identity.incarnation;
  // Another process has the name and keeps it if it is still alive.
  if (is_other)
    return port_.probe(name.peer, hello);
  probing_.erase(hello);
  take_over(hello, who, now);
}

void registrar::probed(std::uint64_t hello, core::peer_id peer, bool is_alive, timestamp now) {
  auto waiting = probing_.find(hello);
  if (waiting == probing_.end())
    return;
  auto who = introduce(waiting->second);
  if (!who) {
    probing_.erase(waiting);
    return port_.refuse(hello, who.error());
  }
  const auto& identity = who->node.identity;
  auto current = workers_[identity.name].peer;
  // Meanwhile a connection that was not probed may have got the name.
  if (current != 0 && current != peer)
    return welcome_worker(hello, *who, now);
  probing_.erase(waiting);
  if (is_alive && current != 0)
    return port_.refuse(
      hello, {errc::name_in_use, "another living worker is named " + identity.name});
  take_over(hello, *who, now);
}

void registrar::take_over(std::uint64_t hello, const newcomer& who, timestamp now) {
  const auto& identity = who.node.identity;
  auto& name = workers_[identity.name];
  bool is_other = name.incarnation != identity.incarnation;
  end_session_of(
    name,
    is_other ? name_taken_over(identity.name)
             : error{errc::disconnected, "the node connected again"});
  if (is_other) {
    if (name.incarnation != 0)
      name.superseded.push_back(name.incarnation);
    if (name.superseded.size() > superseded_max)
      name.superseded.pop_front();
    name.incarnation = identity.incarnation;
    // All leases of an earlier process are lost, even if it ran before this coordinator started.
    port_.to_shards(core::replace_worker{std::make_shared<const worker_identity>(identity)});
  }
  accept(hello, who, now);
}

void registrar::end_session_of(const worker_name& name, const error& reason) {
  auto peer = name.peer;
  if (peer == 0)
    return;
  port_.end_session(peer, reason);
  drop(peer);
}

protocol::hello_ack registrar::make_ack(const newcomer& who, timestamp now) const {
  return protocol::hello_ack::build([&](auto r) {
    r.setVersion(protocol::version);
    r.setShardCount(static_cast<std::uint16_t>(options_.shard_count));
    r.setCoordinatorId(options_.coordinator_id);
    r.setStoreId(options_.store_id);
    r.setPingIntervalMs(static_cast<std::uint32_t>(tuning::ping_interval.count()));
    r.setNowMs(now.time_since_epoch().count());
    r.setTakesPrefixes(true);
    r.setTakesClaims(options_.places != nullptr);
    r.setTakesEpochs(options_.places != nullptr);
    r.setTakesReach(true);
    // Alone, no other coordinator can give a lease to another worker.
    r.setAnswersHeartbeats(options_.places != nullptr);
    if (options_.places)
      r.setNode(options_.node);
    if (who.bearer)
      r.setTenant(who.bearer->tenant);
  });
}

void registrar::accept(std::uint64_t hello, const newcomer& who, timestamp now) {
  const auto& node = who.node;
  session_options session{++last_peer_, nullptr, who.bearer, options_.shard_count};
  session.places = options_.places;
  session.is_gateway = node.role == schema::Role::GATEWAY;
  connected c{{}, who.bearer};
  if (node.role == schema::Role::WORKER) {
    session.worker = std::make_shared<const worker_identity>(node.identity);
    c.worker_name = node.identity.name;
    workers_[node.identity.name].peer = session.peer;
  }
  if (c.bearer)
    take_share(c.bearer->tenant);
  sessions_.emplace(session.peer, std::move(c));
  session_opening opening{std::move(session), node, make_ack(who, now)};
  if (const auto& places = options_.places) {
    opening.places = protocol::make_cluster_map(places->map().whole(), {});
    opening.session.map_changes = places->map().changes();
  }
  port_.open_session(hello, std::move(opening));
  if (who.bearer && who.bearer->expires)
    review_later();
}

void registrar::drop(core::peer_id peer) {
  auto at = sessions_.find(peer);
  if (at == sessions_.end())
    return;
  port_.detach(peer);
  if (auto name = workers_.find(at->second.worker_name);
      name != workers_.end() && name->second.peer == peer)
    name->second.peer = 0;
  if (at->second.bearer)
    shares_.give_back(at->second.bearer->tenant);
  sessions_.erase(at);
}

void registrar::forget(core::peer_id peer) {
  drop(peer);
  // A process that reconnects under a dropped name still has its leases, which store their owner.
  if (workers_.size() > worker_names_max)
    std::erase_if(workers_, [](const auto& name) { return name.second.peer == 0; });
}

void registrar::review_sessions() {
  for (const auto& [peer, c] : sessions_) {
    if (!c.bearer)
      continue;
    if (auto ok = port_.review(*c.bearer); !ok)
      port_.end_session(peer, ok.error());
  }
  std::erase_if(streams_, [this](const auto& stream) {
    const auto ok = port_.review(*stream.second);
    if (!ok)
      port_.end_stream(stream.first, ok.error());
    return !ok;
  });
}

void registrar::review_later() {
  if (!std::exchange(will_review_, true))
    port_.review_after(expiry_interval);
}

void registrar::review_due() {
  will_review_ = false;
  review_sessions();
  if (has_expiring_tokens())
    review_later();
}

bool registrar::has_expiring_tokens() const {
  const auto of_session = [](const auto& session) {
    const auto& bearer = session.second.bearer;
    return bearer && bearer->expires;
  };
  const auto of_stream = [](const auto& stream) { return stream.second->expires.has_value(); };
  return std::any_of(sessions_.begin(), sessions_.end(), of_session)
         || std::any_of(streams_.begin(), streams_.end(), of_stream);
}

void registrar::stop() {
  stopping_ = true;
  for (const auto& [peer, c] : sessions_)
    port_.end_session(peer, {errc::going_away, "the coordinator is stopping"});
}

} // namespace codeq::coordinator
