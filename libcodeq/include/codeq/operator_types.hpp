// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/limits.hpp"
#include "codeq/queue.hpp"
#include "codeq/task.hpp"
#include "codeq/task_limits.hpp"
#include "codeq/time.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The types of the requests and answers of operators.
namespace codeq {

struct coordinator_stats {
  std::vector<queue_stats> queues;
  /// Keyed by metric name, for example `codeq_lease_timers`.
  std::map<std::string, std::int64_t> gauges;
  /// Number of shards whose counts these are.
  std::uint32_t shards = 0;
  /// False: a coordinator of an older version did not say how many shards it counts.
  bool are_shards_known = true;
  /// In a cluster, the shards that the counts leave out, since their coordinators did not answer;
  /// ascending.
  std::vector<shard_id> missing{};
  /// Number of further shards whose counts are missing, which no coordinator serves at present.
  std::uint32_t missing_unnamed = 0;
};

/// A lease that a worker holds.
struct running_lease {
  task_id task;
  queue_address queue;
  /// When the lease was granted, in shard time.
  timestamp since{};
  /// Remaining time of the lease if no further heartbeat arrives.
  duration left{0};
  /// The worker said with its last heartbeat that the task waits there for a free slot.
  bool is_waiting = false;
};

/// A worker that is connected or has leases.
struct worker_info {
  /// With access tokens `TENANT/NAME`; for a worker of the HTTP gateway `http:TENANT/SUBJECT`.
  std::string name;
  bool is_connected = false;
  /// Number of tasks that it could accept now.
  std::uint64_t free_slots = 0;
  std::uint64_t leases = 0;
  /// Queues that it claims from, each once, at most `limits::worker_queues_shown_max` of
  /// `queue_count`. A pattern is one of them, with its `*`.
  std::vector<queue_address> queues{};
  /// Number of queues and patterns; of the HTTP gateway's workers a lower bound.
  std::uint32_t queue_count = 0;
  /// Its oldest leases, at most `limits::worker_leases_shown_max`.
  std::vector<running_lease> running{};
  /// An operator has drained it: it gets no further tasks.
  bool is_draining = false;
};

/// The workers of all coordinators that have answered.
struct worker_list {
  /// By name.
  std::vector<worker_info> workers{};
  /// In a cluster, the shards whose coordinators did not answer, ascending. Their leases, and the
  /// slots that are free for them, are not counted.
  std::vector<shard_id> missing{};
};

/// What an operator does to a task without its token. On the wire, never renumber.
enum class force_kind : std::uint8_t {
  revoke = 0,   ///< The lease ends uncharged and the task is ready again; only of a leased task.
  complete = 1, ///< A live task is completed, with a text as its result.
  fail = 2,     ///< A live task is dead, with a text as the reason.
};

/// A span of time; the epoch (0) is no bound.
struct time_window {
  timestamp since{};
  /// Exclusive.
  timestamp until{};

  [[nodiscard]] bool contains(timestamp at) const noexcept {
    return at >= since && (until == timestamp{} || at < until);
  }

  [[nodiscard]] bool is_bounded() const noexcept {
    return since != timestamp{} || until != timestamp{};
  }

