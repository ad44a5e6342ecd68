// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"
#include "codeq/task.hpp"

#include "core/shard_state.hpp"
#include "core/turn.hpp"
#include "sim/world.hpp"
#include "worker/report.hpp"

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
  std::uint64_t worker_crashes = 0;
  std::uint64_t connection_cuts = 0;

  run_totals& operator+=(const run_totals& more);
};

/// Where a lease is: tokens are unique per shard.
using lease_place = std::pair<shard_id, fencing_token>;

/// Holds what the clients saw against the contract. Knows nothing of how the coordinator works: it
/// is told what was asked, what was answered, when leases were granted and when processes ended.
/// Every breach becomes a line that names the broken rule.
class auditor {
public:
  explicit auditor(world& all) : world_(all) {}

  // Producers.

  /// A task will be enqueued under a name of its own, which is its payload. `shard_now`: the
  /// earliest shard time that can be meant by "now".
  void submitted(const std::string& name, const task_spec& spec, timestamp shard_now);
  void enqueued(const std::string& name, const task_id& id);
  void ended(const task_id& id, const result<task_status>& how);

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
  };

  void delivered(const worker_identity& worker, const delivery& d);
  void reported(const worker::report& r, timestamp shard_now);
  void answered(const lease_place& lease, errc code);
  void told_lost(const lease_place& lease);

  /// What the worker must be told of a shard after a resume: what it holds is not among it.
  [[nodiscard]] std::vector<lease_place>
  owed_to(const worker_identity& worker, shard_id shard, const std::set<fencing_token>& held) const;

  /// A while after the resume: all that was owed must have come, unless its time is over.
  void check_owed(const std::vector<lease_place>& owed);

  // The coordinator's life.

  void turn_sealed(const core::shard_state& state, const std::vector<core::event>& events);
  void grant_left(shard_id shard, fencing_token token);
  void beat_taken(shard_id shard, fencing_token token);
  void coordinator_ended(bool clock_went_back);
  void power_was_cut(virtual_time lost_since);
  void
  recovered(core::shard_state& found, core::shard_state& expected, const std::string& whose_memory);
  void coordinator_restarted();

  // The end of a run.

  /// Tasks whose enqueue was answered and may be asked for.
  [[nodiscard]] std::vector<task_id> known_tasks() const;

  /// Everything that was submitted has ended. Returns what has not.
  [[nodiscard]] std::string unfinished() const;

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
    worker::disposition how{};
    std::string text;
    /// With a failure: when the next lease may begin, in shard time.
    std::optional<timestamp> retry_floor;
    std::uint64_t clock = 0;
    std::optional<virtual_time> accepted_at;
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
    std::optional<virtual_time> first_report;
    /// Was told to be unknown, when its retention may have passed.
    bool forgotten = false;
    std::map<fencing_token, lease_view> leases;
    /// All that workers ever reported of it.
    std::set<std::string> texts;
  };

  struct wish {
    task_spec spec;
    timestamp earliest;
    std::uint64_t clock = 0;
    std::optional<task_id> id;
  };

  void breach(const std::string& rule, const std::string& what);
  task_view* meet(const std::string& name, const task_id& id);
  [[nodiscard]] lease_view* find(const lease_place& lease);
  void granted(const core::shard_state& state, const core::batch_granted& e);
  void start_view(
    const core::shard_state& state,
    const core::batch_granted& e,
    const task_id& id,
    fencing_token token);
  void check_single_lease(const task_id& id, fencing_token token, const task_view& t);
  void check_retry_time(const task_id& id, const task_view& t);
  [[nodiscard]] bool may_be_forgotten(const task_view& t) const;
  void check_final(const task_id& id, task_view& t, const task_status& now);
  [[nodiscard]] bool may_be_over(const lease_view& l) const;
  [[nodiscard]] duration
  shortest_retry(const task_spec& spec, const worker::report& r, std::uint32_t attempt) const;

  world& world_;
  std::map<std::string, wish> wishes_;
  std::map<task_id, task_view> tasks_;
  std::map<lease_place, task_id> places_;
  std::map<shard_id, fencing_token> last_token_;
  std::set<std::pair<shard_id, worker_identity>> left_;
  /// Raised when shard time went back over a restart: floors from before mean nothing.
  std::uint64_t clock_ = 0;
  std::vector<std::string> breaches_;
  run_totals totals_;
};

} // namespace codeq::sim
