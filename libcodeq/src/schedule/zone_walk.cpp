// SPDX-License-Identifier: Apache-2.0
#include "schedule/zone_walk.hpp"

#include <algorithm>

namespace codeq::schedule {

namespace {

using std::chrono::seconds;

local_seconds local_of(sys_seconds when, const zone_span& span) {
  return local_seconds{when.time_since_epoch() + span.offset};
}

sys_seconds instant_of(local_seconds when, const zone_span& span) {
  return sys_seconds{when.time_since_epoch() - span.offset};
}

/// The last match in [first, end). @pre `first` matches
local_seconds last_match(const cron_expression& cron, local_seconds first, local_seconds end) {
  auto none_from = end;
  while (none_from - first > seconds{1}) {
    auto middle = first + (none_from - first) / 2;
    if (auto later = cron.next(middle, end))
      first = *later;
    else
      none_from = middle;
  }
  return first;
}

} // namespace

local_seconds zone_walk::end_before(std::size_t index) const {
  const auto& spans = zone_.spans();
  return index == 0 ? spans[0].local_begin() : spans[index - 1].local_end();
}

std::array<zone_walk::piece, 3> zone_walk::pieces_of(std::size_t index) const {
  const auto& spans = zone_.spans();
  auto begin = spans[index].local_begin();
  auto end = spans[index].local_end();
  auto shown_until = std::clamp(end_before(index), begin, end);
  auto shown_again = end;
  if (index + 1 < spans.size())
    shown_again = std::clamp(spans[index + 1].local_begin(), shown_until, end);
  std::array<piece, 3> pieces{
    piece{begin, shown_until, end_before(index)}, piece{shown_until, shown_again},
    piece{shown_again, end}};
  if (fold_ == fold_policy::first)
    pieces[0].end = pieces[0].begin;
  if (fold_ == fold_policy::last)
    pieces[2].end = pieces[2].begin;
  return pieces;
}

std::optional<zone_match>
zone_walk::match_of_gap(const cron_expression& cron, std::size_t index) const {
  const auto& span = zone_.spans()[index];
  auto gap_begin = end_before(index);
  auto gap_end = span.local_begin();
  if (gap_ == gap_policy::skip || gap_begin >= gap_end)
    return std::nullopt;
  auto found = cron.next(gap_begin, gap_end);
  if (!found)
    return std::nullopt;
  auto fires_at_end = [&](const piece& each) {
    return each.begin <= gap_end && gap_end < each.end;
  };
  auto pieces = pieces_of(index);
  if (cron.matches(gap_end) && std::any_of(pieces.begin(), pieces.end(), fires_at_end))
    return std::nullopt;
  auto local = last_match(cron, *found, gap_end);
  return zone_match{{local, local}, span.begin};
}

std::optional<zone_match>
zone_walk::first(const cron_expression& cron, sys_seconds from, sys_seconds until) const {
  const auto& spans = zone_.spans();
  for (auto i = zone_.index_at(from); i < spans.size() && spans[i].begin < until; ++i) {
    const auto& span = spans[i];
    if (from <= span.begin)
      if (auto found = match_of_gap(cron, i))
        return found;
    auto local_from = local_of(std::max(from, span.begin), span);
    auto local_until = local_of(std::min(until, span.end), span);
    for (const auto& piece : pieces_of(i)) {
      auto found =
        cron.next(std::max(piece.begin, local_from), std::min(piece.end, local_until));
      if (found)
        return zone_match{
          {piece.second_until.value_or(*found), *found}, instant_of(*found, span)};
    }
  }
  return std::nullopt;
}

std::uint64_t
zone_walk::count(const cron_expression& cron, sys_seconds from, sys_seconds until) const {
  const auto& spans = zone_.spans();
  std::uint64_t found = 0;
  for (auto i = zone_.index_at(from); i < spans.size() && spans[i].begin < until; ++i) {
    const auto& span = spans[i];
    if (from <= span.begin && match_of_gap(cron, i))
      ++found;
    auto local_from = local_of(std::max(from, span.begin), span);
    auto local_until = local_of(std::min(until, span.end), span);
    for (const auto& piece : pieces_of(i))
      found += cron.count(std::max(piece.begin, local_from), std::min(piece.end, local_until));
  }
  return found;
}

sys_seconds zone_walk::earliest_from(const nominal_time& stored) const {
  const auto& spans = zone_.spans();
  nominal_time mark{limited(stored.order), limited(stored.local)};
  // Neither a fold nor a gap is longer, so all spans that show times near the mark are looked at.
  auto about = sys_seconds{mark.order.time_since_epoch()} - 3 * offset_max;
  for (auto i = zone_.index_at(about); i < spans.size(); ++i) {
    const auto& span = spans[i];
    auto begin = span.local_begin();
    bool is_in_fold = mark.is_second() && end_before(i) == mark.order && begin <= mark.local
                      && mark.local < span.local_end();
    if (is_in_fold)
      return instant_of(mark.local, span);
    if (span.local_end() > mark.order)
      return std::max(span.begin, instant_of(mark.order, span));
  }
  return horizon;
}

nominal_time zone_walk::nominal_at(sys_seconds when) const {
  auto index = zone_.index_at(when);
  auto local = local_of(when, zone_.spans()[index]);
  auto shown_until = end_before(index);
  return {index > 0 && local < shown_until ? shown_until : local, local};
}

} // namespace codeq::schedule
