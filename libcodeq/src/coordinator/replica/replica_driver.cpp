// SPDX-License-Identifier: Apache-2.0
#include "coordinator/replica/replica_driver.hpp"

#include "base/assert.hpp"
#include "replication/bounds.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::coordinator {

namespace bounds = replication::bounds;
using replication::entry;
using replication::envelope;
using replication::epoch_number;
using replication::log_tail;
using replication::membership;
using replication::message;
using replication::position;
using replication::replica_id;
using replication::replica_start;

namespace {

replica_start start_of(const replica_driver_options& options) {
  const auto& [record, log] = options.stored;
  return {
    record.id, record.promised, log, record.is_doubtful, record.is_incomplete, options.value};
}

} // namespace

replica_driver::replica_driver(
  replica_driver_options options, replica_host& host, ring_memory& memory, monotonic_time now)
  : shard_(options.shard),
    host_(host),
    record_(options.stored.record),
    log_(options.stored.log),
    ring_(memory),
    now_(now),
    kept_(host),
    copies_(
      {record_.id, options.incarnation, [this](replica_id to) { replica_.copy_ended(to); }},
      host,
      kept_),
    replica_(start_of(options), *this, now) {
}

bool replica_driver::propose(turn_commit turn, monotonic_time now) {
  now_ = now;
  if (!replica_.is_serving())
    return false;
  proposed_.push_back(turn.number);
  return replica_.propose(body_of(std::move(turn)), now);
}

std::shared_ptr<const storage::packed_writes> replica_driver::body_of(turn_commit turn) {
  auto body = std::make_shared<storage::packed_writes>(
    std::move(turn.writes), turn.is_synced, std::move(turn.horizon));
  const auto is_told = body->horizon() && horizon_due_ <= now_
                       && body->byte_size() <= bounds::delta_bytes_with_horizon;
  if (is_told) {
    // Packing costs time also where the outcomes are left out in the end.
    const auto cost = std::max(body->tell_horizon(), body->horizon()->held.size_max());
    horizon_due_ = now_ + duration(1000 * cost / bounds::horizon_bytes_per_second);
  }
  return body;
}

void replica_driver::receive(const envelope& in, monotonic_time now) {
  now_ = now;
  kept_.note_heard(in.sender, now);
  replica_.receive(in, now);
}

void replica_driver::settle(monotonic_time now) {
  now_ = now;
  while (!submitted_.empty() && submitted_.front().number <= committed_) {
    const auto done = submitted_.front();
    submitted_.pop_front();
    const auto is_followed = !submitted_.empty() && submitted_.front().number <= committed_
                             && submitted_.front().what == submitted::kind::delta;
    // One report covers all deltas before it.
    if (done.what == submitted::kind::delta && is_followed)
      continue;
    report(done, now);
  }
}

void replica_driver::report(const submitted& what, monotonic_time now) {
  const auto is_current = incoming_ && incoming_->id == what.copy;
  switch (what.what) {
  case submitted::kind::delta:
    replica_.written(what.at, now);
    break;
  case submitted::kind::promise:
    replica_.promise_saved(what.at.epoch, now);
    break;
  case submitted::kind::mark:
    break;
  case submitted::kind::copy_clear:
    if (is_current)
      host_.read_removals(what.copy);
    break;
  case submitted::kind::copy_part:
    if (!is_current)
      break;
    incoming_->parts_written = what.part;
    host_.send(incoming_->from, copy_answer{.id = what.copy, .parts = what.part});
    break;
  case submitted::kind::copy_end:
    if (!is_current)
      break;
    log_ = incoming_->log;
    host_.send(incoming_->from, copy_answer{what.copy, copy_state::whole, what.part});
    incoming_.reset();
    whole_copy_ = what.copy;
    replica_.rebuilt(log_);
    break;
  }
}

void replica_driver::tick(monotonic_time now) {
  now_ = now;
  replica_.tick(now);
  copies_.tend(now);
  kept_.drop_silent(now);
}

void replica_driver::etcd_answered(const membership& current, bool applied, monotonic_time now) {
  now_ = now;
  // A member has all that the spool would be asked for.
  kept_.release(current.in_sync);
  replica_.etcd_answered(current, applied, now);
}

