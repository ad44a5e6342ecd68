// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/producer.hpp"
#include "codeq/task.hpp"

#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "sim/audit/ledger.hpp"
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

/// Counts for the summary of many runs.
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

  run_totals& operator+=(const run_totals& more);
};

/// Where a lease is: tokens are unique per shard.
using lease_place = std::pair<shard_id, fencing_token>;

/// Holds what the clients saw against the contract. Knows nothing of how the coordinator works: it
/// is told what was asked, what was answered, when leases were granted and when processes ended.
/// Every breach becomes a line that names the broken rule.
class auditor {
public:
  explicit auditor(world& all)
    : world_(all),
      ledger_([this](const std::string& rule, const std::string& what) { breach(rule, what); }) {}

  /// Something is not as the contract says.
  void breach(const std::string& rule, const std::string& what);

  // Producers.

  /// A task will be enqueued under a name of its own, which is its payload. `shard_now`: the
  /// earliest shard time that can be meant by "now".
  void submitted(const std::string& name, const task_spec& spec, timestamp shard_now);
  /// What the enqueue was answered: a task of its own, a record that has its key, or a refusal.
  void enqueued(const std::string& name, const result<enqueued_task>& how);
  void ended(const task_id& id, const result<task_status>& how);

  /// The producer died: whether its unanswered task exists is for nobody to know.
  void given_up(const std::string& name);

  // Operators.

  void change_asked(const task_id& id, task_change what);
  void change_asked(const task_key& key, task_change what);
  void change_answered(const task_id& id, task_change what, const change_outcome& how);

  void force_asked(const task_id& id, force_kind how, const std::string& text);
  void force_answered(
    const task_id& id, force_kind how, virtual_time asked_at, const change_outcome& answer);
  /// Returns the number of the wish.
  std::uint64_t pause_asked(shard_id shard, const queue_address& queue, bool paused);

  /// The wish of that number was answered: the queue is paused, or not.
  void pause_answered(shard_id shard, const queue_address& queue, std::uint64_t wish, bool paused);

  /// Everything of the queue is to go; an empty name is every queue of the tenant.
  void purge_asked(const queue_address& queue);

  /// All of it that was known when the purge began is gone from the shard.
  void purged(shard_id shard, const queue_address& queue, virtual_time began_at);

  // Workers.

  /// A shard learned that a newer process has the name.
  void worker_replaced(shard_id shard, const worker_identity& by);

  /// A shard learned that the worker said goodbye: it gets nothing more.
  void worker_left(shard_id shard, const worker_identity& worker);

  struct delivery {
    task_id id;
    fencing_token token{};
    std::string name;
    std::uint32_t attempt = 0;
    bool redelivered = false;
    timestamp shard_now;
    /// What an earlier attempt saved.
    std::string checkpoint{};
  };

  void delivered(const worker_identity& worker, const delivery& d);
  void reported(const worker::report& r, timestamp shard_now);
  void answered(const lease_place& lease, errc code);

  /// A worker completes, with this result and these follow-ups, named as if they were enqueued.
  void will_follow(
    const lease_place& lease, const std::string& text, const std::vector<task_spec>& tasks);
  void told_lost(const lease_place& lease);

  /// What the worker must be told of a shard after a resume: what it holds is not among it.
  [[nodiscard]] std::vector<lease_place>
  owed_to(const worker_identity& worker, shard_id shard, const std::set<fencing_token>& held) const;

  /// A while after the resume: all that was owed must have come, unless its time is over.
  void check_owed(const std::vector<lease_place>& owed);

  /// True when a resume has to tell the holder of the lease once more to cancel.
  [[nodiscard]] bool is_cancel_owed(const lease_place& lease) const;

  /// It was owed and not told.
  void cancel_missed(const lease_place& lease);

  // What attempts hand on to the next ones, `auditor_checkpoints.cpp`.

  /// A handler saves something that nobody ever saved; `number` counts what its attempt saved.
  void saves(const lease_place& lease, std::uint32_t number, const std::string& data);

  /// It was told that everything up to `number` is durable.
  void told_saved(const lease_place& lease, std::uint32_t number);

  // The coordinator's life.

  /// A command reached a shard.
  void asked(shard_id shard, const core::command& c) { ledger_.asked(shard, c); }

