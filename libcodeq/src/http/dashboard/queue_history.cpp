// SPDX-License-Identifier: Apache-2.0
#include "http/dashboard/queue_history.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace codeq::http {

namespace {

struct span_size {
  duration step;
  std::size_t points;
};

constexpr std::array<span_size, 2> spans{{
  {limits::history_step, limits::history_points_hour},
  {limits::history_day_step, limits::history_points_day},
}};

constexpr std::uint32_t no_time = std::numeric_limits<std::uint32_t>::max();
constexpr std::array<unsigned, 3> shown_percents{50, 95, 99};

/// The columns of a point, in the order in which `write` fills them.
constexpr auto point_columns = std::to_array<std::string_view>(
  {"at",           "enqueued",      "started",       "completed", "retried",
   "died",         "cancelled",     "lost",          "returned",  "redriven",
   "dispatchP50Ms", "dispatchP95Ms", "dispatchP99Ms", "runP50Ms",  "runP95Ms",
   "runP99Ms",     "ready",         "scheduled",     "gated",     "leased",
   "dead",         "oldestReadyAgeMs"});

std::uint32_t fit(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, no_time - 1));
}

base::time_counts difference_of(const base::time_counts& before, const base::time_counts& after) {
  base::time_counts times;
  for (std::size_t i = 0; i < times.counts.size(); ++i)
    times.counts[i] = after.counts[i] - std::min(after.counts[i], before.counts[i]);
  return times;
}

/// Adds the tasks of a queue to those of its tenant.
void add_levels(base::queue_counts& to, const base::queue_counts& q) {
  to.scheduled += q.scheduled;
  to.gated += q.gated;
  to.ready += q.ready;
  to.held += q.held;
  to.leased += q.leased;
  to.dead_now += q.dead_now;
  to.oldest_ready = std::max(to.oldest_ready, q.oldest_ready);
}

} // namespace

std::optional<std::uint32_t> percentile_ms(const base::time_counts& times, unsigned percent) {
  const auto& counts = times.counts;
  auto total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (total == 0)
    return std::nullopt;
  auto rank = (total * percent + 99) / 100;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    auto low = static_cast<std::uint64_t>(i == 0 ? 0 : base::time_counts::bounds_ms[i - 1]);
    if (below + counts[i] < rank) {
      below += counts[i];
      continue;
    }
    if (i == base::time_counts::bounds_ms.size())
      return fit(low);
    auto width = static_cast<std::uint64_t>(base::time_counts::bounds_ms[i]) - low;
    return fit(low + (width * (rank - below) + counts[i] - 1) / counts[i]);
  }
  return std::nullopt;
}

queue_history::totals queue_history::totals_of(const base::queue_counts& q) {
  return {
    {q.enqueued,
     q.granted,
     q.completed,
     q.retried,
     q.dead,
     q.cancelled,
     q.lost,
     q.returned,
     q.redriven},
    q.dispatch,
    q.run};
}

queue_history::point queue_history::difference(
  const totals& before, const totals& after, const base::queue_counts& latest) {
  point made;
  for (std::size_t i = 0; i < counters; ++i)
    made.counted[i] = fit(after.counted[i] - std::min(after.counted[i], before.counted[i]));
  auto dispatch = difference_of(before.dispatch, after.dispatch);
  auto run = difference_of(before.run, after.run);
  for (std::size_t i = 0; i < shown_percents.size(); ++i) {
    made.times[i] = percentile_ms(dispatch, shown_percents[i]).value_or(no_time);
    made.times[shown_percents.size() + i] =
      percentile_ms(run, shown_percents[i]).value_or(no_time);
  }
  made.level = {
    fit(latest.ready),
    fit(latest.scheduled),
    fit(latest.gated),
    fit(latest.leased),
    fit(latest.dead_now),
    fit(static_cast<std::uint64_t>(latest.oldest_ready.count()))};
  return made;
}

