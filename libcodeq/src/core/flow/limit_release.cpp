// SPDX-License-Identifier: Apache-2.0
#include "core/flow/limit_keys.hpp"

#include "base/tuning.hpp"

#include <algorithm>
#include <limits>
#include <utility>

/// When held tasks may start, and which of them come next.
namespace codeq::core {

namespace {

/// Keys that are not in use any more go together at the ends of such spans.
constexpr duration idle_span{1000};

/// Number of tasks that `release` returns at most, so that the removal of a limit with many held
/// tasks delays nobody; further ones are due at once.
constexpr std::size_t released_max = tuning::limits_held_per_turn_max;

/// Number of keys that `release` looks at; further ones are due at once, too.
constexpr std::size_t looked_at_max = 4096;

/// A `release` looks at this number of keys of `swept_` in any case, so that keys which change all
/// the time do not keep them waiting for ever.
constexpr std::size_t swept_min = 256;

/// Number of keys that a change of their limit marks in a turn, so that the record of the turn is
/// small. After a crash the others are as they were before the change.
constexpr std::size_t marked_per_turn_max = 4096;

/// Number of queues whose tasks a key releases at once, even when it has fewer free slots, since a
/// queue may have no worker. All but a few of the tasks are held again, so that there are not more:
/// the others take their turns.
constexpr std::uint64_t queues_released_min = 64;

/// The queue of permits that has its turn; the end when there is none.
template <class Parts>
auto next_permits_of(Parts& parts, std::uint32_t from) {
  const auto next = parts.lower_bound(std::max(from, first_permit_queue));
  return next == parts.end() ? parts.lower_bound(first_permit_queue) : next;
}

} // namespace

std::optional<timestamp> limit_keys::next_start(
  const limit_rule* rule,
  const key_state& key,
  std::uint32_t cost,
  const task_sum& before,
  bool is_late) const {
  if (!rule)
    return timestamp{};
  if (rule->concurrency && key.leased + before.tasks >= *rule->concurrency)
    return std::nullopt;
  auto next = key.closed_until;
  if (!rule->rate)
    return next;
  const bool has_allowance = is_late || key.is_shared;
  const rate_use use{cost, before.cost, has_allowance ? permit_late_max : duration{0}};
  // Beyond the burst the rate is known only when the others have started.
  if (before.tasks > 0 && !rate_meter::fits(*rule->rate, use))
    return std::nullopt;
  auto paid = key.meter.next_start(*rule->rate, use);
  return std::max({next, put_off_until_, paid});
}

bool limit_keys::has_to_queue(const key_state& key, const limited_task& task) {
  const auto holds_earlier = [&](auto part) {
    return part != key.parts.end() && !part->second.held.empty()
           && part->second.held.next_priority() >= task.priority;
  };
  return holds_earlier(key.parts.find(task.queue))
         || (is_permit(task) && holds_earlier(next_permits_of(key.parts, key.next_permits)));
}

std::optional<timestamp> limit_keys::next_start(
  const limit_use& use, const limited_task& task, const reservation* own) const {
  const auto* rule = find(use.at.limit);
  const auto at = keys_.find(use.at);
  if (at == keys_.end())
    return next_start(rule, fresh_state(use.at.limit), use.cost, {}, is_permit(task));
  const auto& key = at->second;
  auto before = key.reserved;
  if (own) {
    --before.tasks;
    before.cost -= use.cost;
  } else if (rule && rule->rate && has_to_queue(key, task)) {
    // Two that were released by one key each would else be held by the other's key for ever.
    if (!is_released(task))
      return std::nullopt;
  }
  return next_start(rule, key, use.cost, before, is_permit(task));
}

std::optional<timestamp> limit_keys::next_release_of(
  std::uint32_t limit, const key_state& key, queue_part& part, const terms_of_key& terms) const {
  // Released tasks of a lower priority may be behind others for long, and keep no place.
  auto before = part.released_before(part.held.next_priority());
  before.tasks += key.reserved.tasks;
  before.cost += key.reserved.cost;
  return next_start(find(limit), key, part.held.next_cost(terms), before, part.is_of_permits);
}

std::optional<timestamp> limit_keys::release_part(
  const limit_place& at,
  const key_state& key,
  queue_part& part,
  const terms_of_key& terms,
  release_round& round) {
  while (!part.held.empty()) {
    if (round.released.size() >= released_max)
      return round.now;
    auto next = next_release_of(at.limit, key, part, terms);
    if (!next || *next > round.now)
      return next;
    const auto priority = part.held.next_priority();
    auto first = part.held.take_next(terms);
    part.add_released(first.seq, {priority, first.cost, first.charged});
    round.released.push_back(first.seq);
  }
  return std::nullopt;
}

std::optional<timestamp>
limit_keys::release_parts(const limit_place& at, key_state& key, release_round& round) {
  // Saves the look at many queues, none of which can start a task earlier.
  if (key.parts.size() > queues_released_min) {
    const bool has_permits = key.parts.lower_bound(first_permit_queue) != key.parts.end();
    auto next = next_start(find(at.limit), key, 1, key.reserved, has_permits);
    if (!next || *next > round.now)
      return next;
  }
  const auto* rule = find(at.limit);
  auto room = rule ? room_by(*rule, key, key.meter, round.now)
                   : std::numeric_limits<std::uint64_t>::max();
  auto queues_left = std::max(room, queues_released_min);
  std::optional<timestamp> next;
  // A permit that the rate does not admit yet is not passed by cheaper ones of other queues.
  bool is_permit_next = false;
  const auto release_one = [&](std::uint32_t queue, queue_part& part) {
    if (part.is_of_permits && is_permit_next)
      return std::size_t{0};
    const auto held = part.held.size();
    const auto terms = terms_in(round.terms_of, queue);
    const auto of_part = release_part(at, key, part, terms, round);
    if (of_part)
      next = std::min(next.value_or(*of_part), *of_part);
    is_permit_next = is_permit_next || (part.is_of_permits && of_part && *of_part > round.now);
    const auto released = held - part.held.size();
    discount_held(queue, at.limit, released);
    return released;
  };
  if (auto turn = next_permits_of(key.parts, key.next_permits); turn != key.parts.end())
    release_one(turn->first, turn->second);
  auto one = key.parts.lower_bound(std::exchange(key.next_queue, 0));
  for (auto left = key.parts.size(); left > 0; --left) {
    if (one == key.parts.end())
      one = key.parts.begin();
    auto& [queue, part] = *one++;
    if (release_one(queue, part) > 0 && --queues_left == 0) {
      key.next_queue = queue + 1;
      return round.now;
    }
  }
  return next;
}

void limit_keys::release_of(const limit_place& at, release_round& round) {
  auto found = keys_.find(at);
  if (found == keys_.end())
    return;
  auto& key = found->second;
  auto next = release_parts(at, key, round);
  if (!is_used(key)) {
    // It is kept until its past starts do not matter any more.
    auto idle_at = std::max(key.closed_until, key.meter.idle_at());
    if (idle_at <= round.now) {
      schedule(at, key, std::nullopt);
      erase(found);
      return;
    }
    next = idle_at + (idle_span - idle_at.time_since_epoch() % idle_span);
  }
  schedule(at, key, next);
}

std::vector<sequence> limit_keys::release(timestamp now, const fair_terms_of& terms_of) {
  for (std::size_t i = 0; i < marked_per_turn_max && !rescaled_.empty(); ++i)
    marked_.insert(rescaled_.extract(rescaled_.begin()));
  drop_reservations(now);
  bool may_look = put_off_until_ <= now;
  for (; may_look && !due_.empty() && due_.begin()->first <= now; due_.erase(due_.begin())) {
    const auto& at = due_.begin()->second;
    changed_.insert(at);
    keys_.at(at).due.reset();
  }
  release_round round{now, terms_of, {}};
  const auto left = looked_at_max - look_at(changed_, looked_at_, looked_at_max, round);
  look_at(swept_, swept_at_, std::max(left, swept_min), round);
  return std::move(round.released);
}

std::size_t limit_keys::look_at(
  std::set<limit_place>& keys,
  std::optional<limit_place>& last,
  std::size_t most,
  release_round& round) {
  // A key that changes while others are looked at is left to the next call.
  const auto count = std::min(keys.size(), most);
  std::size_t seen = 0;
  for (; seen < count && round.released.size() < released_max; ++seen) {
    auto at = last ? keys.upper_bound(*last) : keys.begin();
    if (at == keys.end())
      at = keys.begin();
    last = keys.extract(at).value();
    // In both sets it is looked at once.
    changed_.erase(*last);
    swept_.erase(*last);
    release_of(*last, round);
  }
  if (keys.empty())
    last.reset();
  return seen;
}

} // namespace codeq::core
