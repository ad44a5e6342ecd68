// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/task.hpp"

#include "client/operator_replies.hpp"

#include <cstdint>
#include <vector>

/// What an operator's client does with all shards together; pure.
namespace codeq::client {

/// One shard's part of what a queue is to have: limits are divided, rounded up. @pre shards > 0
[[nodiscard]] queue_config part_of(const queue_config& whole, std::uint32_t shards);

/// How a queue stands when its shards have these parts. @pre !parts.empty()
[[nodiscard]] queue_info
merge_parts(queue_address queue, const std::vector<core::queue_settings>& parts);

/// The oldest `limit` of all shards' tasks, by the time of their enqueue; each list is in order.
[[nodiscard]] std::vector<task_status>
merge_oldest(std::vector<std::vector<task_status>> lists, std::size_t limit);

/// Bounds a change of many tasks in number and speed.
class bulk_pace {
public:
  /// Zeros are no bound.
  bulk_pace(std::uint64_t limit, std::uint64_t rate);

  /// How many tasks the next part may look at; 0 ends the work.
  [[nodiscard]] std::uint32_t next_part() const;

  /// A part changed that many. Returns how long to wait before the next one.
  [[nodiscard]] duration take(std::uint64_t changed);

  [[nodiscard]] std::uint64_t changed() const noexcept { return changed_; }

private:
  std::uint64_t limit_;
  std::uint64_t rate_;
  std::uint64_t changed_ = 0;
};

} // namespace codeq::client
