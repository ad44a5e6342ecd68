// SPDX-License-Identifier: Apache-2.0
#include "client/peer.hpp"

#include "encoding/shared_structs.hpp"
#include "observe/log.hpp"
#include "protocol/map_convert.hpp"
#include "protocol/version.hpp"
#include "transport/link.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace codeq::client {

namespace {

result<store_identity> identity_of(const protocol::hello_ack& ack) {
  return ack.read([](auto reader) -> result<store_identity> {
    if (reader.getShardCount() == 0)
      return error{errc::protocol_error, "the coordinator has no shards"};
    return store_identity{reader.getStoreId(), reader.getShardCount()};
  });
}

/// True when no coordinator answers at the address, but nothing, another protocol, or a certificate
/// that is not accepted.
bool is_unreachable(errc code) {
  return code == errc::disconnected || code == errc::protocol_error || code == errc::unauthorized;
}

/// A text of the acknowledgement; empty when it is malformed.
template <class Get>
std::string text_of(const protocol::hello_ack& ack, Get get) {
  auto text = ack.read([get](schema::HelloAck::Reader reader) -> result<std::string> {
    return encoding::read_text((reader.*get)());
  });
  return text ? std::move(*text) : std::string();
}

/// A capability that the acknowledgement names.
template <class Get>
bool takes(const protocol::hello_ack& ack, Get get) {
  auto named =
    ack.read([get](schema::HelloAck::Reader reader) -> result<bool> { return (reader.*get)(); });
  return named && *named;
}

/// A sink that tells the owner which link places of shards come from.
actors::frame_sink
sink_with_places(actors::frame_sink sink, const caf::strong_actor_ptr& owner, std::size_t link) {
  return [sink = std::move(sink), owner = caf::actor_cast<caf::actor>(owner), link](
           const protocol::wire_frame& wire) -> result<void> {
    if (wire.type != protocol::frame_type<schema::ClusterMap>)
      return sink(wire);
    auto parsed = protocol::cluster_map_news::parse(wire.body);
    if (!parsed)
      return parsed.error();
    caf::anon_send(owner, actors::from_link<schema::ClusterMap>{link, std::move(*parsed)});
    return {};
  };
}

} // namespace

protocol::hello make_hello(const client_identity& who) {
  auto token = who.token ? who.token() : std::string();
  return protocol::hello::build([&](auto hello) {
    hello.setMinVersion(protocol::version);
    hello.setMaxVersion(protocol::version);
    hello.setRole(who.role);
    hello.setName(who.name);
    hello.setIncarnation(who.incarnation);
    hello.setTakesMap(true);
    hello.setToken({reinterpret_cast<const capnp::byte*>(token.data()), token.size()});
  });
}

timestamp shard_time_of(const protocol::hello_ack& ack) {
  auto now = ack.read([](auto reader) -> result<std::int64_t> { return reader.getNowMs(); });
  return timestamp{duration{now ? *now : 0}};
}

void peers::dial(caf::actor_system& system, options opts) {
  system_ = &system;
  options_ = std::move(opts);
  routes_.emplace(options_.coordinators);
  for (const auto& coordinator : options_.coordinators)
    add_link(coordinator);
}

void peers::add_link(const std::string& coordinator) {
  transport::link_options link;
  link.index = links_.size();
  link.coordinator = coordinator;
  link.make_hello = [who = options_.identity] { return make_hello(who); };
  link.sink = sink_with_places(options_.sink, options_.owner, link.index);
  link.owner = options_.owner;
  link.tls = options_.tls;
  link.owner_reports = options_.identity.role == schema::Role::OPERATOR;
  links_.push_back(transport::spawn_link(*system_, std::move(link)));
  states_.emplace_back();
}

result<peers::arrival> peers::take_up(const actors::link_up& up) {
  auto store = identity_of(up.ack);
  if (!store) {
    caf::anon_send(up.connection, actors::close_connection{store.error()});
    return store.error();
  }
  auto& at = states_[up.link];
  if (at.is_closed)
    return arrival{};
  at.up = peer{
    up.link, up.connection, *store, text_of(up.ack, &schema::HelloAck::Reader::getTenant),
    takes(up.ack, &schema::HelloAck::Reader::getTakesClaims),
    takes(up.ack, &schema::HelloAck::Reader::getTakesEpochs)};
  at.unreachable = at.is_refused = false;
  auto came =
    carry_out(routes_->take_up(up.link, text_of(up.ack, &schema::HelloAck::Reader::getNode)));
  if (!in_use_) {
    in_use_ = up.link;
    came.use = at.up;
  }
  return came;
}

