// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replication/bounds.hpp"
#include "replication/shard_replica.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace codeq::replication::test {

using namespace std::chrono_literals;

class body final : public delta_body {
public:
  [[nodiscard]] std::size_t byte_size() const override { return 1; }
};

/// The next steps, in order, and the value that etcd has.
struct outside {
  std::deque<std::function<void()>> steps;
  membership value;
  bool is_etcd_away = false;
  monotonic_time now{1h};

  void run() {
    for (; !steps.empty(); steps.pop_front())
      steps.front()();
  }
};

/// A replica whose messages and etcd answer at once, and its disk, too, unless it is slow. It keeps
/// all its deltas.
class node final : public replica_port {
public:
  node(outside& world, replica_id id)
    : world_(world),
      id_(id),
      self_({.id = id, .promised = 1, .log = {}, .value = world.value}, *this, world.now) {}

  void send(replica_id to, const message& what) override {
    if (const auto* deltas = std::get_if<append>(&what))
      largest_message = std::max(largest_message, deltas->entries.size());
    if (const auto* said = std::get_if<answer>(&what))
      answered = *said;
    if (is_away)
      return;
    world_.steps.emplace_back([this, to, what] {
      for (auto* other : others)
        if (other->id_ == to && !other->is_away)
          other->self_.receive({id_, 1, what}, world_.now);
    });
  }

  void save_promise(epoch_number epoch) override {
    if (!hangs)
      end_write([this, epoch] { self_.promise_saved(epoch, world_.now); });
  }

  void write(const entry& what) override {
    log_.push_back(what);
    late_.push_back(what.at);
    if (!hangs && !writes_hang)
      end_writes();
  }

  /// Its disk goes on.
  void recover_disk() {
    hangs = writes_hang = false;
    end_writes();
  }

  /// Ends the writes that have taken their time.
  void end_due_writes() {
    for (; !ends_.empty() && ends_.front().first <= world_.now; ends_.pop_front())
      world_.steps.push_back(std::move(ends_.front().second));
  }

  void clear_doubt() override {}

  [[nodiscard]] bool reaches_etcd() const override { return !world_.is_etcd_away; }

  log_tail read_after(replica_id, position after) override {
    const auto begin = log_.begin() + static_cast<std::ptrdiff_t>(after.number);
    return {log_tail::state::held, {begin, log_.end()}};
  }

  void begin_copy(replica_id, epoch_number) override {}

  void take_copy(replica_id, const copy_offer&) override {}

  void compare_and_set(const membership& old, const membership& next) override {
    if (world_.is_etcd_away)
      return;
    world_.steps.emplace_back([this, old, next] {
      const auto is_applied = world_.value == old;
      if (is_applied)
        world_.value = next;
      if (is_applied && is_told_by_watch)
        self_.etcd_answered(world_.value, false, world_.now);
      self_.etcd_answered(world_.value, is_applied, world_.now);
    });
  }

  void acknowledge(position) override {}

  void recover(epoch_number epoch, timestamp) override {
    ++recoveries;
    world_.steps.emplace_back([this, epoch] {
      if (is_damaged)
        self_.recovery_failed();
      else
        self_.recovered(epoch, world_.now);
    });
  }

  void drop_recovery() override { ++dropped; }

  timestamp shard_time() override { return {}; }

  void serve(epoch_number) override {}

  void stop_serving() override {}

  [[nodiscard]] shard_replica& self() { return self_; }

  std::vector<node*> others;
  bool is_away = false;
  /// Its store cannot be recovered.
  bool is_damaged = false;
  /// Its disk ends no write.
  bool hangs = false;
  /// Its disk ends no write but that of a promise.
  bool writes_hang = false;
  /// How long its disk takes for each write.
  duration write_time{0};
  /// etcd's news come before its answer.
  bool is_told_by_watch = false;
  /// Its last answer to a question.
  std::optional<answer> answered;
  int recoveries = 0;
  int dropped = 0;
  /// Deltas of the largest message.
  std::size_t largest_message = 0;

private:
  void end_writes() {
    for (auto at : std::exchange(late_, {}))
      end_write([this, at] { self_.written(at, world_.now); });
  }

  void end_write(std::function<void()> end) {
    ends_.emplace_back(world_.now + write_time, std::move(end));
    end_due_writes();
  }

  outside& world_;
  replica_id id_;
  /// The delta with the number n at place n - 1.
  std::vector<entry> log_;
  /// The deltas whose write has not ended.
  std::vector<position> late_;
  /// The ends of writes, with their times.
  std::deque<std::pair<monotonic_time, std::function<void()>>> ends_;
  shard_replica self_;
};

/// Three replicas in sync, of which `a` serves.
class instant_replicas : public testing::Test {
protected:
  static constexpr replica_id id_a{1};
  static constexpr replica_id id_b{2};
  static constexpr replica_id id_c{3};

  instant_replicas() {
    world.value = {1, 1, id_a, {id_a, id_b, id_c}, {id_a, id_b, id_c}};
    for (auto i : {id_a, id_b, id_c})
      nodes.push_back(std::make_unique<node>(world, i));
    for (auto& one : nodes)
      for (auto& other : nodes)
        if (one != other)
          one->others.push_back(other.get());
    pass(4s);
    a().propose(std::make_shared<body>(), world.now);
    world.run();
  }

  /// Time passes with its ticks.
  void pass(duration length) {
    for (const auto end = world.now + length; world.now < end; world.now += 25ms) {
      for (auto& one : nodes) {
        one->end_due_writes();
        if (!one->is_away)
          one->self().tick(world.now);
      }
      world.run();
    }
  }

  shard_replica& a() { return nodes[0]->self(); }

  shard_replica& b() { return nodes[1]->self(); }

  shard_replica& c() { return nodes[2]->self(); }

  outside world;
  std::vector<std::unique_ptr<node>> nodes;
};

} // namespace codeq::replication::test
