// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include "core/commands/command.hpp"
#include "core/commands/effect.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace codeq::model {

/// A checkpoint that an attempt saved for the next one.
struct reference_checkpoint {
  fencing_token token{};
  std::uint32_t number = 0;
  std::string data;
};

/// One task of the reference, with all its state in plain fields.
struct reference_task {
  sequence seq = 0;
  queue_address queue;
  int priority = 0;
  task_settings settings;
  std::string body;
  task_state state = task_state::ready;
  /// Shard time when its latest lease ended, and when that turn was sealed.
  timestamp ended_at{};
  timestamp settled_at{};
  /// The user's deferral and the shard's; the later one counts.
  timestamp not_before{};
  timestamp retry_at{};
  bool allow_promotion = false;
  std::string group;
  /// Empty: none. Of all tasks with the same key that are not forgotten, the one that became live
  /// last has it; `live_since` ascends with each enqueue and redrive.
  std::string key;
  std::string fairness_key;
  std::uint64_t live_since = 0;
  bool closed = false;
  /// For a closed task: from this time on its key no longer finds it.
  timestamp known_until = timestamp::max();
  std::uint32_t attempt = 0;
  /// Charged losses in a row, and uncharged ends in a row.
  std::uint32_t lost = 0;
  std::uint32_t refunds = 0;
  fencing_token token{};
  /// Content of the latest report, by which a repeat is recognised.
  std::optional<disposition> reported;
  std::string text;
  /// All events but its enqueue, leases and completion, in words.
  std::vector<std::string> history;
  /// Its completion, which is in no history; empty: it is not completed by a report.
  std::string completion{};
  /// Set only while the task is live.
  std::optional<reference_checkpoint> checkpoint;

  // Set while the task is leased.
  worker_identity holder;
  duration lease{0};
  monotonic_time granted_at;
  /// The first deadline was closer than `tuning::lease_timer_delay_max`. The lease gets its timer
  /// at once, even when a heartbeat of the same turn moves its end.
  bool began_short = false;
  monotonic_time deadline;
  monotonic_time run_deadline;
  monotonic_time progress_deadline;
  bool queued = false;
  bool timed = false;
  /// The task is to be cancelled; the worker was notified.
  bool cancelling = false;
  bool told_to_stop = false;
  /// The task has ended and is on disk only. Only bulk changes depend on where a task is.
  bool filed = false;

  [[nodiscard]] timestamp eligible_at() const { return std::max(not_before, retry_at); }
};

/// Number of events that are kept of a history.
[[nodiscard]] constexpr std::size_t kept_of(std::size_t events) noexcept {
  constexpr std::size_t events_kept = 32;
  return std::min(events, events_kept);
}

/// An attached worker of the reference.
struct reference_worker {
  worker_identity identity;
  std::set<queue_address> queues;
  /// `queue` is the beginning of names.
  std::vector<queue_address> prefixes;
  /// Queues that it serves and takes no tasks of for now.
  std::set<queue_address> without;
  /// Its leases when it attached: those that it gets again, once, if it does not know them.
  std::set<fencing_token> held_before;
  std::uint32_t credits = 0;
  duration wish{0};
  /// The worker was notified of ready tasks and has not claimed since.
  bool told = false;
  bool claimed = false;

  [[nodiscard]] bool claims_from(const queue_address& queue) const {
    auto matches = [&](const queue_address& prefix) {
      return prefix.tenant == queue.tenant && queue.queue.starts_with(prefix.queue);
    };
    bool by_prefix = std::any_of(prefixes.begin(), prefixes.end(), matches);
    return queues.contains(queue) || (by_prefix && !without.contains(queue));
  }
};

/// Bounds for the position where a part of a bulk change says that the next part begins.
struct reference_part {
  sequence after_min = 0;
  sequence after_max = 0;
};

struct reference_answer {
  std::vector<sequence> tasks;
  std::vector<enqueue_kind> kinds;
};