peers::arrival peers::take_places(const actors::from_link<schema::ClusterMap>& told) {
  auto& at = states_[told.link];
  if (!at.up)
    return {};
  auto read = protocol::read_cluster_map(told.message);
  auto changes = read ? routes_->take_places(told.link, read->news, read->not_here)
                      : result<cluster::shard_routes::changes>(read.error());
  if (changes)
    return carry_out(std::move(*changes));
  CODEQ_LOG_WARN("client drops connection reason=\"{}\"", to_string(changes.error()));
  caf::anon_send(at.up->connection, actors::close_connection{changes.error()});
  return {};
}

peers::arrival peers::retry() {
  will_retry_ = false;
  return carry_out(routes_->retry());
}

peers::arrival peers::carry_out(cluster::shard_routes::changes changes) {
  arrival came;
  for (const auto& address : changes.dial)
    add_link(address);
  for (auto link : changes.close) {
    auto& closed = states_[link];
    if (closed.up)
      came.replaced.push_back(closed.up->connection);
    closed = {.up = {}, .is_closed = true};
    caf::anon_send(links_[link], actors::close_link{{errc::going_away, "there is another link"}});
    if (in_use_ != link)
      continue;
    in_use_ = first_up();
    if (in_use_)
      came.use = states_[*in_use_].up;
  }
  name_epochs(changes.resend);
  came.resend = std::move(changes.resend);
  came.retries = changes.retries && !std::exchange(will_retry_, true);
  return came;
}

void peers::name_epochs(const std::vector<shard_id>& shards) {
  std::map<std::size_t, protocol::epochs_of_shards> of_links;
  for (const auto shard : shards)
    if (const auto link = routes_->link_of(shard))
      of_links[*link].emplace_back(shard, map().of(shard)->epoch);
  for (const auto& [link, epochs] : of_links)
    if (const auto& up = states_[link].up; up && up->takes_epochs)
      caf::anon_send(up->connection, protocol::make_shard_epochs(epochs).to_wire());
}

std::optional<std::size_t> peers::first_up() const {
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (states_[i].up)
      return i;
  return std::nullopt;
}

const actors::connection_actor* peers::connection_of(shard_id shard) const {
  auto link = routes_->link_of(shard);
  return link && states_[*link].up ? &states_[*link].up->connection : nullptr;
}

const actors::connection_actor* peers::claims_connection_of(shard_id shard) const {
  auto link = routes_->link_of(shard);
  const auto* up = link && states_[*link].up ? &*states_[*link].up : nullptr;
  return up && up->takes_claims ? &up->connection : nullptr;
}

peers::members peers::all_members(const std::string& without) const {
  const auto& map = routes_->map();
  std::set<std::string> reached;
  std::set<std::string> missing;
  members all;
  for (std::uint32_t i = 0; i < map.shards(); ++i) {
    const auto shard = static_cast<shard_id>(i);
    const auto* place = map.of(shard);
    if (place && place->node == without)
      continue;
    const auto* connection = connection_of(shard);
    if (!connection)
      all.unreached.push_back(shard);
    if (place && !connection)
      missing.insert(place->node);
    else if (place && reached.insert(place->node).second)
      all.connections.push_back(*connection);
  }
  all.missing = map.shards() == 0 ? 1 : missing.size();
  return all;
}

std::string peers::place_of(shard_id shard) const {
  const auto name = "shard " + std::to_string(value(shard));
  const auto* place = map().of(shard);
  return place ? name + " is served by coordinator " + place->node + " at " + place->address
               : name + " is served by no coordinator that is known here yet";
}

error peers::unreached(shard_id shard) const {
  const auto* known = map().of(shard);
  return {
    errc::disconnected,
    place_of(shard) + (known ? ", which cannot be reached from here at present" : "")};
}

actors::connection_actor peers::connection_on(std::size_t link) const {
  return states_[link].up ? states_[link].up->connection : actors::connection_actor{};
}

peers::loss peers::take_down(const actors::link_down& down) {
  auto& lost = states_[down.link];
  lost.up.reset();
  lost.is_refused = down.is_refused;
  lost.unreachable = is_unreachable(down.reason.code);
  routes_->take_down(down.link);
  loss what;
  what.unreachable = std::all_of(
    states_.begin(), states_.end(), [](const state& s) { return s.is_closed || s.unreachable; });
  what.all_refuse = std::all_of(
    states_.begin(), states_.end(), [](const state& s) { return s.is_closed || s.is_refused; });
  what.in_use = in_use_ == down.link;
  if (!what.in_use)
    return what;
  in_use_ = first_up();
  if (in_use_)
    what.instead = states_[*in_use_].up;
  return what;
}

void peers::drop(const error& reason) {
  CODEQ_LOG_WARN("client drops connection reason=\"{}\"", to_string(reason));
  if (in_use_)
    caf::anon_send(states_[*in_use_].up->connection, actors::close_connection{reason});
}

} // namespace codeq::client