  friend bool operator==(const time_window&, const time_window&) = default;
};

/// Which tasks to list. A task has to match all fields.
struct task_filter {
  std::string tenant = "default";
  /// Empty: every queue of the tenant.
  std::string queue{};
  std::optional<task_state> state{};
  /// Only dead tasks that block their group.
  bool is_blocking = false;
  /// Empty: any group, or none.
  std::string group{};
  /// Empty: any key, or none.
  std::string key{};
  /// The worker of the current attempt, or of the last one, is one of these, at most
  /// `limits::filter_workers_max`; empty: any worker, or none.
  std::vector<std::string> workers{};
  /// Headers that the task has, with these values; at most `limits::filter_headers_max`.
  std::map<std::string, std::string> headers{};
  /// A part of the task's latest error text; empty: any text, or none.
  std::string error{};
  /// When the task was enqueued.
  time_window enqueued{};
  /// When the task ended; a bounded window contains only ended tasks.
  time_window ended{};
};

enum class list_order : std::uint8_t { oldest_first, newest_first };

/// Which page of a list to return.
struct page_request {
  /// Maximum number of tasks, 1..`limits::listed_page_max`.
  std::size_t limit = limits::listed_tasks_default;
  list_order order = list_order::oldest_first;
  /// `task_page::after` of the page before; empty: the first page.
  std::string after{};
};

/// A page of a list. Each shard's tasks are in order over all pages; tasks of different shards are
/// in order of their enqueue times within a page, and also over pages as long as none is partial or
/// lacks shards.
struct task_page {
  std::vector<task_summary> tasks;
  /// Where the next page begins; empty on the last page.
  std::string after;
  /// The page has fewer tasks than requested, because a shard examined as many records as it may
  /// for one page. The next page goes on from there.
  bool is_partial = false;
  /// In a cluster: the shards that have not answered, ascending. Their tasks are left out; the next
  /// page has those that belong there when they answer again.
  std::vector<shard_id> missing{};
};

/// Which dead tasks to redrive or purge, and how fast.
struct dead_filter {
  std::string tenant = "default";
  /// Empty: every queue of the tenant.
  std::string queue{};
  /// Maximum number of tasks; 0: all.
  std::uint64_t limit = 0;
  /// Maximum number of tasks per second, up to `limits::bulk_rate_max`; 0: unlimited.
  std::uint64_t rate = 0;
  /// Empty: any group, or none.
  std::string group{};
  /// A part of the last error text; empty: any text.
  std::string error{};
  /// When the task died.
  time_window died{};
  /// Changes nothing; the returned number is that of the tasks that would be changed now.
  bool is_dry_run = false;
};

/// Dead tasks whose error texts differ only in numbers and ids.
struct dead_kind {
  /// The error text without them.
  std::string fingerprint;
  std::uint64_t tasks = 0;
  timestamp first_died{};
  timestamp last_died{};
  /// The task that died last, and its error text, cut to `limits::history_text_bytes_max`.
  task_id last{};
  std::string error_text;
};

struct dead_summary {
  /// The most frequent kind first; at most `limits::summary_kinds_max`.
  std::vector<dead_kind> kinds;
  /// Number of all tasks that were counted.
  std::uint64_t tasks = 0;
  /// Number of those whose kinds are not in `kinds`.
  std::uint64_t left_out = 0;
};

enum class dead_change : std::uint8_t {
  redrive, ///< They live again, with all their attempts.
  purge,   ///< They go for good.
};

/// Why a task does not run, most specific first. On the wire, never renumber.
enum class task_reason : std::uint8_t {
  deferred = 0,            ///< Its producer deferred it, until `until`.
  retry_waiting = 1,       ///< It waits for its next attempt, until `until`.
  gated = 2,               ///< `blocker` of its group is before it.
  blocked = 3,             ///< `blocker` of its group is dead and blocks it.
  queue_paused = 4,        ///< An operator or the queue's breaker stopped the queue.
  no_worker = 5,           ///< No connected worker serves its queue.
  queue_at_max_leased = 6, ///< The queue has as many leases as it may.
  no_free_slots = 7,       ///< All workers that serve its queue are busy, at least for it.
  next = 8,                ///< It is handed out at once.
  leased = 9,              ///< At a worker, where it runs or waits for a free slot.
  completed = 10,
  dead = 11,
  cancelled = 12,
  limited = 13, ///< A limit holds it back; see `limit`.
  /// The slots are taken, and tasks of other fairness keys get the next one; see `fairness_key`. A
  /// task of the key that gets it has the reason why the slots are taken.
  fairness = 14,
};

[[nodiscard]] std::string_view to_string(task_reason reason) noexcept;

struct task_explanation {
  task_reason reason = task_reason::next;
  task_summary task;
  /// The latest error text of a task that is dead or waits for its next attempt.
  std::string error_text{};
  timestamp until{};
  task_id blocker{};
  task_state blocker_state = task_state::ready;
  /// Remaining time of a leased task's lease if no further heartbeat arrives.
  duration lease_left{0};
  /// Connected workers that serve its queue.
  std::uint32_t workers = 0;
  /// Configuration as the task's shard has it; `max_depth` and `max_leased` are of the whole queue.
  queue_config queue;
  /// With `queue_paused`: see `queue_info::pause_reason`.
  std::string pause_reason{};
  /// With `limited`: the limit and its key, and the number of tasks that it holds back before this
  /// one. `until` is when the key admits the next start; 0 when a lease has to end first.
  std::string limit{};
  std::string limit_key{};
  std::uint64_t limit_before = 0;
  /// With `limited`: nothing of the key starts before, because an operator or a handler closed it;
  /// 0 when it is open, or when the token may not see the keys of limits.
  timestamp limit_closed_until{};
  /// With `limited`: the tenant uses as many limit keys as it may on the shard that owns this one.
  /// The limit has a rate, so that another key has to become unused first.
  bool is_out_of_limit_keys = false;
  /// With `leased`: see `running_lease::is_waiting`.
  bool waits_at_worker = false;
  /// With `fairness`: the key under which the task takes its turns.
  std::string fairness_key{};
  /// Number of turns on its shard before the next one of that key: a turn of each key before it
  /// that has the same part before the first `/`, and one of each other such part.
  std::uint64_t fairness_before = 0;
  /// As `fairness_share::wait`, on its shard.
  duration fairness_wait{0};
};

/// One sentence for people, without a full stop, for example "retry 3 of 5 at 2026-01-31
/// 12:00:00.000 UTC".
[[nodiscard]] std::string to_sentence(const task_explanation& why);

/// Tasks of one queue that a limit, or one of its keys, holds back: `at.held`.
struct limit_wait {
  std::string limit;
  limit_key_info at{};
};

/// Why the tasks of a queue do not run, over all shards.
struct queue_explanation {
  queue_address queue;
  bool exists = false;
  /// Its scheduled, gated and ready tasks; none is 0. Those that are `blocked` count as `gated`.
  std::map<task_reason, std::uint64_t> waiting{};
  std::uint64_t leased = 0;
  std::uint32_t workers = 0;  ///< Connected workers that claim from it.
  std::uint64_t blocking = 0; ///< Dead tasks that block their groups.
  /// The limits that hold back most of its tasks, at most `limits::explained_limits_max`. Of
  /// `limit_wait::at` only `held` is set.
  std::vector<limit_wait> limits{};
  /// The limit keys that hold back most of its tasks, as many.
  std::vector<limit_wait> keys{};
  /// False when a shard looked at `limits::explained_keys_seen_max` keys only, out of more.
  bool has_all_keys = true;
  /// Rate of starts, from the leases that began in the last 30 to 60 seconds.
  std::uint64_t starts_per_minute = 0;
  /// At that rate, the time until the last of the tasks that wait for no time has started. Empty
  /// when it is unknown: nothing started lately, or some of them cannot start as things are.
  std::optional<duration> last_start{};
  /// The least time that the ready tasks need by `max_leased` and the limits, as far as the shards
  /// know run times and keys; `duration::max()`: they never start; 0: nothing is known.
  duration limits_need{0};
  /// The part of that time which `max_leased` causes: a shard tells its own, a sum adds them up.
  duration max_leased_need{0};
  /// Shards that did not answer, and are not counted.
  std::vector<std::uint16_t> missing_shards{};
};

/// Kinds of operators' commands. Stored on disk, never renumber.
enum class operator_action : std::uint8_t {
  cancel = 0,
  promote = 1,
  redrive = 2,
  purge = 3, ///< Of one dead task.
  force_revoke = 4,
  force_complete = 5,
  force_fail = 6,
  queue_set = 7,
  queue_pause = 8,
  queue_resume = 9,
  dead_redrive = 10,
  dead_purge = 11,
  queue_purge = 12,
  tenant_purge = 13,
  backup = 14,
  schedule_set = 15,
  schedule_pause = 16,
  schedule_resume = 17,
  schedule_delete = 18,
  schedule_run = 19,
  schedule_backfill = 20,
  log_level = 21,
  limit_set = 22,
  limit_delete = 23,
  limit_close = 24,
  limit_open = 25,
  cluster_change = 26, ///< Of the places of shards.
  worker_drain = 27,
  worker_resume = 28,
};

/// The name of the command, for example "queue pause".
[[nodiscard]] std::string_view to_string(operator_action action) noexcept;

/// An entry of the audit log: an operator's command that changed something.
struct audited_command {
  /// When the command came, in shard time.
  timestamp at{};
  /// Distinguishes commands of the same millisecond.
  std::uint64_t operation = 0;
  operator_action action = operator_action::cancel;
  /// The object: a tenant, one of its queues, or one task; the tenant is empty when the
  /// command was about the coordinator itself.
  std::string tenant{};
  std::string queue{};
  std::optional<task_id> task{};
  /// Number of changed tasks.
  std::uint64_t changed = 0;
  /// The holder of the token; empty without tokens.
  std::string subject{};
  /// The tenant of the token, `*` for all.
  std::string bearer_tenant{};
  /// The address that the command came from.
  std::string remote{};
  /// The settings that were changed, or the text of a forced end, cut to
  /// `limits::audit_detail_bytes_max`.
  std::string detail{};

