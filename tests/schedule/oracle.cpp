// SPDX-License-Identifier: Apache-2.0
#include "schedule/oracle.hpp"

#include <date/tz.h>

#include <algorithm>

namespace codeq::test {

namespace {

using std::chrono::seconds;

/// Longer than any gap or fold.
constexpr seconds margin = std::chrono::hours{27};

const schedule::sys_seconds last_change{
  std::chrono::sys_days{std::chrono::year{2037} / std::chrono::December / 31}};

} // namespace

bool schedule_oracle::knows(const std::string& zone) {
  const auto& all = date::get_tzdb().zones;
  return std::any_of(
    all.begin(), all.end(), [&](const date::time_zone& each) { return each.name() == zone; });
}

std::vector<schedule::sys_seconds> schedule_oracle::changes_of(const std::string& zone) {
  const auto* known = date::locate_zone(zone);
  std::vector<schedule::sys_seconds> changes;
  auto info = known->get_info(schedule::sys_seconds{});
  while (info.end < last_change) {
    auto next = known->get_info(info.end);
    if (next.offset != info.offset)
      changes.push_back(info.end);
    info = next;
  }
  return changes;
}

void schedule_oracle::show_all(
  const std::string& zone, const random_cron& cron, time_range range) {
  const auto* known = date::locate_zone(zone);
  unit_ = cron.has_seconds() ? seconds{1} : seconds{60};
  begin_ = range.from - margin;
  begin_ -= begin_.time_since_epoch() % unit_;
  steps_.clear();
  auto info = known->get_info(begin_);
  std::chrono::local_days day{};
  bool is_day = cron.matches_day(day);
  for (auto at = begin_; at < range.until + margin; at += unit_) {
    if (at >= info.end)
      info = known->get_info(at);
    schedule::local_seconds local{at.time_since_epoch() + info.offset};
    if (local < day || local >= day + std::chrono::days{1}) {
      day = std::chrono::floor<std::chrono::days>(local);
      is_day = cron.matches_day(day);
    }
    steps_.push_back({local, is_day && cron.matches_second((local - day).count())});
  }
}

std::size_t schedule_oracle::place_of(schedule::local_seconds local) const {
  return static_cast<std::size_t>((local - lowest_) / unit_);
}

bool schedule_oracle::fires(std::size_t index, schedule::fold_policy fold) const {
  if (!steps_[index].matches)
    return false;
  auto place = place_of(steps_[index].local);
  switch (fold) {
  case schedule::fold_policy::first:
    return first_shown_[place] == index;
  case schedule::fold_policy::last:
    return last_shown_[place] == index;
  case schedule::fold_policy::both:
    break;
  }
  return true;
}

const std::vector<expected_occurrence>& schedule_oracle::walk(
  const std::string& zone, const random_cron& cron, schedule::gap_policy gap,
  schedule::fold_policy fold, time_range range) {
  show_all(zone, cron, range);
  auto earlier = [](const step& a, const step& b) { return a.local < b.local; };
  auto [low, high] = std::minmax_element(steps_.begin(), steps_.end(), earlier);
  lowest_ = low->local;
  auto none = static_cast<std::uint32_t>(steps_.size());
  first_shown_.assign(place_of(high->local) + 1, none);
  last_shown_.assign(first_shown_.size(), none);
  for (std::uint32_t i = 0; i < none; ++i) {
    auto place = place_of(steps_[i].local);
    if (first_shown_[place] == none)
      first_shown_[place] = i;
    last_shown_[place] = i;
  }
  found_.clear();
  for (std::size_t i = 1; i < steps_.size(); ++i) {
    auto at = begin_ + static_cast<std::int64_t>(i) * unit_;
    if (at < range.from || at >= range.until)
      continue;
    auto local = steps_[i].local;
    if (fires(i, fold)) {
      found_.push_back({local, first_shown_[place_of(local)] != i, at});
      continue;
    }
    // Local times that no step shows; the latest one stands for all of them.
    for (auto never = local - unit_; never > steps_[i - 1].local; never -= unit_) {
      auto day = std::chrono::floor<std::chrono::days>(never);
      if (!cron.matches_day(day) || !cron.matches_second((never - day).count()))
        continue;
      if (gap == schedule::gap_policy::shift)
        found_.push_back({never, false, at});
      break;
    }
  }
  return found_;
}

} // namespace codeq::test
