// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/producer.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "sim/audit/ledger.hpp"
#include "sim/audit/fairness_audit.hpp"
#include "sim/audit/limit_audit.hpp"
#include "sim/audit/maximum_audit.hpp"
#include "sim/audit/order_audit.hpp"
#include "sim/schedules/tick_book.hpp"
#include "sim/world.hpp"
#include "worker/node/report.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::sim {

/// Counters for the summary of many runs.
struct run_totals {
  std::uint64_t tasks = 0;
  std::uint64_t deliveries = 0;
  std::uint64_t redeliveries = 0;
  std::uint64_t lost_leases = 0;
  std::uint64_t kills = 0;
  std::uint64_t power_cuts = 0;
  std::uint64_t handed_on = 0;
  std::uint64_t worker_crashes = 0;
  std::uint64_t connection_cuts = 0;
  std::uint64_t producer_crashes = 0;
  std::uint64_t changes = 0;
  std::uint64_t grouped = 0;
  std::uint64_t follow_ups = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t refused = 0;
  std::uint64_t forced = 0;
  std::uint64_t purged = 0;
  std::uint64_t pauses = 0;
  /// Occurrences of schedules.
  std::uint64_t ticks = 0;

  run_totals& operator+=(const run_totals& more);
};

/// Identifies a lease: tokens are unique per shard.
using lease_place = std::pair<shard_id, fencing_token>;

/// Checks what the clients saw against the contract. It knows nothing of how the coordinator works:
/// it is notified of requests, answers, granted leases and ended processes. Every violation becomes
/// a line that names the broken rule.
class auditor {
public:
  auditor(world& all, const sim_disk& disk)
    : world_(all),
      ledger_([this](const std::string& rule, const std::string& what) { breach(rule, what); }),
      order_([this](const std::string& rule, const std::string& what) { breach(rule, what); }),
      fairness_([this](const std::string& rule, const std::string& what) { breach(rule, what); }),
      limits_(
        all, [this](const std::string& rule, const std::string& what) { breach(rule, what); }),
      maxima_(
        all, [this](const std::string& rule, const std::string& what) { breach(rule, what); }),
      ticks_(
        [this](const std::string& rule, const std::string& what) { breach(rule, what); },
        all.was_disk_full, disk) {}

  /// Records a violation of the contract.
  void breach(const std::string& rule, const std::string& what);

  // Producers.

  /// A task will be enqueued under a unique name, which is also its payload. `shard_now`: the
  /// earliest shard time that "now" can mean.
  void submitted(const std::string& name, const task_spec& spec, timestamp shard_now);
  /// The answer to the enqueue: a task of its own, an existing record with its key, or a refusal.
  void enqueued(const std::string& name, const result<enqueued_task>& how);
  void ended(const task_id& id, const result<ended_task>& how);

  /// The producer crashed: its unanswered task may or may not exist.
  void given_up(const std::string& name);

  // Operators.

  void change_asked(const task_id& id, task_change what);
  void change_asked(const task_key& key, task_change what);
  void change_answered(const task_id& id, task_change what, const change_outcome& how);

  void force_asked(const task_id& id, force_kind how, const std::string& text);
  void force_answered(
    const task_id& id, force_kind how, virtual_time asked_at, const change_outcome& answer);
  /// Returns the number of the request, for `pause_answered`.
  std::uint64_t pause_asked(shard_id shard, const queue_address& queue, bool paused);

  /// The pause request with that number was answered; `paused` is the queue's state.
  void pause_answered(shard_id shard, const queue_address& queue, std::uint64_t wish, bool paused);

  /// All tasks of the default tenant on a shard, as an operator listed them in parts.
  void listed(shard_id shard, const std::vector<sequence>& seen, virtual_time began_at);

  /// All tasks of the queue are to be purged; an empty name means every queue of the tenant.
  void purge_asked(const queue_address& queue);

  /// All tasks of the queue that were known when the purge began are gone from the shard.
  void purged(shard_id shard, const queue_address& queue, virtual_time began_at);

  // Workers.

  /// A shard learned that a newer process has taken over the worker's name.
  void worker_replaced(shard_id shard, const worker_identity& by);

  /// A shard learned that the worker ended its session: it gets no more tasks.
  void worker_left(shard_id shard, const worker_identity& worker);

  struct delivery {
    task_id id;
    fencing_token token{};
    std::string name;
    std::uint32_t attempt = 0;
    bool redelivered = false;
    timestamp shard_now;
    /// The checkpoint that came with the task.
    std::string checkpoint{};
  };

  void delivered(const worker_identity& worker, const delivery& d);
  void reported(const worker::report& r, timestamp shard_now);
  void answered(const lease_place& lease, errc code);

  /// A worker is about to complete with this result and these follow-ups; each follow-up is
  /// registered by name, as an enqueued task is.
  void will_follow(
    const lease_place& lease, const std::string& text, const std::vector<task_spec>& tasks);
  void told_lost(const lease_place& lease);

  /// Leases that the shard must deliver to the worker after a resume; those in `held` need no
  /// delivery.
  [[nodiscard]] std::vector<lease_place>
  owed_to(const worker_identity& worker, shard_id shard, const std::set<fencing_token>& held) const;