  void turn_sealed(core::shard_state& state, const std::vector<core::event>& events);
  void grant_left(shard_id shard, fencing_token token);
  void beat_taken(shard_id shard, fencing_token token, bool queued);
  void coordinator_ended(bool clock_went_back);
  void power_was_cut(virtual_time lost_since);

  /// What is on the disk of the coordinator that ended.
  void left_on_disk(const std::vector<std::pair<shard_id, core::event>>& durable) {
    ledger_.rebuild(durable);
  }

  /// Shard time as it was found, and the latest one that is on the disk.
  void time_recovered(timestamp found, timestamp durable);
  void
  recovered(core::shard_state& found, core::shard_state& expected, const std::string& whose_memory);
  void coordinator_restarted();

  // The end of a run.

  /// Tasks whose enqueue was answered and may be asked for.
  [[nodiscard]] std::vector<task_id> known_tasks() const;

  /// Tasks for which such a change may make sense.
  [[nodiscard]] std::vector<task_id> candidates(task_change what) const;

  /// Everything that was submitted has ended. Returns what has not.
  [[nodiscard]] std::string unfinished() const;

  /// Follow-ups of accepted completions that nobody has seen, though all ends were told.
  [[nodiscard]] std::string missing_follow_ups() const;

  /// When all of those were seen: no follow-up of any other completion exists.
  void check_follow_ups();

  /// A last look at a task: it must be as it was seen before.
  void looked_again(const task_id& id, const result<task_status>& how);

  [[nodiscard]] const std::vector<std::string>& breaches() const noexcept { return breaches_; }

  [[nodiscard]] run_totals& totals() noexcept { return totals_; }

private:
  /// One lease as the outside knows it.
  struct lease_view {
    worker_identity holder;
    task_id id;
    virtual_time granted_at{0};
    /// No end of the lease by time alone is right before this.
    monotonic_time earliest_end;
    monotonic_time run_end;
    /// Zero is no limit.
    duration run_timeout{0};
    duration lease{0};
    /// When it was told to the worker, so that it was durable.
    std::optional<virtual_time> left_at;
    /// The crash of a process hides whether it was ever durable.
    bool doubtful = false;
    /// Its process was replaced or left.
    bool may_have_ended = false;
    bool redelivered = false;
    bool lost = false;
    std::optional<virtual_time> delivered_at;
    timestamp delivered_shard;
    std::uint32_t attempt = 0;
    std::optional<virtual_time> reported_at;
    disposition how{};
    std::string text;
    /// With a failure: when the next lease may begin, in shard time.
    std::optional<timestamp> retry_floor;
    std::uint64_t clock = 0;
    std::optional<virtual_time> accepted_at;
  };

  /// A time that a producer was promised.
  struct wish_floor {
    timestamp earliest;
    std::uint64_t clock = 0;
  };

  /// What an attempt saved.
  struct saved_state {
    std::string data;
    /// When the handler said so first.
    std::optional<virtual_time> sent_at;
    /// When it was told to be durable.
    std::optional<virtual_time> told_at;
  };

  struct task_view {
    std::string name;
    /// The first sign that the task exists.
    virtual_time seen_at{0};
    /// The first answer to its enqueue.
    std::optional<virtual_time> acked_at;
    bool doubtful = false;
    /// An accepted result, or an end that was told.
    std::optional<virtual_time> final_at;
    std::optional<fencing_token> final_token;
    std::optional<task_status> final;
    /// Since the first report or wish to cancel.
    std::optional<virtual_time> may_end_since;
    /// Was told to be unknown, when its retention may have passed.
    bool forgotten = false;
    std::map<fencing_token, lease_view> leases;
    /// Somebody asked for it, whatever came of it.
    bool cancel_asked = false;
    bool promote_asked = false;
    bool redrive_asked = false;
    bool force_asked = false;
    /// When it was told that the task is gone for good.
    std::optional<virtual_time> purged_at;
    /// Told, once it had gone for good.
    bool is_unknown = false;
    /// Leases from before were ended by force, as was told at the second moment.
    std::optional<std::pair<virtual_time, virtual_time>> forced;
    /// Not to be delivered before any of these times, by when that was told.
    std::vector<std::pair<virtual_time, wish_floor>> floors;
    /// When it was told that the task is cancelled, or will be unless it completes.
    std::optional<virtual_time> cancelled_at;
    std::optional<virtual_time> cancelling_since;
    /// All that workers ever reported of it.
    std::set<std::string> texts;
    /// All that its attempts ever saved.
    std::map<std::pair<fencing_token, std::uint32_t>, saved_state> saved;
  };

