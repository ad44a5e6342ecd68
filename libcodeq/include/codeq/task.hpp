// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/limits.hpp"
#include "codeq/time.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace codeq {

/// How the delay before the next attempt grows. Stored on disk, never renumber.
enum class retry_kind : std::uint8_t {
  fixed = 0,
  linear = 1,
  exponential = 2,
  exponential_jitter = 3, ///< Full jitter: anywhere between 0 and the exponential delay.
};

struct retry_policy {
  retry_kind kind = retry_kind::exponential_jitter;
  /// The delay before the second attempt; with `exponential_jitter` its upper bound.
  duration base = limits::retry_base_default;
  /// No delay is longer. At least `base`.
  duration cap = limits::retry_cap_default;

  friend bool operator==(const retry_policy&, const retry_policy&) = default;
};

/// What a dead task does to its group. Stored on disk, never renumber.
enum class on_dead : std::uint8_t {
  skip = 0,  ///< The next one runs.
  block = 1, ///< The rest waits until the dead one is redriven or purged.
};

/// Settings of a task that come from its producer or, where unset, from its queue. Meaning and
/// limits as in `task_spec`.
struct task_settings {
  std::uint32_t max_attempts = limits::attempts_default;
  retry_policy retry{};
  duration lease = limits::lease_default;
  duration run_timeout{0};
  duration progress_timeout{0};
  duration retention = limits::retention_completed_default;
  duration dead_retention{0};
  on_dead when_dead = on_dead::skip;

  friend bool operator==(const task_settings&, const task_settings&) = default;
};

/// How an enqueue treats a key that already has a record. An ended task keeps its record, and with
/// it the key, for its `retention` (a dead one until it is purged, by default). Under `existing`
/// and `reject` an ended record counts as a duplicate; under the others a fresh task takes its key.
/// Stored on disk, never renumber.
enum class on_duplicate : std::uint8_t {
  existing = 0, ///< Nothing; the answer names the record, whether it is live or has ended.
  reject = 1,   ///< The enqueue is refused with `duplicate`.
  defer = 2,    ///< An unleased record waits for the later of both times.
  promote = 3,  ///< As `defer`, also forward when the record was created with `allow_promotion`.
  replace_ended = 4, ///< As `existing` while the record is live: one live task per key.
};

/// Outcome of one task of an enqueue. Stored on disk, never renumber.
enum class enqueue_kind : std::uint8_t {
  created = 0,   ///< A new task.
  existing = 1,  ///< The record that has the key stays as it is.
  deferred = 2,  ///< The task that has the key waits longer now.
  promoted = 3,  ///< The task that has the key may run earlier now.
  unchanged = 4, ///< `defer` or `promote` would not have moved the task.
  running = 5,   ///< The task is leased, so that `defer` and `promote` do not apply.
  duplicate = 6, ///< Refused, because the key has a record.
};

[[nodiscard]] std::string_view to_string(enqueue_kind kind) noexcept;

/// Answer for one task of an enqueue.
struct enqueued_task {
  /// Id of the created task, or of the record that already has the key.
  task_id id;
  enqueue_kind kind = enqueue_kind::created;

  friend bool operator==(const enqueued_task&, const enqueued_task&) = default;
};

/// Identifies a task by its producer's key, which is unique within queue and group.
struct task_key {
  queue_address queue{};
  std::string group{};
  std::string key{};

  friend auto operator<=>(const task_key&, const task_key&) = default;
};

/// A task's use of a limit of its tenant; see `limit_definition`.
struct task_limit {
  /// Name of the limit. It has to be defined when the task is enqueued.
  std::string name{};
  /// The limit applies to each key by itself. At most 256 bytes; empty: the tasks without a key.
  std::string key{};
  /// Number of starts that the task counts as, 1..1000.
  std::uint32_t cost = 1;

  friend bool operator==(const task_limit&, const task_limit&) = default;
};