struct reference_producer {
  timestamp last_used;
  std::uint64_t answered_below = 0;
  std::map<std::uint64_t, reference_answer> answers;
  /// The producer ended the session and did not use it since.
  bool is_ended = false;
};

/// A list request, and the tasks that matched its filter at that moment.
struct asked_list {
  core::list_tasks asked;
  std::vector<reference_task> picked;
};

/// Follow-ups of one turn for one other shard.
struct reference_delivery {
  shard_id to{};
  /// Chosen by the core when it first sends them.
  std::uint64_t number = 0;
  /// In words, one line per run.
  std::string tasks{};
  /// Sent by this process.
  bool said = false;
  bool confirmed = false;
  /// Confirmed to this process.
  bool confirmed_now = false;
  /// A snapshot has recorded that all of them were confirmed.
  bool is_over = false;
};

struct reference_totals {
  std::uint64_t completed = 0;
  std::uint64_t dead = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t lost = 0;
};

/// The shard as the contract describes it, in the simplest form: one flat map of tasks, without
/// batches or indexes. It makes every decision except which waiting worker gets a ready task; there
/// it accepts every choice that the contract allows. A copy is a snapshot.
class reference_shard {
public:
  explicit reference_shard(std::uint32_t epoch);

  /// Numbers that the core assigned to the tasks of the next command, ascending. The core may skip
  /// numbers, as long as the tasks of a lane keep their order, and those of a request theirs.
  void number_tasks(const std::vector<sequence>& numbers) {
    numbers_.assign(numbers.begin(), numbers.end());
  }

  /// Decides one command; the expected effects are added to `expected`.
  void decide(const core::command& c, const instant& now);

  /// Ends a turn: releases due tasks, then checks the core's grants one by one.
  void settle(const std::vector<core::tasks_granted>& grants, const instant& now);

  /// Checks the answer to a list request of this turn.
  void check_listed(const core::tasks_listed& answer);

  /// At the end of a turn: checks that no request is unanswered.
  void check_all_answered();

  /// Checks and records the follow-ups that were sent to other shards.
  void hand_out(const std::vector<core::deliver_follow_ups>& deliveries);

  /// Forgets the sessions that a snapshot forgot because their producers had ended them.
  void forget_ended_sessions(const core::snapshot_taken& snapshot);

  /// Checks that the queues that a snapshot removed have no reason to exist, and forgets their
  /// totals.
  void remove_queues(const core::snapshot_taken& snapshot);

  /// Makes due tasks ready.
  void release_due(timestamp now);

  /// Checks and records timers that were started because their leases are old enough.
  void start_timers(const std::vector<core::timer_wanted>& timers, const instant& now);

  /// Drops volatile state and gives every lease a fresh duration, as a restart does. `token_floor`:
  /// tokens up to it must not be granted again, even if their grants were lost.
  void restart(std::uint32_t epoch, const instant& now, std::uint64_t token_floor);

  /// The greatest token granted so far.
  [[nodiscard]] std::uint64_t token_floor() const noexcept { return token_floor_; }

  /// Lines that the turn's effects must contain; cleared by the caller at the end of the turn.
  std::vector<std::string> expected;
  /// Lines that may take the place of expected ones: it is not known here whose turn it is. Cleared
  /// in the same way.
  std::map<std::string, std::string> expected_for;
  /// The same for the parts of bulk changes, in order; cleared in the same way.
  std::vector<reference_part> expected_parts;
  /// Violated rules found since the last clear.
  std::vector<std::string> broken;

  std::map<sequence, reference_task> tasks;
  std::map<core::peer_id, reference_worker> workers;
  std::map<producer_id, reference_producer> producers;
  std::map<queue_address, reference_totals> totals;
  std::vector<reference_delivery> outgoing;
  /// Numbers of follow-ups that came from other shards.
  std::map<shard_id, std::set<std::uint64_t>> taken;
  std::map<sequence, std::vector<core::peer_id>> awaited;
  /// Peers among them that want progress, too.
  std::map<sequence, std::set<core::peer_id>> watched;
  std::map<queue_address, core::queue_settings> queues;
  /// For the breakers of queues that are not paused: when attempts ended, and whether they failed.
  std::map<queue_address, std::vector<std::pair<monotonic_time, bool>>> attempts;
  /// List requests of this turn that are not answered yet.
  std::vector<asked_list> lists;
  /// Tasks that were removed for good.
  std::set<sequence> purged;
  /// Every lease that was granted and not lost in a crash; used for stale reports.
  std::vector<core::task_lease> given;

