// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checks/invariants.hpp"
#include "core/commands/routing.hpp"
#include "core/state/apply.hpp"
#include "core/state/task_limits.hpp"
#include "core/turn/turn.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::core {

inline constexpr std::uint16_t slot_shards = 4;
inline constexpr peer_id slot_worker = 1;
inline constexpr std::uint32_t slot_credits = 20;
inline const queue_address slot_queue{"default", "q"};
inline const queue_address free_queue{"default", "free"};

/// Four shards, each with a worker that has free slots for everything. Their letters arrive at the
/// next step, if the shard is reachable.
class QueueSlots : public testing::Test {
protected:
  struct node {
    std::unique_ptr<shard_state> state;
    std::uint32_t epoch = 0;
    std::vector<event> log;
    std::vector<lease_report> running;
    bool is_reachable = true;
    /// It says of itself what a version says that counts neither slots nor depths.
    bool is_older = false;
  };

  QueueSlots() {
    for (std::size_t i = 0; i < slot_shards; ++i)
      start(i);
  }

  /// Begins a process of the shard; an earlier one is dead.
  void start(std::size_t index) {
    auto& one = nodes_[index];
    one.running.clear();
    one.state = std::make_unique<shard_state>(
      shard_id{static_cast<std::uint16_t>(index)}, ++one.epoch);
    one.state->steady = now_.steady;
    for (const auto& e : one.log)
      apply(*one.state, e);
    open_permits(*one.state, slot_shards);
    auto worker = std::make_shared<const worker_identity>(worker_identity{"w", 1});
    decide(index, attach_worker{slot_worker, worker, {slot_queue, free_queue}});
    decide(index, resume{slot_worker, worker, {}});
    decide(index, claim{slot_worker, slot_credits});
    for (std::size_t other = 0; other < slot_shards; ++other)
      if (other != index && nodes_[other].state)
        note_moved(*nodes_[other].state, one.state->id);
  }

  void decide(std::size_t index, const command& c) {
    auto& one = nodes_[index];
    turn t(*one.state);
    t.decide(c, now_);
    auto sealed = t.seal(now_);
    must_sync_ = sealed.must_sync;
    EXPECT_FALSE(sealed.must_sync && sealed.events.empty());
    EXPECT_EQ(find_violations(*one.state), std::vector<std::string>{});
    one.log.insert(one.log.end(), sealed.events.begin(), sealed.events.end());
    for (const auto& e : sealed.effects)
      carry_out(one, e);
  }

  void carry_out(node& one, const effect& e) {
    if (const auto* told = std::get_if<shard_told>(&e))
      std::visit(
        [&](auto what) {
          if constexpr (std::is_same_v<decltype(what), give_permits>) {
            what.counts_slots = !one.is_older;
            what.counts_depths = !one.is_older;
            if (one.is_older)
              what.depths.clear();
          }
          if constexpr (std::is_same_v<decltype(what), ask_permits>)
            if (one.is_older)
              what.levels.clear();
          letters_.push_back({one.state->id, told->to, std::move(what)});
        },
        told->what);
    if (const auto* granted = std::get_if<tasks_granted>(&e))
      for (const auto& run : granted->runs)
        for (std::uint32_t i = 0; i < run.count; ++i) {
          lease_report done;
          done.seq = run.first + i;
          done.token = fencing_token{value(run.first_token) + i};
          one.running.push_back(done);
        }
    if (const auto* answered = std::get_if<enqueue_answered>(&e))
      answers_.push_back(*answered);
    if (const auto* answered = std::get_if<limits_answered>(&e))
      limit_answers_.push_back(*answered);
    notified_ += std::holds_alternative<work_available>(e) ? 1 : 0;
  }

  /// Time goes on in steps of 5 ms.
  void pass(duration time) {
    constexpr duration step{5};
    for (duration passed{0}; passed < time; passed += step) {
      now_.steady += step;
      now_.shard += step;
      for (auto& letter : std::exchange(letters_, {})) {
        bool arrives = nodes_[value(letter.from)].is_reachable
                       && nodes_[value(letter.to)].is_reachable;
        if (arrives)
          decide(value(letter.to), letter.what);
      }
      for (std::size_t i = 0; i < slot_shards; ++i)
        decide(i, tick{});
      most_ = std::max(most_, leased());
    }
  }

