// SPDX-License-Identifier: Apache-2.0
#include "client/room.hpp"

namespace codeq::client {

bool room::has_room(std::size_t bytes) const {
  if (open_for_ever_ || requests_ == 0)
    return true;
  return requests_ < requests_max_ && bytes_ + bytes <= limits::producer_inflight_bytes_max;
}

bool room::take(std::size_t bytes, deadline until) {
  std::unique_lock lock(mutex_);
  auto free = [&] { return has_room(bytes); };
  if (!until)
    changed_.wait(lock, free);
  else if (!changed_.wait_until(lock, *until, free))
    return false;
  ++requests_;
  bytes_ += bytes;
  return true;
}

void room::take_over(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  ++requests_;
  bytes_ += bytes;
}

void room::give_back(std::size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    --requests_;
    bytes_ -= bytes;
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
