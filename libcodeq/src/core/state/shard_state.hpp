// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "base/assert.hpp"
#include "base/coordinator_counts.hpp"
#include "base/tuning.hpp"
#include "core/blocks/position_set.hpp"
#include "core/commands/audit_entry.hpp"
#include "core/commands/settings_command.hpp"
#include "core/commands/task_checkpoint.hpp"
#include "core/flow/failure_window.hpp"
#include "core/flow/kept_credits.hpp"
#include "core/flow/permit_desk.hpp"
#include "core/flow/permit_recalls.hpp"
#include "core/flow/ready_board.hpp"
#include "core/flow/start_meter.hpp"
#include "core/state/claimers.hpp"
#include "core/state/depth_book.hpp"
#include "core/state/parked_enqueues.hpp"
#include "core/state/permit_book.hpp"
#include "core/tables/key_index.hpp"
#include "core/tables/lane.hpp"
#include "core/tables/lease_table.hpp"
#include "core/tables/limit_table.hpp"
#include "core/tables/outcome_holds.hpp"
#include "core/tables/schedule_table.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace codeq::core {

/// Times of a queue's tasks since the start of the process; see `base::coordinator_counts`.
struct queue_times {
  base::time_counts dispatch;
  base::time_counts run;
};

/// Counts of a queue's transitions since the start of the process.
struct queue_activity {
  std::uint64_t enqueued = 0;
  std::uint64_t granted = 0;
  /// Attempts that failed, of tasks that are not dead yet.
  std::uint64_t retried = 0;
  /// Attempts that ended uncharged.
  std::uint64_t returned = 0;
  /// Attempts that ran over `run_timeout` or `progress_timeout`.
  std::uint64_t timed_out = 0;
  /// Tasks that died by `quarantine_after`.
  std::uint64_t quarantined = 0;
  /// Pauses by the queue's breaker on this shard.
  std::uint64_t tripped = 0;
  std::uint64_t redriven = 0;
  /// Leases that began lately.
  start_meter starts;
  /// Null until a time is measured.
  std::unique_ptr<queue_times> times;

  [[nodiscard]] queue_times& measured() {
    if (!times)
      times = std::make_unique<queue_times>();
    return *times;
  }
};

class queue_fairness;
struct fairness_use;

/// One queue of the shard: its lanes, claimers and counts.
struct queue_state {
  queue_state();
  ~queue_state();

  queue_address address;
  /// The ready tasks by priority and fairness key, in place of `lanes`. Null until a task has a
  /// fairness key.
  std::unique_ptr<queue_fairness> fair;
  /// Indexed by priority; null until used.
  std::array<std::unique_ptr<lane>, limits::priority_max + 1> lanes;
  /// Attached peers that claim from it by its name. Volatile.
  queue_claimers claimers;
  /// Prefixes that match its name. Volatile.
  std::vector<prefix_claims*> prefixes;
  std::uint64_t scheduled = 0;
  /// Scheduled tasks that wait for their next attempt; the others are deferred.
  std::uint64_t retrying = 0;
  std::uint64_t gated = 0;
  std::uint64_t ready = 0;
  std::uint64_t leased = 0;
  /// With a maximum of leases: the slots that this shard has and may spend, where another one owns
  /// them. Volatile.
  std::optional<std::uint64_t> slots;
  /// The slots that other shards have, where this one owns them.
  std::uint64_t lent = 0;
  /// Dead tasks that are still stored.
  std::uint64_t dead = 0;
  /// Those of them that block their groups.
  std::uint64_t blocking = 0;
  /// The ready tasks in lanes by priority: all but the held ones.
  std::array<std::uint64_t, limits::priority_max + 1> ready_by_priority{};
  /// Ready tasks that a limit holds back, which are in no lane; in all and by priority. Volatile.
  std::uint64_t held = 0;
  std::array<std::uint64_t, limits::priority_max + 1> held_by_priority{};
  /// Number of tasks with limits in lanes. Volatile.
  std::uint64_t limited = 0;
  /// Ends since the store was created. Changed by `shard_state::change_totals` only.
  queue_totals totals;
  queue_settings settings;
  /// Volatile.
  queue_activity activity;
  /// The ends of attempts for the queue's breaker; null until one is counted, and while the queue
  /// is paused. Volatile.
  std::unique_ptr<failure_window> failures;
  /// When the queue's breaker on this shard paused it, if the shard that carries settings may not
  /// know. Volatile.
  std::optional<timestamp> untold_trip;
  /// The latest resume by an operator that this shard knows of, while the queue has a breaker: what
  /// failed before does not count. By the clock of the shard that said it. Volatile.
  timestamp resumed_at{};
  /// True when the queue is in `shard_state::stirred`.
  bool is_stirred = false;
  /// True when the queue is in `shard_state::changed_totals`.
  bool has_changed_totals = false;
  /// True when the queue is in `shard_state::moved_heads`.
  bool has_moved_head = false;
  /// The queue's entry on the board, and the task that it shows. Null without a board. Volatile.
  std::unique_ptr<queue_board> board;
  std::optional<ready_head> head;
  /// See `shown_turn::waits`; of the task that it shows.
  waiting_ring waits;
  /// The queue's time in `shard_state::queue_ends`, if it is in it. Volatile.
  std::optional<timestamp> listed_end;
  /// Number of queues that were created before, by this process. Volatile.
  std::uint64_t arrival = 0;
  /// Twice the number of the turn that tried to lease its tasks last, and one more when it did: see
  /// `service`. Volatile.
  std::uint64_t served = 0;

