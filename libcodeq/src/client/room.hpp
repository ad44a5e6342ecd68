// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/limits.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>

namespace codeq::client {

/// Bounds the requests and bytes that a producer has in flight. Enqueueing threads wait here;
/// thread-safe. The shards of a cluster share them as `base::shared_places` says, so that one that
/// does not answer leaves as much free as it has.
class room {
public:
  using deadline = std::optional<std::chrono::steady_clock::time_point>;
  /// The shard of a cluster that a request belongs to. Empty: without a cluster, or when it belongs
  /// to several or to any.
  using owner = std::optional<shard_id>;

  /// One request of each owner is always admitted, however large.
  explicit room(std::size_t requests_max) : requests_max_(requests_max) {}

  /// Waits until there is room and takes it; false when `until` passed first. Without `until` it
  /// waits for ever.
  [[nodiscard]] bool take(std::size_t bytes, deadline until, owner of = {});

  /// Takes room without waiting, beyond the bounds if necessary: for callers that free room
  /// themselves and so must not wait for it.
  void take_over(std::size_t bytes, owner of = {});

  /// `bytes` and `of` are those of a request that took room.
  void give_back(std::size_t bytes, owner of = {});

  /// Admits everything from now on, so that no thread waits for a producer that ends.
  void open_for_ever();

private:
  struct part {
    std::size_t requests = 0;
    std::size_t bytes = 0;
  };

  [[nodiscard]] bool has_room(std::size_t bytes, owner of) const;
  void enter(std::size_t bytes, owner of);

  std::size_t requests_max_;
  part all_;
  /// The requests and bytes of each owner that has some in flight.
  std::map<owner, part> parts_;
  bool open_for_ever_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

} // namespace codeq::client
