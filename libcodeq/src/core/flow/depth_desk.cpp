// SPDX-License-Identifier: Apache-2.0
#include "core/flow/depth_desk.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

void depth_desk::open(std::uint32_t queue, const start& with) {
  auto [at, is_new] = quotas_.try_emplace(queue);
  CODEQ_ASSERT(is_new);
  at->second.with = with;
  at->second.level = with.depth;
  auto& owner = owners_[with.owner];
  owner.queues.insert(queue);
  // The owner may have booked fewer tasks. Without any, it hears of the queue when it recalls room,
  // or is asked for more.
  if (with.depth > 0)
    owner.unsaid.insert(queue);
}

void depth_desk::close(std::uint32_t queue) {
  auto at = quotas_.find(queue);
  if (at == quotas_.end())
    return;
  auto owner = owners_.find(at->second.with.owner);
  for (auto* among :
       {&owner->second.queues, &owner->second.unsaid, &owner->second.said, &owner->second.wanting})
    among->erase(queue);
  if (owner->second.queues.empty())
    owners_.erase(owner);
  quotas_.erase(at);
}

std::uint64_t depth_desk::quota(std::uint32_t queue, monotonic_time now) const {
  const auto& of = quotas_.at(queue);
  return now < of.part_until ? std::max(of.quota, of.with.part) : of.quota;
}

std::uint64_t depth_desk::lacking(const need& what, monotonic_time now) const {
  const auto needed = what.depth + what.tasks;
  if (what.tasks == 0 || needed <= quota(what.queue, now))
    return 0;
  // Where the level is above the quota the owner has to say whether there is room for it.
  return std::max<std::uint64_t>(needed - std::min(needed, level(what.queue)), 1);
}

void depth_desk::raise(std::uint32_t queue, std::uint64_t depth) {
  auto& of = quotas_.at(queue);
  if (depth <= of.level)
    return;
  of.level = depth;
  // An answer to what was asked before does not count with this.
  ++of.ask;
  owners_.at(of.with.owner).unsaid.insert(queue);
}

bool depth_desk::lower(std::uint32_t queue, std::uint64_t depth) {
  auto& of = quotas_.at(queue);
  owners_.at(of.with.owner).unsaid.insert(queue);
  of.quota = std::min(of.quota, depth);
  return std::exchange(of.level, std::min(of.level, depth)) > depth;
}

void depth_desk::set_wants(std::uint32_t queue, entry& of, std::uint64_t tasks) {
  of.wants = tasks;
  auto& owner = owners_.at(of.with.owner);
  if (tasks == 0)
    owner.wanting.erase(queue);
  else
    owner.wanting.insert(queue);
}

void depth_desk::want(std::uint32_t queue, std::uint64_t tasks) {
  auto& of = quotas_.at(queue);
  if (of.wants == tasks)
    return;
  // An answer to a question for less is none to this one. That to one for more is, as it says how
  // much room is left.
  if (tasks > of.wants)
    ++of.ask;
  set_wants(queue, of, tasks);
  owners_.at(of.with.owner).unsaid.insert(queue);
}

void depth_desk::note_full(
  std::uint32_t queue, entry& of, std::uint64_t left, monotonic_time now) {
  set_wants(queue, of, 0);
  of.full_until = now + full_for;
  of.left = left;
}

bool depth_desk::hear(std::uint32_t queue, const depth_grant& said, monotonic_time now) {
  auto& of = quotas_.at(queue);
  const auto is_recalled = said.recall > std::exchange(of.recall, std::max(of.recall, said.recall));
  if (said.life != of.with.life)
    return is_recalled;
  if (said.granted > of.granted) {
    const auto given = said.granted - std::exchange(of.granted, said.granted);
    of.level += given;
    // The owner has counted with the level that this question came with, and still had room. When
    // it refuses the question, it gave the room for an earlier one.
    const auto has_room = said.ask == of.ask && said.answer == depth_answer::none;
    of.quota = has_room ? of.level : of.quota + given;
    set_wants(queue, of, 0);
  }
  if (said.answer != depth_answer::none && said.ask == of.ask && of.wants > 0) {
    of.is_any_silent = said.is_any_silent;
    if (said.answer == depth_answer::uncounted)
      of.part_until = now + full_for;
    note_full(queue, of, said.left, now);
  }
  return is_recalled;
}

void depth_desk::note_uncounted(shard_id owner, monotonic_time now) {
  auto at = owners_.find(owner);
  if (at == owners_.end())
    return;
  for (auto queue : std::set<std::uint32_t>(at->second.wanting)) {
    auto& of = quotas_.at(queue);
    of.is_any_silent = false;
    of.part_until = now + full_for;
    note_full(queue, of, 0, now);
  }
}

bool depth_desk::is_full(std::uint32_t queue, std::uint64_t tasks, monotonic_time now) const {
  const auto& of = quotas_.at(queue);
  return now < of.full_until && tasks > of.left;
}

std::set<shard_id> depth_desk::owners_to_tell(monotonic_time now) {
  std::set<shard_id> found;
  for (auto& [to, owner] : owners_) {
    if (!owner.wanting.empty() && owner.ask_at <= now)
      owner.unsaid.insert(owner.wanting.begin(), owner.wanting.end());
    if (!owner.unsaid.empty())
      found.insert(to);
  }
  return found;
}

bool depth_desk::has_news(shard_id owner) const {
  auto at = owners_.find(owner);
  return at != owners_.end() && !at->second.unsaid.empty();
}

std::vector<depth_level> depth_desk::say(shard_id owner, monotonic_time now) {
  std::vector<depth_level> levels;
  auto at = owners_.find(owner);
  if (at == owners_.end())
    return levels;
  auto& words = at->second;
  words.unsaid.merge(std::exchange(words.said, {}));
  while (!words.unsaid.empty() && levels.size() < message_levels_max) {
    auto queue = words.unsaid.extract(words.unsaid.begin()).value();
    const auto& of = quotas_.at(queue);
    levels.push_back(
      {of.with.name, of.with.life, of.with.maximum, of.level, of.granted, of.wants, of.ask,
       of.recall});
    words.said.insert(queue);
  }
  words.ask_at = now + ask_again;
  return levels;
}

void depth_desk::heard(shard_id owner) {
  if (auto at = owners_.find(owner); at != owners_.end())
    at->second.said.clear();
}

void depth_desk::moved(shard_id owner) {
  if (auto at = owners_.find(owner); at != owners_.end())
    at->second.unsaid = at->second.queues;
}

std::optional<monotonic_time> depth_desk::next_look() const {
  std::optional<monotonic_time> next;
  for (const auto& [to, owner] : owners_)
    if (!owner.wanting.empty())
      next = next ? std::min(*next, owner.ask_at) : owner.ask_at;
  return next;
}

} // namespace codeq::core
