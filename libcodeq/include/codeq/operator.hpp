// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/credentials.hpp"
#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/queue.hpp"
#include "codeq/result.hpp"
#include "codeq/schedule.hpp"
#include "codeq/task.hpp"
#include "codeq/task_limits.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The functions of `codeqctl`: requests to a coordinator, and tools for stores that none has open.
namespace codeq {

struct operator_options {
  /// Addresses of coordinators, `host:port`.
  std::vector<std::string> coordinators{};
  /// Maximum wait for a connection, and for each answer.
  duration timeout = std::chrono::seconds(10);
  /// How to authenticate to coordinators.
  credentials access{};
  /// Called at most once, on the thread that waits, when a request has waited for two seconds since
  /// its shard of a cluster is not reached; the error names the shard. Null: not called.
  std::function<void(const error& why)> waits{};
};

/// The requests that an operator's tool can send to a coordinator. Calls block; use from one thread
/// at a time. A request for a queue or a tenant is sent to one shard after the other. When it fails
/// half way, the error says what has been done, and repeating the request does the rest. A request
/// for a shard of a cluster that cannot be reached fails with `disconnected`, which names the shard
/// and its coordinator: after the time for answers, or at once while a shard is away for which an
/// earlier request has waited, for a second or more.
/// Addresses and filters that name no tenant mean `default`, also with a token of another one.
class operator_client {
public:
  /// Connects. Errors: `disconnected`, within a second when no coordinator accepts connections;
  /// `timeout`, `unauthorized`; `invalid_argument` and `unavailable` for credentials that cannot be
  /// used.
  [[nodiscard]] static result<std::unique_ptr<operator_client>> connect(operator_options options);

  ~operator_client();
  operator_client(const operator_client&) = delete;
  operator_client& operator=(const operator_client&) = delete;

  /// The tenant of the token; `default` without a token, and for a token of all tenants.
  [[nodiscard]] std::string tenant();

  // One task.

  /// Returns the whole record of one task. Errors: `unknown_task`.
  [[nodiscard]] result<task_status> status(task_id task);
  [[nodiscard]] result<task_status> status(const task_key& task);

  /// Changes one task and returns when that is durable. Errors: `unknown_task`, `unsupported`.
  [[nodiscard]] result<change_outcome> change(task_id task, task_change what);

  /// The same by key; only cancel and promote. Returns `not_found` when no record has the key.
  [[nodiscard]] result<change_outcome> change(const task_key& task, task_change what);

  /// Ends a lease or a task without its token. `text` is the result of a completed task or the
  /// reason of a failed one. Errors: `unknown_task`; after `disconnected` the change may or may not
  /// have been made.
  [[nodiscard]] result<change_outcome>
  force(task_id task, force_kind how, const std::string& text = {});

  /// Returns why the task does not run at this moment. Errors: `unknown_task`.
  [[nodiscard]] result<task_explanation> explain(task_id task);

  /// Returns the task's history. Errors: `unknown_task`.
  [[nodiscard]] result<task_timeline> events(task_id task);

  // Queues.

  /// Errors: `invalid_argument` and `too_large` name the field, its value and the limit.
  [[nodiscard]] result<queue_info> show_queue(const queue_address& queue);

  /// Sets the whole configuration of a queue; creates the queue when it does not exist. Errors:
  /// `invalid_argument` and `too_large` name the field, its value and the limit; `unknown_limit`
  /// for a limit that is not defined; `unsupported` for `queue_config::keep_payload`, and for
  /// limits that no task of the queue could have together.
  ///
  /// `weights`: when set, the queue keeps its weights of fairness keys but for these changes, which
  /// loses no change of another operator; those of `config` count for coordinators of earlier
  /// versions only.
  [[nodiscard]] result<queue_info> configure_queue(
    const queue_address& queue,
    const queue_config& config,
    const std::optional<weight_changes>& weights = {});

  /// Changes the weights of some fairness keys, and no other setting; creates the queue when it
  /// does not exist. Errors: `invalid_argument` and `too_large` name the field, its value and the
  /// limit; `unsupported` when a coordinator is of an earlier version.
  [[nodiscard]] result<queue_info>
  change_weights(const queue_address& queue, const weight_changes& weights);

  /// Pauses or resumes a queue. A paused queue grants no leases; existing leases go on. Errors:
  /// `unknown_queue`.
  [[nodiscard]] result<queue_info> pause_queue(const queue_address& queue, bool paused);

