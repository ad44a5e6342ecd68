// SPDX-License-Identifier: Apache-2.0
// A hand-over of a shard between replicas whose messages, disks and etcd answer at once: it takes
// no time, since each step follows from the one before, and none from a tick.
#include "replication/shard_replica.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace codeq::replication {
namespace {

using namespace std::chrono_literals;

class body final : public delta_body {
public:
  [[nodiscard]] std::size_t byte_size() const override { return 1; }
};

/// The next steps, in order, and etcd's value.
struct outside {
  std::deque<std::function<void()>> steps;
  membership value;
  monotonic_time now{1h};

  void run() {
    for (; !steps.empty(); steps.pop_front())
      steps.front()();
  }
};

class node final : public replica_port {
public:
  node(outside& world, replica_id id)
    : world_(world),
      id_(id),
      self_({.id = id, .promised = 1, .log = {}, .value = world.value}, *this, world.now) {}

  void send(replica_id to, const message& what) override {
    if (is_away)
      return;
    world_.steps.emplace_back([this, to, what] {
      for (auto* other : others)
        if (other->id_ == to && !other->is_away)
          other->self_.receive({id_, 1, what}, world_.now);
    });
  }

  void save_promise(epoch_number epoch) override {
    world_.steps.emplace_back([this, epoch] { self_.promise_saved(epoch, world_.now); });
  }

  void write(const entry& what) override {
    world_.steps.emplace_back([this, at = what.at] { self_.written(at, world_.now); });
  }

  void clear_doubt() override {}

  log_tail read_after(replica_id, position) override { return {}; }

  void begin_copy(replica_id, epoch_number) override {}

  void take_copy(replica_id, const copy_offer&) override {}

  void compare_and_set(const membership& old, const membership& next) override {
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
    world_.steps.emplace_back([this, epoch] { self_.recovered(epoch, world_.now); });
  }

  void drop_recovery() override { ++dropped; }

  timestamp shard_time() override { return {}; }

  void serve(epoch_number) override {}

  void stop_serving() override {}

  [[nodiscard]] shard_replica& self() { return self_; }

  std::vector<node*> others;
  bool is_away = false;
  /// etcd's news come before its answer.
  bool is_told_by_watch = false;
  int recoveries = 0;
  int dropped = 0;

private:
  outside& world_;
  replica_id id_;
  shard_replica self_;
};

/// Three replicas in sync, of which `a` serves.
class HandOver : public testing::Test {
protected:
  static constexpr replica_id id_a{1};
  static constexpr replica_id id_b{2};
  static constexpr replica_id id_c{3};

  HandOver() {
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
      for (auto& one : nodes)
        if (!one->is_away)
          one->self().tick(world.now);
      world.run();
    }
  }

  shard_replica& a() { return nodes[0]->self(); }

  shard_replica& b() { return nodes[1]->self(); }

  shard_replica& c() { return nodes[2]->self(); }

  outside world;
  std::vector<std::unique_ptr<node>> nodes;
};

TEST_F(HandOver, TakesNoTimeAndNoTick) {
  ASSERT_TRUE(a().is_serving());

  a().hand_over(id_b);
  EXPECT_FALSE(a().is_serving());
  world.run();

  EXPECT_TRUE(b().is_serving());
  EXPECT_EQ(world.value.primary, id_b);
  EXPECT_EQ(world.value.in_sync.size(), 3u);
  EXPECT_TRUE(b().accepts_writes());
}

TEST_F(HandOver, TakesNoTimeWhenAWatchIsAheadOfTheAnswer) {
  nodes[1]->is_told_by_watch = true;

  a().hand_over(id_b);
  world.run();

  EXPECT_TRUE(b().is_serving());
}

TEST_F(HandOver, TakesNoTimeWhenTheValueWasChangedMeanwhile) {
  // The operator's wish for another primary has reached the old one only.
  ++world.value.version;
  a().etcd_answered(world.value, false, world.now);

  a().hand_over(id_b);
  world.run();

  EXPECT_TRUE(b().is_serving());
}

TEST_F(HandOver, RecoversOnceWhileTheElectionGoesOn) {
  const auto before = nodes[1]->recoveries;

  a().hand_over(id_b);
  world.run();

  EXPECT_EQ(nodes[1]->recoveries, before + 1);
  EXPECT_EQ(nodes[1]->dropped, 0);
}

TEST_F(HandOver, IsLeftToAMemberThatHasMore) {
  nodes[1]->is_away = true;
  a().propose(std::make_shared<body>(), world.now);
  world.run();
  nodes[1]->is_away = false;

  a().hand_over(id_b);
  world.run();
  pass(3s);

  EXPECT_TRUE(c().is_serving());
  EXPECT_EQ(nodes[1]->recoveries, nodes[1]->dropped);
}

TEST_F(HandOver, DropsWhatItRecoveredWhenAnotherOneIsElected) {
  nodes[1]->is_away = true;
  const auto epoch = a().value().epoch;
  a().hand_over(id_c);
  // Until b has had its time to answer.
  pass(500ms);
  ASSERT_TRUE(c().is_serving());
  nodes[1]->is_away = false;

  // The release and its own election come late.
  b().receive({id_a, 1, release{epoch}}, world.now);
  world.run();

  EXPECT_FALSE(b().is_serving());
  EXPECT_EQ(nodes[1]->recoveries, nodes[1]->dropped);
}

TEST_F(HandOver, MemberThatHasEndedIsNotWaitedFor) {
  nodes[1]->is_away = true;

  a().note_gone(id_b, world.now);
  world.run();

  EXPECT_EQ(world.value.in_sync, (std::vector{id_a, id_c}));
}

TEST_F(HandOver, WithoutAReleaseTheNextPrimaryWaits) {
  nodes[0]->is_away = true;

  pass(1500ms);
  EXPECT_FALSE(b().is_serving() || c().is_serving());
  pass(1500ms);
  EXPECT_TRUE(b().is_serving() || c().is_serving());
}

} // namespace
} // namespace codeq::replication
