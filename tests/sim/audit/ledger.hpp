// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/command.hpp"
#include "core/commands/event.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::sim {

/// Recomputes from the records that shards write what the contract requires: attempts and charges,
/// times, groups, keys, cancellations, queue settings, totals. It reads the records one by one,
/// together with the commands that the shard was sent, and never looks at a shard's memory.
class ledger {
public:
  using breach_function = std::function<void(const std::string& rule, const std::string& what)>;

  explicit ledger(breach_function breach) : breach_(std::move(breach)) {}

  /// A command reached the shard; it will be decided in the shard's next turn.
  void asked(shard_id shard, const core::command& c);

  /// A turn was sealed at this shard time.
  void follow(shard_id shard, const std::vector<core::event>& events, timestamp sealed_at);

  /// After `follow`: `waits` says which of the requests so far wait for a later turn.
  void note_waiting(const std::function<bool(const core::request_id&)>& waits);

  /// A process ended: from now on only these records count, which are all durable.
  void rebuild(const std::vector<std::pair<shard_id, core::event>>& durable);

  /// A heartbeat reached a live lease.
  void beaten(shard_id shard, fencing_token token, bool queued);

  /// In this turn all leases of the worker's older processes must end (`replaced`), or all leases
  /// of the worker (`left`).
  void replaced(shard_id shard, const worker_identity& by);
  void left(shard_id shard, const worker_identity& worker);

  /// The attempt number that belongs to a token.
  [[nodiscard]] std::optional<std::uint32_t> attempt_of(shard_id shard, fencing_token token) const;

  /// The payload under which a task was enqueued; empty when no record has it.
  [[nodiscard]] std::string first_payload_of(const task_id& id) const;

  /// True when a record of the task was read.
  [[nodiscard]] bool knows(const task_id& id) const;

  /// Describes tasks of schedules that have not ended.
  [[nodiscard]] std::string living_ticks() const;

  /// True when the task that was enqueued with that payload has ended.
  [[nodiscard]] bool has_ended(const std::string& first_payload) const;

  /// The payload that the holder of a lease must get; empty when no record has it.
  [[nodiscard]] std::optional<std::string> payload_of(shard_id shard, fencing_token token) const;

  /// The answer to a request with keys for the task with that payload, according to the records.
  [[nodiscard]] std::optional<enqueued_task> verdict_on(const std::string& payload) const;

private:
  struct task {
    queue_address queue;
    int priority = 0;
    task_settings settings;
    std::string group;
    std::string fairness_key;
    /// A limit may hold the task back.
    bool is_limited = false;
    timestamp not_before;
    bool allow_promotion = false;
    timestamp retry_at;
    /// `leased` and terminal states are exact; any other value means that the task waits.
    task_state state = task_state::ready;
    fencing_token token{};
    std::uint32_t attempt = 0;
    std::uint32_t lost = 0;
    std::uint32_t refunds = 0;
    bool cancelling = false;
    /// The latest heartbeat said that the attempt has not started.
    bool queued = false;
    worker_identity holder;
    task_key key;
    /// The payload of its enqueue, and the current one.
    std::string first_payload;
    std::string payload;
    /// The task was removed for good.
    bool gone = false;
    /// Position at which it last became live; of several tasks the one with the greatest has the
    /// key.
    core::log_position since = 0;
    /// When its record is closed: the time until which it has its key.
    std::optional<timestamp> key_until;

    [[nodiscard]] bool is_waiting() const {
      return state != task_state::leased && !is_terminal(state);
    }
  };

  /// One task of an enqueue request.
  struct item {
    std::string payload;
    core::enqueue_run run;
  };

  /// The effect that a duplicate must have had on a record.
  struct promised {
    const item* by = nullptr;
    enqueue_kind kind = enqueue_kind::existing;
    /// The record's state at that moment is uncertain, so the effect may be missing.
    bool may_not_be = false;
  };

  using request_key = std::pair<producer_id, std::uint64_t>;
  using group_key = std::pair<queue_address, std::string>;

  struct shard_book {
    std::map<sequence, task> tasks;
    std::map<group_key, std::set<sequence>> groups;
    std::map<fencing_token, sequence> leases;
    std::map<queue_address, core::queue_totals> totals;
    std::set<request_key> requests;
    std::map<task_key, std::set<sequence>> keys;
    std::map<queue_address, core::queue_settings> settings;
    /// Answered requests that contain tasks with keys.
    std::set<request_key> answered;
    /// Requests that wait for room in their queues, and are decided in a later turn.
    std::vector<core::enqueue> waiting;
    /// Match the holders whose leases must have ended when the turn is sealed.
    std::vector<std::function<bool(const worker_identity&)>> gone;
  };

  /// The effects of one turn, apart from its grants.
  struct turn_notes {
    std::vector<core::command> asked;
    std::map<std::string, item> items;
    /// States of each task before each of its changes.
    std::map<sequence, std::vector<task>> before;
    std::map<std::string, sequence> added;
    std::vector<core::answered_request> answers;
    std::map<sequence, std::vector<core::task_change>> rescheduled;
    std::map<sequence, std::vector<std::string>> replaced;
    std::map<sequence, std::vector<promised>> promised_times;
    std::map<sequence, std::vector<promised>> promised_bodies;
    std::vector<core::queue_purge> purges;
    std::set<queue_address> configured;
    bool has_redriven = false;
  };