/// First member of a struct whose fields have to be named: no value converts to it.
struct fields_have_names {
  explicit fields_have_names() = default;
};

/// Description of a task to enqueue: `{.queue = "mail", .payload = "hello"}`. Limits:
/// `codeq/limits.hpp`; a field over its limit is refused. An unset field takes the queue's setting;
/// the defaults below apply when the queue has none configured.
struct task_spec {
  // Without it `{"mail", "hello"}` would be tenant and queue. It takes no space.
  [[no_unique_address]] fields_have_names only = fields_have_names();
  /// Empty: for a follow-up that of its task, for a schedule's task that of the schedule, for a
  /// producer's `producer_options::tenant`; otherwise `default`.
  std::string tenant{};
  std::string queue{};
  /// Opaque bytes, binary-safe; at most 1 MiB. A string, or `codeq::encode(value)`.
  bytes payload{};
  /// 0..9; 9 is the highest.
  int priority = 0;
  /// Delay after the enqueue before the task may be claimed. Default: 0.
  duration delay{0};
  /// Time before which the task may not be claimed, as in `to_timestamp(system_clock::now() + 1h)`;
  /// excludes `delay`.
  std::optional<timestamp> not_before{};
  /// Allows `promote` to lift `delay` and `not_before`, too. Otherwise it lifts a retry's delay
  /// only.
  bool allow_promotion = false;
  /// Charged deliveries before the task is dead, 1..1000. Default: 5.
  std::optional<std::uint32_t> max_attempts{};
  /// Default: exponential with jitter, from 1 s to 15 min. With 5 attempts the delays are at most
  /// 1, 2, 4 and 8 s: a task that keeps failing is dead within 15 s and the time of its attempts.
  /// To outlast an outage, set `max_attempts` or a longer `base`.
  std::optional<retry_policy> retry{};
  /// Time that a claim is valid without a heartbeat, 1 s..12 h. Default: 10 s.
  std::optional<duration> lease{};
  /// Maximum run time of one attempt, regardless of heartbeats. Default: 0 (unlimited).
  std::optional<duration> run_timeout{};
  /// Maximum time that an attempt may run without reporting progress. Default: 0 (unlimited).
  std::optional<duration> progress_timeout{};
  /// How long the record of a completed or cancelled task is kept, one of
  /// `limits::retention_classes`. Default: 1 d.
  std::optional<duration> retention{};
  /// The same for a dead task. Default: 0 (kept until purged).
  std::optional<duration> dead_retention{};
  /// Names and values that are passed to the handler; at most 16 KiB in total.
  std::map<std::string, std::string> headers{};
  /// At most one task of a group (within its queue) is leased at a time, in order of arrival. At
  /// most 256 bytes; empty: no group.
  std::string group{};
  /// The effect of this task's death on its group. Default: `skip`.
  std::optional<on_dead> when_dead{};
  /// The producer's key for the task, unique within queue and group. At most 256 bytes; empty:
  /// none. The task keeps it after its end, until its retention is over.
  std::string key{};
  /// How the enqueue treats a key that already has a record, live or ended. Default: `existing`.
  on_duplicate duplicate = on_duplicate::existing;
  /// Lets a duplicate replace the payload and headers of a record that is not leased, too.
  bool replace_payload = false;
  /// Ready tasks of one priority take turns by this key, so that a key with many or long tasks does
  /// not hold up the others. `tenant/customer` takes turns by the part before the first `/`, then
  /// by the rest. At most 256 bytes; empty is a key, too.
  std::string fairness_key{};
  /// Share of the key compared with others, 1..1000; that of a key without `/` is the share of all
  /// keys that begin with it. The latest task of the key sets it.
  std::uint32_t fairness_weight = 1;
  /// The task starts only when each of these limits admits it; at most 4, each limit once.
  std::vector<task_limit> limits{};
};

