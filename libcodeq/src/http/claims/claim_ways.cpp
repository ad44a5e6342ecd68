// SPDX-License-Identifier: Apache-2.0
#include "http/claims/claim_ways.hpp"

#include <algorithm>
#include <utility>

namespace codeq::http {

claim_ways::way claim_ways::place::now() const {
  if (is_here)
    return way::here;
  return is_reached ? way::far : way::none;
}

claim_ways::way claim_ways::to(shard_id shard) const {
  return places_[value(shard)].now();
}

bool claim_ways::reach_all() const {
  return std::all_of(
    places_.begin(), places_.end(), [](const place& at) { return at.now() != way::none; });
}

claim_ways::change claim_ways::follow(place& at, const place& next, bool is_renewed) {
  const auto before = std::exchange(at, next).now();
  const auto after = at.now();
  const auto is_other = before != after || (is_renewed && after == way::far);
  change what;
  what.has_left = is_other && before != way::none;
  what.has_come = is_other && after != way::none;
  if (what.has_left && before == way::far)
    what.attachment = std::exchange(at.attachment, 0);
  return what;
}

claim_ways::change claim_ways::find_here(shard_id shard, bool is_here) {
  return is_attached_here(shard) ? change{} : set_here(shard, is_here);
}

claim_ways::change claim_ways::set_here(shard_id shard, bool is_here) {
  auto& at = places_[value(shard)];
  auto next = at;
  next.is_here = is_here;
  return follow(at, next, false);
}

claim_ways::change claim_ways::set_far(shard_id shard, bool is_reached) {
  auto& at = places_[value(shard)];
  auto next = at;
  next.is_reached = is_reached;
  return follow(at, next, is_reached);
}

std::optional<claim_ways::way> claim_ways::attach(shard_id shard) {
  auto& at = places_[value(shard)];
  if (at.now() == way::far) {
    if (at.attachment != 0)
      return std::nullopt;
    at.attachment = ++last_attachment_;
    return way::far;
  }
  if (std::exchange(at.is_attached_here, true))
    return std::nullopt;
  return way::here;
}

} // namespace codeq::http
