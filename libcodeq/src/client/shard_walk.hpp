// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/queue.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "client/operator_replies.hpp"

#include <cstdint>
#include <vector>

/// Operators' requests that concern all shards: splitting, merging and pacing; pure.
namespace codeq::client {

/// The configuration of a queue for one shard, with its parts of maxima for older versions.
/// @pre shards > 0
[[nodiscard]] queue_config part_of(const queue_config& whole, std::uint32_t shards);

/// The whole queue, given the settings of its parts, in the order of their shards without those
/// that are `missing`, ascending. @pre there is the part of shard 0
[[nodiscard]] queue_info merge_parts(
  queue_address queue,
  const std::vector<queue_part>& parts,
  std::vector<shard_id> missing = {});

/// True when a shard has the queue.
[[nodiscard]] bool is_known(const std::vector<queue_part>& parts);

/// The explanation of the whole queue, given the answers of all shards. Those that did not answer
/// are in `missing_shards`. Error, when none answered: a shard's refusal, else that of the first.
[[nodiscard]] result<queue_explanation>
merge_explanations(const queue_address& queue, const std::vector<result<queue_part>>& parts);

/// Limits the number and rate of tasks in a bulk change.
class bulk_pace {
public:
  /// 0: unlimited.
  bulk_pace(std::uint64_t limit, std::uint64_t rate);

  /// Number of tasks that the next part may examine; 0: the change is complete.
  [[nodiscard]] std::uint32_t next_part() const;

  /// Records that a part changed that many tasks. Returns the pause before the next part.
  [[nodiscard]] duration take(std::uint64_t changed);

  [[nodiscard]] std::uint64_t changed() const noexcept { return changed_; }

private:
  std::uint64_t limit_;
  std::uint64_t rate_;
  std::uint64_t changed_ = 0;
};

} // namespace codeq::client