  /// The fairness keys of a queue that have live tasks, from the first one or after `after` on, at
  /// most `limit` (1..`limits::fairness_page_max`). Empty for a queue whose tasks have none.
  /// Errors: `invalid_argument`.
  [[nodiscard]] result<fairness_page> fairness(
    const queue_address& queue,
    const std::optional<std::string>& after = {},
    std::size_t limit = limits::fairness_page_default);

  /// Accounts for every waiting task of a queue, from counters. Shards that did not answer are
  /// named in it, and their tasks are not counted. Errors: a shard's, when none answered.
  [[nodiscard]] result<queue_explanation> explain_queue(const queue_address& queue);

  // Schedules.

  /// Sets a schedule; creates it when it does not exist, and changes nothing when it is equal.
  /// Errors: `invalid_argument` and `too_large` name the field, its value and the limit.
  [[nodiscard]] result<schedule_answer>
  set_schedule(const schedule_address& name, const schedule_spec& spec);

  /// Errors: `unknown_schedule`. After a `disconnected` a `run` may or may not have fired.
  [[nodiscard]] result<schedule_answer>
  change_schedule(const schedule_address& name, schedule_action what);

  /// Fires the occurrences that were due in [from, until), at most
  /// `limits::schedule_backfill_max`. Errors: `unknown_schedule`, `invalid_argument`; after a
  /// `disconnected` they may or may not have fired.
  [[nodiscard]] result<schedule_answer>
  backfill_schedule(const schedule_address& name, timestamp from, timestamp until);

  /// A schedule with its next `next` times, 1..`limits::schedule_next_max`. Errors:
  /// `unknown_schedule`.
  [[nodiscard]] result<schedule_info>
  show_schedule(const schedule_address& name, std::uint32_t next = 1);

  /// The times at which a schedule would fire next; changes nothing. Errors: as `set_schedule`.
  [[nodiscard]] result<std::vector<schedule_time>>
  preview_schedule(const schedule_address& name, const schedule_spec& spec, std::uint32_t count);

  /// The latest entries of a schedule's history, at most `limits::schedule_history_max`, in order.
  /// Errors: `unknown_schedule`.
  [[nodiscard]] result<std::vector<schedule_occurrence>>
  schedule_history(const schedule_address& name);

  /// All schedules of a tenant, by name, each with its next time.
  [[nodiscard]] result<std::vector<schedule_info>> list_schedules(const std::string& tenant);

  // Limits.

  /// Defines a limit, or changes it as a whole; leases are not revoked. Errors: `invalid_argument`
  /// names the field, its value and the limit; `too_large` when the tenant has too many limits.
  [[nodiscard]] result<limit_info>
  set_limit(const limit_address& limit, const limit_definition& definition);

  /// Returns what `set_limit` would return, with a forecast of what the limit would hold back;
  /// changes nothing. Errors: as `set_limit`.
  [[nodiscard]] result<limit_info>
  preview_limit(const limit_address& limit, const limit_definition& definition);

  /// Errors: `unknown_limit`.
  [[nodiscard]] result<limit_info> show_limit(const limit_address& limit);

  /// Deletes a limit; the tasks that it holds back go on without it. Returns what it was. Errors:
  /// `unknown_limit`; `invalid_argument` names the queues that give the limit to their tasks.
  [[nodiscard]] result<limit_info> delete_limit(const limit_address& limit);

  /// The limits of a tenant.
  [[nodiscard]] result<limit_list> list_limits(const std::string& tenant);

  /// A page of the keys of a limit that are in use. Errors: `unknown_limit`, `invalid_argument`.
  [[nodiscard]] result<limit_keys_page>
  limit_keys(const limit_address& limit, const limit_keys_request& page = {});

  /// Starts nothing of a key for that long (up to `limits::limit_closed_max`); leases go on. When
  /// it returns, no shard starts any more. Errors: `timeout` after 1.5 s when shards have not
  /// confirmed it: the key is closed, and what they had admitted may still start; `unknown_limit`,
  /// `invalid_argument`, `overloaded`. The answer counts the key's tasks on all shards.
  [[nodiscard]] result<limit_key_info>
  close_limit_key(const limit_address& limit, const std::string& key, duration how_long);

  /// Opens a closed key. Errors: `unknown_limit`.
  [[nodiscard]] result<limit_key_info>
  open_limit_key(const limit_address& limit, const std::string& key);

  // Many tasks.

  /// Returns the oldest tasks that match the filter; at most `limit`
  /// (1..`limits::listed_tasks_max`) of them. Fails when a shard does not answer.
  [[nodiscard]] result<std::vector<task_summary>>
  list(const task_filter& filter, std::size_t limit = limits::listed_tasks_default);

