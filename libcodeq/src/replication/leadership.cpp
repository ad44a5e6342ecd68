// SPDX-License-Identifier: Apache-2.0
#include "replication/leadership.hpp"

#include "base/assert.hpp"
#include "replication/timing.hpp"

#include <algorithm>

namespace codeq::replication {

leadership::leadership(replica_id self, membership value, position last, monotonic_time now)
  : self_(self),
    value_(std::move(value)),
    sent_(last) {
  CODEQ_ASSERT(value_.primary == self_);
  for (auto replica : value_.replicas)
    if (replica != self_)
      views_[replica].heard = now;
}

std::vector<replica_id> leadership::others() const {
  auto set = value_.in_sync;
  const auto adds = change_ == change_kind::counting || change_ == change_kind::adding;
  if (adds && !contains(set, changed_))
    set.push_back(changed_);
  std::erase(set, self_);
  return set;
}

void leadership::note_collected(replica_id member) {
  if (const auto view = views_.find(member); view != views_.end())
    view->second.has_promised = true;
}

bool leadership::has_collected() const {
  const auto set = others();
  return std::all_of(set.begin(), set.end(), [this](replica_id member) {
    return views_.at(member).has_promised;
  });
}

entry leadership::propose(std::shared_ptr<const std::string> data) {
  entry next{{epoch(), sent_.number + 1}, sent_, std::move(data)};
  window_.push_back(next);
  sent_ = next.at;
  return next;
}

std::vector<entry> leadership::window_after(position after) const {
  std::vector<entry> entries;
  for (const auto& e : window_)
    if (e.at > after)
      entries.push_back(e);
  return entries;
}

bool leadership::is_needed(replica_id replica, position at) const {
  if (contains(value_.in_sync, replica))
    return true;
  if (replica != changed_)
    return false;
  // Once its addition is asked for, a learner counts for all that is not acknowledged: what it
  // confirmed earlier may be gone with its connection.
  if (change_ == change_kind::adding)
    return true;
  return change_ == change_kind::counting && at > counted_after_;
}

bool leadership::has_confirmed(replica_id replica, position at) const {
  const auto& written = views_.at(replica).written;
  return written && *written >= at;
}

std::vector<entry> leadership::take_ready() {
  std::vector<entry> ready;
  while (!window_.empty()) {
    const auto at = window_.front().at;
    const auto set = others();
    const auto is_missing = [this, at](replica_id other) {
      return is_needed(other, at) && !has_confirmed(other, at);
    };
    if (std::any_of(set.begin(), set.end(), is_missing))
      break;
    ready.push_back(std::move(window_.front()));
    window_.pop_front();
  }
  return ready;
}

std::uint64_t leadership::next_beacon(monotonic_time now) {
  while (!beacons_.empty() && beacons_.begin()->second + timing::entitlement < now)
    beacons_.erase(beacons_.begin());
  beacons_[++beacon_] = now;
  return beacon_;
}

void leadership::note_confirm(const envelope& from, const confirm& what, monotonic_time now) {
  const auto found = views_.find(from.from);
  if (found == views_.end() || from.incarnation < found->second.incarnation)
    return;
  auto& view = found->second;
  if (from.incarnation > view.incarnation) {
    view.incarnation = from.incarnation;
    view.written.reset();
  }
  if (!view.written || what.written > *view.written)
    view.written = what.written;
  view.heard = now;
  if (const auto sent = beacons_.find(what.beacon); sent != beacons_.end())
    view.entitled_until = std::max(view.entitled_until, sent->second + timing::entitlement);
}

std::optional<position> leadership::written_by(replica_id replica) const {
  const auto found = views_.find(replica);
  return found == views_.end() ? std::nullopt : found->second.written;
}

bool leadership::is_entitled(monotonic_time now) const {
  const auto set = others();
  return phase_ == phase::serving
         && std::all_of(set.begin(), set.end(), [this, now](replica_id other) {
              return now < views_.at(other).entitled_until;
            });
}

void leadership::start_change(monotonic_time now) {
  for (auto member : value_.in_sync) {
    const auto view = views_.find(member);
    if (view != views_.end() && view->second.heard + timing::unconfirmed < now) {
      change_ = change_kind::removing;
      changed_ = member;
      return;
    }
  }
  // A primary that still waits adds nobody: a learner has no beacon of the old primary to wait for.
  if (phase_ != phase::serving)
    return;
  for (const auto& [replica, view] : views_) {
    const auto is_live = view.heard + timing::beacon * 2 >= now && view.written;
    if (!contains(value_.in_sync, replica) && is_live && view.written->epoch == epoch()) {
      change_ = change_kind::counting;
      changed_ = replica;
      counted_after_ = sent_;
      return;
    }
  }
}

membership leadership::changed_value() const {
  return change_ == change_kind::removing ? remove_member(value_, changed_)
                                          : add_member(value_, changed_);
}

std::optional<membership> leadership::next_change(monotonic_time now) {
  if (change_ == change_kind::none)
    start_change(now);
  if (change_ == change_kind::counting) {
    if (views_.at(changed_).heard + timing::unconfirmed < now)
      change_ = change_kind::none;
    else if (has_confirmed(changed_, counted_after_))
      change_ = change_kind::adding;
  }
  if (change_ != change_kind::removing && change_ != change_kind::adding)
    return std::nullopt;
  if (asked_ && *asked_ + timing::unanswered > now)
    return std::nullopt;
  asked_ = now;
  return changed_value();
}

void leadership::note_value(const membership& current) {
  CODEQ_ASSERT(current.epoch == epoch());
  if (current.version <= value_.version)
    return;
  value_ = current;
  change_ = change_kind::none;
  asked_.reset();
}

} // namespace codeq::replication
