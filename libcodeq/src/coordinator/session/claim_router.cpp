// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/claim_router.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

claim_router::claim_router(std::size_t shard_count, std::size_t first)
  : places_(shard_count), next_(shard_count == 0 ? 0 : first % shard_count) {
}

claim_router::moves claim_router::add_credits(std::uint32_t credits) {
  free_ += credits;
  return rebalance();
}

claim_router::moves claim_router::granted(
  shard_id shard, std::uint32_t tasks, std::optional<bool> more, int priority) {
  auto& p = places_[value(shard)];
  p.waiting -= std::min(p.waiting, tasks);
  p.spent = false;
  p.is_behind_away = p.is_behind_away && !more;
  p.busy = more.value_or(p.busy);
  drop_rival(shard, p.busy ? priority : 0);
  return rebalance();
}

claim_router::moves claim_router::drained(shard_id shard) {
  auto& p = places_[value(shard)];
  p.busy = false;
  p.is_behind_away = false;
  p.rival.reset();
  drop_rival(shard, 0);
  return rebalance();
}

claim_router::moves claim_router::has_work(shard_id shard) {
  auto& p = places_[value(shard)];
  p.busy = true;
  p.is_behind_away = false;
  p.rival.reset();
  return rebalance();
}

void claim_router::drop_rival(shard_id shard, int priority) {
  for (auto& p : places_)
    if (p.rival == shard && p.priority >= priority)
      p.rival.reset();
}

claim_router::moves claim_router::returned(shard_id shard, std::uint32_t credits) {
  auto& p = places_[value(shard)];
  p.waiting -= std::min(p.waiting, credits);
  p.revoking = false;
  // Without this the shard would be asked again and again until the tasks arrive.
  p.spent = !p.added;
  free_ += credits;
  return rebalance();
}

claim_router::moves
claim_router::outranked(shard_id shard, std::uint32_t credits, shard_id by, int priority) {
  auto& p = places_[value(shard)];
  p.waiting -= std::min(p.waiting, credits);
  p.busy = true;
  auto& better = places_[value(by)];
  p.is_behind_away = better.is_away;
  if (!better.is_away) {
    p.rival = by;
    p.priority = priority;
    better.busy = true;
    better.is_behind_away = false;
    better.rival.reset();
  }
  free_ += credits;
  return rebalance();
}

claim_router::moves claim_router::pause(bool paused) {
  paused_ = paused;
  return rebalance();
}

claim_router::moves claim_router::set_here(shard_id shard, bool is_here) {
  auto& p = places_[value(shard)];
  if (p.is_away != is_here)
    return {};
  // A shard that comes may have told of its work already.
  if (!is_here) {
    free_ += p.waiting;
    p = {};
    drop_rival(shard, 0);
  }
  p.is_away = !is_here;
  return rebalance();
}

claim_router::moves claim_router::take_back(std::uint32_t credits) {
  wanted_back_ += credits;
  return rebalance();
}

bool claim_router::is_starving(bool before) const {
  bool any_busy =
    std::any_of(places_.begin(), places_.end(), [](const place& p) { return p.has_work(); });
  if (paused_ || !any_busy)
    return false;
  return before || credits() == 0;
}

std::uint32_t claim_router::credits() const {
  auto sum = free_;
  for (const auto& p : places_)
    sum += p.waiting;
  return sum;
}

claim_router::moves claim_router::rebalance() {
  moves out;
  if (wanted_back_ > 0)
    withdraw(out);
  if (paused_) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (begin_revoke(places_[i]))
        out.push_back({move::kind::revoke, static_cast<shard_id>(i), places_[i].waiting});
    }
    return out;
  }
  bool any_busy =
    std::any_of(places_.begin(), places_.end(), [](const place& p) { return p.has_work(); });
  if (any_busy && free_ == 0)
    fetch_for_busy(out);
  else
    spread(out, any_busy);
  return out;
}

void claim_router::withdraw(moves& out) {
  const auto now = std::min(free_, wanted_back_);
  free_ -= now;
  returned_ += now;
  wanted_back_ -= now;
  bool is_coming = false;
  for (std::size_t i = 0; i < places_.size() && wanted_back_ > 0; ++i) {
    auto& p = places_[i];
    if (!p.has_work() && begin_revoke(p))
      out.push_back({move::kind::revoke, static_cast<shard_id>(i), p.waiting});
    is_coming = is_coming || p.revoking;
  }
  // The others are used where tasks wait.
  if (!is_coming)
    wanted_back_ = 0;
}

bool claim_router::begin_revoke(place& p) {
  if (p.waiting == 0 || p.spent || std::exchange(p.revoking, true))
    return false;
  p.added = false;
  return true;
}

bool claim_router::is_passed_over(const place& p, bool only_busy, bool only_first) const {
  return !p.takes_credits() || (only_busy && !p.busy) || (only_first && p.rival);
}

void claim_router::spread(moves& out, bool only_busy) {
  std::vector<std::uint32_t> share(places_.size());
  bool only_first = only_busy && std::any_of(places_.begin(), places_.end(), [](const place& p) {
    return p.has_work() && !p.rival;
  });
  while (free_ > 0) {
    // Chooses the place with the fewest credits, starting where the last round ended.
    std::size_t best = places_.size();
    for (std::size_t k = 0; k < places_.size(); ++k) {
      auto i = (next_ + k) % places_.size();
      if (is_passed_over(places_[i], only_busy, only_first))
        continue;
      if (best == places_.size() || places_[i].waiting < places_[best].waiting)
        best = i;
    }
    if (best == places_.size())
      break;
    auto& p = places_[best];
    ++p.waiting;
    p.added = true;
    p.spent = false;
    ++share[best];
    --free_;
    next_ = (best + 1) % places_.size();
  }
  for (std::size_t i = 0; i < share.size(); ++i) {
    if (share[i] > 0)
      out.push_back({move::kind::claim, static_cast<shard_id>(i), share[i]});
  }
}

void claim_router::fetch_for_busy(moves& out) {
  bool starving = std::any_of(
    places_.begin(), places_.end(), [](const place& p) { return p.has_work() && p.waiting == 0; });
  if (!starving)
    return;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    auto& p = places_[i];
    if (p.has_work() || !begin_revoke(p))
      continue;
    out.push_back({move::kind::revoke, static_cast<shard_id>(i), p.waiting});
  }
}

} // namespace codeq::coordinator
