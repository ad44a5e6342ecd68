// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/head_exchange.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

namespace {

/// True when the first one comes before the second one, as far as other coordinators are told.
bool comes_first(const core::ready_head& a, const core::ready_head& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.enqueued_at < b.enqueued_at;
}

/// True when others need not be told that `told` is `now`.
bool is_as_told(
  const std::optional<core::rival_head>& told, const std::optional<core::rival_head>& now) {
  if (!told || !now)
    return !told && !now;
  const auto& [before, shard] = *told;
  const auto& [after, its_shard] = *now;
  const auto is_turn = core::is_turn(before.enqueued_at);
  if (before.priority != after.priority || shard != its_shard)
    return false;
  if (is_turn || core::is_turn(after.enqueued_at))
    return is_turn == core::is_turn(after.enqueued_at);
  const auto moved = after.enqueued_at - before.enqueued_at;
  return std::max(moved, -moved) < head_exchange::age_step;
}

} // namespace

void head_exchange::show(const queue_head& now) {
  auto& at = own_[now.queue];
  at.now = now.head;
  look_later(now.queue, at);
}

void head_exchange::look_later(const queue_address& queue, own_queue& at) {
  if (!std::exchange(at.is_due, true))
    due_.push_back(queue);
}

std::optional<head_news> head_exchange::tick() {
  head_news news;
  for (auto left = due_.size(); left > 0 && news.heads.size() < head_news::queues_max; --left) {
    const auto queue = std::move(due_.front());
    due_.pop_front();
    look_at(queue, news);
  }
  offer_places();
  const bool is_due = told_.used() > 0 && ++silent_ticks_ >= silent_ticks_max;
  if (news.heads.empty() && !is_due)
    return std::nullopt;
  silent_ticks_ = 0;
  return news;
}

void head_exchange::look_at(const queue_address& queue, head_news& news) {
  const auto found = own_.find(queue);
  auto& at = found->second;
  at.is_due = false;
  auto steady = at.now;
  for (const auto& before : at.before)
    if (steady && (!before || comes_first(steady->head, before->head)))
      steady = before ? head(core::rival_head{before->head, at.now->shard}) : std::nullopt;
  // A task that has gone is no more to be waited for at once, and one that stays is looked at until
  // all looks have seen it.
  const auto is_settled = std::all_of(at.before.begin(), at.before.end(), [&](const head& before) {
    return is_as_told(before, at.now);
  });
  std::move_backward(at.before.begin(), std::prev(at.before.end()), at.before.end());
  at.before.front() = at.now;
  if (!is_as_told(at.told, steady) && take_place(queue, at, steady)) {
    at.told = steady;
    news.heads.push_back({queue, steady});
  }
  if (!is_settled)
    look_later(queue, at);
  else if (!at.now && !at.told && !at.is_due)
    own_.erase(found);
}

bool head_exchange::take_place(const queue_address& queue, own_queue& at, const head& next) {
  if (!at.told) {
    const bool has_place = told_.take(queue.tenant);
    if (!has_place && !std::exchange(at.is_due, true))
      refused_.push_back(queue);
    return has_place;
  }
  if (next)
    return true;
  told_.give_back(queue.tenant);
  return true;
}

void head_exchange::offer_places() {
  for (auto left = std::min(refused_.size(), head_news::queues_max); left > 0; --left) {
    auto queue = std::move(refused_.front());
    refused_.pop_front();
    auto& to = told_.has_room(queue.tenant) ? due_ : refused_;
    to.push_back(std::move(queue));
  }
}

std::vector<head_news> head_exchange::all() const {
  std::vector<head_news> parts{{true, {}}};
  for (const auto& [queue, at] : own_) {
    if (!at.told)
      continue;
    if (parts.back().heads.size() == head_news::queues_max)
      parts.emplace_back();
    parts.back().heads.push_back({queue, at.told});
  }
  return parts;
}

void head_exchange::hear(
  const std::string& node, const head_news& news, monotonic_time now) {
  auto& from = others_[node];
  from.heard_at = now;
  count(from, true);
  if (news.is_whole) {
    note_change(from);
    from.heads.clear();
  }
  for (const auto& told : news.heads)
    set_far(from, told);
}

void head_exchange::count(other_node& node, bool is_heard) {
  if (node.is_heard == is_heard)
    return;
  note_change(node);
  node.is_heard = is_heard;
}

void head_exchange::note_change(const other_node& node) {
  for (const auto& [queue, told] : node.heads)
    changed_.try_emplace(queue, best_of(queue));
}

void head_exchange::set_far(other_node& node, const queue_head& told) {
  const auto is_known = node.heads.contains(told.queue);
  const auto is_new = told.head && value(told.head->shard) < shards_
                      && (is_known || node.heads.size() < queues_max);
  if (!is_known && !is_new)
    return;
  changed_.try_emplace(told.queue, best_of(told.queue));
  if (is_new)
    node.heads.insert_or_assign(told.queue, *told.head);
  else
    node.heads.erase(told.queue);
}

void head_exchange::lose(const std::string& node) {
  if (const auto found = others_.find(node); found != others_.end())
    count(found->second, false);
}

void head_exchange::pass_over_silent(monotonic_time now) {
  for (auto& [name, node] : others_)
    if (node.heard_at + silence_max < now)
      count(node, false);
  std::erase_if(others_, [now](const auto& other) {
    return other.second.heard_at + forgotten_after < now;
  });
}

head_exchange::head head_exchange::best_of(const queue_address& queue) const {
  head best;
  for (const auto& [name, node] : others_) {
    const auto found = node.heads.find(queue);
    if (!node.is_heard || found == node.heads.end())
      continue;
    if (!best || comes_first(found->second.head, best->head))
      best = found->second;
  }
  return best;
}

head_exchange::far_changes head_exchange::take_changes() {
  far_changes changes;
  for (const auto& [queue, before] : std::exchange(changed_, {})) {
    const auto now = best_of(queue);
    if (now == before)
      continue;
    changes.heads.push_back({queue, now});
    const auto is_behind = before && (!now || comes_first(before->head, now->head));
    changes.frees_tasks = changes.frees_tasks || is_behind;
  }
  return changes;
}

} // namespace codeq::coordinator
