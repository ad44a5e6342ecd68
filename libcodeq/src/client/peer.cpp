// SPDX-License-Identifier: Apache-2.0
#include "client/peer.hpp"

#include "encoding/shared_structs.hpp"
#include "observe/log.hpp"
#include "protocol/version.hpp"
#include "transport/link.hpp"

#include <caf/send.hpp>

#include <algorithm>
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

std::string tenant_of(const protocol::hello_ack& ack) {
  auto tenant = ack.read(
    [](auto reader) -> result<std::string> { return encoding::read_text(reader.getTenant()); });
  return tenant ? std::move(*tenant) : std::string();
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

void peers::dial(caf::actor_system& system, const options& opts) {
  states_.resize(opts.coordinators.size());
  for (std::size_t i = 0; i < opts.coordinators.size(); ++i) {
    transport::link_options link;
    link.index = i;
    link.coordinator = opts.coordinators[i];
    link.make_hello = [who = opts.identity] { return make_hello(who); };
    link.sink = opts.sink;
    link.owner = opts.owner;
    link.tls = opts.tls;
    links_.push_back(transport::spawn_link(system, std::move(link)));
  }
}

result<std::optional<peer>> peers::take_up(const actors::link_up& up) {
  auto store = identity_of(up.ack);
  if (!store) {
    caf::anon_send(up.connection, actors::close_connection{store.error()});
    return store.error();
  }
  states_[up.link].up = peer{up.link, up.connection, *store, tenant_of(up.ack)};
  states_[up.link].unreachable = false;
  if (in_use_)
    return std::optional<peer>{};
  in_use_ = up.link;
  return states_[up.link].up;
}

peers::loss peers::take_down(const actors::link_down& down) {
  auto& lost = states_[down.link];
  lost.up.reset();
  lost.final = lost.final || down.final;
  lost.unreachable = down.reason.code == errc::disconnected;
  loss what;
  what.unreachable =
    std::all_of(states_.begin(), states_.end(), [](const state& s) { return s.unreachable; });
  what.final = std::all_of(states_.begin(), states_.end(), [](const state& s) { return s.final; });
  what.in_use = in_use_ == down.link;
  if (!what.in_use)
    return what;
  in_use_.reset();
  auto next =
    std::find_if(states_.begin(), states_.end(), [](const state& s) { return s.up.has_value(); });
  if (next != states_.end()) {
    in_use_ = next->up->link;
    what.instead = next->up;
  }
  return what;
}

void peers::drop(const error& reason) {
  CODEQ_LOG_WARN("client drops connection reason=\"{}\"", to_string(reason));
  if (in_use_)
    caf::anon_send(states_[*in_use_].up->connection, actors::close_connection{reason});
}

} // namespace codeq::client
