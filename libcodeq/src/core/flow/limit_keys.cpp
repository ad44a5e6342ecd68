// SPDX-License-Identifier: Apache-2.0
#include "core/flow/limit_keys.hpp"

#include "base/assert.hpp"
#include "base/tuning.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace codeq::core {

namespace {

/// Keys that are not in use any more go together at the ends of such spans.
constexpr duration idle_span{1000};

/// Number of tasks that `release` returns at most, so that the removal of a limit with many held
/// tasks delays nobody; further ones are due at once.
constexpr std::size_t released_max = tuning::limits_held_per_turn_max;

/// Number of keys that `release` looks at; further ones are due at once, too.
constexpr std::size_t looked_at_max = 4096;

/// Number of keys that a change of their limit marks in a turn, so that the record of the turn is
/// small. After a crash the others are as they were before the change.
constexpr std::size_t marked_per_turn_max = 4096;

/// Number of queues whose tasks a key releases at once, even when it has fewer free slots, since a
/// queue may have no worker. All but a few of the tasks are held again, so that there are not more:
/// the others take their turns.
constexpr std::uint64_t queues_released_min = 64;

terms_of_key terms_in(const fair_terms_of& terms_of, std::uint32_t queue) {
  if (!terms_of)
    return [](std::string_view) { return fair_terms{}; };
  return [&terms_of, queue](std::string_view key) { return terms_of(queue, key); };
}

} // namespace

limit_keys::key_state limit_keys::fresh_state(std::uint32_t limit) const {
  key_state key;
  const auto* rule = used_up_at_ ? find(limit) : nullptr;
  if (rule && rule->rate)
    key.meter.use_up(*rule->rate, *used_up_at_);
  return key;
}

limit_keys::key_state& limit_keys::use(const limit_place& at) {
  // One search for both, since there may be a million keys.
  auto found = keys_.lower_bound(at);
  if (found == keys_.end() || found->first != at) {
    found = keys_.emplace_hint(found, at, fresh_state(at.limit));
    ++sums_[at.limit].keys;
  }
  return found->second;
}

void limit_keys::erase(key_map::iterator at) {
  rescaled_.erase(at->first);
  if (at->second.is_stored)
    marked_.insert(at->first);
  if (auto sums = sums_.find(at->first.limit); --sums->second.keys == 0)
    sums_.erase(sums);
  keys_.erase(at);
}

limit_keys::mark limit_keys::mark_of(const limit_place& at, const key_state& key) {
  return {at, key.meter.paid_at(), key.closed_until, false};
}

bool limit_keys::is_used(const key_state& key) {
  return key.leased > 0 || key.reserved.tasks > 0 || !key.parts.empty();
}

void limit_keys::set(std::uint32_t limit, const limit_rule& rule, timestamp now) {
  auto known = rules_.find(limit);
  auto before = known == rules_.end() ? std::nullopt : known->second.rate;
  rules_.insert_or_assign(limit, rule);
  auto at = keys_.lower_bound({limit, {}});
  for (; at != keys_.end() && at->first.limit == limit; ++at) {
    changed_.insert(at->first);
    change_rate(at->first, at->second, before, rule.rate, now);
  }
}

void limit_keys::remove(std::uint32_t limit) {
  auto known = rules_.extract(limit);
  auto before = known ? known.mapped().rate : std::nullopt;
  auto at = keys_.lower_bound({limit, {}});
  for (; at != keys_.end() && at->first.limit == limit; ++at) {
    changed_.insert(at->first);
    change_rate(at->first, at->second, before, std::nullopt, {});
    if (std::exchange(at->second.closed_until, {}) != timestamp{})
      rescaled_.insert(at->first);
  }
}

void limit_keys::change_rate(
  const limit_place& at,
  key_state& key,
  const std::optional<start_rate>& before,
  const std::optional<start_rate>& after,
  timestamp now) {
  if (!before || before == after)
    return;
  auto paid_at = key.meter.paid_at();
  if (after)
    key.meter.change_rate(*before, *after, now);
  else
    key.meter = rate_meter();
  if (key.meter.paid_at() != paid_at)
    rescaled_.insert(at);
}

const limit_rule* limit_keys::find(std::uint32_t limit) const {
  auto at = rules_.find(limit);
  return at == rules_.end() ? nullptr : &at->second;
}

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
  const auto part = key.parts.find(task.queue);
  return part != key.parts.end() && !part->second.held.empty()
         && part->second.held.next_priority() >= task.priority;
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

