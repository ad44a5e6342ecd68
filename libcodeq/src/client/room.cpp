// SPDX-License-Identifier: Apache-2.0
#include "client/room.hpp"

#include "base/fair_share.hpp"

namespace codeq::client {

bool room::has_room(std::size_t bytes, owner of) const {
  const auto own = parts_.find(of);
  if (open_for_ever_ || own == parts_.end())
    return true;
  // A request that belongs to no shard may take all.
  const auto [own_requests, own_bytes] = of ? own->second : part{};
  const base::shared_places requests{
    .total = requests_max_, .used = all_.requests, .own = own_requests};
  const base::shared_places in_flight{
    .total = limits::producer_inflight_bytes_max, .used = all_.bytes, .own = own_bytes};
  return requests.has_room() && in_flight.has_room(bytes);
}

void room::enter(std::size_t bytes, owner of) {
  for (auto* to : {&all_, &parts_[of]}) {
    ++to->requests;
    to->bytes += bytes;
  }
}

bool room::take(std::size_t bytes, deadline until, owner of) {
  std::unique_lock lock(mutex_);
  auto free = [&] { return has_room(bytes, of); };
  if (!until)
    changed_.wait(lock, free);
  else if (!changed_.wait_until(lock, *until, free))
    return false;
  enter(bytes, of);
  return true;
}

void room::take_over(std::size_t bytes, owner of) {
  std::lock_guard lock(mutex_);
  enter(bytes, of);
}

void room::give_back(std::size_t bytes, owner of) {
  {
    std::lock_guard lock(mutex_);
    for (auto* from : {&all_, &parts_[of]}) {
      --from->requests;
      from->bytes -= bytes;
    }
    if (parts_[of].requests == 0)
      parts_.erase(of);
  }
  // Waiting threads need different numbers of bytes, so any of them may be the one that fits now.
  changed_.notify_all();
}

void room::open_for_ever() {
  {
    std::lock_guard lock(mutex_);
    open_for_ever_ = true;
  }
  changed_.notify_all();
}

} // namespace codeq::client
