// SPDX-License-Identifier: Apache-2.0
#include "core/flow/limit_rule.hpp"

#include "codeq/limits.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

/// Holds the product of two times in nanoseconds.
__extension__ using wide = __int128;

constexpr std::int64_t ns_per_ms = 1'000'000;

/// Times that are further away are not told apart, so that sums cannot overflow.
constexpr std::int64_t span_max = std::int64_t{1} << 60;
constexpr std::int64_t paid_max = std::int64_t{1} << 62;
static_assert(limits::limit_burst_time_max.count() < span_max / ns_per_ms);

std::int64_t ns_of(timestamp at) {
  return at.time_since_epoch().count() * ns_per_ms;
}

/// The cost of one start, rounded up, so that the rate is never exceeded.
std::int64_t interval_of(const start_rate& rate) {
  return (rate.period.count() * ns_per_ms + rate.count - 1) / rate.count;
}

std::int64_t span_of(const start_rate& rate, std::int64_t starts) {
  auto interval = interval_of(rate);
  return starts > span_max / interval ? span_max : starts * interval;
}

/// The time that the task and those before it take to be paid for.
std::int64_t whole_of(const start_rate& rate, const rate_use& use) {
  auto starts = static_cast<std::int64_t>(std::min<std::uint64_t>(use.cost + use.before, span_max));
  return span_of(rate, starts);
}

/// The unpaid time that the task and those before it may reach.
std::int64_t allowance_of(const start_rate& rate, const rate_use& use) {
  // Twice the time: half of it is charged with the first start, and the other half has the starts
  // that come back between two looks at the rate.
  const auto late = 2 * use.late.count() * ns_per_ms;
  return std::max(
    span_of(rate, std::max(rate.burst, use.cost)),
    late == 0 ? 0 : late + span_of(rate, use.cost));
}

/// @pre `span` is at most `span_max`
std::int64_t after(std::int64_t paid_at, timestamp now, std::int64_t span) {
  return std::min(std::max(paid_at, ns_of(now)), paid_max - span) + span;
}

} // namespace

bool rate_meter::fits(const start_rate& rate, const rate_use& use) {
  return whole_of(rate, use) <= allowance_of(rate, use);
}

timestamp rate_meter::next_start(const start_rate& rate, const rate_use& use) const {
  auto spare = std::max<std::int64_t>(allowance_of(rate, use) - whole_of(rate, use), 0);
  auto at = paid_at_ - std::min(paid_at_, spare);
  return timestamp{duration{(at + ns_per_ms - 1) / ns_per_ms}};
}

std::uint32_t rate_meter::starts_at(const start_rate& rate, timestamp now) const {
  auto unpaid = std::max<std::int64_t>(paid_at_ - ns_of(now), 0);
  auto interval = interval_of(rate);
  auto used = unpaid / interval + (unpaid % interval != 0 ? 1 : 0);
  return rate.burst - static_cast<std::uint32_t>(std::min<std::int64_t>(used, rate.burst));
}

void rate_meter::take(const start_rate& rate, const rate_use& use, timestamp now) {
  // Nothing that the rate gives back before the start is spent by others.
  paid_at_ = after(paid_at_, now + use.late, span_of(rate, use.cost));
}

void rate_meter::settle(const start_rate& rate, std::int64_t difference, timestamp now) {
  if (difference >= 0)
    paid_at_ = after(paid_at_, now, span_of(rate, difference));
  else
    paid_at_ -= std::min(paid_at_, span_of(rate, -difference));
}

void rate_meter::use_up(const start_rate& rate, timestamp now) {
  paid_at_ = std::max(paid_at_, ns_of(now) + span_of(rate, rate.burst));
}

void rate_meter::change_rate(const start_rate& from, const start_rate& to, timestamp now) {
  auto unpaid = paid_at_ - ns_of(now);
  if (unpaid <= 0)
    return;
  // Exact, and rounded up once: a time that is too late by 1 ns delays a start by a millisecond.
  auto before = interval_of(from);
  auto span = (wide{unpaid} * interval_of(to) + before - 1) / before;
  paid_at_ = ns_of(now) + static_cast<std::int64_t>(std::min<wide>(span, span_max));
}

timestamp rate_meter::idle_at() const {
  return timestamp{duration{(paid_at_ + ns_per_ms - 1) / ns_per_ms}};
}

} // namespace codeq::core
