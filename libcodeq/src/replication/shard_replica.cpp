// SPDX-License-Identifier: Apache-2.0
#include "replication/shard_replica.hpp"

#include "base/assert.hpp"
#include "replication/timing.hpp"

#include <algorithm>

namespace codeq::replication {

namespace {

/// Maximum number of deltas in one message.
constexpr std::size_t message_entries_max = 64;

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
    value_(std::move(start.value)),
    heard_(now),
    confirmed_beacon_(now) {}

bool shard_replica::is_serving() const {
  return leads_ && leads_->at() == leadership::phase::serving;
}

bool shard_replica::may_answer(monotonic_time now) const {
  return leads_ && leads_->is_entitled(now);
}

void shard_replica::receive(const envelope& from, monotonic_time now) {
  const auto handle = overloaded{
    [&](const append& what) { on_append(from, what, now); },
    [&](const confirm& what) { on_confirm(from, what, now); },
    [&](const reject& what) {
      if (leads_ && what.promised > leads_->epoch())
        step_down();
    },
    [&](const rebuild& what) { on_rebuild(from, what); },
    [&](const trust& what) { on_trust(what); },
    [&](const collect& what) {
      heard_ = now;
      on_collect(from, what);
    },
    [&](const collected& what) { on_collected(from, what, now); },
    [&](const question& what) { answer_question(from, what, now); },
    [&](const answer& what) {
      if (election_ && election_->number == what.number)
        election_->answers[from.from] = what;
    },
    [&](const elected& what) { learn(what.value, now); },
    [&](const release& what) { released_ = std::max(released_, what.epoch); },
  };
  std::visit(handle, from.content);
}

void shard_replica::tick(monotonic_time now) {
  if (leads_)
    lead(now);
  else if (election_)
    decide_election(now);
  else
    suspect(now);
}

bool shard_replica::enter(epoch_number epoch, replica_id from) {
  if (epoch < promising_) {
    port_.send(from, reject{promising_});
    return false;
  }
  if (epoch > promising_)
    promise(epoch);
  return epoch == promised_ && !leads_;
}

void shard_replica::promise(epoch_number epoch) {
  CODEQ_ASSERT(epoch > promising_);
  if (leads_)
    step_down();
  election_.reset();
  promising_ = epoch;
  port_.save_promise(epoch);
}

void shard_replica::promise_saved(epoch_number epoch, monotonic_time now) {
  promised_ = std::max(promised_, epoch);
  if (epoch != promising_ || value_.epoch != epoch || value_.primary != id_)
    return;
  if (doubtful_) {
    doubtful_ = false;
    port_.clear_doubt();
  }
  leads_.emplace(id_, value_, log_.last(), now);
  beat_ = monotonic_time{};
  lead(now);
}

void shard_replica::on_append(const envelope& from, const append& what, monotonic_time now) {
  if (!enter(what.epoch, from.from))
    return;
  heard_ = now;
  if (is_rebuilding_)
    return;
  for (const auto& e : what.entries)
    take(e, now);
  confirmed_beacon_ = now;
  port_.send(from.from, confirm{what.epoch, what.beacon, written_, doubtful_});
}

void shard_replica::take(const entry& what, monotonic_time now) {
  if (log_.contains(what.at) || what.previous != log_.last())
    return;
  write(what, now);
}

void shard_replica::write(const entry& what, monotonic_time now) {
  if (!writing_since_)
    writing_since_ = now;
  log_.append(what.at);
  port_.write(what);
}

void shard_replica::written(position at, monotonic_time now) {
  written_ = at;
  writing_since_ = now;
  if (written_ == log_.last())
    writing_since_.reset();
  if (!leads_ || at.epoch != leads_->epoch())
    return;
  if (leads_->at() == leadership::phase::starting)
    leads_->set_phase(leadership::phase::waiting);
  else
    port_.acknowledge(at);
  commit(now);
}

void shard_replica::on_rebuild(const envelope& from, const rebuild& what) {
  if (!enter(what.epoch, from.from) || is_rebuilding_)
    return;
  epoch_index copy;
  for (const auto& e : what.entries)
    copy.append(e.at);
  // The copy is late or doubled when the own log joins it.
  if (copy.contains(log_.last()) || log_.contains(copy.last()))
    return;
  is_rebuilding_ = true;
  port_.replace_log(what.entries);
}

void shard_replica::rebuilt(const epoch_index& log) {
  log_ = log;
  written_ = log_.last();
  is_rebuilding_ = false;
  writing_since_.reset();
}

void shard_replica::on_trust(const trust& what) {
  if (!doubtful_ || what.epoch != promised_ || written_.epoch != what.epoch)
    return;
  if (written_ < what.committed)
    return;
  doubtful_ = false;
  port_.clear_doubt();
}

void shard_replica::on_collect(const envelope& from, const collect& what) {
  if (!enter(what.epoch, from.from) || is_rebuilding_)
    return;
  collected reply{what.epoch, log_.last(), {}};
  if (log_.contains(what.last))
    reply.entries = port_.read_after(what.last, message_entries_max);
  port_.send(from.from, std::move(reply));
}

void shard_replica::learn(const membership& current, monotonic_time now) {
  if (current.version <= value_.version)
    return;
  if (current.epoch > value_.epoch)
    heard_ = now;
  value_ = current;
  election_.reset();
  if (leads_ && value_.epoch > leads_->epoch())
    step_down();
  else if (leads_)
    leads_->note_value(value_);
  take_over_if_chosen();
}

void shard_replica::step_down() {
  leads_.reset();
  port_.stop_serving();
}

void shard_replica::on_confirm(const envelope& from, const confirm& what, monotonic_time now) {
  if (!leads_ || what.epoch != leads_->epoch())
    return;
  leads_->note_confirm(from, what, now);
  const auto has_started = leads_->at() >= leadership::phase::waiting;
  if (what.doubtful && has_started && what.written >= log_.last())
    port_.send(from.from, trust{what.epoch, log_.last()});
  commit(now);
}

void shard_replica::on_collected(const envelope& from, const collected& what, monotonic_time now) {
  if (!leads_ || what.epoch != leads_->epoch() || leads_->at() != leadership::phase::collecting)
    return;
  for (const auto& e : what.entries)
    take(e, now);
  leads_->note_fetched(log_.last());
  if (log_.contains(what.last))
    leads_->note_collected(from.from);
  begin_epoch(now);
}

void shard_replica::begin_epoch(monotonic_time now) {
  if (leads_->at() != leadership::phase::collecting || !leads_->has_collected())
    return;
  leads_->set_phase(leadership::phase::starting);
  leads_->propose(nullptr);
  for (auto other : value_.replicas)
    send_to(other, now);
  commit(now);
}

void shard_replica::send_to(replica_id other, monotonic_time now) {
  if (other == id_)
    return;
  if (leads_->at() == leadership::phase::collecting) {
    port_.send(other, collect{leads_->epoch(), log_.last()});
    return;
  }
  append what{leads_->epoch(), leads_->next_beacon(now), {}};
  if (const auto known = leads_->written_by(other)) {
    const auto joins = log_.contains(*known) || known->epoch == leads_->epoch();
    if (!joins && !contains(value_.in_sync, other)) {
      port_.send(other, rebuild{what.epoch, port_.read_after({}, static_cast<std::size_t>(-1))});
    } else if (joins) {
      if (log_.contains(*known))
        what.entries = port_.read_after(*known, message_entries_max);
      for (auto& e : leads_->window_after(*known))
        what.entries.push_back(std::move(e));
    }
  }
  port_.send(other, std::move(what));
}

void shard_replica::commit(monotonic_time now) {
  for (const auto& e : leads_->take_ready())
    write(e, now);
}

void shard_replica::release_if_disk_hangs(monotonic_time now) {
  const auto hangs = writing_since_ && *writing_since_ + timing::hung_disk < now;
  if (!hangs || !is_serving())
    return;
  for (auto member : value_.in_sync)
    if (member != id_)
      return hand_over(member);
}

void shard_replica::lead(monotonic_time now) {
  if (leads_->at() == leadership::phase::collecting)
    begin_epoch(now);
  const auto has_waited =
    without_wait_ == leads_->epoch() || now >= confirmed_beacon_ + timing::wait;
  if (leads_->at() == leadership::phase::waiting && has_waited) {
    leads_->set_phase(leadership::phase::serving);
    port_.serve(leads_->epoch());
  }
  commit(now);
  release_if_disk_hangs(now);
  if (!leads_)
    return;
  if (const auto next = leads_->next_change(now))
    port_.compare_and_set(value_, *next);
  if (now < beat_ + timing::beacon)
    return;
  beat_ = now;
  for (auto other : value_.replicas)
    send_to(other, now);
}

bool shard_replica::propose(std::shared_ptr<const std::string> data, monotonic_time now) {
  if (!is_serving() || value_.in_sync.size() < value_.min_in_sync)
    return false;
  leads_->propose(std::move(data));
  for (auto other : leads_->others())
    send_to(other, now);
  commit(now);
  return true;
}

void shard_replica::hand_over(replica_id to) {
  if (!is_serving())
    return;
  const auto epoch = leads_->epoch();
  step_down();
  port_.send(to, release{epoch});
}

} // namespace codeq::replication
