// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

namespace codeq::test {

/// An actor system without threads or real time: messages run when the test calls `run`, delayed
/// ones when it calls `advance`. Actors that are detached in production must be spawned attached.
class deterministic_system {
public:
  deterministic_system()
    : system_(config_), scheduler_(dynamic_cast<scheduler_type&>(system_.scheduler())) {
    // CAF takes time zero for "no time".
    scheduler_.clock().current_time += std::chrono::hours(1);
  }

  ~deterministic_system() {
    for (auto& actor : owned_)
      caf::anon_send_exit(actor, caf::exit_reason::kill);
    owned_.clear();
    run();
  }

  deterministic_system(const deterministic_system&) = delete;
  deterministic_system& operator=(const deterministic_system&) = delete;

  /// Kills the actor before the system is destroyed, which would otherwise wait for it for ever.
  template <class Handle>
  Handle own(Handle actor) {
    owned_.push_back(caf::actor_cast<caf::strong_actor_ptr>(actor));
    return actor;
  }

  /// Runs messages until none is left, without advancing time.
  void run() {
    for (int i = 0; scheduler_.try_run_once(); ++i) {
      if (i == messages_max)
        throw std::runtime_error("the actors never come to rest");
    }
  }

  /// Advances time; delayed messages run in the order in which they are due.
  void advance(caf::timespan by) {
    auto& clock = scheduler_.clock();
    auto end = clock.current_time + by;
    run();
    while (!clock.schedule().empty() && clock.schedule().begin()->first <= end) {
      clock.current_time = std::max(clock.current_time, clock.schedule().begin()->first);
      clock.trigger_expired_timeouts();
      run();
    }
    clock.current_time = end;
  }

  [[nodiscard]] caf::actor_system& get() noexcept { return system_; }

  /// The current time as actors see it.
  [[nodiscard]] caf::actor_clock::time_point now() const { return scheduler_.clock().now(); }

private:
  using scheduler_type = caf::scheduler::test_coordinator;

  struct configuration : caf::actor_system_config {
    configuration() {
      set("scheduler.policy", caf::atom("testing"));
      set("logger.verbosity", caf::atom("quiet"));
    }
  };

  static constexpr int messages_max = 1'000'000;

  configuration config_;
  caf::actor_system system_;
  scheduler_type& scheduler_;
  std::vector<caf::strong_actor_ptr> owned_;
};

} // namespace codeq::test