std::optional<limit_refusal>
limit_keys::check(const limited_task& task, timestamp now) const {
  const auto kept = reservations_.find(task.seq);
  const auto* own = kept == reservations_.end() ? nullptr : &kept->second;
  for (std::size_t i = 0; i < task.uses.size(); ++i)
    if (auto next = next_start(task.uses[i], task, own); !next || *next > now)
      return limit_refusal{i, next};
  return std::nullopt;
}

void limit_keys::count_held(std::uint32_t queue, std::uint32_t limit) {
  ++sums_.at(limit).held;
  ++held_of_queues_[{queue, limit}];
}

void limit_keys::discount_held(
  std::uint32_t queue, std::uint32_t limit, std::uint64_t tasks) {
  if (tasks == 0)
    return;
  sums_.at(limit).held -= tasks;
  auto at = held_of_queues_.find({queue, limit});
  at->second -= tasks;
  if (at->second == 0)
    held_of_queues_.erase(at);
}

void limit_keys::leave(const limit_use& use, const limited_task& task, bool is_held_again) {
  auto at = keys_.find(use.at);
  if (at == keys_.end())
    return;
  auto& parts = at->second.parts;
  if (auto of_queue = parts.find(task.queue); of_queue != parts.end()) {
    auto& part = of_queue->second;
    discount_held(task.queue, use.at.limit, part.held.erase(as_held(task)) ? 1 : 0);
    if (auto found = part.released.find(task.seq); found != part.released.end()) {
      if (is_held_again)
        part.held.settle(task.priority, task.fairness_key, found->second.charged);
      part.remove_released(found);
    }
    if (part.held.empty() && part.released.empty())
      parts.erase(of_queue);
  }
  // It may be another task's turn now.
  changed_.insert(use.at);
}

void limit_keys::occupy(const limited_task& task) {
  drop_reservation(task.seq);
  for (const auto& one : task.uses) {
    leave(one, task);
    auto& key = use(one.at);
    ++key.leased;
    key.was_permitted = false;
    key.has_reserved_in_vain = false;
    ++sums_.at(one.at.limit).leased;
  }
}

void limit_keys::charge(const limited_task& task, timestamp now) {
  for (const auto& one : task.uses) {
    const auto* rule = find(one.at.limit);
    if (!rule || !rule->rate)
      continue;
    auto& key = use(one.at);
    const bool is_late = is_permit(task);
    key.is_shared = key.is_shared || is_late;
    key.meter.take(*rule->rate, {one.cost, 0, is_late ? permit_late_max : duration{0}}, now);
    marked_.insert(one.at);
    changed_.insert(one.at);
  }
}

void limit_keys::take(const limited_task& task, timestamp now) {
  occupy(task);
  charge(task, now);
}

void limit_keys::free(const std::vector<limit_use>& uses, timestamp now) {
  for (const auto& use : uses) {
    auto at = keys_.find(use.at);
    CODEQ_ASSERT(at != keys_.end() && at->second.leased > 0);
    auto& key = at->second;
    --key.leased;
    --sums_.at(use.at.limit).leased;
    bool is_over = !is_used(key) && key.closed_until <= now && key.meter.is_idle(now);
    // Every turn calls `release`, which removes the stored state of a key.
    if (is_over && !key.due && !key.is_stored)
      erase(at);
    else
      changed_.insert(use.at);
  }
}

void limit_keys::settle(const limit_use& use, std::uint32_t actual, timestamp now) {
  const auto* rule = find(use.at.limit);
  if (!rule || !rule->rate || actual == use.cost)
    return;
  auto difference = static_cast<std::int64_t>(actual) - static_cast<std::int64_t>(use.cost);
  this->use(use.at).meter.settle(*rule->rate, difference, now);
  changed_.insert(use.at);
  marked_.insert(use.at);
}

void limit_keys::close(const limit_place& at, timestamp until) {
  use(at).closed_until = until;
  changed_.insert(at);
  marked_.insert(at);
}

void limit_keys::extend_closure(const limit_place& at, timestamp until) {
  auto found = keys_.find(at);
  if (found == keys_.end() || found->second.closed_until < until)
    close(at, until);
}