  struct wish {
    task_spec spec;
    timestamp earliest;
    std::uint64_t clock = 0;
    std::optional<task_id> id;
    bool given_up = false;
    bool is_follow_up = false;
    /// Answered, and it has no task of its own.
    bool is_settled = false;
    /// Power cuts before it.
    std::uint64_t power_cuts = 0;
  };

  /// Follow-ups of one completion, which may never have been accepted.
  struct follow_up_plan {
    task_id of;
    /// Its result, which is unique.
    std::string text;
    std::vector<std::string> names;
  };

  /// Nothing when nobody was told.
  [[nodiscard]] std::optional<bool> is_accepted(const follow_up_plan& plan) const;
  task_view* meet(const std::string& name, const task_id& id);
  void met_record(const std::string& name, const enqueued_task& how);
  void refused(const std::string& name, const error& reason);
  void check_verdict(const std::string& name, const std::optional<enqueued_task>& told);
  void check_floors(const std::string& who, const task_view& t, const lease_view& l, timestamp at);
  /// The name under which a task was enqueued, where it was delivered with this payload.
  std::string check_payload(const delivery& d);
  [[nodiscard]] const task_spec* spec_of(const task_id& id, const task_view& t) const;
  [[nodiscard]] bool is_asked(const task_id& id, const task_view& t, task_change what) const;
  [[nodiscard]] bool is_purge_asked(const task_id& id, const task_view& t) const;
  /// An operator may have ended the task or its leases.
  [[nodiscard]] bool is_meddled_with(const task_id& id, const task_view& t) const;
  void check_checkpoint(const std::string& who, const delivery& d, const task_view& t);
  void check_start(const task_id& id, const task_view& t, const std::string& worker);
  /// `of` is an auditor, const or not, as the lease that it returns is. Null when it is not known.
  template <class Auditor>
  [[nodiscard]] static auto* find_in(Auditor& of, const lease_place& lease);
  [[nodiscard]] lease_view* find(const lease_place& lease);
  [[nodiscard]] const lease_view* find(const lease_place& lease) const;
  void granted(core::shard_state& state, const core::batch_granted& e);
  void start_view(
    core::shard_state& state, const core::batch_granted& e, const task_id& id, fencing_token token);
  void check_single_lease(const task_id& id, fencing_token token, const task_view& t);
  void check_retry_time(const task_id& id, const task_view& t);
  void check_cancelled(const task_view& t, const task_status& now);
  [[nodiscard]] bool may_be_forgotten(const task_id& id, const task_view& t) const;
  void check_final(const task_id& id, task_view& t, const task_status& now);
  [[nodiscard]] bool may_be_over(const lease_view& l) const;
  [[nodiscard]] duration
  shortest_retry(const task_spec& spec, const worker::report& r, std::uint32_t attempt) const;

  world& world_;
  ledger ledger_;
  std::map<std::string, wish> wishes_;
  std::map<task_id, task_view> tasks_;
  std::vector<follow_up_plan> plans_;
  std::map<lease_place, task_id> places_;
  std::map<shard_id, fencing_token> last_token_;
  std::map<task_key, std::set<task_change>> asked_by_key_;
  std::set<queue_address> purges_;

  /// A pause that was asked for last, of a queue that nobody has asked to resume since.
  struct pause_view {
    std::uint64_t wish = 0;
    /// When it was told that the queue is paused.
    std::optional<virtual_time> told_at{};
  };

  std::map<std::pair<shard_id, queue_address>, pause_view> pauses_;
  std::uint64_t pause_wishes_ = 0;
  std::set<std::pair<shard_id, worker_identity>> left_;
  /// Raised when shard time went back over a restart: floors from before mean nothing.
  std::uint64_t clock_ = 0;
  std::vector<std::string> breaches_;
  run_totals totals_;
};

} // namespace codeq::sim
