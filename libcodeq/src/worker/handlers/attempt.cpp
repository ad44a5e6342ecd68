// SPDX-License-Identifier: Apache-2.0
#include "codeq/attempt.hpp"

#include "codeq/limits.hpp"

#include <stdexcept>
#include <utility>

namespace codeq {

bool cancellation::requested() const noexcept {
  return requested_.load(std::memory_order_acquire);
}

void cancellation::on_request(std::function<void()> action) {
  {
    std::lock_guard lock(mutex_);
    if (!requested_.load(std::memory_order_relaxed)) {
      action_ = std::move(action);
      return;
    }
  }
  action();
}

void cancellation::request() {
  std::function<void()> action;
  {
    std::lock_guard lock(mutex_);
    if (requested_.exchange(true, std::memory_order_acq_rel))
      return;
    action = std::move(action_);
  }
  // Called without the lock, because the action may use this object.
  if (action)
    action();
}

attempt_runtime::attempt_runtime() = default;

attempt_runtime::~attempt_runtime() = default;

duration task::lease_remaining() const {
  return runtime ? runtime->lease_remaining() : lease;
}

void task::progress(int percent, std::string note) const {
  if (percent < 0 || percent > 100)
    throw std::invalid_argument(
      "progress: percent is " + std::to_string(percent) + "; it must be 0..100");
  if (runtime)
    runtime->progress(percent, std::move(note));
}

void task::extend(duration by) const {
  if (by < limits::lease_min || by > limits::lease_max)
    throw std::invalid_argument(
      "extend: the time is " + std::to_string(by.count()) + " ms; it must be 1 s..12 h");
  if (runtime)
    runtime->extend(by);
}

void task::save_checkpoint(std::string state, checkpoint_saved then) const {
  if (state.size() > limits::checkpoint_bytes_max)
    throw std::invalid_argument(
      "save_checkpoint: state has " + std::to_string(state.size()) + " bytes; the limit is "
      + std::to_string(limits::checkpoint_bytes_max));
  if (runtime)
    runtime->save_checkpoint(std::move(state), std::move(then));
  else if (then)
    then(false);
}

void task::log(std::string_view line) const {
  if (runtime)
    runtime->log(line);
}

} // namespace codeq
