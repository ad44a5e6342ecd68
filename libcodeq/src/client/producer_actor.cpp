// SPDX-License-Identifier: Apache-2.0
#include "client/producer_actor.hpp"

#include "base/errors.hpp"
#include "base/random.hpp"
#include "base/tuning.hpp"
#include "observe/log.hpp"
#include "transport/deliver.hpp"

#include <caf/actor_cast.hpp>

#include <utility>

namespace codeq::client {

namespace {

/// A refusal with the field that helps; goes by the text of coordinators, which know no fields.
error with_producer_advice(error reason) {
  if (base::is_refused_with(reason, base::token_required_words))
    reason.context += "; set producer_options::access";
  return reason;
}

error stopped() {
  return {errc::going_away, "the producer was stopped"};
}

} // namespace

producer_state::producer_state(actors::producer_actor::pointer self)
  : self_(self), farewell_(self) {
}

void producer_state::start(producer_settings settings) {
  settings_ = std::move(settings);
  outbox_.emplace(
    enqueue_outbox::options{settings_.in_flight_max, [this] { return new_session(); }});
  actors::producer_actor me = self_;
  peers_.dial(
    self_->system(),
    {settings_.coordinators,
     settings_.identity,
     transport::deliver<schema::EnqueueReply, schema::TasksEnded>(me),
     caf::actor_cast<caf::strong_actor_ptr>(me),
     settings_.tls});
}

void producer_state::submit(actors::submit_tasks& wish) {
  if (ended_)
    wish.done(error{ended_->code, ended_->context + "; nothing was enqueued"});
  else
    outbox_->submit(std::move(wish.tasks), std::move(wish.done));
}

void producer_state::withdraw(const actors::withdraw_tasks& wish) {
  const auto unreached = why_unreached(outbox_->unreached_shard(wish.tasks));
  if (!outbox_->withdraw(wish.tasks, wish.unsent(unreached)))
    wish.was_sent(unreached);
}

void producer_state::tell_unreached(const actors::ask_unreached& wish) const {
  wish.told(why_unreached(wish.shard ? wish.shard : outbox_->unreached_shard()));
}

std::optional<error> producer_state::why_unreached(std::optional<shard_id> shard) const {
  if (!shard || !peers_.is_cluster() || peers_.connection_of(*shard))
    return std::nullopt;
  return peers_.unreached(*shard);
}

void producer_state::watch(actors::watch_tasks& wish) {
  if (!ended_) {
    watches_.add(wish.watch, wish.tasks, std::move(wish.ended), std::move(wish.progressed));
    return;
  }
  for (std::size_t i = 0; i < wish.tasks.size(); ++i)
    wish.ended(*ended_);
}

void producer_state::unwatch(const actors::unwatch_tasks& wish) {
  watches_.remove(wish.watch, wish.tasks);
}

void producer_state::accept(const protocol::enqueue_reply& reply) {
  auto accepted = outbox_->accept(reply);
  if (!accepted)
    peers_.drop(accepted.error());
  else if (*accepted)
    self_->delayed_send(self_, (*accepted)->pause, actors::resend_due{(*accepted)->number});
}

void producer_state::accept(const protocol::tasks_ended& ended) {
  if (auto accepted = watches_.accept(ended); !accepted)
    peers_.drop(accepted.error());
  ask_again_later();
}

void producer_state::ask_again() {
  will_ask_again_ = false;
  watches_.ask_again();
  ask_again_later();
}

void producer_state::ask_again_later() {
  if (watches_.wants_to_ask_again() && !std::exchange(will_ask_again_, true))
    self_->delayed_send(self_, tuning::lookups_retry_after, actors::ask_again_due{});
}

void producer_state::resend(const actors::resend_due& due) {
  outbox_->retry_due(due.number);
}

void producer_state::use_cluster(const store_identity& store) {
  auto reaches = [this](shard_id shard) { return peers_.connection_of(shard) != nullptr; };
  auto send = [this](shard_id shard, const auto& frame) {
    self_->send(*peers_.connection_of(shard), frame.to_wire());
  };
  cluster_store_ = store;
  outbox_->connect(enqueue_outbox::way{send, reaches}, store);
  watches_.connect(watch_list::way{send, reaches}, store);
}

void producer_state::use(const peer& connected) {
  if (peers_.is_cluster()) {
    // Within one cluster, `resend` says what to send on which new connection.
    if (cluster_store_ != connected.store)
      use_cluster(connected.store);
    return;
  }
  auto send = [this, connection = connected.connection](const auto& frame) {
    self_->send(connection, frame.to_wire());
  };
  outbox_->connect(send, connected.store);
  watches_.connect(send, connected.store);
}

producer_id producer_state::new_session() {
  // Uses the coordinator's clock, since the coordinator checks the session's age.
  return make_producer_id(
    server_time_.now(), static_cast<std::uint16_t>(base::random_bits()), base::random_bits());
}

void producer_state::take_up(const actors::link_up& up) {
  server_time_.note(shard_time_of(up.ack));
  if (auto came = peers_.take_up(up))
    follow(*came);
}

void producer_state::take_places(const actors::from_link<schema::ClusterMap>& told) {
  follow(peers_.take_places(told));
}

void producer_state::retry_shards() {
  follow(peers_.retry());
}

void producer_state::follow(const peers::arrival& came) {
  if (came.use) {
    settings_.tell(
      {.up = true,
       .shard_count = came.use->store.shard_count,
       .all_refuse = false,
       .reason = {},
       .tenant = came.use->tenant,
       .is_of_cluster = peers_.is_cluster()});
    use(*came.use);
  }
  if (!came.resend.empty()) {
    outbox_->resend(came.resend);
    watches_.resend(came.resend);
  }
  if (came.retries)
    self_->delayed_send(self_, tuning::not_here_pause, actors::shards_due{});
}

void producer_state::take_down(const actors::link_down& down) {
  CODEQ_LOG_DEBUG(
    "producer lost link={} refused={} reason=\"{}\"",
    down.link,
    down.is_refused,
    to_string(down.reason));
  auto loss = peers_.take_down(down);
  // In a cluster the other coordinators are used all the time.
  if (loss.in_use && !peers_.is_cluster()) {
    outbox_->disconnect();
    watches_.disconnect();
  }
  if (loss.instead && !peers_.is_cluster())
    use(*loss.instead);
  note_loss(loss, down.reason);
}

void producer_state::note_loss(const peers::loss& loss, const error& told) {
  auto reason = with_producer_advice(told);
  if (!peers_.is_connected())
    settings_.tell(
      {.up = false,
       .shard_count = 0,
       .all_refuse = loss.all_refuse,
       .reason = reason,
       .unreachable = loss.unreachable});
  if (loss.all_refuse)
    fail_all(no_connection(settings_.coordinators, reason, std::nullopt));
}

void producer_state::fail_all(const error& reason) {
  ended_ = reason;
  outbox_->fail_all(reason);
  watches_.fail_all(reason);
}

void producer_state::stop() {
  if (farewell_.begun())
    return;
  auto finished = outbox_->finished_session();
  fail_all(stopped());
  farewell_.begin(peers_, finished);
}

actors::producer_actor::behavior_type producer(
  actors::producer_actor::stateful_pointer<producer_state> self, producer_settings settings) {
  self->state.start(std::move(settings));
  return {
    [self](actors::submit_tasks& wish) { self->state.submit(wish); },
    [self](const actors::withdraw_tasks& wish) { self->state.withdraw(wish); },
    [self](const actors::ask_unreached& wish) { self->state.tell_unreached(wish); },
    [self](actors::watch_tasks& wish) { self->state.watch(wish); },
    [self](const actors::unwatch_tasks& wish) { self->state.unwatch(wish); },
    [self](const protocol::enqueue_reply& reply) { self->state.accept(reply); },
    [self](const protocol::tasks_ended& ended) { self->state.accept(ended); },
    [self](const actors::resend_due& due) { self->state.resend(due); },
    [self](const actors::ask_again_due&) { self->state.ask_again(); },
    [self](const actors::link_up& up) { self->state.take_up(up); },
    [self](const actors::link_down& down) { self->state.take_down(down); },
    [self](const actors::from_link<schema::ClusterMap>& told) { self->state.take_places(told); },
    [self](const actors::shards_due&) { self->state.retry_shards(); },
    [self](const actors::stop_client&) { self->state.stop(); },
    [self](const actors::stop_overdue&) { self->quit(); }};
}

} // namespace codeq::client