  void configure(std::size_t index, const queue_config& config) {
    decide(index, configure_queue{2, ++requests_, slot_queue, config});
  }

  void set_maximum(std::uint64_t max_leased) {
    for (std::size_t i = 0; i < slot_shards; ++i)
      configure(i, {.max_leased = max_leased});
    pass(duration{50});
    most_ = leased();
  }

  void enqueue_tasks(
    std::size_t index,
    std::uint32_t count,
    const queue_address& queue = slot_queue,
    std::uint8_t priority = 0) {
    enqueue_run run;
    run.queue = queue;
    run.priority = priority;
    run.settings.lease = std::chrono::hours{1};
    run.tasks = test::encode_bodies(count, 8);
    auto session = make_producer_id(now_.shard, 0, nodes_[index].epoch);
    decide(index, enqueue{2, {session, ++requests_, 0}, {std::move(run)}});
  }

  /// Completes a task of the shard. False when none runs there.
  bool complete_one(std::size_t index) {
    auto& running = nodes_[index].running;
    if (running.empty())
      return false;
    auto done = running.back();
    running.pop_back();
    decide(index, report{slot_worker, {done}});
    decide(index, claim{slot_worker, 1});
    return true;
  }

  /// Completes a task of any shard.
  bool complete_any() {
    for (std::size_t i = 0; i < slot_shards; ++i)
      if (complete_one(i))
        return true;
    return false;
  }

  [[nodiscard]] std::uint64_t leased(std::size_t index) const {
    const auto* queue = nodes_[index].state->find_queue(slot_queue);
    return queue ? queue->leased : 0;
  }

  /// The shard's worker, which has one credit in all, completes so many tasks of this run time.
  void run_one_by_one(std::size_t index, int tasks, duration each) {
    for (int i = 0; i < tasks; ++i) {
      pass(each);
      complete_one(index);
    }
  }

  /// Number of slots of all queues that any shard has lent.
  [[nodiscard]] std::uint64_t lent_in_all() const {
    std::uint64_t all = 0;
    for (const auto& one : nodes_)
      one.state->lent.for_each_slot_line(
        [&](const queue_address&, const auto& line) { all += line.lent; });
    return all;
  }

  [[nodiscard]] std::uint64_t completed(std::size_t index, const queue_address& queue) const {
    return nodes_[index].state->find_queue(queue)->totals.completed;
  }

  /// Number of slots that the shard has lent since its first process began.
  [[nodiscard]] std::size_t bookings(std::size_t index) const {
    std::size_t all = 0;
    for (const auto& e : nodes_[index].log)
      if (const auto* changed = std::get_if<permits_changed>(&e))
        all += changed->booked.size();
    return all;
  }

  [[nodiscard]] std::uint64_t leased() const {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < slot_shards; ++i)
      all += leased(i);
    return all;
  }

  /// The shard that owns the slots, and two others.
  [[nodiscard]] static std::size_t owner() {
    task_limit use{std::string(slot_limit), slot_queue.queue, 1};
    return value(shard_of_limit_key(slot_queue.tenant, use, slot_shards));
  }

  [[nodiscard]] static std::size_t asker() { return (owner() + 1) % slot_shards; }

  [[nodiscard]] static std::size_t third() { return (owner() + 2) % slot_shards; }

  [[nodiscard]] std::uint64_t lent() const {
    return nodes_[owner()].state->lent.lent_of(slot_queue);
  }

  struct letter {
    shard_id from{};
    shard_id to{};
    command what;
  };

  std::array<node, slot_shards> nodes_;
  std::vector<letter> letters_;
  instant now_{monotonic_time{std::chrono::hours{1}}, timestamp{std::chrono::hours{1}}};
  std::uint64_t requests_ = 0;
  /// The most leases since the maximum was set.
  std::uint64_t most_ = 0;
  bool must_sync_ = false;
  /// The answers to enqueues, in order.
  std::vector<enqueue_answered> answers_;
  /// The answers to requests about limits, in order.
  std::vector<limits_answered> limit_answers_;
  /// Number of workers that were told of tasks.
  int notified_ = 0;
};

} // namespace codeq::core