  /// Number of live tasks.
  [[nodiscard]] std::uint64_t depth() const noexcept { return scheduled + gated + ready + leased; }

  /// Another shard owns the slots of the queue's leases.
  [[nodiscard]] bool has_slots() const noexcept {
    return settings.config.max_leased != 0 && slots.has_value();
  }

  /// Number of leases that the settings still allow, as far as this shard knows without asking.
  [[nodiscard]] std::uint64_t lease_cap() const noexcept {
    if (settings.config.max_leased == 0)
      return std::numeric_limits<std::uint64_t>::max();
    return settings.config.max_leased - std::min(settings.config.max_leased, leased + lent);
  }

  /// The priority of the first ready task in a lane; 0 when there is none.
  [[nodiscard]] std::uint8_t first_priority() const noexcept {
    auto priority = ready_by_priority.size() - 1;
    while (priority > 0 && ready_by_priority[priority] == 0)
      --priority;
    return static_cast<std::uint8_t>(priority);
  }

  /// Number of leases that may begin now.
  [[nodiscard]] std::uint64_t lease_room() const noexcept {
    return has_slots() ? std::min(lease_cap(), *slots) : lease_cap();
  }

  /// Number of ready tasks that may be leased now.
  [[nodiscard]] std::uint64_t grantable() const noexcept {
    return settings.paused ? 0 : std::min(ready - held, lease_room());
  }

  /// The same, together with those whose slots the owner may give.
  [[nodiscard]] std::uint64_t claimable() const noexcept {
    return settings.paused ? 0 : std::min(ready - held, lease_cap());
  }

  /// True when a task of another shard comes before the task that this shard shows; for a worker
  /// that reaches all coordinators also when it is a task of another coordinator.
  [[nodiscard]] bool is_head_outranked(bool reaches_all) const {
    if (!head)
      return false;
    auto best = board->best_elsewhere();
    if (waits.shard_behind() || (best && is_outranked(*head, best->head)))
      return true;
    return reaches_all && is_head_outranked_from_afar();
  }

  /// The same for tasks of other coordinators only.
  [[nodiscard]] bool is_head_outranked_from_afar() const {
    auto far = head ? board->best_far() : std::nullopt;
    return far && is_outranked_from_afar(*head, far->head);
  }
};

/// The tasks of groups that keep their place: live ones, and dead ones that block their group. One
/// task of each group is open, which means that it is not gated: the leased one, or else the first.
struct group_index {
  name_index members;
  /// Open tasks that are not the first of their group, by the hash of its name: an earlier task
  /// came back while they were leased.
  std::set<std::pair<name_hash, sequence>> late;
};

/// A worker's session at the shard. Volatile.
struct attached_worker {
  std::shared_ptr<const worker_identity> worker;
  /// Leases of this worker from this token on were granted since it attached, and are delivered to
  /// it already.
  fencing_token delivered_from{};
  /// Its leases of before were delivered again since it attached.
  bool has_resumed = false;
  std::vector<std::uint32_t> queues;
  /// The worker's queues that do not exist yet.
  std::vector<queue_address> wanted;
  /// Different from each other.
  std::vector<claimed_prefix> prefixes{};
  /// Queues that it serves and takes no tasks of for now; see `change_queues`.
  std::set<queue_address> without{};
  std::uint32_t credits = 0;
  /// Room for bodies of tasks. The task granted last may exceed it.
  std::int64_t bytes = 0;
  duration lease_wish{0};
  /// Maximum number of tasks that are granted together.
  std::uint32_t batch_tasks = tuning::grant_tasks_max;
  /// The worker was notified that tasks are ready, and has not claimed since.
  bool notified = false;
  /// Its credits were given back because of tasks on other shards, and it was not notified of other
  /// tasks since. `notified` is false then if those tasks are at other coordinators.
  bool is_outranked = false;
  /// See `claim`.
  bool reaches_all = false;
  /// The worker claimed in this turn.
  bool claimed = false;
  /// The worker's position in the order in which all workers arrived at their queues.
  std::uint64_t arrival = 0;
  /// The need under which the worker's queues list it. Not updated while a turn grants tasks.
  claimer_need listed_need = claimer_need::news;

