// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace codeq::test {

/// Passes values from actors to the test's thread, which waits for them instead of sleeping.
template <class T>
class channel {
public:
  void push(T value) {
    std::lock_guard guard(mutex_);
    values_.push_back(std::move(value));
    arrived_.notify_all();
  }

  /// The next value; empty when none arrived in time.
  [[nodiscard]] std::optional<T> pop(std::chrono::milliseconds wait = std::chrono::seconds(10)) {
    std::unique_lock guard(mutex_);
    if (!arrived_.wait_for(guard, wait, [this] { return !values_.empty(); }))
      return std::nullopt;
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<T> values_;
};

} // namespace codeq::test
