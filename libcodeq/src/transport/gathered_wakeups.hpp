// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/execution_unit.hpp>
#include <caf/ref_counted.hpp>
#include <caf/resumable.hpp>

#include <deque>
#include <mutex>
#include <vector>

namespace codeq::transport {

/// Actors that got a message and now need a thread of the scheduler, many at once. The scheduler
/// wakes a thread for each actor that it is given, which costs more than a short handler; this is
/// given to the scheduler instead, at most once per thread, and runs one actor after the other. An
/// actor that takes long holds up its thread and no other actor, as it would without. Thread-safe.
class gathered_wakeups final : public caf::ref_counted, public caf::resumable {
public:
  explicit gathered_wakeups(caf::actor_system& system);
  ~gathered_wakeups() override;

  /// Has each of `woken` run, and leaves it empty. Takes over one reference to each.
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
  /// Times that this is with the scheduler.
  std::size_t running_ = 0;
};

/// Stands for a thread while an actor runs on it, and keeps what the actor woke.
class wakeup_gatherer final : public caf::execution_unit {
public:
  explicit wakeup_gatherer(caf::actor_system& system) : caf::execution_unit(&system) {}

  void exec_later(caf::resumable* woken) override { this->woken.push_back(woken); }

  std::vector<caf::resumable*> woken;
};

} // namespace codeq::transport
