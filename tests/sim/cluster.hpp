// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/audit/auditor.hpp"
#include "sim/coordinator_process.hpp"
#include "sim/meddling.hpp"
#include "sim/network.hpp"
#include "sim/operator_process.hpp"
#include "sim/producer_process.hpp"
#include "sim/sim_disk.hpp"
#include "sim/worker_process.hpp"
#include "sim/world.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace codeq::sim {

/// How a run went.
struct run_report {
  /// Empty when everything held; else what broke, when, and how to see it again.
  std::string failure;
  /// The first line of what broke alone.
  std::string breach;
  std::uint64_t trace_hash = 0;
  run_totals totals;
};

/// One coordinator, its disk, workers and producers, and what goes wrong with them, in one thread
/// under virtual time. The same seed and scenario give the same run.
class cluster {
public:
  cluster(std::uint64_t seed, const scenario& options);

  /// Workload and faults, then no faults until everything has ended, then a last look.
  [[nodiscard]] run_report run();

private:
  void start_coordinator();
  void start_worker(std::size_t i);
  void start_producer(std::size_t i);
  void plan_requests();

  /// Repeats `fault` at random moments about so often, while faults come.
  void every(virtual_time about, const timeline::action& fault);
  void plan_faults();
  /// In good order now and then.
  void stop_or_kill_coordinator();
  void kill_coordinator(bool cut_power);
  void fill_disk();
  void restart_coordinator(const std::vector<core::shard_state*>& settled);
  void crash_worker();
  void crash_producer();
  /// From the end of the faults on: no name is without a process, no group stays blocked.
  void tend();
  void replace_dead(std::size_t i);
  /// Starts another process when this one has left.
  void follow_leaving(std::size_t i);
  void usurp_worker();
  void stall_connection();
  void step_clock();
  void stop_faults();

  /// Lets time pass until `done` or for so long; false when time ran out or something broke.
  bool run_until(virtual_time longest, const std::function<bool()>& done);
  void finish();
  /// Everything ends, and is as the contract says.
  void settle();
  /// When the time of most keys is over, they are asked for once more.
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
  /// Dead processes stay until the end: what they planned may still name them.
  std::vector<std::unique_ptr<coordinator_process>> coordinators_;
  std::vector<std::unique_ptr<worker_process>> all_workers_;
  std::vector<std::unique_ptr<producer_process>> all_producers_;
  /// The latest process of each name.
  std::vector<worker_process*> workers_;
  std::vector<producer_process*> producers_;
  std::unique_ptr<operator_process> operator_;
  std::unique_ptr<meddling> meddling_;
  coordinator_process* coordinator_ = nullptr;
  std::vector<timestamp> last_shard_now_;
  std::uint64_t next_incarnation_ = 1;
  bool faults_ = true;
  bool tending_ = false;
};

} // namespace codeq::sim
