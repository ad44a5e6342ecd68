// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/connection_news.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace codeq::node {

/// The latest connection state reported by a client's actor, for the threads that wait for it.
class connection_watch {
public:
  void tell(const client::connection_news& news) {
    {
      std::lock_guard lock(mutex_);
      news_ = news;
      if (news.up) {
        shard_count_ = news.shard_count;
        tenant_ = news.tenant;
        is_of_cluster_ = news.is_of_cluster;
      }
    }
    changed_.notify_all();
  }

  /// Waits until a connection is up, all coordinators refuse, or `until`; returns the latest state.
  /// While no coordinator accepts connections it waits until `soon` only.
  client::connection_news wait(
    std::chrono::steady_clock::time_point soon, std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    auto is_decided = [this] { return news_.up || news_.all_refuse; };
    changed_.wait_until(lock, std::min(soon, until), is_decided);
    changed_.wait_until(lock, until, [&] { return is_decided() || news_.unreachable; });
    return news_;
  }

  client::connection_news latest() {
    std::lock_guard lock(mutex_);
    return news_;
  }

  /// Number of shards of the store that was connected last; 0 when there was none.
  std::uint16_t shard_count() {
    std::lock_guard lock(mutex_);
    return shard_count_;
  }

  /// The same for the store of a cluster; 0 when the coordinator was alone.
  std::uint16_t cluster_shard_count() {
    std::lock_guard lock(mutex_);
    return is_of_cluster_ ? shard_count_ : std::uint16_t{0};
  }

  /// The tenant of the token, as the coordinator that was connected last told it.
  std::string tenant() {
    std::lock_guard lock(mutex_);
    return tenant_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  client::connection_news news_;
  std::uint16_t shard_count_ = 0;
  std::string tenant_;
  bool is_of_cluster_ = false;
};

} // namespace codeq::node
