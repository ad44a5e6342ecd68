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
#include <utility>
#include <vector>

namespace codeq::model {

/// What an attempt saved for the next one.
struct reference_checkpoint {
  fencing_token token{};
  std::uint32_t number = 0;
  std::string data;
};

/// One task of the reference: everything about it in plain fields.
struct reference_task {
  sequence seq = 0;
  queue_address queue;
  int priority = 0;
  task_settings settings;
  std::string body;
  task_state state = task_state::ready;
  /// When its latest lease ended, shard time, and when that turn was over.
  timestamp ended_at{};
  timestamp settled_at{};
  /// The user's deferral and the shard's; whichever is later counts.
  timestamp not_before{};
  timestamp retry_at{};
  bool allow_promotion = false;
  std::string group;
  /// Empty is none. Of all tasks with the same key that are still known by it, the one that became
  /// live last has it: `live_since` ascends with each enqueue and redrive.
  std::string key;
  std::uint64_t live_since = 0;
  bool closed = false;
  /// Of a closed task: from then on nobody knows it by its key.
  timestamp known_until = timestamp::max();
  std::uint32_t attempt = 0;
  /// Charged losses in a row, and uncharged ends in a row.
  std::uint32_t lost = 0;
  std::uint32_t refunds = 0;
  fencing_token token{};
  /// What a report would have to say to be a repeat of the latest end.
  std::optional<disposition> reported;
  std::string text;
  /// What was out of the ordinary, and all that followed it, in words.
  std::vector<std::string> history;
  /// Only while it is live.
  std::optional<reference_checkpoint> checkpoint;

  // While leased.
  worker_identity holder;
  duration lease{0};
  monotonic_time granted_at;
  /// Was to end sooner than any lease lasts: it has its timer at once, also when a beat of the same
  /// turn moves the end.
  bool began_short = false;
  monotonic_time deadline;
  monotonic_time run_deadline;
  monotonic_time progress_deadline;
  bool queued = false;
  bool timed = false;
  /// To be cancelled, and the worker knows.
  bool cancelling = false;
  bool told_to_stop = false;
  /// Over, and on disk only; where a task is matters to changes of many tasks alone.
  bool filed = false;

  [[nodiscard]] timestamp eligible_at() const { return std::max(not_before, retry_at); }
};

/// How much of so long a history is kept.
[[nodiscard]] constexpr std::size_t kept_of(std::size_t events) noexcept {
  constexpr std::size_t events_kept = 32;
  return std::min(events, events_kept);
}

/// An attached worker of the reference.
struct reference_worker {
  worker_identity identity;
  std::set<queue_address> queues;
  std::uint32_t credits = 0;
  duration wish{0};
  /// Knows that there is work and has not claimed since.
  bool told = false;
  bool claimed = false;
};

/// Where a part of a change of many tasks may say that the next one begins.
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
};

/// A list that was asked for, and the tasks that its filter picked then.
struct asked_list {
  core::list_tasks asked;
  std::vector<reference_task> picked;
};

/// Follow-ups of one turn for one other shard.
struct reference_delivery {
  shard_id to{};
  /// Chosen by the core when it hands them out first.
  std::uint64_t number = 0;
  /// In words, a line per run.
  std::string tasks{};
  /// Handed out by this process.
  bool said = false;
  bool confirmed = false;
  /// Confirmed to this process.
  bool confirmed_now = false;
  /// A snapshot knows that nobody misses them.
  bool is_over = false;
};

struct reference_totals {
  std::uint64_t completed = 0;
  std::uint64_t dead = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t lost = 0;
};

/// The shard as the contract tells it, in the simplest way: one flat map of tasks, nothing batched,
/// nothing indexed. It decides everything but which waiting worker gets a ready task; there it
/// accepts every choice that the contract allows. A copy is a snapshot.
class reference_shard {
public:
  explicit reference_shard(std::uint32_t epoch);

  /// What the core numbered the tasks that the next command adds, ascending: it may leave numbers
  /// out, as long as those of a lane keep their order, and those of a request theirs.
  void number_tasks(const std::vector<sequence>& numbers) {
    numbers_.assign(numbers.begin(), numbers.end());
  }

  /// Decides one command; what it says is in `expected`.
  void decide(const core::command& c, const instant& now);

  /// The end of a turn: due tasks, then the grants that the core made, checked one by one.
  void settle(const std::vector<core::tasks_granted>& grants, const instant& now);

