// SPDX-License-Identifier: Apache-2.0
#include "transport/gathered_wakeups.hpp"

#include <caf/actor_system.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <algorithm>

namespace codeq::transport {

namespace {

/// Maximum number of actors that are run before other actors of the scheduler.
constexpr std::size_t actors_in_a_row = 32;

void run_one(caf::resumable* actor, caf::execution_unit* thread, std::size_t messages_max) {
  if (actor->resume(thread, messages_max) == caf::resumable::resume_later)
    thread->exec_later(actor);
  else
    caf::intrusive_ptr_release(actor);
}

} // namespace

gathered_wakeups::gathered_wakeups(caf::actor_system& system)
  : system_(system), threads_(system.scheduler().num_workers()) {
}

gathered_wakeups::~gathered_wakeups() {
  for (auto* actor : waiting_)
    caf::intrusive_ptr_release(actor);
}

void gathered_wakeups::run(std::vector<caf::resumable*>& woken) {
  std::size_t needed = 0;
  if (woken.size() == 1) {
    system_.scheduler().enqueue(woken.front());
  } else if (!woken.empty()) {
    std::lock_guard lock(mutex_);
    waiting_.insert(waiting_.end(), woken.begin(), woken.end());
    // As many as there are threads: so no thread is idle while an actor waits, however long the
    // running actors take.
    needed = std::min(waiting_.size(), threads_ - running_);
    running_ += needed;
  }
  woken.clear();
  for (; needed > 0; --needed) {
    intrusive_ptr_add_ref_impl();
    system_.scheduler().enqueue(this);
  }
}

caf::resumable* gathered_wakeups::take() {
  std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    --running_;
    return nullptr;
  }
  auto* next = waiting_.front();
  waiting_.pop_front();
  return next;
}

caf::resumable::resume_result
gathered_wakeups::resume(caf::execution_unit* thread, std::size_t messages_max) {
  for (std::size_t i = 0; i < actors_in_a_row; ++i) {
    auto* actor = take();
    if (actor == nullptr)
      return done;
    run_one(actor, thread, messages_max);
  }
  return resume_later;
}

void gathered_wakeups::intrusive_ptr_add_ref_impl() {
  ref();
}

void gathered_wakeups::intrusive_ptr_release_impl() {
  deref();
}

} // namespace codeq::transport
