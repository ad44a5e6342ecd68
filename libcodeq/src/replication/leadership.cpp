// SPDX-License-Identifier: Apache-2.0
#include "replication/leadership.hpp"

#include "base/assert.hpp"
#include "replication/bounds.hpp"
#include "replication/timing.hpp"

#include <algorithm>

namespace codeq::replication {

void leadership::member_view::forget_written() {
  written.reset();
  sent.reset();
  in_flight.clear();
  in_flight_bytes = 0;
}

void leadership::member_view::resend_if_stuck() {
  const auto is_late = stuck_beacons > in_flight_bytes / bounds::beacon_bytes;
  const auto has_arrived = in_flight.empty() || in_flight.front().beacon < confirmed_beacon;
  if (!is_late || !has_arrived)
    return;
  stuck_beacons = 0;
  sent = written;
  in_flight.clear();
  in_flight_bytes = 0;
}

leadership::leadership(replica_id self, membership value, position last, monotonic_time now)
  : self_(self),
    value_(std::move(value)),
    sent_(last) {
  CODEQ_ASSERT(value_.primary == self_);
  for (auto replica : value_.replicas)
    if (replica != self_)
      views_[replica].heard = views_[replica].progressed = views_[replica].in_time = now;
}

std::vector<replica_id> leadership::others() const {
  auto set = value_.in_sync;
  const auto adds = change_ == change_kind::counting || change_ == change_kind::adding;
  if (adds && !contains(set, changed_))
    set.push_back(changed_);
  std::erase(set, self_);
  return set;
}

void leadership::note_collected(replica_id member, monotonic_time now) {
  const auto found = views_.find(member);
  if (found == views_.end())
    return;
  auto& view = found->second;
  view.has_promised = true;
  // It has no delta yet that it could be late with.
  view.heard = view.progressed = view.in_time = now;
}

bool leadership::has_collected() const {
  const auto set = others();
  return std::all_of(set.begin(), set.end(), [this](replica_id member) {
    return views_.at(member).has_promised;
  });
}

entry leadership::propose(std::shared_ptr<const delta_body> body, monotonic_time now) {
  for (auto& [replica, view] : views_)
    if (!view.written || *view.written >= sent_)
      view.progressed = now;
  entry next{{epoch(), sent_.number + 1}, sent_, std::move(body)};
  window_.push_back(next);
  sent_ = next.at;
  begun_.note(sent_, now);
  return next;
}

std::vector<entry> leadership::window_after(position after) const {
  std::vector<entry> entries;
  const auto first = window_.empty() ? 0 : window_.front().at.number;
  if (window_.empty() || after.number + 1 < first)
    return entries;
  std::size_t bytes = 0;
  for (auto i = after.number + 1 - first; i < window_.size(); ++i) {
    bytes += window_[i].byte_size();
    const auto is_full = bytes > bounds::message_bytes || entries.size() == bounds::message_entries;
    if (is_full && !entries.empty())
      break;
    entries.push_back(window_[i]);
  }
  return entries;
}

std::optional<position> leadership::next_for(replica_id replica) const {
  const auto& view = views_.at(replica);
  if (view.is_copying || view.is_lost || view.in_flight_bytes >= bounds::in_flight_bytes)
    return std::nullopt;
  return view.sent;
}

void leadership::note_sent(replica_id replica, const std::vector<entry>& entries) {
  auto& view = views_.at(replica);
  std::size_t bytes = 0;
  for (const auto& e : entries)
    bytes += e.byte_size() + bounds::entry_bytes;
  view.sent = entries.back().at;
  view.in_flight.push_back({*view.sent, bytes, beacon_});
  view.in_flight_bytes += bytes;
}

void leadership::resend_if_stuck(replica_id replica) {
  auto& view = views_.at(replica);
  const auto is_stuck = view.written == view.written_before && view.sent != view.written;
  view.written_before = view.written;
  view.stuck_beacons = is_stuck ? view.stuck_beacons + 1 : 0;
  view.resend_if_stuck();
}

void leadership::note_lost(replica_id replica) {
  if (contains(value_.in_sync, replica))
    views_.at(replica).is_lost = true;
  else if (change_ == change_kind::counting && changed_ == replica)
    change_ = change_kind::none;
}

void leadership::note_gone(replica_id replica) {
  if (const auto view = views_.find(replica); view != views_.end())
    view->second.is_gone = true;
}

bool leadership::needs_copy(replica_id replica) const {
  return views_.at(replica).needs_copy;
}

bool leadership::may_copy(replica_id replica) const {
  const auto counts = contains(others(), replica);
  return phase_ == phase::serving && !counts && !views_.at(replica).is_copying;
}

void leadership::note_copying(replica_id replica) {
  auto& view = views_.at(replica);
  view.is_copying = true;
  view.forget_written();
}

void leadership::note_copy_ended(replica_id replica) {
  auto& view = views_.at(replica);
  view.is_copying = false;
  // What the replica has now, its next confirmation says.
  view.needs_copy = false;
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
  const auto set = others();
  while (!window_.empty()) {
    const auto at = window_.front().at;
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
  // Messages that are sent close together share a number, that of the first one.
  const auto latest = beacons_.find(beacon_);
  if (latest != beacons_.end() && now < latest->second + timing::beacon_shared)
    return beacon_;
  while (!beacons_.empty() && beacons_.begin()->second + timing::entitlement < now)
    beacons_.erase(beacons_.begin());
  beacons_[++beacon_] = now;
  marks_.emplace_back(now, sent_);
  while (marks_.size() > 1 && marks_[1].first + timing::close <= now)
    marks_.pop_front();
  return beacon_;
}

void leadership::note_confirm(const envelope& in, const confirm& what, monotonic_time now) {
  const auto found = views_.find(in.sender);
  if (found == views_.end() || in.incarnation < found->second.incarnation)
    return;
  auto& view = found->second;
  if (in.incarnation > view.incarnation) {
    view.incarnation = in.incarnation;
    view.forget_written();
  }
  view.heard = now;
  view.is_gone = false;
  if (const auto sent = beacons_.find(what.beacon); sent != beacons_.end()) {
    view.entitled_until = std::max(view.entitled_until, sent->second + timing::entitlement);
    view.in_time = std::max(view.in_time, sent->second);
  }
  view.confirmed_beacon = std::max(view.confirmed_beacon, what.beacon);
  view.is_doubtful = what.doubtful;
  view.needs_copy = what.incomplete;
  if (what.incomplete || view.is_copying)
    return view.forget_written();
  if (!view.written || what.written > *view.written) {
    view.written = what.written;
    view.progressed = now;
    view.stuck_beacons = 0;
  }
  if (!view.sent || *view.sent < *view.written)
    view.sent = view.written;
  while (!view.in_flight.empty() && view.in_flight.front().last <= *view.written) {
    view.in_flight_bytes -= view.in_flight.front().byte_size;
    view.in_flight.pop_front();
  }
  view.resend_if_stuck();
}

bool leadership::may_take_over(replica_id member) const {
  const auto found = views_.find(member);
  return contains(value_.in_sync, member) && found != views_.end() && found->second.written
         && !found->second.is_doubtful;
}

std::optional<position> leadership::written_by(replica_id replica) const {
  const auto found = views_.find(replica);
  return found == views_.end() ? std::nullopt : found->second.written;
}

std::optional<duration> leadership::lag_of(replica_id replica, monotonic_time now) const {
  const auto written = written_by(replica);
  return written ? std::optional(begun_.lag(*written, now)) : std::nullopt;
}

bool leadership::is_entitled(monotonic_time now) const {
  const auto set = others();
  return phase_ == phase::serving
         && std::all_of(set.begin(), set.end(), [this, now](replica_id other) {
              return now < views_.at(other).entitled_until;
            });
}

bool leadership::is_heard(replica_id member, monotonic_time now) const {
  const auto found = views_.find(member);
  return found != views_.end() && !found->second.is_gone
         && found->second.heard + timing::beacon * 2 >= now;
}

bool leadership::is_failing(replica_id member, monotonic_time now) const {
  const auto& view = views_.at(member);
  if (view.is_lost || view.is_gone || view.heard + timing::unconfirmed < now)
    return true;
  // Its beacons come, but its disk may hang.
  const auto is_behind = !window_.empty() && !has_confirmed(member, window_.front().at);
  if (is_behind && view.progressed + timing::unconfirmed < now)
    return true;
  const auto is_spare =
    value_.in_sync.size() > value_.min_in_sync || !contains(value_.in_sync, member);
  return is_spare && is_late(view, now);
}

bool leadership::is_late(const member_view& view, monotonic_time now) const {
  const auto lacks_old = view.written && begun_.lag(*view.written, now) > timing::late;
  return phase_ == phase::serving && (lacks_old || view.in_time + timing::late < now);
}

bool leadership::is_close(const member_view& view, monotonic_time now) const {
  if (marks_.empty() || marks_.front().first + timing::close > now)
    return true;
  return *view.written >= marks_.front().second;
}

void leadership::start_change(monotonic_time now) {
  for (auto member : value_.in_sync) {
    if (member == self_ || !is_failing(member, now))
      continue;
    change_ = change_kind::removing;
    changed_ = member;
    return;
  }
  // A primary that still waits adds nobody: a learner has no beacon of the old primary to wait for.
  if (phase_ != phase::serving)
    return;
  for (const auto& [replica, view] : views_) {
    const auto is_live = is_heard(replica, now) && view.written && !is_late(view, now);
    const auto follows = is_live && view.written->epoch == epoch() && is_close(view, now);
    if (!contains(value_.in_sync, replica) && follows) {
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
  // The member confirms again. It counts in any case until etcd has removed it, which may still
  // happen when etcd was asked.
  if (change_ == change_kind::removing && !is_failing(changed_, now)) {
    change_ = change_kind::none;
    asked_.reset();
  }
  if (change_ == change_kind::none)
    start_change(now);
  if (change_ == change_kind::counting) {
    if (is_failing(changed_, now))
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
  for (auto replica : value_.replicas)
    if (replica != self_)
      views_.try_emplace(replica);
  std::erase_if(views_, [this](const auto& view) {
    return !contains(value_.replicas, view.first);
  });
  for (auto& [replica, view] : views_)
    if (!contains(value_.in_sync, replica))
      view.is_lost = false;
}

} // namespace codeq::replication
