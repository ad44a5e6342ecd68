// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/queue.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "client/operator_replies.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
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

/// The answers of the shards, in their order.
template <class T>
struct told_parts {
  std::vector<T> parts{};
  /// The shards that did not answer, ascending.
  std::vector<shard_id> missing{};
  /// Why the first of them did not.
  error silence{};
};

/// True when the error says that a shard is not reached, or did not answer in time.
[[nodiscard]] bool is_silence(const error& reason);

/// Whether shard 0, whose settings of queues and limits are the cluster's, has to answer a read.
enum class first_shard : std::uint8_t { optional, required };

/// The answers to a read, given what each shard answered, or why it did not. Errors: a refusal by a
/// shard, or the error of shard 0 when that one is required; when none answered, that of the first.
template <class T>
[[nodiscard]] result<told_parts<T>>
without_silent(std::vector<result<T>> all, first_shard first = first_shard::optional) {
  told_parts<T> told;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto is_needed = i == 0 && first == first_shard::required;
    if (all[i]) {
      told.parts.push_back(std::move(*all[i]));
    } else if (is_needed || !is_silence(all[i].error())) {
      return all[i].error();
    } else {
      if (told.missing.empty())
        told.silence = all[i].error();
      told.missing.push_back(shard_id{static_cast<std::uint16_t>(i)});
    }
  }
  if (told.parts.empty() && !told.missing.empty())
    return told.silence;
  return told;
}

/// In the error of a request that may have been executed.
inline constexpr std::string_view unknown_outcome = "took effect is unknown";

/// Begins the part of an error which says so of a request that was sent and not answered.
inline constexpr std::string_view sent_unanswered = "; the request had been sent, and whether it ";

/// True unless a request may have been executed although it failed.
[[nodiscard]] bool is_outcome_known(const error& reason);

/// The error of a request that precedes a change, and has no effect itself: when it is worth a
/// retry, it says that nothing was changed.
[[nodiscard]] error before_change(error reason);

/// Where a change of settings has been made.
struct change_places {
  std::vector<shard_id> done{};
  /// The shards that have not made it: they refused it, or were not asked.
  std::vector<shard_id> undone{};
  /// The shards that did not answer, and may have made it.
  std::vector<shard_id> silent{};
};

/// The error of a change that not all shards are known to have made: names them, or, as
/// `before_change`, says that nothing was changed.
[[nodiscard]] error after_change(error reason, const change_places& places);

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
