// SPDX-License-Identifier: Apache-2.0
#include "core/state/queue_fairness.hpp"

#include "core/state/shard_state.hpp"
#include "core/state/task_limits.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace codeq::core {

namespace {

constexpr std::uint64_t millionths = 1'000'000;

} // namespace

/// Over all priorities.
struct queue_fairness::weight_sums {
  std::uint64_t groups = 0;
  /// The sum over the keys of each group, by the number of the group.
  std::unordered_map<std::uint32_t, std::uint64_t> keys;
};

queue_fairness::queue_fairness(queue_state& queue, std::shared_ptr<fairness_use> use)
  : board_(queue.board.get()), use_(std::move(use)) {
  keys_.fix_weights(queue.settings.config.fairness_weights);
  auto taken_lanes = std::exchange(queue.lanes, {});
  if (queue.depth() == 0)
    return;
  auto empty = keys_.take({}, queue.depth());
  for (std::size_t priority = 0; priority < lanes_.size(); ++priority) {
    auto& taken = taken_lanes[priority];
    auto ready = queue.ready_by_priority[priority];
    if (!taken || ready == 0)
      continue;
    lanes_[priority] = std::make_unique<fair_lanes>();
    lanes_[priority]->adopt(
      empty, keys_.weights_of(empty), std::move(*taken), ready, credits_of(priority, empty));
  }
  count_keys();
}

queue_fairness::~queue_fairness() {
  use_->active -= counted_.active;
  use_->idle -= counted_.idle;
}

void queue_fairness::count_keys() {
  use_->active += keys_.active() - std::exchange(counted_.active, keys_.active());
  use_->idle += keys_.idle() - std::exchange(counted_.idle, keys_.idle());
}

bool queue_fairness::has_to_share(std::string_view key) const {
  if (key.empty() || has_live(key))
    return false;
  bool is_shared = shared_ && (*shared_)[place_of(key)] > 0;
  return is_shared || use_->active >= limits::fairness_keys_max;
}

std::string_view queue_fairness::turns_of(const segment& s) const {
  auto key = s.fairness_key();
  return !shared_ || has_live(key) ? key : std::string_view();
}

void queue_fairness::take(const segment& s, std::uint64_t tasks) {
  auto key = s.fairness_key();
  if (has_to_share(key)) {
    if (!shared_)
      shared_ = std::make_unique<shared_counts>();
    (*shared_)[place_of(key)] += tasks;
    shared_tasks_ += tasks;
    key = {};
  }
  keys_.take(key, tasks);
  count_keys();
}

void queue_fairness::drop(const segment& s) {
  auto key = s.fairness_key();
  auto who = key_of(s);
  bool is_shared = !key.empty() && keys_.name_of(who).empty();
  if (is_shared) {
    --(*shared_)[place_of(key)];
    if (--shared_tasks_ == 0)
      shared_ = nullptr;
  }
  bool is_full = use_->idle >= idle_keys_of_tenant_max;
  keys_.drop(who, is_full ? keys_.idle() : fair_keys::idle_keys_max);
  count_keys();
  if (keys_.is_sparse())
    renumber();
}

void queue_fairness::share(queue_board& board) {
  board_ = &board;
  renumber();
}

key_credits queue_fairness::credits_of(std::size_t priority, fair_key who) const {
  bool shares = board_ != nullptr && !lanes_[priority]->has_turns(who);
  return shares ? board_->share_turns(priority, keys_.name_of(who)) : key_credits{};
}

