// SPDX-License-Identifier: Apache-2.0
#include "observe/queue_series.hpp"

#include "base/worker_node_counts.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace codeq::observe {

namespace {

using base::queue_counts;

/// The members that only grow while a queue exists.
constexpr std::array counters{
  &queue_counts::enqueued,
  &queue_counts::granted,
  &queue_counts::retried,
  &queue_counts::returned,
  &queue_counts::timed_out,
  &queue_counts::quarantined,
  &queue_counts::tripped,
  &queue_counts::redriven,
};

constexpr std::array totals{
  &queue_stats::completed, &queue_stats::dead, &queue_stats::cancelled, &queue_stats::lost};

constexpr std::array levels{
  &queue_stats::scheduled,
  &queue_stats::gated,
  &queue_stats::ready,
  &queue_stats::leased,
  &queue_stats::dead_now};

std::uint64_t live_tasks(const queue_counts& q) {
  std::uint64_t sum = 0;
  for (auto level : levels)
    sum += q.*level;
  return sum;
}

/// The growth of a counter; a smaller value is that of a queue that was created again.
template <class Number>
Number growth(Number from, Number to) {
  return to >= from ? to - from : to;
}

void add_growth(
  base::time_counts& sum, const base::time_counts& from, const base::time_counts& to) {
  for (std::size_t i = 0; i < sum.counts.size(); ++i)
    sum.counts[i] += growth(from.counts[i], to.counts[i]);
  sum.sum_ms += growth(from.sum_ms, to.sum_ms);
}

void add_growth(queue_counts& sum, const queue_counts& from, const queue_counts& to) {
  for (auto counter : counters)
    sum.*counter += growth(from.*counter, to.*counter);
  for (auto total : totals)
    sum.*total += growth(from.*total, to.*total);
  add_growth(sum.dispatch, from.dispatch, to.dispatch);
  add_growth(sum.run, from.run, to.run);
}

void clear_levels(queue_counts& sum) {
  for (auto level : levels)
    sum.*level = 0;
  sum.held = 0;
  sum.paused = false;
  sum.oldest_ready = duration{0};
}

void add_levels(queue_counts& sum, const queue_counts& q) {
  for (auto level : levels)
    sum.*level += q.*level;
  sum.held += q.held;
  sum.paused = sum.paused || q.paused;
  sum.oldest_ready = std::max(sum.oldest_ready, q.oldest_ready);
}

/// True when `a` is to have a place before `b`.
bool comes_before(const queue_counts* a, const queue_counts* b) {
  return live_tasks(*a) + a->enqueued > live_tasks(*b) + b->enqueued;
}

} // namespace

void queue_series::drop_removed(const std::map<queue_address, const queue_counts*>& all) {
  std::erase_if(named_, [&](const auto& name) { return !all.contains(name); });
  std::erase_if(seen_, [&](const auto& one) { return !all.contains(one.first); });
}

void queue_series::name_more(const std::map<queue_address, const queue_counts*>& all) {
  std::map<std::string, queue_list> waiting;
  std::size_t busy = 0;
  for (const auto& [name, q] : all) {
    if (named_.contains(name))
      continue;
    waiting[name.tenant].push_back(q);
    busy += live_tasks(*q) > 0 ? 1 : 0;
  }
  auto free = named_max_ - named_.size();
  std::erase_if(named_, [&](const auto& name) {
    bool makes_room = free < busy && live_tasks(*all.at(name)) == 0;
    free += makes_room ? 1 : 0;
    return makes_room;
  });
  std::map<std::string, std::size_t> places;
  for (const auto& name : named_)
    ++places[name.tenant];
  // The tenant with the fewest places comes first.
  std::set<std::pair<std::size_t, std::string>> turns;
  for (auto& [tenant, queues] : waiting) {
    std::stable_sort(queues.begin(), queues.end(), comes_before);
    std::reverse(queues.begin(), queues.end());
    turns.emplace(places[tenant], tenant);
  }
  while (named_.size() < named_max_ && !turns.empty()) {
    auto [count, tenant] = *turns.begin();
    turns.erase(turns.begin());
    auto& queues = waiting[tenant];
    named_.insert(queues.back()->queue);
    queues.pop_back();
    if (!queues.empty())
      turns.emplace(count + 1, tenant);
  }
}

std::string queue_series::sum_name(const std::string& tenant) const {
  bool has_place = sums_.contains(tenant) || sums_.size() < named_max_;
  return has_place ? tenant : std::string(base::all_others);
}

std::vector<queue_counts> queue_series::choose(const std::vector<queue_counts>& all) {
  std::map<queue_address, const queue_counts*> by_name;
  for (const auto& q : all)
    by_name.emplace(q.queue, &q);
  drop_removed(by_name);
  name_more(by_name);
  for (auto& [tenant, sum] : sums_)
    clear_levels(sum);
  std::vector<queue_counts> shown;
  for (const auto& [name, q] : by_name) {
    auto& seen = seen_[name];
    if (named_.contains(name)) {
      shown.push_back(*q);
    } else {
      auto key = sum_name(name.tenant);
      auto& sum = sums_[key];
      sum.queue = {key, std::string(base::all_others)};
      add_growth(sum, seen, *q);
      add_levels(sum, *q);
    }
    seen = *q;
  }
  for (const auto& [tenant, sum] : sums_)
    shown.push_back(sum);
  return shown;
}

} // namespace codeq::observe
