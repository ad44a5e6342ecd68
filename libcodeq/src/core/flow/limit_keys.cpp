// SPDX-License-Identifier: Apache-2.0
#include "core/flow/limit_keys.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <limits>

namespace codeq::core {

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
    count_key(at.limit);
  }
  return found->second;
}

void limit_keys::assign(std::uint32_t limit, const std::string& tenant) {
  tenants_.insert_or_assign(limit, tenant);
}

std::size_t limit_keys::keys_of(const std::string& tenant) const {
  auto at = keys_of_tenants_.find(tenant);
  return at == keys_of_tenants_.end() ? 0 : at->second;
}

void limit_keys::count_key(std::uint32_t limit) {
  ++sums_[limit].keys;
  if (auto tenant = tenants_.find(limit); tenant != tenants_.end())
    ++keys_of_tenants_[tenant->second];
}

void limit_keys::discount_key(std::uint32_t limit) {
  if (auto sums = sums_.find(limit); --sums->second.keys == 0)
    sums_.erase(sums);
  auto tenant = tenants_.find(limit);
  if (tenant == tenants_.end())
    return;
  if (auto keys = keys_of_tenants_.find(tenant->second); --keys->second == 0)
    keys_of_tenants_.erase(keys);
}

void limit_keys::erase(key_map::iterator at) {
  rescaled_.erase(at->first);
  if (at->second.is_stored)
    marked_.insert(at->first);
  discount_key(at->first.limit);
  keys_.erase(at);
}

limit_keys::mark limit_keys::mark_of(const limit_place& at, const key_state& key) {
  return {at, key.meter.paid_at(), key.closed_until, false};
}

bool limit_keys::is_used(const key_state& key) {
  return key.leased > 0 || key.reserved.tasks > 0 || !key.parts.empty();
}

// A change looks at all keys of its limit, in their order, and at no others. There may be 200,000,
// so that they are inserted with hints, which are right unless other limits change, too.

void limit_keys::set(std::uint32_t limit, const limit_rule& rule, timestamp now) {
  auto& known = rules_[limit];
  auto before = std::exchange(known.rule, rule).rate;
  if (!before)
    known.has_rate_since = now;
  auto at = keys_.lower_bound({limit, {}});
  for (; at != keys_.end() && at->first.limit == limit; ++at) {
    swept_.insert(swept_.end(), at->first);
    change_rate(at->first, at->second, before, rule.rate, now);
  }
}

void limit_keys::remove(std::uint32_t limit) {
  auto known = rules_.extract(limit);
  auto before = known ? known.mapped().rule.rate : std::nullopt;
  auto at = keys_.lower_bound({limit, {}});
  for (; at != keys_.end() && at->first.limit == limit; ++at) {
    swept_.insert(swept_.end(), at->first);
    change_rate(at->first, at->second, before, std::nullopt, {});
    if (std::exchange(at->second.closed_until, {}) != timestamp{})
      rescaled_.insert(rescaled_.end(), at->first);
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
    rescaled_.insert(rescaled_.end(), at);
}

const limit_rule* limit_keys::find(std::uint32_t limit) const {
  auto at = rules_.find(limit);
  return at == rules_.end() ? nullptr : &at->second.rule;
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

void limit_keys::settle(
  const limit_use& use, std::uint32_t actual, timestamp started_at, timestamp now) {
  auto known = rules_.find(use.at.limit);
  if (known == rules_.end() || !known->second.rule.rate || actual == use.cost)
    return;
  const auto& [rule, has_rate_since] = known->second;
  // In the millisecond in which the rate came, the start may have been before it.
  if (actual < use.cost && started_at <= has_rate_since)
    return;
  auto difference = static_cast<std::int64_t>(actual) - static_cast<std::int64_t>(use.cost);
  this->use(use.at).meter.settle(*rule.rate, difference, now);
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

bool limit_keys::is_closed(const limit_place& at, timestamp now) const {
  const auto found = keys_.find(at);
  return found != keys_.end() && found->second.closed_until > now;
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
    swept_.insert(place);
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
  if (!changed_.empty() || !swept_.empty() || !rescaled_.empty())
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

std::uint64_t limit_keys::held_permits_of(const limit_place& at) const {
  const auto of = keys_.find(at);
  std::uint64_t held = 0;
  if (of != keys_.end())
    for (auto part = of->second.parts.lower_bound(first_permit_queue);
         part != of->second.parts.end(); ++part)
      held += part->second.held.size();
  return held;
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