void queue_fairness::renumber() {
  fair_keys keys;
  keys.fix_weights(keys_.fixed_weights());
  all_lanes lanes;
  keys_.for_each_active([&](fair_key old) {
    auto now = keys.adopt(keys_, old);
    for (std::size_t priority = 0; priority < lanes_.size(); ++priority) {
      auto ready = lanes_[priority] ? lanes_[priority]->ready(old) : 0;
      if (ready == 0)
        continue;
      if (!lanes[priority])
        lanes[priority] = std::make_unique<fair_lanes>();
      auto credits =
        board_ ? board_->share_turns(priority, keys.name_of(now)) : key_credits{};
      lanes[priority]->adopt(
        now, keys.weights_of(now), std::move(lanes_[priority]->at(old)), ready, credits);
    }
  });
  keys_ = std::move(keys);
  lanes_ = std::move(lanes);
  count_keys();
}

void queue_fairness::take_weight(const segment& s) {
  // Tasks of a segment that was recovered may all have ended.
  auto who = keys_.find(s.fairness_key());
  if (!s.fairness || !who || turns_of(s) != s.fairness_key())
    return;
  keys_.set_weight(*who, s.fairness->weight);
  for (auto& of : lanes_)
    if (of)
      of->set_weights(*who, keys_.weights_of(*who));
}

void queue_fairness::fix_weights(const std::map<std::string, std::uint32_t>& weights) {
  keys_.fix_weights(weights);
  keys_.for_each_active([&](fair_key who) {
    for (auto& of : lanes_)
      if (of)
        of->set_weights(who, keys_.weights_of(who));
  });
}

lane& queue_fairness::enter(const segment& s, std::uint64_t tasks) {
  auto& of = lanes_[s.priority];
  if (!of)
    of = std::make_unique<fair_lanes>();
  auto who = key_of(s);
  return of->enter(who, keys_.weights_of(who), tasks, credits_of(s.priority, who));
}

void queue_fairness::leave(const segment& s, sequence seq, bool was_returned) {
  lanes_[s.priority]->leave(key_of(s), seq, was_returned);
}

void queue_fairness::forget(const segment& s) {
  auto* of = lanes(s.priority);
  if (!of)
    return;
  // Its tasks may have taken their turns under the empty key.
  for (auto key : {s.fairness_key(), std::string_view()})
    if (auto who = keys_.find(key))
      of->forget(*who, s.first);
}

std::uint32_t
queue_fairness::charge(std::size_t priority, fair_key who, std::uint32_t tasks) {
  lanes_[priority]->charge(who, keys_, tasks);
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(keys_.cost_of(who), most));
}

fair_terms queue_fairness::terms_of(std::string_view key) const {
  auto who = keys_.find(key);
  return who ? fair_terms{keys_.weights_of(*who), keys_.cost_of(*who)} : fair_terms{};
}

std::int64_t queue_fairness::settle(
  const segment& s, std::uint32_t charged, std::optional<duration> ran) {
  auto who = key_of(s);
  if (ran)
    keys_.note(who, *ran);
  auto cost = ran ? std::max<std::int64_t>(ran->count(), 1) : 0;
  // Leases of before a restart were not charged.
  if (charged == 0)
    return 0;
  auto difference = std::int64_t{charged} - cost;
  if (lanes_[s.priority])
    lanes_[s.priority]->settle(who, difference);
  return difference;
}

std::uint64_t queue_fairness::ready_of(fair_key who) const {
  std::uint64_t ready = 0;
  for (const auto& of : lanes_)
    ready += of ? of->ready(who) : 0;
  return ready;
}

fairness_share queue_fairness::describe(fair_key who) const {
  fairness_share share;
  share.key = keys_.name_of(who);
  share.weight = keys_.own_weight(who);
  share.ready = ready_of(who);
  share.expected_run = duration{keys_.cost_of(who)};
  return share;
}

queue_fairness::weight_sums queue_fairness::sum_weights() const {
  weight_sums sums;
  keys_.for_each_active([&](fair_key who) {
    if (ready_of(who) == 0)
      return;
    auto weights = keys_.weights_of(who);
    auto& of_group = sums.keys[who.group];
    sums.groups += of_group == 0 ? weights.group : 0;
    of_group += weights.key;
  });
  return sums;
}

