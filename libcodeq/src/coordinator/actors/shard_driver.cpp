// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/shard_driver.hpp"

#include "base/tuning.hpp"
#include "storage/keys/keyspace.hpp"

#include <caf/send.hpp>

#include <utility>

namespace codeq::coordinator {

namespace {

/// How often a shard that hands no tasks out, since too few replicas are in sync, looks again.
constexpr duration few_replicas_look_interval{50};

} // namespace

shard_driver::~shard_driver() {
  if (shard_ && options_.loop)
    options_.loop->remove(shard_->state().id);
}

void shard_driver::start(shard_internal_actor::pointer self, const shard_driver_options& options) {
  self_ = self;
  options_ = options;
  log_.emplace(options_.shard.state->id);
  shard_.emplace(options_.shard, *this, now());
  if (options_.loop)
    options_.loop->add(shard_->state().id, *this);
  shard_->start(now());
  if (options_.space)
    look_around();
}

void shard_driver::look_around() {
  shard_->look_at_room(now());
  log_->note_disk(options_.space->check(now().steady));
  shard_->look_at_zones(now());
  const auto waits_for_replicas = grants_ == grant_pause::few_replicas;
  self_->delayed_send(
    self_,
    waits_for_replicas ? few_replicas_look_interval : tuning::free_space_look_interval,
    coordinator::look_around{});
}

void shard_driver::close_turn() {
  if (options_.loop)
    options_.loop->settle();
  else
    shard_->close_turn(now());
}

void shard_driver::settle_later() {
  // Another actor may be running, so that the message cannot be sent in the name of this one.
  caf::anon_send(me(), coordinator::close_turn{});
}

shard_internal_actor shard_driver::me() const {
  return caf::actor_cast<shard_internal_actor>(self_);
}

base::coordinator_counts shard_driver::stats(const ask_shard_stats& question) {
  auto counts = shard_->stats(now());
  if (question.with_leases)
    shard_->add_leases(counts.workers, now());
  return counts;
}

void shard_driver::attach(const attach_peer& m) {
  peers_.insert_or_assign(m.who.peer, m.actor);
  shard_->attach(m.who, now());
  if (m.first_claim)
    shard_->decide(*m.first_claim, now());
}

void shard_driver::detach(const detach_peer& m) {
  if (m.ending)
    return self_->send(m.ending, credits_dropped{shard_->drop_credits(m.peer, now())});
  peers_.erase(m.peer);
  shard_->detach(m.peer, now());
}

void shard_driver::meet(const meet_shards& m) {
  shards_ = m.shards;
  for (auto& [to, command] : std::exchange(undelivered_, {}))
    to_shard(to, std::move(command));
}

caf::result<bool> shard_driver::stop() {
  auto promise = self_->make_response_promise<bool>();
  stopping_ = promise;
  shard_->stop(now());
  return promise;
}

void shard_driver::note_limit(
  std::string_view name, std::uint64_t max, std::string_view owner, std::string_view queue) {
  options_.meter->note({name, max, "tenant", owner, queue});
}

void shard_driver::note_expired(const core::leases_expired& expired) {
  log_->note_expired(expired, now().steady);
}

void shard_driver::note_breaker(const core::breaker_tripped& tripped) {
  log_->note_breaker(tripped);
}

void shard_driver::note_occurrence(const core::occurrence_noted& noted, timestamp shard_now) {
  log_->note_occurrence(noted, {now().steady, shard_now});
}

void shard_driver::note_grants(grant_pause why) {
  grants_ = why;
  log_->note_grants(why);
}

void shard_driver::settled() {
  if (stopping_)
    std::exchange(stopping_, std::nullopt)->deliver(true);
}

void shard_driver::note_purge() {
  if (options_.reserve)
    options_.reserve->note_purge();
}

void shard_driver::commit(turn_commit turn, const std::vector<core::event>&) {
  if (options_.loop && options_.loop->has_journal())
    options_.loop->commit(me(), std::move(turn));
  else
    self_->send(options_.journal, commit_request{me(), std::move(turn)});
}

void shard_driver::raise_epoch() {
  self_->send(options_.journal, coordinator::raise_epoch{shard_->state().id, me()});
}

void shard_driver::reply(core::peer_id peer, protocol::peer_reply reply) {
  send_to(peer, shard_reply{shard_->state().id, std::move(reply)});
}

void shard_driver::deliver(core::peer_id peer, task_delivery tasks) {
  send_to(peer, std::move(tasks));
}

void shard_driver::tell_credits(core::peer_id peer, const credit_news& news) {
  send_to(peer, news);
}

void shard_driver::tell_queues(core::peer_id peer, queues_added news) {
  send_to(peer, std::move(news));
}

void shard_driver::end_peer(core::peer_id peer, const error& reason) {
  send_to(peer, peer_misbehaved{reason});
}

void shard_driver::fetch_bodies(core::peer_id peer, bodies_wanted wanted) {
  read_for<coordinator::fetch_bodies>(peer, std::move(wanted));
}

void shard_driver::answer_inquiry(core::peer_id peer, stored_inquiry inquiry) {
  read_for<coordinator::answer_inquiry>(peer, std::move(inquiry));
}

void shard_driver::list_stored(core::peer_id peer, stored_list list) {
  read_for<coordinator::list_stored>(peer, std::move(list));
}

void shard_driver::find_keys(keys_wanted wanted) {
  self_->send(options_.reader, coordinator::find_keys{me(), std::move(wanted)});
}

void shard_driver::read_survivors(survivors_wanted wanted) {
  self_->send(options_.reader, coordinator::read_survivors{me(), std::move(wanted)});
}

bool shard_driver::may_hold_key(const task_key& name) {
  return options_.store->may_have(storage::key_key{shard_->state().id, name}.encode());
}

void shard_driver::to_shard(shard_id to, core::command command) {
  if (options_.neighbours)
    self_->send(
      options_.neighbours,
      neighbour_told{to, {shard_->state().id, options_.epoch, std::move(command)}});
  else if (shards_.empty())
    undelivered_.emplace_back(to, std::move(command));
  else
    self_->send(shards_.at(value(to)), shard_command{std::move(command)});
}

bool shard_driver::make_timer(sequence seq, fencing_token token) {
  return timers_.make(self_, {seq, token});
}

void shard_driver::fire_timer(fencing_token token) {
  timers_.fire(self_, token);
}

bool shard_driver::drop_timer(fencing_token token) {
  return timers_.drop(token);
}

void shard_driver::close_turn_soon() {
  if (options_.loop)
    options_.loop->opened(*this);
  else
    settle_later();
}

void shard_driver::wake_after(duration wait, std::uint64_t number) {
  self_->delayed_send(self_, wait, wake_shard{number});
}

const result<void>& shard_driver::check_disk(monotonic_time now) {
  static const result<void> ok;
  return options_.space ? options_.space->check(now) : ok;
}

bool shard_driver::is_disk_tight(monotonic_time now, std::size_t bytes) {
  return options_.space && options_.space->is_tight(now, bytes);
}

shard_internal_actor::behavior_type drive_shard(
  shard_internal_actor::stateful_pointer<shard_driver> self, const shard_driver_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  // A message is compared with the types in this order, so those of most requests come first.
  return {
    [self](const peer_request& m) { self->state.hosted().take(m, self->state.now()); },
    [self](close_turn) { self->state.close_turn(); },
    [self](const shard_command& m) { self->state.hosted().decide(m.what, self->state.now()); },
    [self](const attach_peer& m) { self->state.attach(m); },
    [self](const detach_peer& m) { self->state.detach(m); },
    [self](ask_shard_stats m) { return self->state.stats(m); },
    [self](stop_shard) { return self->state.stop(); },
    [self](const meet_shards& m) { self->state.meet(m); },
    [self](const batch_committed& m) {
      self->state.hosted().committed(m.number, self->state.now());
    },
    [self](keys_found& m) {
      self->state.hosted().keys_found(m.number, std::move(m.found), self->state.now());
    },
    [self](const epoch_raised& m) { self->state.hosted().begin_epoch(m.epoch); },
    [self](look_around) { self->state.look_around(); },
    [self](const wake_shard& m) { self->state.hosted().wake(m.number, self->state.now()); },
    [self](const neighbours_moved& m) {
      self->state.hosted().neighbours_moved(m.shards, self->state.now());
    },
  };
}

} // namespace codeq::coordinator
