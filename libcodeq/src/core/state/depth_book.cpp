// SPDX-License-Identifier: Apache-2.0
#include "core/state/depth_book.hpp"

#include "base/assert.hpp"

#include <algorithm>

namespace codeq::core {

bool depth_book::count::is_recall_over(monotonic_time now) const {
  if (unanswered.empty() || recall_until <= now)
    return true;
  return silent_until <= now
         && std::includes(silent.begin(), silent.end(), unanswered.begin(), unanswered.end());
}

const depth_book::count* depth_book::find(const queue_address& queue) const {
  auto at = counts_.find(queue);
  return at == counts_.end() ? nullptr : &at->second;
}

depth_book::count* depth_book::find(const queue_address& queue) {
  auto at = counts_.find(queue);
  return at == counts_.end() ? nullptr : &at->second;
}

const depth_book::booking* depth_book::find(const queue_address& queue, shard_id asker) const {
  const auto* of = find(queue);
  auto at = of ? of->booked.find(asker) : std::map<shard_id, booking>::const_iterator{};
  return of && at != of->booked.end() ? &at->second : nullptr;
}

std::uint64_t depth_book::total(const queue_address& queue) const {
  const auto* of = find(queue);
  return of ? of->total : 0;
}

void depth_book::book(shard_id asker, const permit& what) {
  auto queue = queue_of_slot(what);
  auto& of = counts_[queue];
  auto& known = of.booked[asker];
  if (known.life != what.number)
    names_.erase({asker, known.life});
  of.total += what.booked - known.booked;
  known = {what.number, what.booked, what.granted};
  names_.emplace(std::pair{asker, what.number}, std::move(queue));
}

void depth_book::free(shard_id asker, permit_number life) {
  auto name = names_.extract({asker, life});
  if (name.empty())
    return;
  auto at = counts_.find(name.mapped());
  auto& of = at->second;
  auto booked = of.booked.find(asker);
  of.total -= booked->second.booked;
  of.booked.erase(booked);
  if (of.booked.empty() && of.line.empty() && !of.are_all_asked)
    counts_.erase(at);
}

void depth_book::drop(const queue_address& queue) {
  waiting_.erase(queue);
  auto at = counts_.find(queue);
  if (at == counts_.end())
    return;
  if (at->second.booked.empty()) {
    counts_.erase(at);
    return;
  }
  auto& of = at->second;
  of.line.clear();
  of.is_recalling = false;
  of.recalled_at = {};
  of.are_all_asked = false;
  of.is_doubtful = true;
}

void depth_book::abandon(const queue_address& queue) {
  if (counts_.contains(queue))
    abandoned_.insert(queue);
}

void depth_book::ask(const queue_address& queue, const asking& what) {
  auto& line = counts_[queue].line;
  auto at = std::find_if(
    line.begin(), line.end(), [&](const asking& one) { return one.asker == what.asker; });
  if (at == line.end())
    line.push_back(what);
  else
    *at = what;
  waiting_.insert(queue);
}

void depth_book::leave(const queue_address& queue, shard_id asker) {
  auto at = counts_.find(queue);
  if (at == counts_.end())
    return;
  auto& of = at->second;
  std::erase_if(of.line, [&](const asking& one) { return one.asker == asker; });
  if (!of.line.empty())
    return;
  waiting_.erase(queue);
  of.is_recalling = false;
}

void depth_book::note_answer(
  const queue_address& queue, shard_id asker, std::uint64_t recall) {
  auto* of = find(queue);
  if (!of)
    return;
  of->silent.erase(asker);
  if (of->recall == recall)
    of->unanswered.erase(asker);
}

std::uint64_t depth_book::next_recall(std::uint32_t epoch) {
  // Epochs have 24 bits.
  constexpr int counter_bits = 40;
  CODEQ_ASSERT(recalls_ < (std::uint64_t{1} << counter_bits) - 1);
  return std::uint64_t{epoch} << counter_bits | ++recalls_;
}

std::optional<monotonic_time> depth_book::next_look() const {
  std::optional<monotonic_time> next;
  if (!abandoned_.empty())
    next = monotonic_time{};
  for (const auto& queue : waiting_) {
    const auto& of = counts_.at(queue);
    // A queue that was added by this turn is looked at in the next one.
    auto look =
      of.is_recalling ? std::min(of.recall_until, of.recall_again) : monotonic_time{};
    next = next ? std::min(*next, look) : look;
  }
  return next;
}

} // namespace codeq::core