fair_order::standing queue_fairness::standing_of(fair_key who) const {
  fair_order::standing all;
  for (const auto& of : lanes_) {
    if (!of || of->empty())
      continue;
    auto one = of->standing_of(who);
    all.largest_cost = std::max(all.largest_cost, one.largest_cost);
    all.other_groups += one.other_groups;
    all.other_keys += one.other_keys;
    all.is_key_in_debt |= one.is_key_in_debt;
    all.is_group_in_debt |= one.is_group_in_debt;
  }
  return all;
}

std::int64_t queue_fairness::largest_cost() const {
  std::int64_t largest = 1;
  keys_.for_each_active([&](fair_key who) {
    auto is_ready = [&](const auto& of) { return of && of->has_turns(who); };
    auto cost = keys_.cost_of(who);
    if (cost > largest && std::any_of(lanes_.begin(), lanes_.end(), is_ready))
      largest = cost;
  });
  return largest;
}

duration queue_fairness::longest_wait(
  fair_key who, std::int64_t largest_now, const slot_use& use) const {
  if (use.are_none)
    return duration::max();
  auto standing = standing_of(who);
  standing.largest_cost = std::max(standing.largest_cost, largest_now);
  return longest_fair_wait(
    standing, keys_.weights_of(who).group, {use.leased, use.are_taken});
}

fairness_page queue_fairness::list(const fairness_part& part, const slot_use& use) const {
  fairness_page page;
  page.active_keys = keys_.active();
  std::vector<fair_key> wanted;
  keys_.for_each_active([&](fair_key who) {
    if (part.from_start || keys_.name_of(who) > part.after)
      wanted.push_back(who);
  });
  auto by_name = [&](fair_key a, fair_key b) { return keys_.name_of(a) < keys_.name_of(b); };
  page.more = wanted.size() > part.limit;
  auto end = wanted.begin() + static_cast<std::ptrdiff_t>(
                                std::min<std::size_t>(wanted.size(), part.limit));
  std::partial_sort(wanted.begin(), end, wanted.end(), by_name);
  wanted.erase(end, wanted.end());
  auto sums = sum_weights();
  auto largest = largest_cost();
  for (auto who : wanted) {
    auto& share = page.keys.emplace_back(describe(who));
    if (share.ready == 0)
      continue;
    auto weights = keys_.weights_of(who);
    share.share_ppm = static_cast<std::uint32_t>(
      millionths * weights.group / sums.groups * weights.key / sums.keys.at(who.group));
    share.wait = longest_wait(who, largest, use);
  }
  return page;
}

std::optional<queue_fairness::turn_wait>
queue_fairness::wait_of(const segment& s, std::uint64_t leased) const {
  auto who = key_of(s);
  const auto* of = lanes(s.priority);
  if (!of || of->ready(who) == 0)
    return std::nullopt;
  auto before = of->turns_before(who, keys_);
  if (before == 0)
    return std::nullopt;
  auto wait = longest_wait(who, keys_.largest_cost(), {.leased = leased, .are_taken = true});
  return turn_wait{keys_.name_of(who), before, wait};
}

std::uint64_t queue_fairness::out_of_turn() const {
  std::uint64_t tasks = 0;
  for (const auto& of : lanes_) {
    if (!of || of->empty())
      continue;
    auto next = of->preview(keys_);
    tasks += of->ready() - (next ? of->ready(*next) : 0);
  }
  return tasks;
}

void settle_fairness(
  shard_state& state, const segment& s, fencing_token token, bool began, timestamp now) {
  auto& queue = state.queue_of(s);
  if (!queue.fair)
    return;
  const auto* ended = state.leases.find(token);
  auto ran = now - state.leases.grant_at(ended->grant).at;
  auto difference =
    queue.fair->settle(s, ended->charged, began ? std::optional{ran} : std::nullopt);
  if (s.limits && difference != 0)
    settle_turns(state, s, difference);
}

} // namespace codeq::core