  /// Checks an answer to a question of this turn.
  void check_listed(const core::tasks_listed& answer);

  /// At the end of a turn: nobody waits for an answer.
  void check_all_answered();

  /// Checks and notes what was handed to other shards.
  void hand_out(const std::vector<core::deliver_follow_ups>& deliveries);

  /// Makes tasks ready whose time has come.
  void release_due(timestamp now);

  /// Checks and notes timers that were started because their leases are no longer young.
  void start_timers(const std::vector<core::timer_wanted>& timers, const instant& now);

  /// Forgets what is volatile and gives every lease a fresh duration, as a restart does.
  /// `token_floor`: no token up to it may be given again, though its grant may be forgotten.
  void restart(std::uint32_t epoch, const instant& now, std::uint64_t token_floor);

  /// The greatest token given so far.
  [[nodiscard]] std::uint64_t token_floor() const noexcept { return token_floor_; }

  /// The lines that the turn must have said; cleared by the caller at its end.
  std::vector<std::string> expected;
  /// Of the changes of many tasks in this turn, in their order; cleared likewise.
  std::vector<reference_part> expected_parts;
  /// Broken rules found since the last clear.
  std::vector<std::string> broken;

  std::map<sequence, reference_task> tasks;
  std::map<core::peer_id, reference_worker> workers;
  std::map<producer_id, reference_producer> producers;
  std::map<queue_address, reference_totals> totals;
  std::vector<reference_delivery> outgoing;
  /// Numbers of follow-ups that came from other shards.
  std::map<shard_id, std::set<std::uint64_t>> taken;
  std::map<sequence, std::vector<core::peer_id>> awaited;
  /// Those among them who want to know how far the handlers are.
  std::map<sequence, std::set<core::peer_id>> watched;
  std::map<queue_address, core::queue_settings> queues;
  /// Questions of this turn that are not answered yet.
  std::vector<asked_list> lists;
  /// Tasks that nobody knows any more.
  std::set<sequence> purged;
  /// Every lease that was ever granted and not lost in a crash; for stale reports.
  std::vector<core::task_lease> given;

  /// The task that has the key now, or null.
  [[nodiscard]] reference_task* owner_of(const task_key& name, timestamp now);

  [[nodiscard]] reference_task* leased_task(sequence seq, fencing_token token);
  [[nodiscard]] std::vector<core::task_lease> live_leases() const;

private:
  void run(const core::enqueue& c);
  void run(const core::attach_worker& c);
  void run(const core::change_queues& c);
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
  void run(const core::await_tasks& c);
  void run(const core::describe_task& c);
  void run(const core::configure_queue& c);
  void run(const core::pause_queue& c);
  void run(const core::show_queue& c);
  void run(const core::list_tasks& c);
  void run(const core::explain_task& c);
  void run(const core::tell_history& c);

  /// The reference forgets no key before its time.
  void run(const core::recall_keys&) {}

  void run(const core::copy_survivors&) {}

  void run(const core::tick&) {}

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
  [[nodiscard]] bool has_room(const core::enqueue& c) const;
  [[nodiscard]] duration lease_for(const reference_worker& worker, const reference_task& task);
  [[nodiscard]] std::uint64_t
  count_in(const queue_address& queue, const std::function<bool(task_state)>& wanted) const;
  [[nodiscard]] bool hands_out(const queue_address& queue) const;
  [[nodiscard]] const reference_task& blocker_of(const reference_task& of) const;
  [[nodiscard]] task_reason reason_of(const reference_task& task) const;
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
  void fail(reference_task& task, task_event::kind what, std::optional<duration> delay);
  void end(reference_task& task, task_event::kind what, task_state next, bool charged);
  static void note_change(reference_task& task, task_event::kind what);
  void describe(const core::inquiry& why, sequence seq);
  [[nodiscard]] std::vector<sequence> held_by(const worker_identity& worker) const;

  [[nodiscard]] std::vector<sequence> ready_in_order(const queue_address& queue) const;
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
  /// Of the tasks of the next command, ascending.
  std::deque<sequence> numbers_;
  /// The last task of each queue and priority.
  std::map<std::pair<queue_address, int>, sequence> newest_;
  /// This turn takes a snapshot.
  bool snapshotted_ = false;
  /// Above every token ever given, those of crashed turns included.
  std::uint64_t token_floor_ = 0;
};

} // namespace codeq::model