  /// Number of tasks that may be granted before one of them uses up the room.
  [[nodiscard]] std::uint32_t open_credits() const { return bytes > 0 ? credits : 0; }

  [[nodiscard]] claimer_need need() const {
    if (open_credits() > 0)
      return claimer_need::tasks;
    return notified && !is_outranked ? claimer_need::nothing : claimer_need::news;
  }
};

/// A producer session: the answers of its requests, so that a repeated one gets the same answer.
struct producer_session {
  std::uint64_t answered_below = 0;
  timestamp last_used;
  /// Used since the last snapshot.
  bool dirty = false;
  /// The producer ended the session; the next snapshot forgets it. Volatile.
  bool is_ended = false;
  std::map<std::uint64_t, request_answer> answers;
  /// The tenant of all tasks that were enqueued; empty when there were several, and for the
  /// coordinator's own sessions.
  std::string tenant;
};

/// How many tasks became ready by their time since `begin`; see `release_due_tasks`.
struct due_window {
  monotonic_time begin;
  std::size_t released = 0;
};

/// A counter whose high bits are the epoch, so that no number is ever used twice, whatever was
/// lost.
struct id_counter {
  std::uint64_t next = 0;

  /// Takes `n` consecutive numbers and returns the first. Aborts when the epoch has not enough
  /// numbers, before it uses numbers that a later epoch would use again.
  std::uint64_t take(std::uint64_t n) {
    CODEQ_ASSERT((next & tuning::token_counter_max) + n <= tuning::token_counter_max);
    return std::exchange(next, next + n);
  }
};

/// The element for a task in an index of times.
[[nodiscard]] constexpr number_pair place_of(timestamp when, sequence seq) noexcept {
  return {static_cast<std::uint64_t>(when.time_since_epoch().count()), seq};
}

[[nodiscard]] constexpr timestamp time_of(const number_pair& place) noexcept {
  return timestamp{duration{static_cast<duration::rep>(place.first)}};
}

/// The whole state of one shard. Durable members are a function of the records on disk, and after
/// the start are changed only by a `turn`, by `apply` and, between two turns, by `begin_epoch`.
/// Volatile ones are lost with the process; `coordinator::shard` sets some of them without a turn,
/// such as `are_grants_paused`, `lease::run_deadline` and when a schedule is looked at.
struct shard_state {
  /// `name_seed`: see `name_hasher`; random where clients choose the names.
  explicit shard_state(shard_id id, std::uint32_t epoch, std::uint64_t name_seed = 0);

  // Durable.
  shard_id id;
  std::uint32_t epoch;
  id_counter sequences;
  id_counter tokens;
  id_counter positions;
  segment_table segments;
  /// By index; null where a queue was removed, until another one takes the index. Indexes are
  /// volatile.
  std::vector<std::unique_ptr<queue_state>> queues;
  std::unordered_map<queue_address, std::uint32_t> queue_index;
  /// The indexes of each tenant's queues.
  std::unordered_map<std::string, std::set<std::uint32_t>> tenant_queues;
  /// The purge marks of removed queues, by tenant and name.
  std::map<std::string, std::map<std::string, purge_mark>> removed_marks;
  /// Tasks that wait for a time, by `place_of`.
  packed_set due;
  /// When dead tasks with a limited retention are removed.
  packed_set dead_ends;
  lease_table leases;
  group_index groups;
  key_index keys;
  /// Change records that no snapshot contains yet.
  std::vector<log_position> change_records;
  std::unordered_map<producer_id, producer_session> producers;
  /// The time at which each session ends if it is not used again; the coordinator's own never end.
  std::set<std::pair<timestamp, producer_id>> producer_ends;
  /// The sessions of each tenant in the order of their last use. The coordinator's own sessions are
  /// not in it; a session that several tenants used belongs to tenant "".
  std::map<std::string, std::set<std::pair<timestamp, producer_id>>> sessions_by_use;
  /// For each tenant that lost sessions for lack of room, the latest creation time of a lost one.
  std::map<std::string, timestamp> sessions_forgotten_until;
  outcome_holds held_outcomes;
  /// `held_outcomes` as of the last snapshot, for the threads that drop records; replaced, never
  /// changed.
  position_set held_at_snapshot;
  /// All `queue_totals::purged_below` and marks of removed queues, for the threads that read fates.
  /// Null when no queue was ever purged; replaced, never changed.
  std::shared_ptr<const purge_marks> purged;
  /// Records of follow-ups for other shards; the number of unconfirmed ones is volatile.
  std::map<log_position, std::size_t> follow_up_records;
  /// The checkpoints of live tasks.
  std::map<sequence, checkpoint_mark> checkpoints;
  schedule_table schedules;
  limit_table limits;
  /// Permits of other shards for limit keys that this shard owns.
  permit_book lent;
  /// Tasks that other shards may have of queues whose depth this shard counts.
  depth_book depths;
  /// The latest shard time seen.
  timestamp at;

