// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include "core/command.hpp"
#include "core/effect.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::model {

/// One task of the reference: everything about it in plain fields.
struct reference_task {
  sequence seq = 0;
  queue_address queue;
  int priority = 0;
  core::task_settings settings;
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
  std::uint32_t attempt = 0;
  /// Charged losses in a row, and uncharged ends in a row.
  std::uint32_t lost = 0;
  std::uint32_t refunds = 0;
  fencing_token token{};
  /// What a report would have to say to be a repeat of the latest end.
  std::optional<core::disposition> reported;
  std::string text;

  // While leased.
  worker_identity holder;
  duration lease{0};
  monotonic_time granted_at;
  monotonic_time deadline;
  monotonic_time run_deadline;
  bool queued = false;
  bool timed = false;
  /// To be cancelled, and the worker knows.
  bool cancelling = false;
  bool told_to_stop = false;

  [[nodiscard]] timestamp eligible_at() const { return std::max(not_before, retry_at); }
};

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

struct reference_producer {
  timestamp last_used;
  std::uint64_t answered_below = 0;
  std::map<std::uint64_t, std::vector<sequence>> answers;
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

  /// Decides one command; what it says is in `expected`.
  void decide(const core::command& c, const instant& now);

  /// The end of a turn: due tasks, then the grants that the core made, checked one by one.
  void settle(const std::vector<core::tasks_granted>& grants, const instant& now);

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
  /// Broken rules found since the last clear.
  std::vector<std::string> broken;

  std::map<sequence, reference_task> tasks;
  std::map<core::peer_id, reference_worker> workers;
  std::map<producer_id, reference_producer> producers;
  std::map<queue_address, reference_totals> totals;
  std::map<sequence, std::vector<core::peer_id>> awaited;
  /// Every lease that was ever granted and not lost in a crash; for stale reports.
  std::vector<core::task_lease> given;

  [[nodiscard]] reference_task* leased_task(sequence seq, fencing_token token);
  [[nodiscard]] std::vector<core::task_lease> live_leases() const;

private:
  void run(const core::enqueue& c);
  void run(const core::attach_worker& c);
  void run(const core::detach_peer& c);
  void run(const core::claim& c);
  void run(const core::revoke_credits& c);
  void run(const core::heartbeat& c);
  void run(const core::report& c);
  void run(const core::expire_lease& c);
  void run(const core::resume& c);
  void run(const core::release_worker& c);
  void run(const core::replace_worker& c);
  void run(const core::cancel& c);
  void run(const core::promote& c);
  void run(const core::redrive& c);
  void run(const core::await_tasks& c);
  void run(const core::describe_task& c);

  void run(const core::tick&) {}

  void run(const core::take_checkpoint&) {}

  [[nodiscard]] errc session_trouble(const core::request_id& request) const;
  std::vector<sequence> add_tasks(const core::enqueue& c);
  void report_one(core::peer_id peer, const core::lease_report& r);
  void end_as_reported(reference_task& task, const core::lease_report& r);
  void lose(reference_task& task);
  void tell_to_stop(core::peer_id peer, reference_task& task);
  void settle_group(const reference_task& of);
  reference_task* find_to_change(core::peer_id peer, std::uint64_t number, sequence seq);
  void tell_ended(const reference_task& task);
  void fail(reference_task& task, std::optional<duration> delay);
  void end(reference_task& task, task_state next, bool charged);
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
  sequence next_seq_;
  /// Above every token ever given, those of crashed turns included.
  std::uint64_t token_floor_ = 0;
};

} // namespace codeq::model
