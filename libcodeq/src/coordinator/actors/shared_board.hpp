// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/flow/ready_board.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace codeq::coordinator {

/// The first ready tasks of all queues on all shards of a coordinator, and the turns of their
/// fairness keys. The shards publish and read tasks from their own threads without a lock; only the
/// first use of a queue takes one, and a queue with fairness keys one of its own.
class shared_board final : public core::ready_board {
public:
  /// @pre every shard that joins has a number below `shards`
  explicit shared_board(std::size_t shards) : shards_(shards) {}

  [[nodiscard]] std::unique_ptr<core::queue_board>
  join(const queue_address& queue, shard_id shard) override;

  /// One of the shards whose tasks come before those of others, as far as these queues go; empty
  /// when no shard shows a task. Other values of `turn` choose others of them. It may be outdated
  /// when it is used. Takes the lock once.
  [[nodiscard]] std::optional<shard_id>
  first_shard(std::span<const queue_address> queues, std::uint64_t turn);

  /// Number of queues that shards have joined and not left.
  [[nodiscard]] std::size_t queues();

private:
  struct row;
  class place;

  /// The first task of these queues on each shard, as a number.
  [[nodiscard]] std::vector<std::uint64_t> best_of_each(std::span<const queue_address> queues);

  /// Forgets the queues that all shards have left.
  void sweep();

  std::size_t shards_;
  std::mutex mutex_;
  std::unordered_map<queue_address, std::weak_ptr<row>> rows_;
  /// Number of rows at which the next sweep is worth its time.
  std::size_t sweep_at_ = 64;
};

} // namespace codeq::coordinator