  /// Called a while after the resume: every lease of `owed` must have been delivered, unless it may
  /// have ended by then.
  void check_owed(const std::vector<lease_place>& owed);

  /// True when the holder of the lease must be sent its cancel notice again after a resume.
  [[nodiscard]] bool is_cancel_owed(const lease_place& lease) const;

  /// A cancel notice was owed and did not come.
  void cancel_missed(const lease_place& lease);

  // Checkpoints, `auditor_checkpoints.cpp`.

  /// A handler saves a checkpoint whose data is unique; `number` counts the attempt's checkpoints.
  void saves(const lease_place& lease, std::uint32_t number, const std::string& data);

  /// The handler was told that its checkpoints up to `number` are durable.
  void told_saved(const lease_place& lease, std::uint32_t number);

  // The coordinator's life.

  /// A command reached a shard.
  void asked(shard_id shard, const core::command& c) {
    ledger_.asked(shard, c);
    ticks_.asked(shard, c);
  }

  void turn_sealed(core::shard_state& state, const std::vector<core::event>& events);
  void grant_left(shard_id shard, fencing_token token);
  void beat_taken(shard_id shard, fencing_token token, bool queued);
  void coordinator_ended(bool clock_went_back);
  void power_was_cut(virtual_time lost_since);

  /// The events that are durable on the disk of a coordinator that ended.
  void left_on_disk(const std::vector<std::pair<shard_id, core::event>>& durable) {
    ledger_.rebuild(durable);
    ticks_.rebuild(durable);
  }

  /// Shard time after recovery, and the latest shard time on the disk.
  void time_recovered(timestamp found, timestamp durable);
  void
  recovered(core::shard_state& found, core::shard_state& expected, const std::string& whose_memory);
  void coordinator_restarted();

  // The end of a run.

  /// Tasks whose enqueue was answered and whose status may be queried.
  [[nodiscard]] std::vector<task_id> known_tasks() const;

  /// Tasks to which the change may apply.
  [[nodiscard]] std::vector<task_id> candidates(task_change what) const;

  /// Describes the submitted tasks that have not ended; empty when all have.
  [[nodiscard]] std::string unfinished() const;

  /// Describes follow-ups of accepted completions that were never seen, though every task that was
  /// seen has ended.
  [[nodiscard]] std::string missing_follow_ups() const;

  /// Called when all follow-ups of accepted completions were seen: checks that no other
  /// completion's follow-up exists.
  void check_follow_ups();

  /// Final check of a task: its status must agree with what was seen before.
  void looked_again(const task_id& id, const result<ended_task>& how);

  [[nodiscard]] const std::vector<std::string>& breaches() const noexcept { return breaches_; }

  [[nodiscard]] run_totals& totals() noexcept { return totals_; }

  /// Checks of schedules.
  [[nodiscard]] tick_book& ticks() noexcept { return ticks_; }

private:
  /// One lease as the clients know it.
  struct lease_view {
    worker_identity holder;
    task_id id;
    virtual_time granted_at{0};
    /// Before this time the lease must not end by its time alone.
    monotonic_time earliest_end;
    monotonic_time run_end;
    /// Zero: unlimited.
    duration run_timeout{0};
    duration lease{0};
    /// When the grant was sent to the worker; it was durable by then.
    std::optional<virtual_time> left_at;
    /// A process ended, so it is unknown whether the grant was ever durable.
    bool doubtful = false;
    /// The worker's process was replaced or left.
    bool may_have_ended = false;
    bool redelivered = false;
    bool lost = false;
    std::optional<virtual_time> delivered_at;
    timestamp delivered_shard;
    std::uint32_t attempt = 0;
    std::optional<virtual_time> reported_at;
    disposition how{};
    std::string text;
    /// After a failure: earliest shard time of the next lease.
    std::optional<timestamp> retry_floor;
    std::uint64_t clock = 0;
    std::optional<virtual_time> accepted_at;
  };

  /// Earliest delivery time that a producer was promised.
  struct wish_floor {
    timestamp earliest;
    std::uint64_t clock = 0;
  };

  /// A checkpoint of an attempt.
  struct saved_state {
    std::string data;
    /// When the handler first sent it.
    std::optional<virtual_time> sent_at;
    /// When the handler was told that it is durable.
    std::optional<virtual_time> told_at;
  };