  /// The task that has the key at that time, or null.
  [[nodiscard]] reference_task* owner_of(const task_key& name, timestamp now);

  [[nodiscard]] reference_task* leased_task(sequence seq, fencing_token token);
  [[nodiscard]] std::vector<core::task_lease> live_leases() const;

private:
  void run(const core::enqueue& c);
  void run(const core::attach_worker& c);
  void run(const core::change_queues& c);

  // The audit log is not part of the model, and no step contains these.

  void run(const core::note_command&) {}
  void run(const core::set_schedule&) {}
  void run(const core::change_schedule&) {}
  void run(const core::show_schedule&) {}
  void run(const core::list_schedules&) {}
  void run(const core::set_limit&) {}

  void run(const core::list_limits&) {}

  void run(const core::list_limit_keys&) {}

  void run(const core::close_limit_key&) {}

  void run(const core::ask_permits&) {}

  void run(const core::give_permits&) {}

  void run(const core::fire_schedule&) {}
  void run(const core::watch_ends&) {}
  void run(const core::note_ends&) {}
  void run(const core::adopt_settings&) {}
  void run(const core::settings_adopted&) {}

  void run(const core::tell_audit&) {}

  void tell_progress(const std::vector<core::lease_progress>& lines);
  void tell_progress(const core::lease_progress& p);
  void save(reference_task& task, const core::lease_checkpoint& c);
  void save_all(const core::heartbeat& c);
  void run(const core::detach_peer& c);
  void run(const core::claim& c);
  void run(const core::revoke_credits& c);
  void run(const core::heartbeat& c);
  void run(const core::report& c);
  void run(const core::take_follow_ups& c);
  void run(const core::confirm_follow_ups& c);
  void run(const core::expire_lease& c);
  void run(const core::resume& c);
  void run(const core::release_worker& c);
  void run(const core::replace_worker& c);
  void run(const core::cancel& c);
  void run(const core::promote& c);
  void run(const core::redrive& c);
  void run(const core::purge& c);
  void run(const core::force& c);
  void run(const core::change_many& c);
  void change_listed(const core::change_many& c);
  void run(const core::await_tasks& c);
  void run(const core::stop_awaiting& c);
  void run(const core::describe_task& c);
  void run(const core::configure_queue& c);
  void run(const core::weigh_keys& c);
  void run(const core::pause_queue& c);
  void run(const core::show_queue& c);
  void run(const core::list_tasks& c);
  void run(const core::explain_task& c);
  void run(const core::tell_history& c);

  /// The reference forgets no key too early, so it has nothing to recall.
  void run(const core::recall_keys&) {}

  void run(const core::copy_survivors&) {}

  void run(const core::end_session& c);
  [[nodiscard]] bool is_idle(const producer_id& id, const reference_producer& producer) const;

  void run(const core::tick&) {}
  void run(const core::look_at_rivals&) {}

  void run(const core::take_snapshot&) { snapshot_wanted_ = snapshotted_ = true; }

