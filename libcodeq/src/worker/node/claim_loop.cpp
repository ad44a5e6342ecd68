// SPDX-License-Identifier: Apache-2.0
#include "worker/node/claim_loop.hpp"

#include <algorithm>
#include <utility>

namespace codeq::worker {

claim_loop::claim_loop(std::size_t capacity, std::size_t links)
  : capacity_(std::max<std::size_t>(capacity, 1)), links_(links) {
}

void claim_loop::resize(std::size_t capacity) {
  capacity_ = std::max<std::size_t>(capacity, 1);
}

void claim_loop::open(std::size_t link, bool is_shared) {
  auto& at = links_[link];
  at.open = true;
  at.is_shared = is_shared;
  at.credits = 0;
}

void claim_loop::close(std::size_t link) {
  auto& at = links_[link];
  at = {.held = at.held};
}

void claim_loop::received(
  std::size_t link, std::size_t store, std::size_t tasks, bool redelivered) {
  auto& at = links_[link];
  links_[store].held += tasks;
  if (!redelivered)
    at.credits -= std::min(at.credits, tasks);
}

void claim_loop::released(std::size_t store) {
  auto& at = links_[store];
  at.held -= std::min<std::size_t>(at.held, 1);
}

std::size_t claim_loop::set_leading(std::size_t link, bool is_leading) {
  auto& at = links_[link];
  at.is_leading = is_leading;
  if (is_leading)
    return 0;
  const auto idle = std::exchange(at.credits, 0);
  // The answer to an earlier request counts these credits, too.
  if (at.is_asked)
    return 0;
  at.is_asked = idle > 0;
  return idle;
}

bool claim_loop::told(std::size_t link, std::size_t returned, bool wants) {
  auto& at = links_[link];
  at.credits -= std::min(at.credits, returned);
  at.wants = wants;
  at.keeps = std::exchange(at.is_asked, false) && returned == 0;
  return !at.keeps;
}

void claim_loop::ask_again() {
  for (auto& at : links_)
    at.keeps = false;
}

std::size_t claim_loop::take(std::size_t link) {
  auto& at = links_[link];
  if (stopped_ || !at.open)
    return 0;
  if (at.is_shared)
    return take_of_pool(link);
  auto share = share_of(link);
  auto room = room_at(link, share);
  auto worth_a_message = std::max<std::size_t>(share / 4, 1);
  if (room == 0 || (room < worth_a_message && at.credits >= worth_a_message))
    return 0;
  at.credits += room;
  return room;
}

std::size_t claim_loop::take_of_pool(std::size_t link) {
  auto& at = links_[link];
  const auto any_wants = std::any_of(
    links_.begin(), links_.end(), [](const per_link& l) { return l.may_use_more(); });
  if (at.is_asked || !at.is_leading || (any_wants && !at.wants))
    return 0;
  const auto target = pool_target(link, any_wants);
  const auto room = std::min(free(), target - std::min(target, at.credits));
  const auto worth_a_message = std::max<std::size_t>(target / 4, 1);
  if (room == 0 || (room < worth_a_message && at.credits >= worth_a_message))
    return 0;
  at.credits += room;
  turn_ = (link + 1) % links_.size();
  return room;
}

std::size_t claim_loop::pool_target(std::size_t link, bool only_wanting) const {
  std::size_t pool = free();
  std::size_t count = 0;
  std::size_t rank = 0;
  for (std::size_t k = 0; k < links_.size(); ++k) {
    const auto i = (turn_ + k) % links_.size();
    const auto& at = links_[i];
    if (!at.open || !at.is_shared || !at.is_leading || (only_wanting && !at.wants))
      continue;
    if (i == link)
      rank = count;
    pool += at.credits;
    ++count;
  }
  return pool / count + (rank < pool % count ? 1 : 0);
}

std::size_t claim_loop::take_back(std::size_t link) {
  auto& at = links_[link];
  const auto is_busy = at.wants || at.is_asked || at.keeps;
  const auto is_idle = at.open && at.is_shared && !is_busy && at.credits > 0;
  if (stopped_ || !is_idle || free() > 0)
    return 0;
  const auto is_wanted = std::any_of(links_.begin(), links_.end(), [](const per_link& l) {
    return l.may_use_more() && l.credits == 0;
  });
  if (!is_wanted)
    return 0;
  at.is_asked = true;
  return at.credits;
}

std::size_t claim_loop::held() const noexcept {
  std::size_t sum = 0;
  for (const auto& at : links_)
    sum += at.held;
  return sum;
}

std::size_t claim_loop::free() const {
  std::size_t used = 0;
  for (const auto& at : links_)
    used += at.credits + at.held;
  return capacity_ - std::min(capacity_, used);
}

std::size_t claim_loop::share_of(std::size_t link) const {
  std::size_t open = 0;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (i == link)
      rank = open;
    open += links_[i].open ? 1 : 0;
  }
  auto share = capacity_ / open + (rank < capacity_ % open ? 1 : 0);
  // With fewer slots than links, each coordinator still gets one credit.
  return std::max<std::size_t>(share, 1);
}

std::size_t claim_loop::room_at(std::size_t link, std::size_t share) const {
  auto used_here = links_[link].credits + links_[link].held;
  if (used_here >= share)
    return 0;
  auto room = std::min(share - used_here, free());
  return used_here == 0 && share == 1 ? 1 : room;
}

} // namespace codeq::worker
