// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace codeq::bench {

using steady = std::chrono::steady_clock;

/// Notes when shards acknowledge a task and hand one out for the first time after a fault.
/// Thread-safe.
class shard_watch {
public:
  struct times {
    std::chrono::nanoseconds to_acknowledgement;
    std::chrono::nanoseconds to_claim;
  };

  /// A fault of these shards begins now.
  void begin(const std::set<shard_id>& shards);

  /// The process that served the shards has ended: what is sent from now on, only another one can
  /// acknowledge.
  void note_end();

  /// A task that was sent at `sent` is acknowledged.
  void acknowledged(shard_id shard, steady::time_point sent);

  /// A handler begins. Only a later epoch than that of all tokens before the fault says that
  /// another process hands tasks out.
  void claimed(shard_id shard, fencing_token token);

  /// The times of all shards; empty when one had neither within this time.
  [[nodiscard]] std::optional<std::vector<times>> wait(std::chrono::seconds longest);

private:
  struct watched {
    std::optional<steady::time_point> acknowledged;
    std::optional<steady::time_point> claimed;
  };

  [[nodiscard]] bool is_over() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<shard_id, std::uint64_t> epochs_;
  std::map<shard_id, watched> shards_;
  steady::time_point began_;
  std::optional<steady::time_point> ended_;
};

} // namespace codeq::bench