  struct task_view {
    std::string name;
    /// When the task was first seen.
    virtual_time seen_at{0};
    /// When its enqueue was first answered.
    std::optional<virtual_time> acked_at;
    bool doubtful = false;
    /// When a result was accepted, or the end was first reported to a client.
    std::optional<virtual_time> final_at;
    std::optional<fencing_token> final_token;
    std::optional<ended_task> final;
    /// When it was first reported or asked to be cancelled.
    std::optional<virtual_time> may_end_since;
    /// A client was told that the task is unknown, at a time when its retention may have passed.
    bool forgotten = false;
    std::map<fencing_token, lease_view> leases;
    /// Changes that were requested, whatever their outcome.
    bool cancel_asked = false;
    bool promote_asked = false;
    bool redrive_asked = false;
    bool force_asked = false;
    /// When a client was told that the task was purged.
    std::optional<virtual_time> purged_at;
    /// A client was told that the task is unknown, after it was purged.
    bool is_unknown = false;
    /// Leases granted before the first time were ended by force; a client was told so at the
    /// second.
    std::optional<std::pair<virtual_time, virtual_time>> forced;
    /// Earliest delivery times, each with the time when a client was told of it.
    std::vector<std::pair<virtual_time, wish_floor>> floors;
    /// When a client was told that the task is cancelled, or will be unless it completes.
    std::optional<virtual_time> cancelled_at;
    std::optional<virtual_time> cancelling_since;
    /// All result and error texts that workers reported for it.
    std::set<std::string> texts;
    /// All checkpoints that its attempts saved.
    std::map<std::pair<fencing_token, std::uint32_t>, saved_state> saved;
  };

  struct wish {
    task_spec spec;
    timestamp earliest;
    std::uint64_t clock = 0;
    std::optional<task_id> id;
    bool given_up = false;
    bool is_follow_up = false;
    /// The enqueue was answered without a task of its own: refused, or a duplicate.
    bool is_settled = false;
    /// Number of power cuts before the enqueue.
    std::uint64_t power_cuts = 0;
  };

  /// The follow-ups of one completion, which may or may not have been accepted.
  struct follow_up_plan {
    task_id of;
    /// The completion's result text, which is unique.
    std::string text;
    std::vector<std::string> names;
  };

  /// True when the completion was accepted; empty when no client knows.
  [[nodiscard]] std::optional<bool> is_accepted(const follow_up_plan& plan) const;
  task_view* meet(const std::string& name, const task_id& id);
  /// Adds the task of a schedule, which no client enqueued.
  std::map<std::string, wish>::iterator meet_tick(const std::string& name, const task_id& id);
  void met_record(const std::string& name, const enqueued_task& how);
  void refused(const std::string& name, const error& reason);
  void check_verdict(const std::string& name, const std::optional<enqueued_task>& told);
  void check_floors(const std::string& who, const task_view& t, const lease_view& l, timestamp at);
  /// Returns the name under which a task was enqueued, given the payload it was delivered with.
  std::string check_payload(const delivery& d);
  [[nodiscard]] const task_spec* spec_of(const task_id& id, const task_view& t) const;
  [[nodiscard]] bool is_asked(const task_id& id, const task_view& t, task_change what) const;
  [[nodiscard]] bool is_purge_asked(const task_id& id, const task_view& t) const;
  /// True when an operator may have ended the task or its leases.
  [[nodiscard]] bool is_meddled_with(const task_id& id, const task_view& t) const;
  void check_checkpoint(const std::string& who, const delivery& d, const task_view& t);
  void check_start(const task_id& id, const task_view& t, const std::string& worker);
  /// Returns the lease, const if the auditor `of` is; null when it is unknown.
  template <class Auditor>
  [[nodiscard]] static auto* find_in(Auditor& of, const lease_place& lease);
  [[nodiscard]] lease_view* find(const lease_place& lease);
  [[nodiscard]] const lease_view* find(const lease_place& lease) const;
  void granted(core::shard_state& state, const core::batch_granted& e);
  void start_view(
    core::shard_state& state, const core::batch_granted& e, const task_id& id, fencing_token token);
  void check_single_lease(const task_id& id, fencing_token token, const task_view& t);
  void check_retry_time(const task_id& id, const task_view& t);
  void check_cancelled(const task_view& t, const ended_task& now);
  [[nodiscard]] bool may_be_forgotten(const task_id& id, const task_view& t) const;
  void check_final(const task_id& id, task_view& t, const ended_task& now);
  [[nodiscard]] bool may_be_over(const lease_view& l) const;
  [[nodiscard]] duration
  shortest_retry(const task_spec& spec, const worker::report& r, std::uint32_t attempt) const;

  world& world_;
  ledger ledger_;
  order_audit order_;
  fairness_audit fairness_;
  limit_audit limits_;
  maximum_audit maxima_;
  tick_book ticks_;
  std::map<std::string, wish> wishes_;
  std::map<task_id, task_view> tasks_;
  std::vector<follow_up_plan> plans_;
  std::map<lease_place, task_id> places_;
  std::map<shard_id, fencing_token> last_token_;
  std::map<task_key, std::set<task_change>> asked_by_key_;
  std::set<queue_address> purges_;

  /// The latest pause request of a queue that was not followed by a resume.
  struct pause_view {
    std::uint64_t wish = 0;
    /// When a client was told that the queue is paused.
    std::optional<virtual_time> told_at{};
  };

  std::map<std::pair<shard_id, queue_address>, pause_view> pauses_;
  std::uint64_t pause_wishes_ = 0;
  std::set<std::pair<shard_id, worker_identity>> left_;
  /// Incremented when shard time went back over a restart, which voids earlier floors.
  std::uint64_t clock_ = 0;
  std::vector<std::string> breaches_;
  run_totals totals_;
};

} // namespace codeq::sim