  // Volatile.
  /// For limit keys and fairness keys that are in headers; null: tasks have no headers.
  header_reader read_header = nullptr;
  /// Permits of this shard for limit keys that others own.
  permit_desk permits;
  /// Recalls of permits that other shards have of closed keys.
  permit_recalls recalls;
  /// Enqueues that wait for room in their queues.
  parked_enqueues parked;
  /// Credits for slots that were asked for: no other queue may use them meanwhile.
  kept_credits kept;
  /// Credits that workers may be about to claim with, for slots that have come, or that were asked
  /// for to notify a worker. Other queues may use these.
  kept_credits promised;
  /// By tenant, for those that have used fairness keys.
  std::unordered_map<std::string, std::shared_ptr<fairness_use>> tenant_fairness;
  name_hasher names;
  monotonic_time steady;
  std::map<peer_id, attached_worker> attached;
  /// Number of arrivals of workers at queues.
  std::uint64_t arrivals = 0;
  /// The attached peers by worker. An HTTP worker is attached once per claim.
  std::set<std::pair<worker_identity, peer_id>> peers_by_worker;
  /// The indexes in `queues` that are free.
  std::vector<std::uint32_t> free_queues;
  /// The indexes of all queues in the order in which this process created them.
  std::map<std::uint64_t, std::uint32_t> queues_by_arrival;
  /// Number of queues that this process created.
  std::uint64_t queues_created = 0;
  /// Grows with each change of a queue's settings or of a limit, in this process.
  std::uint32_t settings_version = 1;
  /// The parts of the latest settings that another shard carries here, until the last one has come.
  adopt_settings carried;
  /// When queues without tasks and settings, and marks of removed queues, are to go. A queue that
  /// has been used since may still be in it.
  std::set<std::pair<timestamp, queue_address>> queue_ends;
  /// The workers that wait for a queue to exist: a claim does not create one.
  std::unordered_map<queue_address, std::vector<peer_id>> wanted_queues;
  /// The workers whose `without` names the queue. Such a queue need not exist here.
  std::unordered_map<queue_address, std::set<peer_id>> left_out_by;
  /// By tenant and prefix.
  std::map<queue_address, std::unique_ptr<prefix_claims>> prefixes;
  /// Workers with prefixes that claimed since the last match.
  std::set<peer_id> prefix_claimers;
  std::unordered_map<sequence, std::vector<peer_id>> awaited;
  std::map<peer_id, std::unordered_set<sequence>> awaiting;
  /// Peers that await a task and also want progress of its handler.
  std::set<std::pair<sequence, peer_id>> watched;
  /// Tasks of which other shards want to know the end.
  std::map<sequence, std::set<shard_id>> watched_ends;
  /// The shards with tasks of schedules were asked for their ends by this process.
  bool are_ends_wanted = false;
  /// When an occurrence fired last.
  monotonic_time fired;
  /// Follow-ups that other shards have not confirmed, by the record that contains them.
  std::map<shard_id, std::map<log_position, std::vector<enqueue_run>>> outgoing;
  /// Records up to this one were sent to their shards by this process.
  log_position outgoing_said = 0;
  /// Records that the next snapshot may drop.
  std::vector<log_position> delivered_follow_ups;
  /// Segments to pack or to close at the next snapshot.
  std::vector<sequence> dirty;
  /// The first tasks of segments whose survivors are to be copied; see `survivors.hpp`.
  std::set<sequence> sparse;
  /// The bodies that the next snapshot copies, by segment.
  std::map<sequence, copy_survivors> copies;
  /// Queues whose totals are to be written at the next snapshot.
  std::vector<std::uint32_t> changed_totals;
  /// Sessions to write at the next snapshot.
  std::vector<producer_id> dirty_producers;
  /// Sessions that their producers ended since the last snapshot. Some may have been used again.
  std::vector<producer_id> ended_sessions;
  /// Queues that may have a match at the end of the turn, because tasks became ready, leases became
  /// possible or credits arrived.
  std::vector<std::uint32_t> stirred;
  /// The latest commands of operators, which may have further parts; the one used last comes last.
  std::vector<audit_entry> open_audits;
  /// The first ready tasks of the other shards; null when this shard grants in its own order.
  std::shared_ptr<ready_board> board;
  /// Queues whose first ready task may have changed since it was shown on the board.
  std::vector<std::uint32_t> moved_heads;
  /// No task is granted while the disk has no space for results.
  bool are_grants_paused = false;
  /// The same at the end of the last turn.
  bool were_grants_paused = false;
  due_window released;
  /// Number of sealed turns.
  std::uint64_t turns = 0;
  /// Number of log records since the last snapshot.
  std::size_t records_since_snapshot = 0;
  /// Numbers of reports and heartbeats refused since the start, because their lease had ended.
  std::uint64_t stale_reports = 0;
  std::uint64_t stale_beats = 0;
  /// Number of producer sessions forgotten since the start for lack of room.
  std::uint64_t sessions_forgotten = 0;

