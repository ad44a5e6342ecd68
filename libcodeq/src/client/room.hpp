// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>

namespace codeq::client {

/// Bounds the requests and bytes that a producer has in flight. Enqueueing threads wait here;
/// thread-safe.
class room {
public:
  using deadline = std::optional<std::chrono::steady_clock::time_point>;

  /// One request is always admitted, however large.
  explicit room(std::size_t requests_max) : requests_max_(requests_max) {}

  /// Waits until there is room and takes it; false when `until` passed first. Without `until` it
  /// waits for ever.
  [[nodiscard]] bool take(std::size_t bytes, deadline until);

  /// Takes room without waiting, beyond the bounds if necessary: for callers that free room
  /// themselves and so must not wait for it.
  void take_over(std::size_t bytes);

  void give_back(std::size_t bytes);

  /// Admits everything from now on, so that no thread waits for a producer that ends.
  void open_for_ever();

private:
  [[nodiscard]] bool has_room(std::size_t bytes) const;

  std::size_t requests_max_;
  std::size_t requests_ = 0;
  std::size_t bytes_ = 0;
  bool open_for_ever_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

} // namespace codeq::client
