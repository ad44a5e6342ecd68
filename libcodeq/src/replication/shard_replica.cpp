// SPDX-License-Identifier: Apache-2.0
#include "replication/shard_replica.hpp"

#include "base/assert.hpp"
#include "replication/bounds.hpp"
#include "replication/timing.hpp"

#include <algorithm>
#include <utility>

namespace codeq::replication {

namespace {

template <class... Functions>
struct overloaded : Functions... {
  using Functions::operator()...;
};

} // namespace

shard_replica::shard_replica(replica_start start, replica_port& port, monotonic_time now)
  : port_(port),
    id_(start.id),
    promised_(start.promised),
    promising_(start.promised),
    log_(std::move(start.log)),
    written_(log_.last()),
    doubtful_(start.doubtful),
    is_incomplete_(start.incomplete),
    value_(std::move(start.value)),
    heard_(now),
    confirmed_beacon_(now),
    primaries_(now) {}

bool shard_replica::is_serving() const {
  return leads_ && leads_->at() == leadership::phase::serving;
}

bool shard_replica::may_answer(monotonic_time now) const {
  return leads_ && leads_->is_entitled(now);
}

void shard_replica::receive(const envelope& in, monotonic_time now) {
  const auto handle = overloaded{
    [&](const append& what) { on_append(in, what, now); },
    [&](const confirm& what) { on_confirm(in, what, now); },
    [&](const reject& what) {
      if (leads_ && what.promised > leads_->epoch())
        step_down();
    },
    [&](const copy_offer& what) { on_copy_offer(in, what, now); },
    [&](const trust& what) { on_trust(what); },
    [&](const collect& what) {
      heard_ = now;
      on_collect(in, what, now);
    },
    [&](const collected& what) { on_collected(in, what, now); },
    [&](const question& what) { answer_question(in, what, now); },
    [&](const answer& what) { on_answer(in, what, now); },
    [&](const elected& what) { learn(what.value, now); },
    [&](const release& what) { on_release(what, now); },
  };
  std::visit(handle, in.content);
}

void shard_replica::tick(monotonic_time now) {
  if (leads_)
    lead(now);
  else if (election_)
    decide_election(now);
  else
    suspect(now);
}

bool shard_replica::enter(epoch_number epoch, replica_id from, monotonic_time now) {
  if (epoch < promising_) {
    port_.send(from, reject{promising_});
    return false;
  }
  if (epoch > promising_)
    promise(epoch, now);
  return epoch == promised_ && !leads_;
}

void shard_replica::promise(epoch_number epoch, monotonic_time now) {
  CODEQ_ASSERT(epoch > promising_);
  if (leads_)
    step_down();
  election_.reset();
  collecting_.reset();
  promising_ = epoch;
  disk_.begin(now);
  port_.save_promise(epoch);
}

void shard_replica::promise_saved(epoch_number epoch, monotonic_time now) {
  promised_ = std::max(promised_, epoch);
  disk_.end(is_writing(), now);
  if (epoch == promising_ && collecting_) {
    const auto asked = *std::exchange(collecting_, std::nullopt);
    on_collect(asked, std::get<collect>(asked.content), now);
  }
  if (epoch != promising_ || value_.epoch != epoch || value_.primary != id_)
    return;
  // Its store turned out to be damaged meanwhile. While it sends no beacon, another one is elected.
  if (is_incomplete_)
    return;
  if (doubtful_) {
    doubtful_ = false;
    port_.clear_doubt();
  }
  leads_.emplace(id_, value_, log_.last(), now);
  beat_ = monotonic_time{};
  lead(now);
}

void shard_replica::on_append(const envelope& in, const append& what, monotonic_time now) {
  if (!enter(what.epoch, in.sender, now))
    return;
  heard_ = now;
  // Its primary is back, so etcd is not asked for another one any more. What it was asked before
  // counts if it is decided.
  if (value_.epoch == what.epoch && released_ < what.epoch)
    election_.reset();
  primaries_.note(now);
  shard_time_ = std::max(shard_time_, what.shard_time);
  if (follows_.epoch != what.epoch)
    follows_ = {in.sender, what.epoch, 0};
  const auto before = log_.last();
  for (const auto& e : what.entries)
    take(e, now);
  confirmed_beacon_ = now;
  // What was taken is confirmed when it is written; only a beacon is confirmed at once.
  if (what.beacon <= follows_.beacon && log_.last() != before)
    return;
  follows_.beacon = std::max(follows_.beacon, what.beacon);
  confirm_to(in.sender, what.beacon);
}

void shard_replica::confirm_to(replica_id primary, std::uint64_t beacon) {
  const auto has = is_incomplete_ ? position{} : written_;
  port_.send(primary, confirm{promised_, beacon, has, doubtful_, is_incomplete_});
}

void shard_replica::take(const entry& what, monotonic_time now) {
  if (is_incomplete_ || log_.contains(what.at) || what.previous != log_.last())
    return;
  write(what, now);
}

void shard_replica::write(const entry& what, monotonic_time now) {
  disk_.begin(now);
  log_.append(what.at);
  port_.write(what);
}

void shard_replica::written(position at, monotonic_time now) {
  // A write that was under way when a copy began is a part of what the copy replaced.
  if (is_incomplete_)
    return;
  written_ = at;
  disk_.end(is_writing(), now);
  if (!leads_) {
    if (follows_.epoch == promised_ && promised_ == promising_)
      confirm_to(follows_.primary, 0);
    return;
  }
  if (at.epoch != leads_->epoch())
    return;
  if (leads_->at() == leadership::phase::starting) {
    leads_->set_phase(leadership::phase::waiting);
    recover_started();
    lead(now);
  } else {
    port_.acknowledge(at);
  }
  if (leads_)
    commit(now);
}

void shard_replica::recover_started() {
  const auto prepared = std::exchange(preparation_, std::nullopt);
  const auto is_of_now = prepared && prepared->epoch == leads_->epoch()
                         && prepared->last == started_after_ && prepared->shard_time == shard_time_;
  if (!is_of_now)
    port_.recover(leads_->epoch(), shard_time_);
  else if (prepared->is_done)
    leads_->note_recovered();
}

void shard_replica::recovered(epoch_number epoch, monotonic_time now) {
  if (preparation_ && preparation_->epoch == epoch)
    preparation_->is_done = true;
  else if (leads_ && leads_->epoch() == epoch) {
    leads_->note_recovered();
    lead(now);
  }
}

void shard_replica::recovery_failed() {
  is_incomplete_ = true;
  if (preparation_)
    drop_preparation();
  if (leads_)
    step_down();
}

void shard_replica::on_copy_offer(const envelope& in, const copy_offer& what, monotonic_time now) {
  if (!enter(what.epoch, in.sender, now))
    return;
  const auto is_same_sender =
    copy_.from == what.id.from && copy_.incarnation == what.id.incarnation;
  // It is late or doubled when a later copy was begun, or when the own history has it already. A
  // copy never takes anything away that was confirmed to count: no member is copied.
  if (is_same_sender && what.id.number <= copy_.number)
    return;
  if (!is_incomplete_ && log_.contains(what.log.last()))
    return;
  if (!port_.takes_copies())
    return;
  is_incomplete_ = true;
  if (preparation_)
    drop_preparation();
  copy_ = what.id;
  if (!is_writing())
    disk_.forget_writes();
  port_.take_copy(in.sender, what);
}

void shard_replica::rebuilt(const epoch_index& log) {
  log_ = log;
  written_ = log_.last();
  is_incomplete_ = false;
  if (!leads_ && follows_.epoch == promised_ && promised_ == promising_)
    confirm_to(follows_.primary, 0);
}

void shard_replica::copy_ended(replica_id to) {
  // It may have been dropped meanwhile.
  if (leads_ && contains(value_.replicas, to))
    leads_->note_copy_ended(to);
}

void shard_replica::tail_read(replica_id to, monotonic_time now) {
  if (leads_ && contains(value_.replicas, to))
    stream_to(to, now);
}

void shard_replica::on_trust(const trust& what) {
  if (!doubtful_ || what.epoch != promised_ || written_.epoch != what.epoch)
    return;
  if (written_ < what.committed)
    return;
  doubtful_ = false;
  port_.clear_doubt();
}

void shard_replica::on_collect(const envelope& in, const collect& what, monotonic_time now) {
  const auto is_promised = enter(what.epoch, in.sender, now);
  if (!is_promised && !leads_ && what.epoch == promising_)
    collecting_ = in;
  if (!is_promised || is_incomplete_)
    return;
  collected reply{what.epoch, log_.last(), {}};
  const auto is_ahead = log_.last() > what.last;
  if (is_ahead && log_.contains(what.last)) {
    auto tail = read_own(in.sender, what.last);
    // The winner will ask again.
    if (tail.how == log_tail::state::reading)
      return;
    reply.entries = std::move(tail.entries);
    reply.gone = tail.how == log_tail::state::gone;
  } else if (is_ahead) {
    reply.gone = true;
  }
  port_.send(in.sender, std::move(reply));
}

void shard_replica::learn(const membership& current, monotonic_time now) {
  if (current.version <= value_.version)
    return;
  if (current.epoch > value_.epoch)
    heard_ = now;
  value_ = current;
  election_.reset();
  if (preparation_ && value_.epoch > released_ && value_.primary != id_)
    drop_preparation();
  if (leads_ && value_.epoch > leads_->epoch())
    step_down();
  else if (leads_)
    leads_->note_value(value_);
  take_over_if_chosen(now);
  // Something else of the value has changed: the shard is still without a primary.
  if (!leads_ && released_ == value_.epoch)
    suspect(now);
}

void shard_replica::step_down() {
  leads_.reset();
  port_.stop_serving();
}

void shard_replica::on_confirm(const envelope& in, const confirm& what, monotonic_time now) {
  if (!leads_ || what.epoch != leads_->epoch() || !contains(value_.replicas, in.sender))
    return;
  leads_->note_confirm(in, what, now);
  const auto has_started = leads_->at() >= leadership::phase::waiting;
  if (what.doubtful && has_started && what.written >= log_.last())
    port_.send(in.sender, trust{what.epoch, log_.last()});
  commit(now);
  if (leads_)
    stream_to(in.sender, now);
}

void shard_replica::on_collected(const envelope& in, const collected& what, monotonic_time now) {
  if (!leads_ || what.epoch != leads_->epoch() || leads_->at() != leadership::phase::collecting)
    return;
  const auto before = log_.last();
  for (const auto& e : what.entries)
    take(e, now);
  leads_->note_fetched(log_.last());
  // A member whose tail does not join, or cannot be read, is removed from the set and copied later:
  // what it has more is not acknowledged, since the winner, which is in the set, has not got it.
  const auto cannot_join = what.gone || what.last < log_.last();
  if (log_.contains(what.last) || cannot_join)
    leads_->note_collected(in.sender, now);
  else if (log_.last() != before)
    port_.send(in.sender, collect{leads_->epoch(), log_.last()});
  begin_epoch(now);
}

void shard_replica::begin_epoch(monotonic_time now) {
  if (leads_->at() != leadership::phase::collecting || !leads_->has_collected())
    return;
  leads_->set_phase(leadership::phase::starting);
  started_after_ = log_.last();
  leads_->propose(nullptr, now);
  for (auto other : value_.replicas)
    beat_to(other, now);
  commit(now);
}

void shard_replica::beat_to(replica_id other, monotonic_time now) {
  if (other == id_)
    return;
  if (leads_->at() == leadership::phase::collecting) {
    port_.send(other, collect{leads_->epoch(), log_.last()});
    return;
  }
  leads_->resend_if_stuck(other);
  if (leads_->needs_copy(other))
    give_up(other);
  port_.send(other, append{leads_->epoch(), leads_->next_beacon(now), {}, port_.shard_time()});
  stream_to(other, now);
}

void shard_replica::stream_to(replica_id other, monotonic_time now) {
  if (other == id_ || leads_->at() == leadership::phase::collecting)
    return;
  for (auto entries = next_entries(other); !entries.empty(); entries = next_entries(other)) {
    const auto beacon = leads_->next_beacon(now);
    leads_->note_sent(other, entries);
    port_.send(
      other, append{leads_->epoch(), beacon, std::move(entries), port_.shard_time()});
  }
}

std::vector<entry> shard_replica::next_entries(replica_id other) {
  const auto after = leads_->next_for(other);
  if (!after)
    return {};
  const auto is_in_log = log_.contains(*after);
  if (!is_in_log && after->epoch != leads_->epoch()) {
    give_up(other);
    return {};
  }
  if (!is_in_log || *after == log_.last())
    return leads_->window_after(*after);
  auto tail = read_own(other, *after);
  if (tail.how == log_tail::state::gone)
    give_up(other);
  return std::move(tail.entries);
}

log_tail shard_replica::read_own(replica_id to, position after) {
  auto tail = port_.read_after(to, after);
  // It comes from a cache, which may have what the own log has not.
  const auto is_foreign = [this](const entry& e) { return !log_.contains(e.at); };
  const auto end = std::find_if(tail.entries.begin(), tail.entries.end(), is_foreign);
  tail.entries.erase(end, tail.entries.end());
  // The cache is read by bytes. A message with more deltas is refused, and would be sent for ever.
  if (tail.entries.size() > bounds::message_entries)
    tail.entries.erase(tail.entries.begin() + bounds::message_entries, tail.entries.end());
  const auto joins = !tail.entries.empty() && tail.entries.front().previous == after;
  if (tail.how == log_tail::state::held && !joins)
    return {};
  return tail;
}

void shard_replica::give_up(replica_id other) {
  leads_->note_lost(other);
  if (!leads_->may_copy(other))
    return;
  leads_->note_copying(other);
  port_.begin_copy(other, leads_->epoch());
}

void shard_replica::commit(monotonic_time now) {
  for (const auto& e : leads_->take_ready())
    write(e, now);
}

bool shard_replica::is_writing() const {
  // While a copy is taken, the writes that it replaces do not count.
  const auto writes_log = !is_incomplete_ && written_ != log_.last();
  return writes_log || promised_ != promising_;
}

bool shard_replica::does_disk_hang(monotonic_time now) const {
  const auto is_starting = leads_ && !is_serving();
  return disk_.hangs(now, is_starting ? timing::slow_disk_at_start : timing::slow_disk);
}

void shard_replica::release_if_disk_hangs(monotonic_time now) {
  if (!does_disk_hang(now) || !port_.reaches_etcd())
    return;
  // The primary before it may still answer, and a release would spare the next one the wait for
  // that. The others elect when they hear no beacon.
  if (!is_serving() && value_.in_sync.size() > 1)
    return step_down();
  if (const auto to = next_primary(now); to != id_)
    hand_over(to);
}

bool shard_replica::has_waited(monotonic_time now) const {
  const auto follows_release =
    released_ + 1 == leads_->epoch() || without_wait_ == leads_->epoch();
  return follows_release || now >= confirmed_beacon_ + timing::wait;
}

void shard_replica::lead(monotonic_time now) {
  if (leads_->at() == leadership::phase::collecting)
    begin_epoch(now);
  const auto is_ready = has_waited(now) && leads_->has_recovered();
  if (leads_->at() == leadership::phase::waiting && is_ready) {
    leads_->set_phase(leadership::phase::serving);
    port_.serve(leads_->epoch());
  }
  commit(now);
  release_if_disk_hangs(now);
  if (!leads_)
    return;
  if (leads_->is_entitled(now))
    primaries_.note(now);
  if (const auto next = leads_->next_change(now))
    port_.compare_and_set(value_, *next);
  if (now < beat_ + timing::beacon)
    return;
  beat_ = now;
  for (auto other : value_.replicas)
    beat_to(other, now);
}

void shard_replica::note_gone(replica_id replica, monotonic_time now) {
  if (!leads_)
    return;
  leads_->note_gone(replica);
  lead(now);
}

bool shard_replica::propose(std::shared_ptr<const delta_body> body, monotonic_time now) {
  if (!is_serving())
    return false;
  leads_->propose(std::move(body), now);
  for (auto other : leads_->others())
    stream_to(other, now);
  commit(now);
  return true;
}

bool shard_replica::accepts_writes() const {
  return is_serving() && value_.in_sync.size() >= value_.min_in_sync;
}

bool shard_replica::may_hand_over(replica_id to) const {
  return is_serving() && (to == id_ || leads_->may_take_over(to));
}

replica_id shard_replica::next_primary(
  monotonic_time now, const std::set<replica_id>& avoided) const {
  std::optional<replica_id> other;
  for (auto member : value_.in_sync) {
    if (member == id_ || !may_hand_over(member))
      continue;
    if (leads_->is_heard(member, now) && !avoided.contains(member))
      return member;
    other = other.value_or(member);
  }
  return other.value_or(id_);
}

void shard_replica::hand_over(replica_id to) {
  if (!is_serving())
    return;
  const auto epoch = leads_->epoch();
  step_down();
  released_ = handed_over_ = epoch;
  gives_way_since_.reset();
  port_.send(to, release{epoch});
}

} // namespace codeq::replication
