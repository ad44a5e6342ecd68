// SPDX-License-Identifier: Apache-2.0
#include "worker/node/claim_loop.hpp"

#include <algorithm>

namespace codeq::worker {

claim_loop::claim_loop(std::size_t capacity, std::size_t links)
  : capacity_(std::max<std::size_t>(capacity, 1)), links_(links) {
}

void claim_loop::resize(std::size_t capacity) {
  capacity_ = std::max<std::size_t>(capacity, 1);
}

void claim_loop::open(std::size_t link) {
  links_[link].open = true;
  links_[link].credits = 0;
}

void claim_loop::close(std::size_t link) {
  links_[link].open = false;
  links_[link].credits = 0;
}

void claim_loop::received(std::size_t link, std::size_t tasks, bool redelivered) {
  auto& at = links_[link];
  at.held += tasks;
  if (!redelivered)
    at.credits -= std::min(at.credits, tasks);
}

void claim_loop::released(std::size_t link) {
  auto& at = links_[link];
  at.held -= std::min<std::size_t>(at.held, 1);
}

std::size_t claim_loop::take(std::size_t link) {
  auto& at = links_[link];
  if (stopped_ || !at.open)
    return 0;
  auto share = share_of(link);
  auto room = room_at(link, share);
  auto worth_a_message = std::max<std::size_t>(share / 4, 1);
  if (room == 0 || (room < worth_a_message && at.credits >= worth_a_message))
    return 0;
  at.credits += room;
  return room;
}

std::size_t claim_loop::held() const noexcept {
  std::size_t sum = 0;
  for (const auto& at : links_)
    sum += at.held;
  return sum;
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
  std::size_t used = 0;
  for (const auto& at : links_)
    used += at.credits + at.held;
  auto room = std::min(share - used_here, capacity_ - std::min(capacity_, used));
  return used_here == 0 && share == 1 ? 1 : room;
}

} // namespace codeq::worker
