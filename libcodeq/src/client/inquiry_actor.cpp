// SPDX-License-Identifier: Apache-2.0
#include "client/inquiry_actor.hpp"

#include "transport/deliver.hpp"

#include <caf/actor_cast.hpp>

#include <utility>

namespace codeq::client {

inquiry_state::inquiry_state(actors::inquiry_actor::pointer self) : self_(self), farewell_(self) {
}

void inquiry_state::start(inquiry_settings settings) {
  settings_ = std::move(settings);
  actors::inquiry_actor me = self_;
  peers_.dial(
    self_->system(),
    {settings_.coordinators,
     settings_.identity,
     transport::deliver<
       schema::StatusReply,
       schema::StatsReply,
       schema::WorkersReply,
       schema::AuditReply,
       schema::ScheduleReply,
       schema::ChangeReply,
       schema::QueueReply,
       schema::BulkReply,
       schema::ListReply,
       schema::ExplainReply,
       schema::EventsReply,
       schema::BackupReply,
       schema::LogLevelReply>(me),
     caf::actor_cast<caf::strong_actor_ptr>(me),
     settings_.tls});
}

void inquiry_state::ask(actors::ask_coordinator& question) {
  open_ = std::move(question);
  ++number_;
  said_ = false;
  send_open();
}

void inquiry_state::send_open() {
  if (!open_ || !connection_)
    return;
  said_ = true;
  self_->send(connection_, open_->question(number_));
}

template <class S>
void inquiry_state::accept(const protocol::frame<S>& reply) {
  auto number = reply.read([](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
  if (!number)
    return peers_.drop(number.error());
  if (*number != number_ || !open_)
    return;
  if (auto taken = open_->answered(reply.to_wire()); !taken)
    return peers_.drop(taken.error());
  open_.reset();
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
  auto connected = peers_.take_up(up);
  if (!connected)
    settings_.tell({.up = false, .shard_count = 0, .final = false, .reason = connected.error()});
  else if (*connected)
    use(**connected);
}

void inquiry_state::take_down(const actors::link_down& down) {
  auto loss = peers_.take_down(down);
  if (loss.in_use)
    connection_ = nullptr;
  if (loss.in_use && said_ && open_ && !open_->repeatable) {
    open_->failed(down.reason);
    open_.reset();
  }
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
  return {
    [self](actors::ask_coordinator& question) { self->state.ask(question); },
    [self](const protocol::status_reply& reply) { self->state.accept(reply); },
    [self](const protocol::change_reply& reply) { self->state.accept(reply); },
    [self](const protocol::queue_reply& reply) { self->state.accept(reply); },
    [self](const protocol::bulk_reply& reply) { self->state.accept(reply); },
    [self](const protocol::list_reply& reply) { self->state.accept(reply); },
    [self](const protocol::explain_reply& reply) { self->state.accept(reply); },
    [self](const protocol::events_reply& reply) { self->state.accept(reply); },
    [self](const protocol::stats_reply& reply) { self->state.accept(reply); },
    [self](const protocol::workers_reply& reply) { self->state.accept(reply); },
    [self](const protocol::audit_reply& reply) { self->state.accept(reply); },
    [self](const protocol::schedule_reply& reply) { self->state.accept(reply); },
    [self](const protocol::backup_reply& reply) { self->state.accept(reply); },
    [self](const protocol::log_level_reply& reply) { self->state.accept(reply); },
    [self](const actors::link_up& up) { self->state.take_up(up); },
    [self](const actors::link_down& down) { self->state.take_down(down); },
    [self](const actors::stop_client&) { self->state.stop(); },
    [self](const actors::stop_overdue&) { self->quit(); }};
}

} // namespace codeq::client
