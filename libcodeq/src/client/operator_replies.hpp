// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/queue.hpp"
#include "codeq/result.hpp"
#include "codeq/schedule.hpp"
#include "codeq/task.hpp"
#include "codeq/task_limits.hpp"

#include "core/commands/limit_command.hpp"
#include "core/commands/queue_settings.hpp"
#include "protocol/messages.hpp"

#include <cstdint>
#include <vector>

/// Parses the coordinator's replies to operators. Errors of the outer results: `protocol_error`,
/// the reply cannot be used. Errors of the inner results: those that the coordinator sent.
namespace codeq::client {

template <class T>
struct answered {
  result<T> answer;
};

/// One shard's part of a queue.
struct queue_part {
  core::queue_settings settings;
  /// False when the shard has no such queue.
  bool is_known = true;
  /// The shard's fairness keys, if they were asked for.
  fairness_page fairness{};
  /// Why its tasks wait, if that was asked for.
  queue_explanation explanation{};
};

/// Outcome of one part of a bulk change.
struct bulk_part {
  std::uint64_t changed = 0;
  sequence after = 0;
  bool more = false;
};

/// One part of one shard's list.
struct list_part {
  /// The shards of their ids are not filled in yet.
  std::vector<task_summary> tasks;
  sequence after = 0;
  bool more = false;
  /// False for an older coordinator, which ignored the fields of the filter that it did not know.
  bool knows_all_filters = false;
};

/// A page of the audit log, as one coordinator tells it.
struct audit_part : audit_page {
  /// It has the commands of the shard that was asked. False for those of all shards of a store.
  bool is_of_shard = false;
};

[[nodiscard]] result<answered<task_status>> read_status(const protocol::status_reply& reply);
[[nodiscard]] result<answered<change_outcome>> read_change(const protocol::change_reply& reply);
[[nodiscard]] result<answered<queue_part>> read_queue(const protocol::queue_reply& reply);
[[nodiscard]] result<answered<bulk_part>> read_bulk(const protocol::bulk_reply& reply);
[[nodiscard]] result<answered<list_part>> read_list(const protocol::list_reply& reply);
[[nodiscard]] result<answered<task_explanation>> read_explain(const protocol::explain_reply& reply);
[[nodiscard]] result<answered<task_timeline>> read_events(const protocol::events_reply& reply);
[[nodiscard]] result<answered<coordinator_stats>> read_stats(const protocol::stats_reply& reply);
[[nodiscard]] result<answered<std::vector<worker_info>>>
read_workers(const protocol::workers_reply& reply);
[[nodiscard]] result<answered<audit_part>> read_audit(const protocol::audit_reply& reply);

/// An answer to a request for schedules.
struct schedules_part {
  schedule_result what = schedule_result::unchanged;
  /// One, or those of a list.
  std::vector<schedule_info> schedules;
  bool more = false;
  std::vector<schedule_occurrence> history;
};

[[nodiscard]] result<answered<schedules_part>>
read_schedules(const protocol::schedule_reply& reply);

/// One shard's answer to a request about limits.
struct limits_part {
  /// One, or those of a list; without their tenant.
  std::vector<limit_info> limits;
  std::vector<limit_key_info> keys;
  /// Further ones follow the last one.
  bool more = false;
  /// A dry run lists all keys with waiting tasks, and keys in use without any.
  std::vector<core::limit_key_forecast> waiting{};
  /// `waiting` has all keys.
  bool has_all_waiting = false;
  /// With keys: see `task_explanation::is_out_of_limit_keys`.
  bool is_out_of_keys = false;
};

[[nodiscard]] result<answered<limits_part>> read_limits(const protocol::limit_reply& reply);
[[nodiscard]] result<answered<backup_status>> read_backup(const protocol::backup_reply& reply);

/// The same as a list of one coordinator's, and what others have answered added to it, by node.
[[nodiscard]] result<answered<std::vector<backup_status>>>
read_backup_of_one(const protocol::backup_reply& reply);
void add(std::vector<backup_status>& to, std::vector<backup_status> part);

[[nodiscard]] result<answered<std::string>> read_log_level(const protocol::log_level_reply& reply);
[[nodiscard]] result<answered<std::vector<backup_info>>>
read_backups(const protocol::backup_reply& reply);

} // namespace codeq::client
