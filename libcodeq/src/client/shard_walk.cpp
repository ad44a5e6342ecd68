// SPDX-License-Identifier: Apache-2.0
#include "client/shard_walk.hpp"

#include "codeq/limits.hpp"

#include "base/errors.hpp"
#include "base/queue_maximum.hpp"
#include "base/tuning.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace codeq::client {

namespace {

/// Adds what another shard knows of the same limit or key. The owner of a key knows its leases.
void add_wait(limit_key_info& to, const limit_key_info& part) {
  to.held += part.held;
  to.leased = std::max(to.leased, part.leased);
  if (!to.next_start)
    to.next_start = part.next_start;
  to.closed_until = std::max(to.closed_until, part.closed_until);
}

/// Adds what a shard holds by limits or by their keys to what others do.
void add_waits(std::vector<limit_wait>& to, const std::vector<limit_wait>& part) {
  for (const auto& wait : part) {
    auto at = std::find_if(to.begin(), to.end(), [&](const limit_wait& known) {
      return known.limit == wait.limit && known.at.key == wait.at.key;
    });
    if (at == to.end())
      to.push_back(wait);
    else
      add_wait(at->at, wait.at);
  }
}

/// Keeps those that hold most, as many as an explanation names, in that order.
void keep_most(std::vector<limit_wait>& all) {
  std::sort(all.begin(), all.end(), [](const limit_wait& a, const limit_wait& b) {
    return std::tie(b.at.held, a.limit, a.at.key) < std::tie(a.at.held, b.limit, b.at.key);
  });
  all.resize(std::min(all.size(), limits::explained_limits_max));
}

void add_explanation(queue_explanation& to, const queue_explanation& part) {
  to.exists = to.exists || part.exists;
  for (const auto& [reason, tasks] : part.waiting)
    to.waiting[reason] += tasks;
  to.leased += part.leased;
  // A worker is connected to all shards of a coordinator.
  to.workers = std::max(to.workers, part.workers);
  to.blocking += part.blocking;
  add_waits(to.limits, part.limits);
  add_waits(to.keys, part.keys);
  to.has_all_keys = to.has_all_keys && part.has_all_keys;
  to.starts_per_minute += part.starts_per_minute;
  const auto most = duration::max() - to.max_leased_need;
  to.max_leased_need += std::min(most, part.max_leased_need);
  to.limits_need = std::max({to.limits_need, part.limits_need, to.max_leased_need});
}

/// The maxima that shards of this version say, which each have them whole; 0: none does.
queue_config maxima_of(const std::vector<queue_part>& parts) {
  queue_config known;
  for (const auto& part : parts) {
    known.max_leased = std::max(known.max_leased, part.settings.config.max_leased);
    known.max_depth = std::max(known.max_depth, part.settings.config.max_depth);
  }
  return known;
}

/// Not before limits allow it. Empty when some of the tasks cannot start as things are, or when
/// nothing started lately.
std::optional<duration> last_start_of(const queue_explanation& why) {
  std::uint64_t tasks = 0;
  for (const auto& [reason, waiting] : why.waiting) {
    if (reason == task_reason::queue_paused || reason == task_reason::no_worker)
      return std::nullopt;
    bool waits_for_time =
      reason == task_reason::deferred || reason == task_reason::retry_waiting;
    tasks += waits_for_time ? 0 : waiting;
  }
  if (tasks == 0 || why.starts_per_minute == 0 || why.blocking > 0
      || why.limits_need == duration::max())
    return std::nullopt;
  constexpr std::uint64_t minute_ms = 60'000;
  auto ms = (tasks * minute_ms + why.starts_per_minute - 1) / why.starts_per_minute;
  return std::max(duration{static_cast<duration::rep>(ms)}, why.limits_need);
}

/// The error that says most of why no shard has answered: a refusal, else that of the first one.
error why_none(const std::vector<result<queue_part>>& parts) {
  const auto refusal = std::find_if(parts.begin(), parts.end(), [](const auto& part) {
    return !is_retryable(part.error().code);
  });
  if (refusal != parts.end())
    return refusal->error();
  auto why = parts.front().error();
  if (parts.size() > 1)
    why.context += "; none of the " + std::to_string(parts.size()) + " shards has answered";
  return why;
}

} // namespace