  void forget_past_dead();
  [[nodiscard]] errc session_trouble(const core::request_id& request) const;
  reference_answer add_tasks(const std::vector<core::enqueue_run>& runs);
  void add_follow_ups(const core::lease_report& r);
  void hand_out_one(const core::deliver_follow_ups& d);
  sequence add_task(const core::enqueue_run& r, std::size_t i);
  sequence take_number();
  enqueue_kind meet(const core::enqueue_run& r, reference_task& task);
  enqueue_kind move_time(const core::enqueue_run& r, reference_task& task);
  [[nodiscard]] std::optional<sequence> find_named(
    core::peer_id peer,
    std::uint64_t number,
    sequence seq,
    const std::shared_ptr<const task_key>& key);
  void close_keyed();
  [[nodiscard]] task_settings settings_of(const core::enqueue_run& r) const;
  /// The only header of a task is the first letter of its body.
  [[nodiscard]] std::string
  fairness_key_of(const core::enqueue_run& r, const std::string& body) const;
  [[nodiscard]] bool has_room(const core::enqueue& c);
  [[nodiscard]] bool adds_nothing(const core::enqueue_run& r);
  [[nodiscard]] duration lease_for(const reference_worker& worker, const reference_task& task);
  [[nodiscard]] std::uint64_t
  count_in(const queue_address& queue, const std::function<bool(task_state)>& wanted) const;
  [[nodiscard]] bool hands_out(const queue_address& queue) const;
  [[nodiscard]] const reference_task& blocker_of(const reference_task& of) const;
  [[nodiscard]] task_reason reason_of(const reference_task& task) const;

  /// True when other fairness keys may get the next slot, as far as the reference knows.
  [[nodiscard]] bool may_wait_for_turn(const reference_task& task, task_reason reason) const;
  void report_one(core::peer_id peer, const core::lease_report& r);
  void end_as_reported(reference_task& task, const core::lease_report& r);
  void lose(reference_task& task);
  void tell_to_stop(core::peer_id peer, reference_task& task);
  void settle_group(const reference_task& of);
  reference_task* find_to_change(core::peer_id peer, std::uint64_t number, sequence seq);
  void tell_ended(const reference_task& task);
  void force_end(reference_task& task, task_state next, bool charged, const std::string& text);
  void forget(sequence seq);
  bool change_one(core::bulk_kind what, sequence seq);
  [[nodiscard]] bool is_key_taken(const reference_task& task);
  void live_again(reference_task& task);
  void start_clocks(reference_task& task);
  void end_limited(reference_task& task, const core::lease_report& r);
  void fail(reference_task& task, task_event::kind what, std::optional<duration> delay);
  void end(reference_task& task, task_event::kind what, task_state next, bool charged);
  /// Counts the end of an attempt, and pauses the queue when its breaker trips.
  void count_for_breaker(const queue_address& queue, task_event::kind what, bool failed);
  static void note_change(reference_task& task, task_event::kind what);
  void describe(const core::inquiry& why, sequence seq);
  [[nodiscard]] std::vector<sequence> held_by(const worker_identity& worker) const;

  /// The ready tasks of a queue by priority, the highest first, and fairness key; those of one key
  /// in the order of their enqueues.
  using ready_tasks =
    std::map<int, std::map<std::string, std::deque<sequence>>, std::greater<>>;
  [[nodiscard]] ready_tasks ready_in_order(const queue_address& queue) const;

  /// Takes a task away that was granted. False when its key, or a higher priority, has an earlier
  /// one.
  bool take_ready(ready_tasks& from, sequence seq) const;
  void grant_one(const core::tasks_granted& batch, const core::granted_run& run, std::uint32_t i);
  void check_order(const std::map<queue_address, std::map<fencing_token, sequence>>& granted);
  [[nodiscard]] bool has_work(const reference_worker& worker) const;
  void tell_workers(const std::vector<core::tasks_granted>& grants);
  void require(bool condition, const std::string& what);

  instant now_{};
  /// Tasks whose leases ended in this turn.
  std::vector<sequence> ended_;
  bool snapshot_wanted_ = false;
  std::uint64_t next_live_ = 1;
  sequence next_seq_;
  /// Numbers of the tasks that the next command adds, ascending.
  std::deque<sequence> numbers_;
  /// The last task of each queue and priority.
  std::map<std::tuple<queue_address, int, std::string>, sequence> newest_;
  /// This turn takes a snapshot.
  bool snapshotted_ = false;
  /// Not below any token ever granted, including those of turns lost in a crash.
  std::uint64_t token_floor_ = 0;
};

} // namespace codeq::model
