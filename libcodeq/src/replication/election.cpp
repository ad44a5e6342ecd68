// SPDX-License-Identifier: Apache-2.0
// The part of `shard_replica` that finds a new primary.
#include "replication/shard_replica.hpp"
#include "replication/timing.hpp"

#include <algorithm>

namespace codeq::replication {

void shard_replica::suspect(monotonic_time now) {
  if (!contains(value_.in_sync, id_) || is_incomplete_ || promising_ != promised_)
    return;
  if (does_disk_hang(now))
    return;
  if (gives_way(now))
    return;
  // A restarted primary does not continue its own epoch: it calls an election at once, as after a
  // release.
  const auto is_own = value_.primary == id_;
  const auto is_released = released_ >= value_.epoch;
  if (!is_own && !is_released && now < heard_ + timing::suspicion)
    return;
  election_.emplace();
  election_->number = ++questions_;
  election_->began = now;
  for (auto member : value_.in_sync)
    if (member != id_)
      port_.send(member, question{election_->number});
  decide_election(now);
}

void shard_replica::on_release(const release& what, monotonic_time now) {
  released_ = std::max(released_, what.epoch);
  if (leads_)
    return lead(now);
  if (released_ != value_.epoch)
    return;
  if (!election_)
    suspect(now);
  prepare();
}

void shard_replica::prepare() {
  // Deltas that are not written would be missing.
  const auto is_whole = !is_incomplete_ && written_ == log_.last();
  if (preparation_ || !is_whole || !contains(value_.in_sync, id_))
    return;
  preparation_ = preparation{released_ + 1, log_.last(), shard_time_};
  port_.recover(preparation_->epoch, shard_time_);
}

void shard_replica::drop_preparation() {
  preparation_.reset();
  port_.drop_recovery();
}

bool shard_replica::gives_way(monotonic_time now) {
  if (handed_over_ != value_.epoch)
    return false;
  if (!gives_way_since_)
    gives_way_since_ = now;
  return now < *gives_way_since_ + timing::suspicion;
}

void shard_replica::answer_question(const envelope& in, const question& what, monotonic_time now) {
  // It would be chosen, and could not lead.
  if (does_disk_hang(now))
    return;
  // An incomplete replica cannot be recovered from its log. Without a position it is chosen last.
  const auto last = is_incomplete_ ? position{} : log_.last();
  const auto hears = leads_ || (now < heard_ + timing::suspicion && released_ < value_.epoch);
  port_.send(
    in.sender,
    answer{what.number, promising_, last, doubtful_ || is_incomplete_, hears});
}

void shard_replica::on_answer(const envelope& in, const answer& what, monotonic_time now) {
  if (!election_ || election_->number != what.number)
    return;
  election_->answers[in.sender] = what;
  if (!election_->proposed)
    decide_election(now);
}

std::optional<membership> shard_replica::choose(monotonic_time now) const {
  auto answers = election_->answers;
  answers[id_] = answer{0, promising_, log_.last(), doubtful_, false};
  std::vector<replica_id> reachable;
  std::optional<replica_id> best;
  std::optional<replica_id> largest;
  auto highest = value_.epoch;
  // The primary that handed over asked this replica to take over.
  const auto is_asked = released_ == value_.epoch && handed_over_ != value_.epoch;
  for (const auto& [member, said] : answers) {
    highest = std::max(highest, said.promised);
    // A member may still hear a primary that has released the epoch; that does not count.
    const auto is_over = released_ >= value_.epoch;
    if (said.hears_primary && !is_over && now < heard_ + timing::postponement)
      return std::nullopt;
    if (!contains(value_.in_sync, member))
      continue;
    reachable.push_back(member);
    if (!largest || said.last > answers[*largest].last)
      largest = member;
    const auto is_ahead = !best || said.last > answers[*best].last;
    const auto is_preferred =
      best && is_asked && member == id_ && said.last == answers[*best].last;
    if (!said.doubtful && (is_ahead || is_preferred))
      best = member;
  }
  if (best)
    return elect(value_, *best, std::move(reachable), highest + 1);
  if (reachable.size() < value_.in_sync.size())
    return std::nullopt;
  // All members lost power: the one that lost least goes on, and the loss is named.
  auto next = elect(value_, *largest, std::move(reachable), highest + 1);
  next.condition = shard_condition::loss_accepted;
  return next;
}

void shard_replica::decide_election(monotonic_time now) {
  if (!election_->proposed) {
    const auto is_complete = election_->answers.size() + 1 >= value_.in_sync.size();
    if (!is_complete && now < election_->began + timing::answers)
      return;
    election_->proposed = choose(now);
    if (!election_->proposed) {
      election_.reset();
      return;
    }
  } else if (now < election_->asked + timing::unanswered) {
    return;
  }
  election_->asked = now;
  port_.compare_and_set(value_, *election_->proposed);
}

void shard_replica::etcd_answered(
  const membership& current, bool applied, monotonic_time now) {
  // A watch may tell it before the answer comes. Equal bytes are the same state, whoever wrote it.
  const auto is_own = election_ && election_->proposed == current;
  if (is_own && current.primary == id_ && released_ == value_.epoch)
    without_wait_ = current.epoch;
  learn(current, now);
  if (!is_own || !applied)
    return;
  for (auto member : current.replicas)
    if (member != id_)
      port_.send(member, elected{current});
}

void shard_replica::take_over_if_chosen(monotonic_time now) {
  if (value_.primary != id_ || value_.epoch <= promising_ || is_incomplete_)
    return;
  // It may have lost power since it was asked; then the next election passes it by.
  if (doubtful_ && value_.condition != shard_condition::loss_accepted)
    return;
  promise(value_.epoch, now);
}

} // namespace codeq::replication