queue_config part_of(const queue_config& whole, std::uint32_t shards) {
  auto part = whole;
  part.max_depth_part = base::part_of_maximum(whole.max_depth, shards);
  part.max_leased_part = base::part_of_maximum(whole.max_leased, shards);
  return part;
}

queue_info merge_parts(
  queue_address queue, const std::vector<queue_part>& parts, std::vector<shard_id> missing) {
  const auto& first = parts.front().settings;
  queue_info info;
  info.queue = std::move(queue);
  info.config = first.config;
  info.paused = first.paused;
  info.pause_reason = first.pause_reason;
  info.shards = static_cast<std::uint32_t>(parts.size() + missing.size());
  info.exists = parts.front().is_known;
  std::uint16_t shard = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    while (std::binary_search(missing.begin(), missing.end(), shard_id{++shard}))
      continue;
    const auto& other = parts[i].settings;
    // Shards whose breakers tripped at the same time say different reasons.
    if (other.config != first.config || other.paused != first.paused)
      info.differing.push_back(shard_id{shard});
    if (info.pause_reason.empty())
      info.pause_reason = other.pause_reason;
    info.exists = info.exists || parts[i].is_known;
  }
  base::complete_maxima(info.config, info.shards, maxima_of(parts));
  info.config.max_leased_part = 0;
  info.config.max_depth_part = 0;
  info.is_uniform = info.differing.empty() && missing.empty();
  info.missing = std::move(missing);
  return info;
}

bool is_silence(const error& reason) {
  return reason.code == errc::timeout || reason.code == errc::disconnected;
}

bool is_outcome_known(const error& reason) {
  return reason.code != errc::timeout && reason.context.find(unknown_outcome) == std::string::npos;
}

namespace {

error unchanged(error reason) {
  if (is_retryable(reason.code))
    reason.context += base::nothing_changed;
  return reason;
}

} // namespace

error before_change(error reason) {
  reason.context.resize(std::min(reason.context.find(sent_unanswered), reason.context.size()));
  return unchanged(std::move(reason));
}

error after_change(error reason, const change_places& places) {
  if (places.done.empty())
    return places.silent.empty() ? unchanged(std::move(reason)) : reason;
  reason.context += "; the change is made on " + base::shards_text(places.done);
  if (!places.undone.empty())
    reason.context += ", not on " + base::shards_text(places.undone);
  if (!places.silent.empty())
    reason.context += ", and it is not known whether on " + base::shards_text(places.silent);
  reason.context += "; make it again for the rest";
  return reason;
}

bool is_known(const std::vector<queue_part>& parts) {
  return std::any_of(
    parts.begin(), parts.end(), [](const queue_part& part) { return part.is_known; });
}

result<queue_explanation> merge_explanations(
  const queue_address& queue, const std::vector<result<queue_part>>& parts) {
  queue_explanation whole;
  whole.queue = queue;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i])
      add_explanation(whole, parts[i]->explanation);
    else
      whole.missing_shards.push_back(static_cast<std::uint16_t>(i));
  }
  if (!parts.empty() && whole.missing_shards.size() == parts.size())
    return why_none(parts);
  keep_most(whole.limits);
  keep_most(whole.keys);
  whole.last_start = last_start_of(whole);
  return whole;
}

bulk_pace::bulk_pace(std::uint64_t limit, std::uint64_t rate) : limit_(limit), rate_(rate) {
}

std::uint32_t bulk_pace::next_part() const {
  // Ten parts per second, so that a rate does not become one burst per second.
  constexpr std::uint64_t parts_per_second = 10;
  std::uint64_t part = tuning::bulk_tasks_max;
  if (rate_ != 0)
    part = std::clamp<std::uint64_t>(rate_ / parts_per_second, 1, part);
  if (limit_ != 0)
    part = std::min(part, limit_ - std::min(limit_, changed_));
  return static_cast<std::uint32_t>(part);
}

duration bulk_pace::take(std::uint64_t changed) {
  changed_ += changed;
  if (rate_ == 0)
    return duration{0};
  constexpr std::uint64_t milliseconds = 1000;
  return duration{static_cast<duration::rep>((changed * milliseconds + rate_ - 1) / rate_)};
}

} // namespace codeq::client
