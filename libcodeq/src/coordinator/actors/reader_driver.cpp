// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/reader_driver.hpp"

#include "observe/log.hpp"

namespace codeq::coordinator {

namespace {

/// From this number on, waiting look-ups of one peer are logged.
constexpr std::size_t noted_lookups = 1000;

} // namespace

void reader_driver::start(reader_actor::pointer self, reader_driver_options options) {
  self_ = self;
  options_ = std::move(options);
  desk_ = lookup_desk(options_.bounds);
  reader_.emplace(options_.reader, *this);
}

void reader_driver::fetch(coordinator::fetch_bodies& m) {
  peer_ = m.peer;
  reader_->fetch(std::move(m.wanted));
  peer_ = nullptr;
}

void reader_driver::keep(coordinator::answer_inquiry& m) {
  if (auto refusal = desk_.check(m.asked))
    return refuse(m.peer, m.asked, *refusal);
  auto id = m.asked.why.peer;
  auto& peer = enter(id, m.peer);
  desk_.add(std::move(m.asked));
  note_waiting(id, peer);
  schedule();
}

void reader_driver::keep(coordinator::list_stored& m) {
  if (auto refusal = desk_.check(m.list))
    return refuse(m.peer, m.list, *refusal);
  enter(m.list.in_memory.peer, m.peer);
  desk_.add(std::move(m.list));
  note_size();
  schedule();
}

reader_driver::asker& reader_driver::enter(core::peer_id id, const shard_peer_actor& actor) {
  auto [at, is_new] = askers_.try_emplace(id, asker{actor});
  if (is_new)
    self_->monitor(actor);
  return at->second;
}

void reader_driver::leave(core::peer_id id) {
  if (desk_.has(id))
    return;
  auto at = askers_.find(id);
  self_->demonitor(at->second.actor.address());
  askers_.erase(at);
}

template <class Asked>
void reader_driver::refuse(
  const shard_peer_actor& peer, const Asked& asked, const lookup_refusal& why) {
  options_.meter->note({why.limit, why.max, "tenant", why.tenant});
  peer_ = peer;
  reader_->refuse(asked, why.reason);
  peer_ = nullptr;
  carry_out(desk_.take_after_refusal());
}

std::uint64_t reader_driver::enter(const shard_internal_actor& shard) {
  if (shards_.try_emplace(shard.id(), shard).second)
    self_->monitor(shard);
  return shard.id();
}

bool reader_driver::turn_to(std::uint64_t shard) {
  const auto at = shards_.find(shard);
  if (at == shards_.end())
    return false;
  shard_ = at->second;
  return true;
}

void reader_driver::keep(coordinator::find_keys& m) {
  m.wanted.asker = enter(m.shard);
  desk_.add(std::move(m.wanted));
  note_size();
  schedule();
}

void reader_driver::keep(coordinator::read_survivors& m) {
  m.wanted.asker = enter(m.shard);
  desk_.add(std::move(m.wanted));
  schedule();
}

void reader_driver::look_up() {
  is_scheduled_ = false;
  carry_out(desk_.take());
  note_size();
  if (desk_.size() > 0)
    schedule();
}

void reader_driver::carry_out(lookup_turn turn) {
  for (const auto& wanted : turn.keys)
    if (turn_to(wanted.asker))
      reader_->find(wanted);
  if (!turn.inquiries.empty())
    answer(turn.inquiries);
  for (auto& list : turn.lists)
    go_on(std::move(list));
  for (const auto& wanted : turn.survivors)
    if (turn_to(wanted.asker))
      reader_->read(wanted);
  shard_ = nullptr;
  for (auto peer : turn.peers)
    leave(peer);
}

void reader_driver::answer(const std::vector<stored_inquiry>& asked) {
  peer_ = askers_.at(asked.front().why.peer).actor;
  reader_->answer(asked);
  peer_ = nullptr;
}

void reader_driver::go_on(open_list list) {
  peer_ = askers_.at(list.peer).actor;
  if (!reader_->go_on(list))
    desk_.add(std::move(list));
  peer_ = nullptr;
}

void reader_driver::keys_found(
  shard_id, std::uint64_t number, std::vector<core::recalled_key> found) {
  self_->send(shard_, coordinator::keys_found{number, std::move(found)});
}

void reader_driver::survivors_read(shard_id, core::copy_survivors found) {
  self_->send(shard_, shard_command{std::move(found)});
}

void reader_driver::survivors_damaged(const survivors_wanted& wanted, const error& reason) {
  CODEQ_LOG_ERROR(
    "reader leaves a damaged segment as it is shard={} segment={} error=\"{}\"",
    value(wanted.shard),
    wanted.tasks.segment,
    to_string(reason));
}

void reader_driver::forget(const caf::actor_addr& gone) {
  std::erase_if(askers_, [&](const auto& entry) {
    if (entry.second.actor.address() != gone)
      return false;
    desk_.drop(entry.first);
    return true;
  });
  shards_.erase(gone.id());
  note_size();
}

void reader_driver::schedule() {
  if (!std::exchange(is_scheduled_, true))
    self_->send(self_, look_up_next{});
}

void reader_driver::note_waiting(core::peer_id id, asker& peer) {
  note_size();
  auto waiting = desk_.inquiries_of(id);
  if (waiting >= noted_lookups && !std::exchange(peer.is_noted, true))
    CODEQ_LOG_WARN("reader lets the look-ups of a peer wait peer={} waiting={}", id, waiting);
}

void reader_driver::note_size() {
  if (options_.waiting)
    *options_.waiting = desk_.size();
}

reader_actor::behavior_type drive_reader(
  reader_actor::stateful_pointer<reader_driver> self, const reader_driver_options& options) {
  self->set_default_handler(caf::drop);
  self->set_down_handler([self](const caf::down_msg& m) { self->state.forget(m.source); });
  self->state.start(self, options);
  return {
    [self](fetch_bodies& m) { self->state.fetch(m); },
    [self](answer_inquiry& m) { self->state.keep(m); },
    [self](list_stored& m) { self->state.keep(m); },
    [self](find_keys& m) { self->state.keep(m); },
    [self](read_survivors& m) { self->state.keep(m); },
    [self](look_up_next) { self->state.look_up(); },
  };
}

} // namespace codeq::coordinator