bool limit_keys::was_permitted(const limit_place& at) const {
  auto found = keys_.find(at);
  return found != keys_.end() && found->second.was_permitted;
}

void limit_keys::use_up(const limit_place& at, timestamp now) {
  const auto* rule = find(at.limit);
  if (!rule || !rule->rate)
    return;
  use(at).meter.use_up(*rule->rate, now);
  changed_.insert(at);
  marked_.insert(at);
}

void limit_keys::use_up_all(timestamp at) {
  used_up_at_ = at;
  for (auto& [place, key] : keys_) {
    const auto* rule = find(place.limit);
    if (!rule || !rule->rate)
      continue;
    key.meter.use_up(*rule->rate, at);
    changed_.insert(place);
    // A key that is not stored begins with this time in each process (`fresh_state`).
    if (key.is_stored)
      marked_.insert(place);
  }
}

void limit_keys::restore(const mark& stored) {
  // Restoring that bursts are used up, or that a rate changed, may have marked it.
  marked_.erase(stored.at);
  rescaled_.erase(stored.at);
  if (stored.is_over && !keys_.contains(stored.at))
    return;
  auto& key = use(stored.at);
  if (stored.is_over && !is_used(key)) {
    key.is_stored = false;
    schedule(stored.at, key, std::nullopt);
    return erase(keys_.find(stored.at));
  }
  key.meter = rate_meter(stored.paid_at);
  key.closed_until = stored.closed_until;
  key.is_stored = !stored.is_over;
  changed_.insert(stored.at);
}

std::vector<limit_keys::mark> limit_keys::take_marks() {
  std::vector<mark> taken;
  for (const auto& at : std::exchange(marked_, {})) {
    auto found = keys_.find(at);
    if (found == keys_.end()) {
      taken.push_back({at, 0, {}, true});
      continue;
    }
    found->second.is_stored = true;
    taken.push_back(mark_of(at, found->second));
  }
  return taken;
}

std::vector<limit_keys::mark> limit_keys::marks() const {
  std::vector<mark> all;
  for (const auto& [at, key] : keys_)
    if (key.is_stored || marked_.contains(at) || rescaled_.contains(at))
      all.push_back(mark_of(at, key));
  return all;
}

void limit_keys::hold(
  const limited_task& task, const limit_refusal& why, const fair_terms& terms) {
  drop_reservation(task.seq);
  for (const auto& use : task.uses)
    leave(use, task, true);
  const auto& refused = task.uses[why.use];
  auto& part = use(refused.at).parts[task.queue];
  part.is_of_permits = is_permit(task);
  auto& held = part.held;
  bool is_new = held.insert(as_held(task), refused.cost, terms);
  if (is_new)
    count_held(task.queue, refused.at.limit);
  changed_.insert(refused.at);
}

void limit_keys::drop(const limited_task& task) {
  drop_reservation(task.seq);
  for (const auto& use : task.uses)
    leave(use, task);
}

const limit_keys::queue_part*
limit_keys::find_part(const limit_place& at, std::uint32_t queue) const {
  const auto of = keys_.find(at);
  if (of == keys_.end())
    return nullptr;
  const auto part = of->second.parts.find(queue);
  return part == of->second.parts.end() ? nullptr : &part->second;
}

bool limit_keys::is_held(const limited_task& task) const {
  return std::any_of(task.uses.begin(), task.uses.end(), [&](const limit_use& use) {
    const auto* part = find_part(use.at, task.queue);
    return part && part->held.contains(as_held(task));
  });
}

bool limit_keys::is_released(const limited_task& task) const {
  return std::any_of(task.uses.begin(), task.uses.end(), [&](const limit_use& use) {
    const auto* part = find_part(use.at, task.queue);
    return part && part->released.contains(task.seq);
  });
}

