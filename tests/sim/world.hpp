// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "sim/chance.hpp"
#include "sim/scenario.hpp"
#include "sim/timeline.hpp"
#include "sim/trace.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace codeq::sim {

/// State shared by everything in a run.
struct world {
  world(std::uint64_t seed, scenario s) : random(seed), options(std::move(s)) {}

  chance_streams random;
  scenario options;
  timeline time;
  trace log;
  /// Sum of all steps of the machine's wall clock.
  duration wall_offset{0};
  /// The coordinator's disk refuses new tasks: now, and at any time so far.
  bool is_disk_full = false;
  bool was_disk_full = false;

  void say(const std::string& line) { log.add(time.now(), line); }

  /// The machine's monotonic clock, which the coordinator uses, too.
  [[nodiscard]] monotonic_time steady() const {
    return monotonic_time{duration{1'000'000} + std::chrono::duration_cast<duration>(time.now())};
  }

  [[nodiscard]] timestamp wall() const {
    auto passed = std::chrono::duration_cast<duration>(time.now());
    return timestamp{duration{1'700'000'000'000} + passed + wall_offset};
  }
};

/// One operating system process. Its planned actions are dropped once it is killed and deferred
/// while it is paused.
class process {
public:
  explicit process(world& all) : world_(all), state_(std::make_shared<state>()) {}

  /// Runs an action as the process: at once, when the pause ends, or never.
  void enter(const timeline::action& what) const { enter(state_, what); }

  void after(virtual_time wait, timeline::action what) const {
    world_.time.after(wait, [s = state_, what = std::move(what)] { enter(s, what); });
  }

  void kill() { state_->alive = false; }

  [[nodiscard]] bool is_alive() const { return state_->alive; }

  [[nodiscard]] bool is_paused() const { return state_->paused; }

  void pause(virtual_time length) {
    if (std::exchange(state_->paused, true))
      return;
    world_.time.after(length, [s = state_] { resume(s); });
  }

private:
  struct state {
    bool alive = true;
    bool paused = false;
    std::deque<timeline::action> deferred;
  };

  static void enter(const std::shared_ptr<state>& s, const timeline::action& what) {
    if (!s->alive)
      return;
    if (s->paused)
      s->deferred.push_back(what);
    else
      what();
  }

  static void resume(const std::shared_ptr<state>& s) {
    s->paused = false;
    for (auto& what : std::exchange(s->deferred, {}))
      enter(s, what);
  }

  world& world_;
  std::shared_ptr<state> state_;
};

/// The mailbox of an actor: messages are processed one by one in the order in which they were sent,
/// each after a short random delay; or without one, when the process runs to completion.
class mailbox {
public:
  /// `slow`: messages per thousand that take long, like those that wait for a disk.
  mailbox(world& all, process& home, std::uint64_t slow = 0)
    : world_(all), home_(home), slow_(slow) {}

  void send(timeline::action message) {
    messages_.push_back(std::move(message));
    if (messages_.size() == 1)
      plan();
  }

private:
  void plan() {
    // Actions of the same time run in the order in which they were planned.
    if (world_.options.runs_to_completion && slow_ == 0)
      return home_.after(virtual_time{0}, [this] { take(); });
    auto& random = world_.random.mailboxes;
    bool is_slow = slow_ > 0 && random.hits(slow_);
    home_.after(is_slow ? random.moment(1'000, 60'000) : random.moment(1, 300), [this] { take(); });
  }

  void take() {
    // The message stays in the queue while it runs, so that a message it sends to itself plans no
    // second turn.
    auto message = std::move(messages_.front());
    message();
    messages_.pop_front();
    if (!messages_.empty())
      plan();
  }

  world& world_;
  process& home_;
  std::uint64_t slow_;
  std::deque<timeline::action> messages_;
};

} // namespace codeq::sim