//    (1) enqueue                 (2) due, gate opens
//    ─────────► scheduled | gated ─────────────────► ready
//                          ▲                           │ (3) claim: token, attempt + 1
//        (6) fail, nack,   │                           ▼
//            expiry with   └──────────────────────── leased ──(4) heartbeat──┐
//            attempts left                             │  ▲                  │
//                          (7) abandon: ready again,   │  └──────────────────┘
//                              attempt given back      │
//        (5) complete ──► completed                    │ (8) attempts used up or failed for good
//        (9) cancel   ──► cancelled                    └──► dead
//        (10) redrive: dead ──► scheduled | gated | ready, with all attempts left
//
// 1, 4..10 are triggered by requests, 2 by shard time, 3 by the match of ready tasks and credits at
// the end of a turn, 6 and 8 also by a lease's deadline. A task without delay and gate is ready at
// once after 1 and 6. A task that waits is cancelled, too.

/// A task's place in its life. Stored on disk, never renumber.
enum class task_state : std::uint8_t {
  scheduled = 0, ///< It waits for a time: its own, or that of its next attempt.
  gated = 1,     ///< It waits for an earlier task of its group.
  ready = 2,     ///< It waits for a worker, and perhaps for a limit.
  leased = 3,    ///< A worker has it.
  completed = 4,
  dead = 5, ///< Its attempts are used up, or it failed permanently.
  cancelled = 6,
};

[[nodiscard]] std::string_view to_string(task_state state) noexcept;

[[nodiscard]] constexpr bool is_terminal(task_state state) noexcept {
  return state >= task_state::completed;
}

/// How an attempt ended, as its worker reports it. On the wire, never renumber.
enum class disposition : std::uint8_t {
  completed = 0,
  failed = 1,             ///< It is retried by its policy, while attempts are left.
  failed_permanently = 2, ///< It is dead, whatever attempts are left.
  nack = 3,               ///< As `failed`; the handler may choose the delay.
  abandon = 4,            ///< The task is given back uncharged, and is ready at once.
  cancelled = 5,          ///< It was asked to stop, and did.
  /// Something that the handler uses refused more work for a while. The task is given back
  /// uncharged, and no other task of its limit key starts before that time.
  limited = 6,
};

/// Progress of a task that has not ended, as its handler reported it.
struct task_progress {
  task_id id;
  std::uint32_t attempt = 0;
  /// 0..100.
  int percent = 0;
  std::string note{};
};

/// What an operator learns about one task, without its texts.
struct task_summary {
  task_id id;
  std::string tenant;
  std::string queue;
  int priority = 0;
  task_state state = task_state::ready;
  std::uint32_t attempt = 0;
  std::uint32_t max_attempts = 0;
  /// The token of the latest lease; zero when never leased.
  fencing_token token{};
  timestamp enqueued_at;
  /// When a scheduled task becomes eligible.
  std::optional<timestamp> eligible_at;
  /// Worker that holds the lease of a leased task; in a list also the one that completed a task.
  std::string worker;
  std::string group{};
  std::string key{};
  /// Number of leases lost in a row (the worker did not live to report).
  std::uint32_t lost_in_row = 0;
  /// When an ended task ended; only in lists.
  std::optional<timestamp> ended_at{};
  /// The latest error text of a task that is not completed; empty when no attempt failed. In lists
  /// of dead tasks, or with a filter by error, cut to `limits::history_text_bytes_max`; else empty.
  std::string error_text{};
  /// A cancel of the leased task was requested; its handler was asked to stop.
  bool cancel_requested = false;
  /// As its producer set them.
  std::string fairness_key{};
  std::uint32_t fairness_weight = 1;
  std::vector<task_limit> limits{};
};

/// The whole record of one task.
struct task_status : task_summary {
  /// The result of a completed task.
  std::string result;
  /// The latest progress of a leased task's attempt. It is not stored: empty after a restart of the
  /// coordinator until the handler reports again.
  std::optional<task_progress> progress{};
};