  friend bool operator==(const audited_command&, const audited_command&) = default;
};

/// A place in the audit log: before a command.
struct audit_place {
  timestamp at{};
  std::uint64_t operation = 0;

  friend auto operator<=>(const audit_place&, const audit_place&) = default;
};

/// The place as pages of `codeqctl` and HTTP name it: `MILLISECONDS-OPERATION`.
[[nodiscard]] std::string to_string(const audit_place& place);

/// Parses the output of `to_string`; empty for any other text.
[[nodiscard]] std::optional<audit_place> parse_audit_place(std::string_view text);

/// Which commands of the audit log to read.
struct audit_filter {
  /// Only commands that changed something of this tenant; empty: all that the token may see.
  std::string tenant{};
  /// Only commands from this shard time on.
  timestamp since{};
  /// Only commands before this place; empty: from the latest on.
  std::optional<audit_place> after{};
  /// Maximum number of commands, 1..`limits::audited_max`.
  std::size_t limit = limits::audited_default;
};

/// A page of the audit log, latest command first.
struct audit_page {
  std::vector<audited_command> commands;
  /// Where the next page begins; empty when there is none.
  std::optional<audit_place> after{};
  /// In a cluster: the shards that have not answered, ascending. Their commands are left out.
  std::vector<shard_id> missing{};
};

/// State of a backup. On the wire, never renumber.
enum class backup_state : std::uint8_t { none = 0, running = 1, done = 2, failed = 3 };

/// A request for a coordinator's backup, or for the status of the latest one.
struct backup_wish {
  bool starts = false;
  /// For so long from now no shard of the coordinator takes follow-ups from other shards, or drops
  /// what others have taken; zero ends that.
  std::optional<duration> hold{};
  /// The backup of a cluster that the one that is started is a part of; 0: none.
  std::uint64_t run = 0;
};

/// The latest backup since the coordinator was started.
struct backup_status {
  backup_state state = backup_state::none;
  /// Number of the backup in the coordinator's backup directory; starts at 1 and ascends.
  std::uint32_t number = 0;
  /// Size of all its files, including those that it shares with earlier backups.
  std::uint64_t bytes = 0;
  std::uint32_t files = 0;
  /// Why the backup failed; empty unless `failed`.
  std::string problem;
  /// The contents of the backup are settled, though they may still be copied.
  bool is_fixed = false;
  /// Number of the hold that was asked for; another one when it was interrupted; 0: none was.
  std::uint64_t hold = 0;
  /// Name of the coordinator in its cluster; empty when it is alone.
  std::string node{};
};

/// A backup in a backup directory.
struct backup_info {
  std::uint32_t number = 0;
  /// When it was made, in wall-clock time.
  timestamp at{};
  /// Size of all its files, including those that it shares with earlier backups.
  std::uint64_t bytes = 0;
  std::uint32_t files = 0;
};

} // namespace codeq