  void breach(const std::string& rule, sequence seq, const std::string& what);
  void read(const core::segment_appended& e);
  void read(const core::batch_granted& e);
  void read(const core::leases_ended& e);
  void read(const core::tasks_changed& e);

  void read(const core::queue_configured& e);

  /// Follow-ups are checked when they become tasks.
  void read(const core::follow_ups_sent&) {}

  void read(const core::snapshot_taken& e);
  void remove_queue(const core::removed_queue& removed, timestamp now);
  void grant(const core::batch_granted& e, sequence seq, fencing_token token);
  void check_order(const task& t, sequence seq);
  [[nodiscard]] bool may_run(sequence seq, const task& t) const;
  /// Checks that no runnable task waits behind the tasks that the turn leased.
  void check_places(const std::vector<core::event>& events);
  void end(const core::leases_ended& record, const core::lease_end& e);
  void check_charge(const task& t, const core::lease_end& e);
  void check_next(const task& t, const core::leases_ended& record, const core::lease_end& e);
  /// True when the loss of a started attempt has to end the task by `quarantine_after`.
  [[nodiscard]] bool is_quarantined(const task& t, const core::lease_end& e);
  void check_delay(const task& t, const core::leases_ended& record, const core::lease_end& e);
  void change(const core::tasks_changed& record, const core::task_change& c);
  void remember_requests(const std::vector<core::event>& events);
  void check_gone();

  // Keys.
  void note(sequence seq);
  /// True for a task that was enqueued in this turn.
  [[nodiscard]] bool is_new(sequence seq) const;
  void read_items(const core::enqueue& c);
  /// The payload, with a number behind it for a schedule's task: its occurrences share a payload.
  [[nodiscard]] std::string name_of(const std::string& payload, sequence seq) const;
  [[nodiscard]] std::vector<std::string> payloads_of(const core::segment_appended& e) const;
  void
  take_payload(const core::segment_appended& e, sequence seq, const std::string& payload, task& t);
  void check_as_asked(const core::segment_appended& e, const item& by);
  void take_key(const core::segment_appended& e);
  void check_sole(const task& t, sequence seq);
  [[nodiscard]] const task* latest_of(const task_key& key) const;
  [[nodiscard]] bool has_time_left(const task& t) const;
  /// After a crash: a task with a key must have the answer of its request, and vice versa.
  void check_unanswered();
  void replace_body(const core::tasks_changed& record, const core::task_change& c, task& t);
  void remember(const core::answered_request& a);
  void judge_requests();
  void judge(const core::enqueue& c, const core::request_answer& answer);
  void judge_item(const item& by, sequence seq, enqueue_kind kind);
  void judge_duplicate(const item& by, sequence seq, enqueue_kind kind);
  void check_owner(const item& by, sequence seq);
  void check_unchanged(const item& by, sequence seq);
  void check_times(sequence seq);
  void check_time(const promised& p, const core::task_change& c, const task& before);
  void check_bodies(sequence seq);
  [[nodiscard]] std::vector<task> moments_of(sequence seq) const;

  template <class Fits>
  [[nodiscard]] bool was_ever(sequence seq, Fits&& fits) const;

  // Operators.
  void end_by_force(const core::lease_end& e, task& t);
  void check_purged(const core::task_change& c, const task& t);
  void check_purges();
  void forget_below(const core::queue_purge& purge);
  void judge_orders();
  /// The task that a command names; 0 when the task or its state is uncertain.
  [[nodiscard]] sequence
  certain_target(sequence seq, const std::shared_ptr<const task_key>& key) const;
  [[nodiscard]] std::size_t promotes_of(sequence seq) const;
  void judge_order(const core::promote& c);
  void judge_order(const core::cancel& c);
  void judge_order(const core::redrive& c);
  void judge_order(const core::force& c);

  template <class Other>
  void judge_order(const Other&) {}

  // Queues.
  void check_queue(const core::batch_granted& e, const task& t, sequence seq);
  void check_depths();

  breach_function breach_;
  std::map<shard_id, shard_book> shards_;
  std::map<std::pair<shard_id, fencing_token>, std::uint32_t> attempts_;
  // The records that come back after a crash do not contain task bodies.
  std::map<task_id, std::string> first_payloads_;
  std::map<std::string, task_id> tasks_of_payloads_;
  std::map<std::pair<shard_id, core::log_position>, std::map<sequence, std::vector<std::string>>>
    replaced_payloads_;
  std::map<std::pair<shard_id, fencing_token>, std::string> leased_payloads_;
  std::map<request_key, std::vector<std::string>> request_payloads_;
  std::map<std::string, enqueued_task> verdicts_;
  std::map<shard_id, std::vector<core::command>> asked_;
  /// State of the turn that is being read.
  shard_id shard_{};
  shard_book* book_ = nullptr;
  turn_notes turn_;
  timestamp sealed_at_;
  bool checking_ = true;
};

} // namespace codeq::sim
