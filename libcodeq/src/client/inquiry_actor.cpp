// SPDX-License-Identifier: Apache-2.0
#include "client/inquiry_actor.hpp"

#include "base/tuning.hpp"
#include "protocol/error_code.hpp"
#include "protocol/operator_convert.hpp"
#include "transport/deliver.hpp"

#include <caf/actor_cast.hpp>

#include <utility>

namespace codeq::client {

namespace {

/// How long a question to all coordinators waits for those that are not connected.
constexpr duration links_wait = std::chrono::seconds(1);

/// The shard that an operator's request names, or that of its task; none: any coordinator answers.
std::optional<shard_id> shard_of_question(const protocol::wire_frame& question) {
  std::optional<shard_id> shard;
  auto note = [&](const auto& message) {
    if (auto to = protocol::address_of(message))
      shard = static_cast<shard_id>(to->shard);
  };
  static_cast<void>(protocol::visit_one_of(protocol::operator_shard_requests{}, question, note));
  return shard;
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
    [self](actors::ask_coordinator& question) { self->state.ask(question); },
    [self](const protocol::frame<Replies>& reply) { self->state.accept(reply); }...,
    [self](const actors::link_up& up) { self->state.take_up(up); },
    [self](const actors::link_down& down) { self->state.take_down(down); },
    [self](const actors::from_link<schema::ClusterMap>& told) { self->state.take_places(told); },
    [self](const actors::shards_due&) { self->state.retry_shards(); },
    [self](const actors::coordinators_due& due) { self->state.ask_members(due); },
    [self](const actors::stop_client&) { self->state.stop(); },
    [self](const actors::stop_overdue&) { self->quit(); }};
}

} // namespace

inquiry_state::inquiry_state(actors::inquiry_actor::pointer self) : self_(self), farewell_(self) {
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

void inquiry_state::ask(actors::ask_coordinator& question) {
  open_ = std::move(question);
  ++number_;
  said_to_ = nullptr;
  asked_.clear();
  missing_ = 0;
  waits_for_members_ = false;
  send_open();
}

void inquiry_state::ask_members(const actors::coordinators_due& due) {
  if (due.number == number_ && open_ && open_->completed && asked_.empty())
    send_to_all(false);
}

void inquiry_state::send_to_all(bool waits) {
  if (!asked_.empty())
    return;
  auto all = peers_.all_members();
  if (all.missing > 0 && waits) {
    if (!std::exchange(waits_for_members_, true))
      self_->delayed_send(self_, links_wait, actors::coordinators_due{number_});
    return;
  }
  missing_ = all.missing;
  for (const auto& connection : all.connections) {
    asked_.emplace(++number_, connection);
    self_->send(connection, open_->question(number_));
  }
  if (asked_.empty())
    note_end(0);
}

void inquiry_state::note_end(std::uint64_t number) {
  asked_.erase(number);
  if (!asked_.empty())
    return;
  auto asked = std::move(*open_);
  open_.reset();
  if (asked.completed)
    asked.completed(missing_);
}

const actors::connection_actor* inquiry_state::way_of(const protocol::wire_frame& question) const {
  if (!connection_)
    return nullptr;
  auto shard = peers_.is_cluster() ? shard_of_question(question) : std::nullopt;
  return shard ? peers_.connection_of(*shard) : &connection_;
}

void inquiry_state::send_open() {
  if (!open_ || !connection_)
    return;
  if (open_->completed && peers_.is_cluster())
    return send_to_all(true);
  auto question = open_->question(number_);
  const auto* to = way_of(question);
  if (!to)
    return;
  said_to_ = *to;
  self_->send(*to, std::move(question));
}

template <class S>
void inquiry_state::accept(const protocol::frame<S>& reply) {
  errc code = errc::none;
  auto number = reply.read([&](auto reader) -> result<std::uint64_t> {
    if constexpr (requires { reader.getCode(); })
      code = protocol::from_schema(reader.getCode());
    return reader.getNumber();
  });
  if (!number)
    return peers_.drop(number.error());
  if (!open_ || (*number != number_ && !asked_.contains(*number)))
    return;
  // The places that came before it lead to another attempt.
  if (code == errc::not_owner) {
    said_to_ = nullptr;
    return;
  }
  if (auto taken = open_->answered(reply.to_wire()); !taken)
    return peers_.drop(taken.error());
  note_end(*number);
}

void inquiry_state::use(const peer& connected) {
  connection_ = connected.connection;
  settings_.tell(
    {.up = true,
     .shard_count = connected.store.shard_count,
     .final = false,
     .reason = {},
     .tenant = connected.tenant});
  send_open();
}

void inquiry_state::take_up(const actors::link_up& up) {
  auto came = peers_.take_up(up);
  if (!came)
    return settings_.tell(
      {.up = false, .shard_count = 0, .final = false, .reason = came.error()});
  for (const auto& ended : came->replaced)
    replace(ended, up.connection);
  follow(*came);
}

void inquiry_state::replace(
  const actors::connection_actor& ended, const actors::connection_actor& by) {
  for (auto& [number, asked] : asked_) {
    if (asked != ended)
      continue;
    // The number stays, so that a late answer on the ended connection counts instead.
    asked = by;
    self_->send(by, open_->question(number));
  }
  note_lost(ended, {errc::going_away, "there is another connection to the coordinator"});
}

void inquiry_state::note_lost(const actors::connection_actor& lost, const error& reason) {
  if (!said_to_ || said_to_ != lost)
    return;
  said_to_ = nullptr;
  if (!open_ || open_->repeatable)
    return;
  open_->failed(reason);
  open_.reset();
}

void inquiry_state::take_places(const actors::from_link<schema::ClusterMap>& told) {
  follow(peers_.take_places(told));
}

void inquiry_state::retry_shards() {
  will_retry_shards_ = false;
  follow(peers_.retry());
}

void inquiry_state::follow(const peers::arrival& came) {
  if (came.use)
    use(*came.use);
  else if (!came.resend.empty())
    send_moved();
  if (came.retries && !std::exchange(will_retry_shards_, true))
    self_->delayed_send(self_, tuning::not_here_pause, actors::shards_due{});
}

void inquiry_state::send_moved() {
  // A request that may have been executed is sent again only if it may be.
  if (open_ && (!said_to_ || open_->repeatable))
    send_open();
}

void inquiry_state::take_down(const actors::link_down& down) {
  auto lost = peers_.connection_on(down.link);
  auto loss = peers_.take_down(down);
  if (loss.in_use)
    connection_ = nullptr;
  const auto is_lost = [&](const auto& one) { return lost && one.second == lost; };
  if (const auto gone = std::erase_if(asked_, is_lost); gone > 0) {
    missing_ += gone;
    note_end(0);
  }
  note_lost(lost, down.reason);
  if (loss.instead)
    use(*loss.instead);
  else if (!connection_)
    settings_.tell(
      {.up = false,
       .shard_count = 0,
       .final = loss.final,
       .reason = down.reason,
       .unreachable = loss.unreachable});
}

void inquiry_state::stop() {
  farewell_.begin(peers_);
}

actors::inquiry_actor::behavior_type
inquiry(actors::inquiry_actor::stateful_pointer<inquiry_state> self, inquiry_settings settings) {
  self->state.start(std::move(settings));
  return behavior_of(self, protocol::operator_replies{});
}

} // namespace codeq::client
