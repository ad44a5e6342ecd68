// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace codeq::client {

/// Passes one answer from one thread to another that waits for it. Shared by both, because the
/// waiting thread may give up before the answer comes.
template <class T>
class answer_slot {
public:
  /// Ignored when there is an answer already.
  void put(result<T> answer) {
    {
      std::lock_guard lock(mutex_);
      if (answer_)
        return;
      answer_ = std::move(answer);
    }
    filled_.notify_one();
  }

  /// Takes the answer; empty when `until` passed first.
  [[nodiscard]] std::optional<result<T>> wait(std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    if (!filled_.wait_until(lock, until, [this] { return answer_.has_value(); }))
      return std::nullopt;
    return std::exchange(answer_, std::nullopt);
  }

private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::optional<result<T>> answer_;
};

/// The end of a wait that begins now; limits very long waits, which would overflow.
[[nodiscard]] inline std::chrono::steady_clock::time_point deadline_after(duration wait) {
  constexpr auto wait_max = std::chrono::hours(24 * 365);
  return std::chrono::steady_clock::now() + (wait < wait_max ? wait : duration{wait_max});
}

} // namespace codeq::client
