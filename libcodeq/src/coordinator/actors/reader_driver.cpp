// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/reader_driver.hpp"

#include "observe/log.hpp"

namespace codeq::coordinator {

namespace {

/// From this number on, waiting look-ups of one peer are logged.
constexpr std::size_t noted_lookups = 1000;

/// Number of refused look-ups after which waiting ones get a turn. A refusal costs about a
/// hundredth of a turn.
constexpr std::size_t refusals_per_turn = 128;

error refusal_of(const std::string& what, const std::string& limit, std::size_t max) {
  auto number = std::to_string(max);
  return {
    errc::overloaded,
    "the connection has " + number + " " + what + " waiting; " + limit + "=" + number};
}

} // namespace

void reader_driver::start(reader_actor::pointer self, reader_driver_options options) {
  self_ = self;
  options_ = std::move(options);
  reader_.emplace(options_.reader, *this);
}

void reader_driver::fetch(coordinator::fetch_bodies& m) {
  peer_ = m.peer;
  reader_->fetch(std::move(m.wanted));
  peer_ = nullptr;
}

void reader_driver::keep(coordinator::answer_inquiry& m) {
  auto id = m.asked.why.peer;
  if (m.asked.is_bounded && lookups_.size_of(id) >= options_.lookups_max) {
    auto max = options_.lookups_max;
    const auto& by = m.asked.asker;
    options_.meter->note(
      {"lookups_waiting_max", max, "tenant", by ? std::string_view(by->tenant) : "default"});
    return refuse(m.peer, m.asked, refusal_of("look-ups", "lookups_waiting_max", max));
  }
  auto& peer = enter(id, m.peer);
  lookups_.add(std::move(m.asked));
  note_waiting(id, peer);
  schedule();
}

void reader_driver::keep(coordinator::list_stored& m) {
  auto id = m.list.in_memory.peer;
  if (m.list.is_bounded && lists_.size_of(id) >= options_.lists_max) {
    auto max = options_.lists_max;
    options_.meter->note(
      {"lists_waiting_max", max, "tenant", m.list.in_memory.part.filter.tenant});
    return refuse(m.peer, m.list, refusal_of("lists", "lists_waiting_max", max));
  }
  enter(id, m.peer);
  lists_.add(begin_list(std::move(m.list)));
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
  if (lookups_.has(id) || lists_.has(id))
    return;
  auto at = askers_.find(id);
  self_->demonitor(at->second.actor.address());
  askers_.erase(at);
}

template <class Asked>
void reader_driver::refuse(
  const shard_peer_actor& peer, const Asked& asked, const error& reason) {
  peer_ = peer;
  reader_->refuse(asked, reason);
  peer_ = nullptr;
  // Otherwise peers that ask again faster than they are refused would keep it from any other work.
  if (++refused_ % refusals_per_turn == 0)
    answer_next();
}

void reader_driver::keep(coordinator::find_keys& m) {
  shards_.insert_or_assign(m.wanted.shard, m.shard);
  keys_.add(std::move(m.wanted));
  note_size();
  schedule();
}

void reader_driver::keep(coordinator::read_survivors& m) {
  shards_.insert_or_assign(m.wanted.shard, m.shard);
  survivors_.add(std::move(m.wanted));
  schedule();
}

void reader_driver::look_up() {
  is_scheduled_ = false;
  for (const auto& wanted : keys_.take())
    reader_->find(wanted);
  answer_next();
  list_next();
  for (const auto& wanted : survivors_.take())
    reader_->read(wanted);
  note_size();
  if (waiting() > 0)
    schedule();
}

void reader_driver::answer_next() {
  auto asked = lookups_.take();
  if (asked.empty())
    return;
  auto id = asked.front().why.peer;
  auto at = askers_.find(id);
  peer_ = at->second.actor;
  reader_->answer(asked);
  peer_ = nullptr;
  leave(id);
}

void reader_driver::list_next() {
  for (auto& list : lists_.take()) {
    auto id = list.peer;
    peer_ = askers_.at(id).actor;
    if (!reader_->go_on(list))
      lists_.add(std::move(list));
    peer_ = nullptr;
    leave(id);
  }
}

void reader_driver::keys_found(
  shard_id shard, std::uint64_t number, std::vector<core::recalled_key> found) {
  self_->send(shards_.at(shard), coordinator::keys_found{number, std::move(found)});
}

void reader_driver::survivors_read(shard_id shard, core::copy_survivors found) {
  self_->send(shards_.at(shard), shard_command{std::move(found)});
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
    lookups_.drop(entry.first);
    lists_.drop(entry.first);
    return true;
  });
  note_size();
}

void reader_driver::schedule() {
  if (!std::exchange(is_scheduled_, true))
    self_->send(self_, look_up_next{});
}

void reader_driver::note_waiting(core::peer_id id, asker& peer) {
  note_size();
  auto waiting = lookups_.size_of(id);
  if (waiting >= noted_lookups && !std::exchange(peer.is_noted, true))
    CODEQ_LOG_WARN("reader lets the look-ups of a peer wait peer={} waiting={}", id, waiting);
}

void reader_driver::note_size() {
  if (options_.waiting)
    *options_.waiting = waiting();
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
