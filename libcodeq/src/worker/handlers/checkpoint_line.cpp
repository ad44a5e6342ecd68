// SPDX-License-Identifier: Apache-2.0
#include "worker/handlers/checkpoint_line.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace codeq::worker {

unsaved_checkpoint::~unsaved_checkpoint() {
  for (auto& [of, then] : std::exchange(waiters_, {}))
    then(false);
}

void unsaved_checkpoint::save(std::string state, checkpoint_saved then) {
  std::lock_guard lock(mutex_);
  latest_ = {++count_, bytes(std::move(state))};
  is_unsent_ = true;
  if (then)
    waiters_.emplace_back(count_, std::move(then));
}

std::optional<checkpoint_line> unsaved_checkpoint::take() {
  std::lock_guard lock(mutex_);
  if (is_postponed_ || !std::exchange(is_unsent_, false))
    return std::nullopt;
  latest_.is_repeated = std::exchange(sent_, latest_.number) == latest_.number;
  return latest_;
}

void unsaved_checkpoint::resend() {
  std::lock_guard lock(mutex_);
  is_unsent_ = latest_.number != 0;
  is_postponed_ = false;
  sent_ = 0;
}

void unsaved_checkpoint::postpone(std::uint32_t number) {
  std::lock_guard lock(mutex_);
  is_postponed_ = is_postponed_ || number == sent_;
}

bool unsaved_checkpoint::resend_postponed() {
  std::lock_guard lock(mutex_);
  if (std::exchange(is_postponed_, false))
    is_unsent_ = latest_.number != 0;
  return is_unsent_;
}

checkpoint_line unsaved_checkpoint::latest() const {
  std::lock_guard lock(mutex_);
  return latest_;
}

void unsaved_checkpoint::saved(std::uint32_t number) {
  // Called without the lock, because the callbacks may save further checkpoints.
  for (auto& [of, then] : take_waiters(number))
    then(true);
}

void unsaved_checkpoint::give_up() {
  for (auto& [of, then] : take_waiters(std::numeric_limits<std::uint32_t>::max()))
    then(false);
}

std::vector<unsaved_checkpoint::waiter> unsaved_checkpoint::take_waiters(std::uint32_t up_to) {
  std::lock_guard lock(mutex_);
  if (latest_.number <= up_to) {
    latest_ = {};
    is_unsent_ = false;
    is_postponed_ = false;
  }
  auto end = std::find_if(
    waiters_.begin(), waiters_.end(), [&](const waiter& each) { return each.first > up_to; });
  std::vector<waiter> found(
    std::make_move_iterator(waiters_.begin()), std::make_move_iterator(end));
  waiters_.erase(waiters_.begin(), end);
  return found;
}

} // namespace codeq::worker
