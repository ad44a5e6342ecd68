// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "base/coordinator_counts.hpp"
#include "core/commands/operator_effect.hpp"
#include "protocol/messages.hpp"

#include <cstdint>
#include <vector>

/// Converts a shard's answers to operators to messages.
namespace codeq::protocol {

/// Texts of a task that were read from the store.
struct task_texts {
  /// The result of a completed task, else its latest error text.
  bytes text;
  /// A `TaskBody`; empty when it was not requested or is no longer stored.
  bytes body{};
};

[[nodiscard]] status_reply make_status_reply(
  shard_id shard, std::uint64_t number, const core::task_view& view, const task_texts& texts);

[[nodiscard]] change_reply make_change_reply(shard_id shard, const core::change_answered& answer);

[[nodiscard]] queue_reply make_queue_reply(const core::queue_answered& answer);

[[nodiscard]] bulk_reply make_bulk_reply(const core::bulk_answered& answer);

[[nodiscard]] list_reply make_list_reply(const core::tasks_listed& answer);

[[nodiscard]] explain_reply make_explain_reply(shard_id shard, const core::task_explained& answer);

[[nodiscard]] events_reply make_events_reply(std::uint64_t number, const task_timeline& timeline);

/// `is_of_shard`: the page has the commands of the shard that was asked.
[[nodiscard]] audit_reply
make_audit_reply(std::uint64_t number, const audit_page& page, bool is_of_shard = false);

[[nodiscard]] stats_reply
make_stats_reply(std::uint64_t number, const base::coordinator_counts& stats);

[[nodiscard]] workers_reply
make_workers_reply(std::uint64_t number, const std::vector<base::worker_counts>& workers);

/// Answers a `BackupRequest`.
[[nodiscard]] backup_reply
make_backup_reply(std::uint64_t number, const result<backup_status>& status);

/// Answers a `LogLevelRequest`.
[[nodiscard]] log_level_reply
make_log_level_reply(std::uint64_t number, const result<std::string>& level);

/// Answers a `BackupRequest` with `list`.
[[nodiscard]] backup_reply
make_backups_reply(std::uint64_t number, const result<std::vector<backup_info>>& backups);

} // namespace codeq::protocol
