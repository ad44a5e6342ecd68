// SPDX-License-Identifier: Apache-2.0
#include "client/inquiry_actor.hpp"

#include "client/status_convert.hpp"
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
     transport::deliver<schema::StatusReply, schema::StatsReply, schema::ChangeReply>(me),
     caf::actor_cast<caf::strong_actor_ptr>(me)});
}

void inquiry_state::ask(actors::ask_status& question) {
  replace_question();
  on_status_ = std::move(question.done);
  open_ = protocol::status_request::build([&](auto request) {
            request.setNumber(++number_);
            auto task = request.initTask();
            task.setShard(value(question.task.shard));
            task.setSeq(question.task.seq);
          }).to_wire();
  send_open();
}

void inquiry_state::ask(actors::ask_stats& question) {
  replace_question();
  on_stats_ = std::move(question.done);
  open_ =
    protocol::stats_request::build([&](auto request) { request.setNumber(++number_); }).to_wire();
  send_open();
}

void inquiry_state::ask(actors::ask_task_change& question) {
  replace_question();
  on_change_ = std::move(question.done);
  open_ = protocol::change_request::build([&](auto request) {
            request.setNumber(++number_);
            auto task = request.initTask();
            task.setShard(value(question.task.shard));
            task.setSeq(question.task.seq);
            request.setChange(static_cast<schema::TaskChange>(question.change));
          }).to_wire();
  send_open();
}

void inquiry_state::replace_question() {
  on_status_ = nullptr;
  on_stats_ = nullptr;
  on_change_ = nullptr;
}

void inquiry_state::send_open() {
  if (open_ && connection_)
    self_->send(connection_, *open_);
}

void inquiry_state::accept(const protocol::status_reply& reply) {
  auto read = read_status(reply);
  if (!read)
    return peers_.drop(read.error());
  if (read->number != number_ || !on_status_)
    return;
  open_.reset();
  std::exchange(on_status_, nullptr)(std::move(read->answer));
}

void inquiry_state::accept(const protocol::stats_reply& reply) {
  auto read = read_stats(reply);
  if (!read)
    return peers_.drop(read.error());
  if (read->number != number_ || !on_stats_)
    return;
  open_.reset();
  std::exchange(on_stats_, nullptr)(std::move(read->answer));
}

void inquiry_state::accept(const protocol::change_reply& reply) {
  auto read = read_change(reply);
  if (!read)
    return peers_.drop(read.error());
  if (read->number != number_ || !on_change_)
    return;
  open_.reset();
  std::exchange(on_change_, nullptr)(std::move(read->answer));
}

void inquiry_state::use(const peer& connected) {
  connection_ = connected.connection;
  settings_.tell({.up = true, .final = false, .reason = {}});
  send_open();
}

void inquiry_state::take_up(const actors::link_up& up) {
  auto connected = peers_.take_up(up);
  if (!connected)
    settings_.tell({.up = false, .final = false, .reason = connected.error()});
  else if (*connected)
    use(**connected);
}

void inquiry_state::take_down(const actors::link_down& down) {
  auto loss = peers_.take_down(down);
  if (loss.in_use)
    connection_ = nullptr;
  if (loss.instead)
    use(*loss.instead);
  else if (!connection_)
    settings_.tell({.up = false, .final = loss.final, .reason = down.reason});
}

void inquiry_state::stop() {
  farewell_.begin(peers_);
}

actors::inquiry_actor::behavior_type
inquiry(actors::inquiry_actor::stateful_pointer<inquiry_state> self, inquiry_settings settings) {
  self->state.start(std::move(settings));
  return {
    [self](actors::ask_status& question) { self->state.ask(question); },
    [self](actors::ask_stats& question) { self->state.ask(question); },
    [self](actors::ask_task_change& question) { self->state.ask(question); },
    [self](const protocol::status_reply& reply) { self->state.accept(reply); },
    [self](const protocol::change_reply& reply) { self->state.accept(reply); },
    [self](const protocol::stats_reply& reply) { self->state.accept(reply); },
    [self](const actors::link_up& up) { self->state.take_up(up); },
    [self](const actors::link_down& down) { self->state.take_down(down); },
    [self](const actors::stop_client&) { self->state.stop(); },
    [self](const actors::stop_overdue&) { self->quit(); }};
}

} // namespace codeq::client