void replica_driver::recovered(epoch_number epoch, monotonic_time now) {
  now_ = now;
  replica_.recovered(epoch, now);
}

void replica_driver::recovery_failed(monotonic_time now) {
  now_ = now;
  replica_.recovery_failed();
}

void replica_driver::note_gone(replica_id replica, monotonic_time now) {
  now_ = now;
  replica_.note_gone(replica, now);
}

void replica_driver::submit(submitted what, turn_commit turn) {
  what.number = ++submitted_number_;
  turn.shard = shard_;
  turn.number = what.number;
  submitted_.push_back(what);
  host_.gather(std::move(turn));
}

void replica_driver::submit_record(submitted what) {
  auto writes = std::make_shared<storage::write_set>();
  storage::put_replica(shard_, record_, *writes);
  submit(what, {.writes = std::move(writes), .is_synced = true});
}

void replica_driver::send(replica_id to, const message& what) {
  host_.send(to, what);
}

void replica_driver::save_promise(epoch_number epoch) {
  record_.promised = epoch;
  submit_record({.what = submitted::kind::promise, .at = {epoch, 0}});
}

void replica_driver::clear_doubt() {
  record_.is_doubtful = false;
  submit_record({.what = submitted::kind::mark});
}

void replica_driver::write(const entry& what) {
  const auto* body = storage::packed_of(what);
  turn_commit turn;
  auto position = std::make_shared<storage::write_set>();
  storage::put_position(shard_, what.at, log_, *position);
  turn.writes = std::move(position);
  entry kept{what.at, what.previous, nullptr};
  if (body) {
    CODEQ_ASSERT(body->writes());
    turn.replica_writes = std::exchange(turn.writes, body->writes());
    turn.is_synced = body->is_synced();
    turn.horizon = body->horizon();
    kept.body = body->without_writes();
  }
  const auto is_own = body && !proposed_.empty();
  if (is_own) {
    written_turns_.push_back({what.at, proposed_.front()});
    proposed_.pop_front();
  }
  // A new replica begins with a copy, so that none needs what was written before it was there.
  if (replica_.value().replicas.size() > 1)
    host_.spool(kept);
  ring_.push(std::move(kept));
  submit({.what = submitted::kind::delta, .at = what.at}, std::move(turn));
}

void replica_driver::acknowledge(position at) {
  std::uint64_t number = 0;
  for (; !written_turns_.empty() && written_turns_.front().at <= at; written_turns_.pop_front())
    number = written_turns_.front().number;
  if (number != 0)
    host_.acknowledged(number);
}

log_tail replica_driver::read_after(replica_id to, position after) {
  auto entries = ring_.read_after(after, bounds::message_bytes);
  if (!entries.empty()) {
    kept_.release({&to, 1});
    return {log_tail::state::held, std::move(entries)};
  }
  const auto known = tails_.find(to);
  if (known == tails_.end() || known->second.after != after) {
    kept_.advance(to, after);
    tails_.insert_or_assign(to, spooled_tail{after, {}, false});
    host_.read_spool(to, after);
    return {log_tail::state::reading};
  }
  if (!known->second.is_read)
    return {log_tail::state::reading};
  entries = std::move(known->second.entries);
  tails_.erase(known);
  const auto how = entries.empty() ? log_tail::state::gone : log_tail::state::held;
  return {how, std::move(entries)};
}

void replica_driver::spool_read(
  replica_id to, position after, std::vector<entry> entries, monotonic_time now) {
  now_ = now;
  tails_.insert_or_assign(to, spooled_tail{after, std::move(entries), true});
  replica_.tail_read(to, now);
}

void replica_driver::compare_and_set(const membership& old, const membership& next) {
  host_.compare_and_set(old, next);
}

void replica_driver::recover(epoch_number epoch, timestamp shard_time) {
  host_.recover(epoch, shard_time);
}

void replica_driver::drop_recovery() {
  host_.drop_recovery();
}

timestamp replica_driver::shard_time() {
  return host_.shard_time();
}

void replica_driver::serve(epoch_number epoch) {
  host_.serve(epoch);
}

void replica_driver::stop_serving() {
  proposed_.clear();
  written_turns_.clear();
  tails_.clear();
  copies_.clear();
  kept_.clear();
  host_.stop_serving();
}

} // namespace codeq::coordinator