void queue_history::advance(series& to, timestamp now, bool is_new) {
  for (std::size_t i = 0; i < to.rings.size(); ++i) {
    auto& ring = to.rings[i];
    if (!is_new && now - ring.since < spans[i].step)
      continue;
    if (!is_new) {
      ring.points.push_back(difference(ring.before, to.sum, to.latest));
      ring.points.back().at = now;
    }
    if (ring.points.size() > spans[i].points)
      ring.points.pop_front();
    ring.before = to.sum;
    ring.since = now;
  }
}

void queue_history::grow(const base::queue_counts& q) {
  auto after = totals_of(q);
  auto [at, is_new] = queues_.try_emplace(q.queue);
  auto before = std::exchange(at->second.sum, after);
  at->second.round = round_;
  auto& tenant = tenants_[q.queue.tenant];
  // It is not known when the queues counted what they had at the first call.
  if (is_new && round_ == 1)
    return;
  for (std::size_t i = 0; i < counters; ++i)
    tenant.counted[i] += after.counted[i] - std::min(after.counted[i], before.counted[i]);
  tenant.dispatch.add(difference_of(before.dispatch, after.dispatch));
  tenant.run.add(difference_of(before.run, after.run));
}

void queue_history::add(const base::queue_counts& latest, const totals& sum, timestamp now) {
  auto at = series_.find(latest.queue);
  bool is_new = at == series_.end();
  if (is_new) {
    if (!places_.take(latest.queue.tenant))
      return;
    at = series_.emplace(latest.queue, series{}).first;
  }
  at->second.latest = latest;
  at->second.sum = sum;
  at->second.round = round_;
  advance(at->second, now, is_new);
}

void queue_history::take(const base::coordinator_counts& stats, timestamp now) {
  ++round_;
  auto keep = [this](const queue_address& of) {
    if (auto at = series_.find(of); at != series_.end())
      at->second.round = round_;
  };
  std::map<std::string, base::queue_counts> levels_of;
  for (const auto& q : stats.queues) {
    grow(q);
    keep(q.queue);
    keep({q.queue.tenant, {}});
    auto& tenant = levels_of[q.queue.tenant];
    tenant.queue = {q.queue.tenant, {}};
    add_levels(tenant, q);
  }
  // Places of removed queues are free for others at once.
  drop_gone();
  // The whole of a tenant matters more than its queues.
  for (const auto& [name, latest] : levels_of)
    add(latest, tenants_[name], now);
  for (const auto& q : stats.queues)
    add(q, totals_of(q), now);
}

void queue_history::drop_gone() {
  for (auto at = series_.begin(); at != series_.end();) {
    if (at->second.round == round_) {
      ++at;
      continue;
    }
    places_.give_back(at->first.tenant);
    at = series_.erase(at);
  }
  std::erase_if(queues_, [this](const auto& one) { return one.second.round != round_; });
  std::erase_if(tenants_, [this](const auto& one) {
    auto first = queues_.lower_bound({one.first, {}});
    return first == queues_.end() || first->first.tenant != one.first;
  });
}

void queue_history::write(
  base::json_writer& json, const queue_address& of, history_span span) const {
  auto index = static_cast<std::size_t>(span);
  auto at = series_.find(of);
  json.begin_object()
    .field("stepMs", spans[index].step.count())
    .field("recorded", at != series_.end())
    .begin_array("columns");
  for (auto column : point_columns)
    json.text(column);
  json.end_array().begin_array("points");
  for (const auto& p : at == series_.end() ? std::deque<point>{} : at->second.rings[index].points) {
    json.begin_array().number(std::int64_t{p.at.time_since_epoch().count()});
    for (auto value : p.counted)
      json.number(std::uint64_t{value});
    for (auto value : p.times)
      value == no_time ? json.null() : json.number(std::uint64_t{value});
    for (auto value : p.level)
      json.number(std::uint64_t{value});
    json.end_array();
  }
  json.end_array().end_object();
}

} // namespace codeq::http
