// SPDX-License-Identifier: Apache-2.0
#include "client/inquiry/inquiry_actor.hpp"

#include "base/tuning.hpp"
#include "protocol/error_code.hpp"
#include "transport/deliver.hpp"

#include <caf/actor_cast.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace codeq::client {

namespace {

/// The number of a connection; 0 for none.
connection_number number_of(const actors::connection_actor& connection) {
  return connection ? connection.id() : 0;
}

template <class S>
result<reply_head> read_head(const protocol::frame<S>& reply) {
  return reply.read([](auto reader) -> result<reply_head> {
    reply_head head{reader.getNumber()};
    if constexpr (requires { reader.getCode(); })
      head.code = protocol::from_schema(reader.getCode());
    return head;
  });
}

template <class... Replies>
actors::frame_sink
deliver_to(const actors::inquiry_actor& owner, protocol::body_list<Replies...>) {
  return transport::deliver<Replies...>(owner);
}

template <class... Replies>
actors::inquiry_actor::behavior_type behavior_of(
  actors::inquiry_actor::stateful_pointer<inquiry_state> self,
  protocol::body_list<Replies...>) {
  return {
    [self](actors::ask_coordinator& question) { self->state.hosted().ask(std::move(question)); },
    [self](const actors::give_up_question& wish) {
      wish.told(self->state.hosted().give_up(wish.waited));
    },
    [self](const actors::ask_unreached& wish) { wish.told(self->state.hosted().obstacle()); },
    [self](const protocol::frame<Replies>& reply) { self->state.accept(reply); }...,
    [self](const actors::link_up& up) { self->state.take_up(up); },
    [self](const actors::link_down& down) { self->state.take_down(down); },
    [self](const actors::from_link<schema::ClusterMap>& told) { self->state.take_places(told); },
    [self](const actors::shards_due&) { self->state.retry_shards(); },
    [self](const actors::coordinators_due& due) { self->state.hosted().ask_members(due.number); },
    [self](const actors::stop_client&) { self->state.stop(); },
    [self](const actors::stop_overdue&) { self->quit(); }};
}

} // namespace

inquiry_state::inquiry_state(actors::inquiry_actor::pointer self)
  : self_(self), farewell_(self), question_(*this) {
}

void inquiry_state::start(inquiry_settings settings) {
  settings_ = std::move(settings);
  actors::inquiry_actor me = self_;
  peers_.dial(
    self_->system(),
    {settings_.coordinators,
     settings_.identity,
     deliver_to(me, protocol::operator_replies{}),
     caf::actor_cast<caf::strong_actor_ptr>(me),
     settings_.tls});
}

template <class S>
void inquiry_state::accept(const protocol::frame<S>& reply) {
  if (const auto head = read_head(reply))
    question_.take(*head, reply.to_wire());
  else
    drop(head.error());
}

void inquiry_state::use(const peer& connected) {
  settings_.tell(
    {.up = true,
     .shard_count = connected.store.shard_count,
     .all_refuse = false,
     .reason = {},
     .tenant = connected.tenant});
  question_.use(number_of(connected.connection));
}

void inquiry_state::take_up(const actors::link_up& up) {
  auto came = peers_.take_up(up);
  if (!came)
    return settings_.tell(
      {.up = false, .shard_count = 0, .all_refuse = false, .reason = came.error()});
  for (const auto& ended : came->replaced)
    question_.replace(number_of(ended), number_of(up.connection));
  follow(*came);
}

void inquiry_state::take_places(const actors::from_link<schema::ClusterMap>& told) {
  follow(peers_.take_places(told));
}

void inquiry_state::retry_shards() {
  follow(peers_.retry());
}

void inquiry_state::follow(const peers::arrival& came) {
  if (came.use)
    use(*came.use);
  else if (!came.resend.empty())
    question_.send_moved();
  if (came.retries)
    self_->delayed_send(self_, tuning::not_here_pause, actors::shards_due{});
}

void inquiry_state::take_down(const actors::link_down& down) {
  const auto lost = number_of(peers_.connection_on(down.link));
  const auto loss = peers_.take_down(down);
  question_.lose(lost, down.reason);
  if (loss.instead)
    use(*loss.instead);
  else if (!question_.is_connected())
    settings_.tell(
      {.up = false,
       .shard_count = 0,
       .all_refuse = loss.all_refuse,
       .reason = down.reason,
       .unreachable = loss.unreachable});
}

void inquiry_state::stop() {
  farewell_.begin(peers_);
}

void inquiry_state::send(connection_number to, protocol::wire_frame request) {
  for (std::size_t link = 0; link < peers_.links().size(); ++link)
    if (const auto connection = peers_.connection_on(link); number_of(connection) == to)
      return self_->send(connection, std::move(request));
}

void inquiry_state::drop(const error& reason) {
  peers_.drop(reason);
}

void inquiry_state::ask_members_after(duration wait, std::uint64_t number) {
  self_->delayed_send(self_, wait, actors::coordinators_due{number});
}

bool inquiry_state::is_cluster() const {
  return peers_.is_cluster();
}

connection_number inquiry_state::connection_of(shard_id shard) const {
  const auto* to = peers_.connection_of(shard);
  return to ? number_of(*to) : 0;
}

reached_members inquiry_state::all_members() const {
  const auto all = peers_.all_members();
  reached_members reached{
    .connections = {}, .missing = all.missing, .unreached = all.unreached};
  for (const auto& connection : all.connections)
    reached.connections.push_back(number_of(connection));
  return reached;
}

std::string inquiry_state::place_of(shard_id shard) const {
  return peers_.place_of(shard);
}

error inquiry_state::unreached(shard_id shard) const {
  return peers_.unreached(shard);
}

actors::inquiry_actor::behavior_type
inquiry(actors::inquiry_actor::stateful_pointer<inquiry_state> self, inquiry_settings settings) {
  self->state.start(std::move(settings));
  return behavior_of(self, protocol::operator_replies{});
}

} // namespace codeq::client
