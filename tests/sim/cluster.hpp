// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/audit/auditor.hpp"
#include "sim/coordinator_process.hpp"
#include "sim/meddling.hpp"
#include "sim/network.hpp"
#include "sim/operator_process.hpp"
#include "sim/producer_process.hpp"
#include "sim/schedules/schedule_meddling.hpp"
#include "sim/sim_disk.hpp"
#include "sim/worker_process.hpp"
#include "sim/world.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace codeq::sim {

/// Outcome of a run.
struct run_report {
  /// Empty when no check failed; otherwise the failure, its time, and how to reproduce it.
  std::string failure;
  /// The first line of the failure, without the context.
  std::string breach;
  std::uint64_t trace_hash = 0;
  run_totals totals;
};

/// One coordinator with its disk, workers and producers, and the faults that they suffer, in one
/// thread under virtual time. The same seed and scenario give the same run.
class cluster {
public:
  cluster(std::uint64_t seed, const scenario& options);

  /// Runs the workload with faults, then without faults until everything has ended, then makes the
  /// final checks.
  [[nodiscard]] run_report run();

private:
  void start_coordinator();
  void start_worker(std::size_t i);
  void start_producer(std::size_t i);
  void plan_requests();

  /// Repeats `fault` at random moments, on average once per `about`, while faults are enabled.
  void every(virtual_time about, const timeline::action& fault);
  void plan_faults();
  /// Stops it in order sometimes, kills it otherwise.
  void stop_or_kill_coordinator();
  void kill_coordinator(bool cut_power);
  void fill_disk();
  void restart_coordinator(const std::vector<core::shard_state*>& settled);
  void crash_worker();
  void crash_producer();
  /// Runs after the faults: keeps every worker name served by a process, and no group blocked.
  void tend();
  void replace_dead(std::size_t i);
  /// Starts another process once this one has left.
  void follow_leaving(std::size_t i);
  void usurp_worker();
  void stall_connection();
  void step_clock();
  void stop_faults();

  /// Advances time until `done` or for `longest`; false when the time ran out or a check failed.
  bool run_until(virtual_time longest, const std::function<bool()>& done);
  void finish();
  /// Lets schedules fire without faults, then deletes them.
  void end_schedules();
  void check_ticks();
  /// Waits until everything has ended and checks the result.
  void settle();
  /// Enqueues the keys once more after most of them have expired.
  void come_back_later();
  void look_at_everything();
  [[nodiscard]] std::size_t unanswered() const;
  [[nodiscard]] timestamp shard_now(shard_id shard);
  [[nodiscard]] timestamp earliest_shard_now();
  [[nodiscard]] std::string describe_failure(const std::string& what) const;

  std::uint64_t seed_;
  world world_;
  auditor auditor_;
  network network_;
  sim_disk disk_;
  /// Dead processes stay until the end, because planned events may still refer to them.
  std::vector<std::unique_ptr<coordinator_process>> coordinators_;
  std::vector<std::unique_ptr<worker_process>> all_workers_;
  std::vector<std::unique_ptr<producer_process>> all_producers_;
  /// The latest process of each name.
  std::vector<worker_process*> workers_;
  std::vector<producer_process*> producers_;
  std::unique_ptr<operator_process> operator_;
  std::unique_ptr<meddling> meddling_;
  /// Null without schedules.
  std::unique_ptr<schedule_meddling> schedules_;
  coordinator_process* coordinator_ = nullptr;
  std::vector<timestamp> last_shard_now_;
  std::uint64_t next_incarnation_ = 1;
  bool faults_ = true;
  bool tending_ = false;
};

} // namespace codeq::sim
