// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "client/operator_questions.hpp"
#include "client/operator_replies.hpp"
#include "client/shard_walk.hpp"

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace codeq::client {

/// Selects the dead tasks of a list request.
[[nodiscard]] task_filter filter_of(const dead_filter& filter);

/// A redrive or purge of dead tasks that match a filter, shard by shard and part by part: each part
/// is listed, since errors and times are in the store, then its tasks are changed if they are still
/// dead by the same death. A dry run counts them instead. Pure: its driver sends the questions and
/// passes the answers on.
class dead_walk {
public:
  /// `whole` names the command in the audit log.
  dead_walk(
    const dead_filter& filter, dead_change what, std::uint16_t shards, operation whole = {});

  [[nodiscard]] bool is_over() const;

  /// True when the next question is a list; else it is a change. @pre !is_over()
  [[nodiscard]] bool wants_list() const noexcept { return tasks_.empty(); }

  /// The shard that the next question is for. @pre !is_over()
  [[nodiscard]] std::uint16_t shard() const noexcept { return at_.shard; }

  /// @pre !is_over()
  [[nodiscard]] question next() const;

  /// Takes the answer to a list. Errors: `unsupported` from an older coordinator; `too_large` for a
  /// dry run that has to remember too many keys.
  [[nodiscard]] result<void> take(const list_part& part);

  /// Takes the answer to a change. Returns the pause before the next question.
  [[nodiscard]] duration take(const bulk_part& part);

  /// The tasks that the change under way redrives, if it is one: none of a purge or a dry run.
  [[nodiscard]] std::vector<task_id> redriven() const;

  [[nodiscard]] bool is_dry_run() const noexcept { return filter_.is_dry_run; }

  /// Number of tasks that were changed, or would be.
  [[nodiscard]] std::uint64_t changed() const noexcept { return pace_.changed(); }

private:
  [[nodiscard]] core::bulk_kind kind() const;

  /// False when a dry run has counted another task of the key, which would take it.
  [[nodiscard]] bool takes_key(const task_summary& dead);
  void go_on();

  dead_filter filter_;
  dead_change what_;
  std::uint16_t shards_;
  operation whole_;
  bulk_pace pace_;
  walk_position at_;
  /// Listed and not changed yet.
  std::vector<core::dead_task> tasks_;
  sequence next_after_ = 0;
  bool is_more_ = false;
  /// Hashes of the keys on this shard.
  std::unordered_set<std::uint64_t> keys_;
};

} // namespace codeq::client
