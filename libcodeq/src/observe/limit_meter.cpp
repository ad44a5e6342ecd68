// SPDX-License-Identifier: Apache-2.0
#include "observe/limit_meter.hpp"

#include "observe/log.hpp"

namespace codeq::observe {

namespace {

constexpr std::chrono::seconds line_interval{1};

/// Above this number of pairs of limit and name, pairs are dropped; they may then be logged early.
constexpr std::size_t histories_max = 1024;

} // namespace

void limit_meter::note(const met_limit& met) {
  std::uint64_t times = 0;
  {
    std::lock_guard guard(mutex_);
    ++counts_[std::string(met.name)];
    if (histories_.size() >= histories_max)
      histories_.clear();
    auto& past = histories_[{std::string(met.name), std::string(met.who)}];
    ++past.unlogged;
    auto now = std::chrono::steady_clock::now();
    if (now < past.next_line)
      return;
    past.next_line = now + line_interval;
    times = std::exchange(past.unlogged, 0);
  }
  if (!met.queue.empty())
    CODEQ_LOG_WARN(
      "limit is reached limit={} {}={} times={} queue={}",
      met.name,
      met.kind,
      met.who,
      times,
      met.queue);
  else if (met.max == 0)
    CODEQ_LOG_WARN("limit is reached limit={} {}={} times={}", met.name, met.kind, met.who, times);
  else
    CODEQ_LOG_WARN(
      "limit is reached limit={} max={} {}={} times={}",
      met.name,
      met.max,
      met.kind,
      met.who,
      times);
}

std::map<std::string, std::uint64_t> limit_meter::counts() const {
  std::lock_guard guard(mutex_);
  auto all = counts_;
  for (auto name : counted_limits)
    all.try_emplace(std::string(name), 0);
  return all;
}

} // namespace codeq::observe
