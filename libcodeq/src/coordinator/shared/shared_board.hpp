// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/replica/head_news.hpp"
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
/// fairness keys; in a cluster also the first task of each queue at other coordinators. The shards
/// publish and read tasks from their own threads without a lock; only the first use of a queue
/// takes one, its first change since `take_changes`, and a queue with fairness keys one of its own.
class shared_board final : public core::ready_board {
public:
  /// `tells_changes`: `take_changes` is called from time to time.
  /// @pre every shard that joins has a number below `shards`
  explicit shared_board(std::size_t shards, bool tells_changes = false);

  [[nodiscard]] std::unique_ptr<core::queue_board>
  join(const queue_address& queue, shard_id shard) override;

  /// One of the shards whose tasks come before those of others, as far as these queues go; empty
  /// when no shard shows a task. Other values of `turn` choose others of them. One of another
  /// coordinator when its task comes before all of this one. It may be outdated when it is used.
  /// Takes the lock once.
  [[nodiscard]] std::optional<shard_id>
  first_shard(std::span<const queue_address> queues, std::uint64_t turn);

  /// The first task of the queue at the other coordinators; empty when they have none.
  void set_far(const queue_address& queue, const std::optional<core::rival_head>& head);

  /// The queues whose tasks on shards of this coordinator have changed since the last call, with
  /// the first one of each.
  [[nodiscard]] std::vector<queue_head> take_changes();

  /// Number of queues that shards have joined and not left.
  [[nodiscard]] std::size_t queues();

private:
  struct row;
  struct changed_queues;
  class place;

  /// @pre the lock is held
  [[nodiscard]] std::shared_ptr<row> row_of(const queue_address& queue);

  /// The first task of these queues on each shard, as a number; `far`: at other coordinators.
  [[nodiscard]] std::vector<std::uint64_t> best_of_each(
    std::span<const queue_address> queues, std::optional<core::rival_head>& far);

  /// Forgets the queues that all shards have left.
  void sweep();

  std::size_t shards_;
  /// Null when nobody takes the changes.
  std::shared_ptr<changed_queues> changed_;
  std::mutex mutex_;
  std::unordered_map<queue_address, std::weak_ptr<row>> rows_;
  /// The rows with a task at another coordinator.
  std::unordered_map<queue_address, std::shared_ptr<row>> far_rows_;
  /// Number of rows at which the next sweep is worth its time.
  std::size_t sweep_at_ = 64;
};

} // namespace codeq::coordinator