  /// The queue's index; adds the queue when it is new.
  std::uint32_t intern(const queue_address& address);

  /// The queue's totals, to be changed; the next snapshot writes them.
  [[nodiscard]] queue_totals& change_totals(std::uint32_t queue);

  /// All queues' totals are on disk, or will be with a snapshot's record.
  void settle_totals();

  /// Marks the queue to be matched at the end of the turn.
  void stir(std::uint32_t queue);

  /// The shard shows its first ready tasks on the board from its next turn on, and grants none
  /// before better ones of other shards.
  void join_board(std::shared_ptr<ready_board> shared);

  /// Marks the queue's first ready task to be shown on the board at the end of the turn.
  void move_head(std::uint32_t queue) {
    if (board && !std::exchange(queues[queue]->has_moved_head, true))
      moved_heads.push_back(queue);
  }

  /// The same for all queues.
  void move_all_heads();

  /// Shows the first ready tasks that changed on the board.
  void publish_heads();

  /// The first task of the queue, or the one whose turn it is. @pre a task is in a lane
  [[nodiscard]] ready_head first_ready(queue_state& queue);

  /// Updates the worker at its queues to what it needs now. @pre it is attached
  void list_need(peer_id peer);

  [[nodiscard]] queue_state& queue_of(const segment& s) { return *queues[s.queue]; }

  /// The queue, or null when it is unknown.
  [[nodiscard]] const queue_state* find_queue(const queue_address& address) const;
  [[nodiscard]] queue_state* find_queue(const queue_address& address);

  /// True when the queue exists or its tenant may have another one.
  [[nodiscard]] bool has_room_for(const queue_address& address) const;

  /// The lane of a segment's tasks; created when it does not exist. @pre its queue has no fairness
  /// keys, or the key has ready tasks
  lane& lane_of(const segment& s);

  /// Lets the ready tasks of the segment's queue take turns by fairness key from now on, if the
  /// segment has one.
  void use_fairness(const segment& s);

  /// The same when other shards have fairness keys in the queue: the tasks here have the empty one.
  void join_turns(queue_state& queue);

  /// The first attached peer of this worker, if any. Logarithmic in the number of peers.
  [[nodiscard]] std::optional<peer_id> peer_of(const worker_identity& worker) const;

  [[nodiscard]] task_id id_of(sequence seq) const { return {id, seq}; }

private:
  /// Shows the task whose turn it is on the board. @pre the queue has a task that may be granted
  void publish_turn(queue_state& queue);

  /// @pre its tasks take no turns yet
  void add_fairness(queue_state& queue);

  /// Attaches the workers that wait for a queue, which now exists.
  void attach_waiting(std::uint32_t queue);
};

/// The first number of an epoch, for tokens, sequences and positions: (epoch, counter 1).
[[nodiscard]] constexpr std::uint64_t first_of_epoch(std::uint32_t epoch) noexcept {
  return (std::uint64_t{epoch} << 39) + 1;
}

} // namespace codeq::core