/// What a producer learns about a task that has ended.
struct ended_task {
  task_id id;
  /// `completed`, `dead` or `cancelled`.
  task_state state = task_state::completed;
  /// Number of charged deliveries.
  std::uint32_t attempt = 0;
  /// The result of a completed task.
  std::string result{};
  /// The error text of a task that is not completed.
  std::string error_text{};
};

/// Changes that an operator can make to one task. On the wire, never renumber.
enum class task_change : std::uint8_t {
  cancel = 0,  ///< Ends it; a running handler is asked to stop and may still complete.
  promote = 1, ///< Makes a task that waits for a time eligible now.
  redrive = 2, ///< Gives a dead task all its attempts again.
  purge = 3,   ///< Removes a dead task for good.
};

/// Outcome of a change of one task. On the wire, never renumber.
enum class change_result : std::uint8_t {
  changed = 0,
  requested = 1, ///< The task is leased; it changes when the lease ends.
  unchanged = 2, ///< Its state does not allow it, or it was as asked already.
  guarded = 3,   ///< The producer's own deferral stands: the task does not allow promotion.
  key_taken = 4, ///< A redrive: another live task has the key.
  not_found = 5, ///< No record has the key that was asked for.
};

struct change_outcome {
  change_result what = change_result::unchanged;
  /// State of the task after the change; without meaning for `not_found`.
  task_state state = task_state::ready;
  /// The task, also when it was named by its key.
  task_id id{};
};

[[nodiscard]] std::string_view to_string(change_result what) noexcept;

/// Something that happened to a task.
struct task_event {
  /// On the wire, never renumber.
  enum class kind : std::uint8_t {
    enqueued = 0,
    granted = 1,
    completed = 2,
    failed = 3,
    failed_permanently = 4,
    nacked = 5,
    abandoned = 6,
    lost = 7, ///< The lease expired or its worker was replaced.
    revoked = 8,
    cancel_requested = 9,
    cancelled = 10,
    rescheduled = 11, ///< Promoted, or deferred by a duplicate.
    redriven = 12,
    forced_to_complete = 13,
    forced_to_fail = 14,
    timed_out = 15,        ///< The attempt ran longer, or longer without progress, than it may.
    payload_replaced = 16, ///< By a duplicate.
    limited = 17,          ///< Its handler gave it back, and closed its limit key.
  };

  /// Who caused the event. On the wire, never renumber.
  enum class author : std::uint8_t {
    coordinator = 0,
    producer = 1,
    worker = 2,
    operator_user = 3, ///< A user or tool that asked for a change of the task.
  };

  timestamp at;
  kind what = kind::enqueued;
  author by = author::coordinator;
  /// State of the task after the event; `until` is set when it waits for a time.
  task_state state = task_state::ready;
  timestamp until{};
  /// Attempt, token and worker of the lease that the event belongs to; empty for events without a
  /// lease.
  std::uint32_t attempt = 0;
  fencing_token token{};
  std::string worker{};
  /// Result or error text of an attempt that ended, cut to `limits::history_text_bytes_max` with a
  /// mark.
  std::string text{};
  /// With `author::operator_user`: the holder of the token; empty without tokens.
  std::string subject{};

  friend bool operator==(const task_event&, const task_event&) = default;
};

[[nodiscard]] std::string_view to_string(task_event::kind what) noexcept;
[[nodiscard]] std::string_view to_string(task_event::author by) noexcept;

/// The history of a task: all events, or the latest ones when there are too many to keep.
struct task_timeline {
  /// In order; the enqueue comes first.
  std::vector<task_event> events;
  /// Number of events after the enqueue that are no longer kept.
  std::uint64_t dropped = 0;
  /// Current state of the task; `until` is set when it waits for a time.
  task_state state = task_state::ready;
  timestamp until{};

  friend bool operator==(const task_timeline&, const task_timeline&) = default;
};

} // namespace codeq