void limit_keys::schedule(
  const limit_place& at, key_state& key, const std::optional<timestamp>& when) {
  if (key.due)
    due_.erase({*key.due, at});
  key.due = when;
  if (when)
    due_.emplace(*when, at);
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
    const bool has_permits = key.parts.contains(permit_queue);
    auto next = next_start(find(at.limit), key, 1, key.reserved, has_permits);
    if (!next || *next > round.now)
      return next;
  }
  const auto* rule = find(at.limit);
  auto room = rule ? room_by(*rule, key, key.meter, round.now)
                   : std::numeric_limits<std::uint64_t>::max();
  auto queues_left = std::max(room, queues_released_min);
  std::optional<timestamp> next;
  auto one = key.parts.lower_bound(std::exchange(key.next_queue, 0));
  for (auto left = key.parts.size(); left > 0; --left) {
    if (one == key.parts.end())
      one = key.parts.begin();
    auto& [queue, part] = *one++;
    auto held = part.held.size();
    auto terms = terms_in(round.terms_of, queue);
    if (auto of_part = release_part(at, key, part, terms, round))
      next = std::min(next.value_or(*of_part), *of_part);
    auto released = held - part.held.size();
    discount_held(queue, at.limit, released);
    if (released > 0 && --queues_left == 0) {
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
  // A key that changes while others are looked at is left to the next call.
  auto left = std::min(changed_.size(), looked_at_max);
  for (; left > 0 && round.released.size() < released_max; --left) {
    looked_at_ = take_changed();
    release_of(*looked_at_, round);
  }
  if (changed_.empty())
    looked_at_.reset();
  return std::move(round.released);
}

limit_place limit_keys::take_changed() {
  auto at = looked_at_ ? changed_.upper_bound(*looked_at_) : changed_.begin();
  if (at == changed_.end())
    at = changed_.begin();
  return changed_.extract(at).value();
}

void limit_keys::settle_turn(const limited_task& task, std::int64_t difference) {
  for (const auto& use : task.uses) {
    auto at = keys_.find(use.at);
    if (at == keys_.end())
      continue;
    if (auto part = at->second.parts.find(task.queue); part != at->second.parts.end())
      part->second.held.settle(task.priority, task.fairness_key, difference);
  }
}

std::optional<timestamp> limit_keys::next_release() const {
  if (!changed_.empty() || !rescaled_.empty())
    return timestamp{};
  std::optional<timestamp> next;
  if (!due_.empty())
    next = std::max(due_.begin()->first, put_off_until_);
  if (!reserved_until_.empty())
    next = std::min(next.value_or(timestamp::max()), reserved_until_.begin()->first);
  return next;
}

std::uint64_t limit_keys::room_by(
  const limit_rule& rule, const key_state& key, const rate_meter& meter, timestamp now) {
  if (key.closed_until > now)
    return 0;
  auto room = std::numeric_limits<std::uint64_t>::max();
  if (rule.concurrency)
    room = *rule.concurrency - std::min<std::uint64_t>(*rule.concurrency, key.leased);
  if (rule.rate)
    room = std::min<std::uint64_t>(room, meter.starts_at(*rule.rate, now));
  return room;
}

std::uint64_t
limit_keys::room_by(const limit_rule& rule, const limit_place& at, timestamp now) const {
  auto found = keys_.find(at);
  auto fresh = found == keys_.end() ? fresh_state(at.limit) : key_state();
  const auto& key = found == keys_.end() ? fresh : found->second;
  auto meter = key.meter;
  const auto* known = find(at.limit);
  if (known && known->rate && rule.rate)
    meter.change_rate(*known->rate, *rule.rate, now);
  return room_by(rule, key, meter, now);
}

limit_keys::key_counts limit_keys::counts_of(const limit_place& at) const {
  auto found = keys_.find(at);
  return found == keys_.end() ? counts_of(at.limit, fresh_state(at.limit))
                              : counts_of(at.limit, found->second);
}

limit_keys::key_counts
limit_keys::counts_of(std::uint32_t limit, const key_state& key) const {
  std::size_t held = 0;
  std::uint32_t cost = 1;
  for (const auto& [queue, part] : key.parts) {
    if (held == 0 && !part.held.empty())
      cost = part.held.some_cost();
    held += part.held.size();
  }
  return {key.leased, held, key.closed_until, next_start(find(limit), key, cost, {}, false)};
}

std::uint64_t limit_keys::held_of(const limit_place& at, std::uint32_t queue) const {
  const auto* part = find_part(at, queue);
  return part ? part->held.size() : 0;
}

std::size_t limit_keys::held_before(
  const limit_place& at, const limited_task& task, const fair_terms_of& terms_of) const {
  auto found = keys_.find(at);
  if (found == keys_.end())
    return 0;
  std::size_t before = 0;
  for (const auto& [queue, part] : found->second.parts)
    before += part.held.before(as_held(task), terms_in(terms_of, queue));
  return before;
}

} // namespace codeq::core