  /// Returns a page of the tasks that match the filter, also of ended ones as long as they are
  /// retained. A task that ends or moves between two pages is on one of them. Errors:
  /// `invalid_argument` for an `after` of another list; `unsupported` for a filter that the
  /// coordinator, which is of an older version, does not know.
  [[nodiscard]] result<task_page> list(const task_filter& filter, const page_request& page);

  /// Redrives or purges the dead tasks that match the filter, or counts them in a dry run; returns
  /// how many.
  [[nodiscard]] result<std::uint64_t> change_dead(const dead_filter& filter, dead_change what);

  /// Counts the dead tasks that match the filter, at most `filter.limit` of each shard, by kinds of
  /// errors.
  [[nodiscard]] result<dead_summary> summarize_dead(const dead_filter& filter);

  /// Removes every task of a queue for good, whatever its state; leases are revoked. Returns how
  /// many. Errors: `unknown_queue`.
  [[nodiscard]] result<std::uint64_t> purge_queue(const queue_address& queue);

  /// The same for all queues of a tenant; 0 when it has none.
  [[nodiscard]] result<std::uint64_t> purge_tenant(const std::string& tenant);

  /// Counts per queue and the coordinator's gauges, without those of shards that it names.
  [[nodiscard]] result<coordinator_stats> stats();

  /// The workers that are connected or have leases.
  [[nodiscard]] result<worker_list> workers();

  /// Gives a worker, named as in `workers`, no further tasks; those that it has it finishes. With
  /// false takes it back. Nothing of it is stored: a restart of the worker's process, or of a
  /// coordinator, ends it there. Errors: `invalid_argument` for a worker that no coordinator knows;
  /// `unsupported` for one of the HTTP gateway; `disconnected` when not every coordinator of a
  /// cluster has answered, so that the operator should repeat it.
  [[nodiscard]] result<void> drain_worker(const std::string& name, bool is_drained);

  /// Returns operators' commands of the last 30 days, latest first. Errors: `invalid_argument`.
  [[nodiscard]] result<audit_page> audit(const audit_filter& filter);

  /// Starts a backup of the coordinator's store into its configured backup directory. Errors:
  /// `unsupported` when none is configured, `already` while a backup is running.
  [[nodiscard]] result<backup_status> start_backup();

  /// Returns the status of the latest backup.
  [[nodiscard]] result<backup_status> backup();

  /// Has all coordinators of the cluster back up their stores, and returns when that is done, which
  /// may take long. For the first seconds, follow-ups from one shard to another wait, so that the
  /// backups fit together. They contain all that was acknowledged before the call.
  /// Errors: `unsupported` when the coordinator is alone, or one has no backup directory; `already`
  /// while one makes a backup; `unavailable` when a shard has no primary, a coordinator does not
  /// answer, is started anew or joins meanwhile, or its backup fails: then the backups that were
  /// made do not fit together, and the call has to be repeated. `file`, which a restore needs, is
  /// written at the end; `invalid_argument` when it exists.
  [[nodiscard]] result<cluster_backup> back_up_cluster(const std::filesystem::path& file);

  /// Changes the level of the coordinator's log until it stops, or only reads it when `level` is
  /// empty; returns the level in force. Errors: `invalid_argument` for an unknown level.
  [[nodiscard]] result<std::string> log_level(const std::string& level);

  /// The state of the cluster, put together from the answers of all coordinators that are reached.
  /// Errors: `unsupported` when the coordinator is alone.
  [[nodiscard]] result<cluster_status> cluster();

  /// Decides on places of shards, and returns the state as one coordinator knows it then; the
  /// shards move later. Errors: `invalid_argument`; `overloaded` while another change is under way.
  [[nodiscard]] result<cluster_status> change_cluster(const cluster_change& change);

