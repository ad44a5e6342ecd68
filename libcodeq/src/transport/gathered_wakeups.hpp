// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/execution_unit.hpp>
#include <caf/ref_counted.hpp>
#include <caf/resumable.hpp>

#include <deque>
#include <mutex>
#include <vector>

namespace codeq::transport {

/// Actors that received a message and need a scheduler thread, many at once. The scheduler wakes a
/// thread for each actor it is given, which costs more than a short handler. This object is given
/// to the scheduler instead, at most once per thread, and runs the actors one after the other. A
/// slow actor delays its own thread but no other actor. Thread-safe.
class gathered_wakeups final : public caf::ref_counted, public caf::resumable {
public:
  explicit gathered_wakeups(caf::actor_system& system);
  ~gathered_wakeups() override;

  /// Runs each of `woken` and empties the vector. Takes over one reference to each.
  void run(std::vector<caf::resumable*>& woken);

  resume_result resume(caf::execution_unit* thread, std::size_t messages_max) override;
  void intrusive_ptr_add_ref_impl() override;
  void intrusive_ptr_release_impl() override;

private:
  [[nodiscard]] caf::resumable* take();

  caf::actor_system& system_;
  const std::size_t threads_;
  std::mutex mutex_;
  std::deque<caf::resumable*> waiting_;
  /// Number of times that this object is queued in the scheduler or running.
  std::size_t running_ = 0;
};

/// The execution unit of an actor while it runs; collects the actors that it wakes.
class wakeup_gatherer final : public caf::execution_unit {
public:
  explicit wakeup_gatherer(caf::actor_system& system) : caf::execution_unit(&system) {}

  void exec_later(caf::resumable* woken) override { this->woken.push_back(woken); }

  std::vector<caf::resumable*> woken;
};

} // namespace codeq::transport