  /// The backups in the configured backup directory, oldest first. Errors: `unsupported` when none
  /// is configured.
  [[nodiscard]] result<std::vector<backup_info>> backups();

private:
  struct impl;
  explicit operator_client(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

// Tools for a cluster whose etcd has forgotten its decisions, and whose coordinators are stopped.

/// Reads the copies in the data directory of the stopped coordinator `node`, as JSON for
/// `repair_cluster`. Changes nothing. Errors: `unavailable` (no store, not of a cluster, or a
/// coordinator has it open), `incompatible_store` (a newer format), `corruption`, `io_error`.
[[nodiscard]] result<std::string>
tell_copies(const std::filesystem::path& directory, const std::string& node);

struct repair_options {
  std::string cluster{};
  /// Its members, and the files for TLS, as for a coordinator.
  std::string etcd{};
  std::filesystem::path etcd_authority{};
  std::filesystem::path etcd_certificate{};
  std::filesystem::path etcd_key{};
  /// A directory with the texts of `tell_copies`, each in a file whose name ends with `.json`.
  std::filesystem::path told{};
  /// Nodes of the cluster that will not come back.
  std::vector<std::string> without{};
  /// `repaired_cluster::words` of an earlier call. With another text, nothing is changed.
  std::string confirm{};
};

struct repaired_shard {
  shard_id shard{};
  std::string primary;
  /// All copies that are in sync.
  std::vector<std::string> in_sync;
  std::uint32_t epoch = 0;
};

struct repaired_cluster {
  /// The text for `repair_options::confirm` that carries the repair out.
  std::string words;
  bool is_done = false;
  std::vector<repaired_shard> shards;
};

/// Writes the records of a cluster to etcd anew, from what its coordinators have told. Errors:
/// `invalid_argument` when a node of the cluster has not told, facts contradict each other, a shard
/// has no complete copy, or a coordinator runs; `overloaded` when somebody else has changed a
/// record; `disconnected`, `timeout` when etcd does not answer, after which it can be repeated.
[[nodiscard]] result<repaired_cluster> repair_cluster(const repair_options& options);

/// Reads the file of `operator_client::back_up_cluster`. Errors: `io_error`; `corruption`, which
/// names the field.
[[nodiscard]] result<cluster_backup> read_cluster_backup(const std::filesystem::path& file);

// Tools for a store that no coordinator has open.

struct verify_options {
  /// The data directory of a coordinator.
  std::filesystem::path directory{};
  /// The coordinator's durability setting: without `sync` the end of the log may be missing.
  bool sync = true;
  /// Maximum number of findings described in words; further ones are only counted.
  std::size_t findings_max = 100;
};

/// Contents of a store, and the problems found in it.
struct store_report {
  std::uint64_t store_id = 0;
  std::uint32_t format = 0;
  /// Epoch of the latest start.
  std::uint32_t epoch = 0;
  /// Number of records of each kind, per shard.
  std::map<shard_id, std::map<std::string, std::uint64_t>> records;
  /// Violated invariants, each with the key of the offending record.
  std::vector<std::string> findings;
  /// Number of all findings, including those not described.
  std::uint64_t findings_count = 0;
  /// Observations that are not errors.
  std::vector<std::string> notes;
};

/// Checks every invariant that can be checked on disk, and every checksum. Changes nothing. Takes
/// as long as reading the store, and as much memory as a coordinator that serves it. Errors, when
/// the store cannot be opened: `unavailable` (no store there, or a coordinator has it open),
/// `incompatible_store` (a newer format), `corruption`, `io_error`.
[[nodiscard]] result<store_report> verify_store(const verify_options& options);

/// The backups in a coordinator's backup directory, oldest first. Errors: `unavailable` (no
/// directory), `io_error`, `corruption`.
[[nodiscard]] result<std::vector<backup_info>>
list_backups(const std::filesystem::path& directory);

struct restore_options {
  /// The coordinator's backup directory.
  std::filesystem::path backups{};
  /// Number of the backup; 0: the newest.
  std::uint32_t number = 0;
  /// The backup of a whole cluster; then `backups` has the backup directory of each coordinator,
  /// under the name of its node, and `number` is not used. Empty: that of a coordinator alone.
  std::optional<cluster_backup> cluster{};
  /// The new data directory; must be missing or empty.
  std::filesystem::path directory{};
};

/// Result of `restore_store`.
struct restored_store {
  /// Number of the backup.
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  /// Id of the new store; differs from that of the store that was backed up.
  std::uint64_t store_id = 0;
  /// Greater than every epoch that the backed-up store can have reached.
  std::uint32_t epoch = 0;
  store_report report;
};

/// Creates a data directory from a backup, gives it a new store id, and verifies it. The directory
/// appears as a whole or not at all. Of a cluster it has the newest copy of each shard, and is that
/// of the first coordinator of a new cluster, or of one that is alone. Errors: `invalid_argument`
/// (the directory is not empty; the backup is of a coordinator of a cluster, but `cluster` is
/// empty; it is of another run than `cluster`), `unavailable` (no such backup; a shard of the
/// cluster has no copy in those that are there), `corruption` (also when verification found a
/// problem), `io_error`, `incompatible_store` (a newer format; epochs ran out).
[[nodiscard]] result<restored_store> restore_store(const restore_options& options);

} // namespace codeq
