// SPDX-License-Identifier: Apache-2.0
#include "replication/stores/store_world.hpp"

#include "codeq/operator.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/recovery/task_reader.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <string_view>

namespace codeq::replication::stores {
namespace {

using namespace std::chrono_literals;
using storage::durability;

/// Enqueues, claims and completes through the node that serves.
class ReplicatedStore : public testing::Test {
protected:
  void make(world_options options) {
    options.seed = test::choose_seed();
    world_ = std::make_unique<store_world>(options);
  }

  client& user() { return world_->user(); }

  void enqueue(std::uint32_t tasks) {
    if (auto* server = world_->server(); server && server->driver().accepts_writes())
      server->decide(user().enqueue(tasks));
  }

  void claim(std::uint32_t tasks) {
    if (auto* server = world_->server(); server && server->driver().accepts_writes())
      server->decide(core::claim{client::worker, tasks, duration{0}});
  }

  void report() {
    auto* server = world_->server();
    if (server && !user().held().empty())
      server->decide(user().report());
  }

  /// Some of each, several times.
  void work(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      enqueue(1 + static_cast<std::uint32_t>(world_->random().below(5)));
      world_->run(3ms);
      claim(static_cast<std::uint32_t>(world_->random().below(6)));
      world_->run(5ms);
      if (world_->random().hits(700))
        report();
      world_->run(3ms);
    }
  }

  /// The state of a task at the server, whether its segment is closed or not.
  std::optional<core::task_entry> entry_of(sequence seq) {
    auto& server = *world_->server();
    const auto& state = server.state();
    std::optional<core::task_entry> entry;
    state.segments.walk(seq, seq + 1, [&](const core::segment& s) {
      if (s.first <= seq && seq < s.first + s.count)
        entry = s.view(seq);
      return !entry;
    });
    if (entry)
      return entry;
    auto fate = storage::read_fate(server.store(), shard_number, seq, {state.at, nullptr});
    EXPECT_TRUE(fate);
    return *fate ? std::optional{(*fate)->entry} : std::nullopt;
  }

  /// Everything that was acknowledged is at the server, as it was acknowledged.
  void expect_nothing_lost() {
    ASSERT_NE(world_->server(), nullptr);
    EXPECT_EQ(user().violation(), "");
    EXPECT_FALSE(user().enqueued().empty());
    for (auto seq : user().enqueued()) {
      // The record of a segment that the shard has just closed is still on its way to the store.
      const auto is_known = [&] { return world_->server() && entry_of(seq); };
      ASSERT_TRUE(world_->run_until(is_known, 10s)) << "task " << seq << " is lost";
      const auto entry = entry_of(seq);
      ASSERT_TRUE(entry) << "task " << seq << " is lost";
      const auto done = user().completed().find(seq);
      if (done == user().completed().end())
        continue;
      EXPECT_EQ(entry->state, task_state::completed) << seq;
      EXPECT_EQ(entry->token, done->second) << seq;
    }
  }

  /// Completes all tasks.
  void expect_all_complete() {
    const auto are_complete = [this] {
      claim(50);
      report();
      return user().completed().size() >= user().enqueued().size() && user().held().empty();
    };
    EXPECT_TRUE(world_->run_until(are_complete, 200s));
    EXPECT_EQ(user().violation(), "");
  }

  /// The keys of the outcomes in the store of a node.
  std::set<std::string> outcomes_at(std::size_t index) {
    std::set<std::string> found;
    const auto range = storage::outcomes_of(shard_number);
    const auto take = [&](std::string_view key, std::string_view) {
      found.emplace(key);
      return true;
    };
    EXPECT_TRUE(world_->at(index).store().scan(range.begin, range.end, take));
    return found;
  }

  /// Rewrites the outcomes of a node's store without those that may be dropped.
  void compact(std::size_t index) {
    std::atomic<bool> cancelled = false;
    const auto range = storage::outcomes_of(shard_number);
    EXPECT_TRUE(world_->at(index).store().compact(range.begin, range.end, cancelled));
  }

  /// Stops all nodes that run, and checks their stores.
  void expect_sound_stores() {
    // A disk that was emptied a moment ago is still counted as a member while it is copied to.
    const auto are_whole = [this] {
      bool all = true;
      for (std::size_t i = 0; i < world_->options().nodes; ++i)
        all = all && !(world_->at(i).is_up() && is_incomplete(i));
      return all;
    };
    EXPECT_TRUE(world_->run_until(are_whole, 20s));
    for (std::size_t i = 0; i < world_->options().nodes; ++i) {
      auto& node = world_->at(i);
      if (!node.is_up())
        continue;
      node.stop();
      verify_options options;
      options.directory = node.directory();
      const auto report = verify_store(options);
      ASSERT_TRUE(report) << to_string(report.error());
      EXPECT_EQ(report->findings, std::vector<std::string>{}) << "node " << i;
      EXPECT_TRUE(report->records.contains(shard_number));
    }
  }

  /// One member ends in some way; the others stay.
  void disturb(std::size_t victim) {
    auto& node = world_->at(victim);
    switch (world_->random().below(4)) {
    case 0:
      return node.kill();
    case 1:
      return node.cut_power();
    case 2:
      return node.wipe();
    default:
      node.kill();
      return node.drop_spool();
    }
  }

  /// The replica's record in the store of a node that is down, or up.
  storage::replica_record record_of(std::size_t index) {
    auto& node = world_->at(index);
    const auto was_up = node.is_up();
    if (!was_up)
      node.open();
    const auto stored = storage::read_replica(node.store(), shard_number);
    EXPECT_TRUE(stored && *stored);
    const auto record = (*stored)->record;
    if (!was_up)
      node.kill();
    return record;
  }

  bool is_incomplete(std::size_t index) { return record_of(index).is_incomplete; }

  bool is_doubtful(std::size_t index) { return record_of(index).is_doubtful; }

  std::unique_ptr<store_world> world_;
};

TEST_F(ReplicatedStore, SurvivesTheLossOfTheFirstOne) {
  make({.mode = durability::sync, .nodes = 2});
  auto* first = world_->await_server();
  ASSERT_NE(first, nullptr);
  work(20);
  ASSERT_TRUE(world_->await_in_sync());
  work(60);
  const auto token_before = user().last_token();
  const auto epoch_before = world_->value().epoch;

  first->wipe();
  auto* second = world_->await_server(first);

  ASSERT_NE(second, nullptr);
  EXPECT_GT(world_->value().epoch, epoch_before);
  expect_nothing_lost();
  work(20);
  EXPECT_GT(user().last_token(), token_before);
  expect_all_complete();
  expect_nothing_lost();
  expect_sound_stores();
}

TEST_F(ReplicatedStore, IsServedByTheReplicaThatItIsHandedTo) {
  make({.mode = durability::sync, .nodes = 2});
  ASSERT_NE(world_->await_server(), nullptr);
  ASSERT_TRUE(world_->await_in_sync());
  // Until the next poll the new member does not know that it is one, and cannot take over.
  world_->run(1100ms);
  // Both ways: which of them has the smaller identity makes no difference.
  for (int i = 0; i < 6; ++i) {
    work(5);
    auto* from = world_->server();
    ASSERT_NE(from, nullptr);
    auto* to = from == &world_->at(0) ? &world_->at(1) : &world_->at(0);

    from->driver().hand_over(to->id());

    ASSERT_TRUE(world_->run_until([this] { return world_->server() != nullptr; }, 1s));
    EXPECT_EQ(world_->server(), to);
    EXPECT_EQ(world_->value().in_sync.size(), 2u);
  }
  expect_nothing_lost();
}

/// Two replicas of which the second one misses what happens while it is down.
class LateReplica : public ReplicatedStore {
protected:
  void SetUp() override {
    make({.mode = durability::os, .nodes = 2});
    ASSERT_EQ(world_->await_server(), &world_->at(0));
    work(10);
    ASSERT_TRUE(world_->await_in_sync());
    copies_ = world_->at(1).copies_taken();
    world_->at(1).kill();
    ASSERT_TRUE(world_->run_until([this] { return world_->value().in_sync.size() == 1; }));
    work(40);
  }

  void restart_first() {
    world_->at(0).start();
    ASSERT_EQ(world_->await_server(), &world_->at(0));
  }

  /// The second replica is in sync again, and takes over without a loss.
  void expect_that_the_second_follows() {
    world_->at(1).start();
    ASSERT_TRUE(world_->await_in_sync());
    work(10);
    world_->at(0).wipe();
    ASSERT_EQ(world_->await_server(), &world_->at(1));
    expect_nothing_lost();
    expect_all_complete();
    expect_sound_stores();
  }

  std::size_t copies_ = 0;
};

TEST_F(LateReplica, CatchesUpFromMemory) {
  expect_that_the_second_follows();

  EXPECT_EQ(world_->at(1).copies_taken(), copies_);
  EXPECT_EQ(world_->at(0).tails_from_spool(), 0u);
}

TEST_F(LateReplica, CatchesUpFromFilesWhenThePrimaryWasRestarted) {
  world_->at(0).kill();
  restart_first();

  expect_that_the_second_follows();

  EXPECT_EQ(world_->at(1).copies_taken(), copies_);
  EXPECT_GT(world_->at(0).tails_from_spool(), 0u);
}

TEST_F(LateReplica, IsCopiedWhenTheDeltasAreGone) {
  world_->at(0).kill();
  world_->at(0).drop_spool();
  restart_first();

  expect_that_the_second_follows();

  EXPECT_EQ(world_->at(1).copies_taken(), copies_ + 1);
}

TEST_F(LateReplica, IsCopiedWhenItsDiskWasEmptied) {
  world_->at(1).wipe();

  expect_that_the_second_follows();

  EXPECT_EQ(world_->at(1).copies_taken(), copies_ + 1);
}

TEST_F(LateReplica, IsCopiedAgainWhenACopyIsInterrupted) {
  world_->at(1).wipe();
  world_->at(1).start();
  ASSERT_TRUE(world_->run_until([this] { return world_->at(1).copies_taken() > copies_; }));
  world_->run(3ms);
  world_->at(1).kill();
  ASSERT_TRUE(is_incomplete(1));
  world_->at(1).start();
  ASSERT_TRUE(world_->run_until([this] { return world_->at(1).copies_taken() > copies_ + 1; }));
  world_->run(3ms);
  // The sender goes away, too.
  world_->at(0).kill();
  restart_first();
  world_->at(1).kill();

  expect_that_the_second_follows();

  EXPECT_GE(world_->at(1).copies_taken(), copies_ + 3);
}

/// A copy to the second replica, whose disk was emptied, is under way.
class InterruptedCopy : public LateReplica {
protected:
  void SetUp() override {
    LateReplica::SetUp();
    world_->at(1).wipe();
    world_->at(1).start();
    ASSERT_TRUE(world_->run_until([this] { return world_->at(1).copies_taken() > copies_; }));
    world_->run(3ms);
    ASSERT_TRUE(is_incomplete(1));
  }

  void cut(std::size_t from, std::size_t to, sim::span length) {
    world_->cut(from, to, true);
    world_->time().after(length, [this, from, to] { world_->cut(from, to, false); });
  }

  void expect_that_it_goes_on() {
    ASSERT_TRUE(world_->await_in_sync());
    EXPECT_EQ(world_->at(1).copies_taken(), copies_ + 1);
    work(10);
    world_->at(0).wipe();
    ASSERT_EQ(world_->await_server(), &world_->at(1));
    expect_nothing_lost();
    expect_all_complete();
    expect_sound_stores();
  }
};

TEST_F(InterruptedCopy, GoesOnAfterItsPartsWereLost) {
  cut(0, 1, 8s);

  expect_that_it_goes_on();
}

TEST_F(InterruptedCopy, GoesOnAfterItsAnswersWereLost) {
  cut(1, 0, 8s);

  expect_that_it_goes_on();
}

TEST_F(InterruptedCopy, GoesOnAfterManyCuts) {
  for (int i = 0; i < 40; ++i) {
    cut(0, 1, 7ms);
    cut(1, 0, 6ms);
    world_->run(world_->random().moment(8'000, 1'100'000));
  }

  expect_that_it_goes_on();
}

TEST_F(InterruptedCopy, BeginsAnewSoonWhenItsTakerIsRestarted) {
  world_->at(1).kill();
  world_->at(1).start();

  const auto begins_anew = [this] { return world_->at(1).copies_taken() > copies_ + 1; };
  EXPECT_TRUE(world_->run_until(begins_anew, 2s));
  ASSERT_TRUE(world_->await_in_sync());
}

TEST_F(InterruptedCopy, IsGivenUpWhenItsTakerStaysAway) {
  world_->at(1).kill();
  world_->run(55s);
  EXPECT_EQ(world_->at(0).open_copies(), 1u);
  world_->run(10s);
  EXPECT_EQ(world_->at(0).open_copies(), 0u);
  world_->at(1).start();

  ASSERT_TRUE(world_->await_in_sync());
}

TEST_F(ReplicatedStore, PrimaryThatComesBackBehindFollows) {
  make({.mode = durability::sync, .nodes = 2});
  ASSERT_EQ(world_->await_server(), &world_->at(0));
  ASSERT_TRUE(world_->await_in_sync());
  work(20);
  const auto copies = world_->at(0).copies_taken();
  // A turn is on its way when it is killed.
  enqueue(3);
  world_->run(1ms);
  world_->at(0).kill();
  ASSERT_EQ(world_->await_server(&world_->at(0)), &world_->at(1));
  work(10);

  world_->at(0).start();

  ASSERT_TRUE(world_->await_in_sync());
  EXPECT_EQ(world_->at(0).copies_taken(), copies);
  expect_nothing_lost();
  expect_all_complete();
  expect_sound_stores();
}

TEST_F(ReplicatedStore, NothingIsAcknowledgedWithoutTheMembers) {
  make({.mode = durability::sync, .nodes = 2, .min_in_sync = 2});
  ASSERT_EQ(world_->await_server(), &world_->at(0));
  ASSERT_TRUE(world_->await_in_sync());
  work(5);
  const auto before = user().enqueued().size();
  world_->at(1).kill();

  enqueue(4);
  world_->run(1s);

  EXPECT_EQ(user().enqueued().size(), before);
  // Deltas that were under way end with the rest of the set; then nothing new is taken.
  const auto ends = [&] { return user().enqueued().size() == before + 4; };
  EXPECT_TRUE(world_->run_until(ends, 4s));
  EXPECT_FALSE(world_->at(0).driver().accepts_writes());
  world_->at(1).start();
  EXPECT_TRUE(world_->await_in_sync());
  EXPECT_TRUE(world_->at(0).driver().accepts_writes());
}

TEST_F(ReplicatedStore, ReplicaThatLostPowerIsNotElectedBeforeItWasCompared) {
  make({.mode = durability::os, .nodes = 2});
  ASSERT_EQ(world_->await_server(), &world_->at(0));
  ASSERT_TRUE(world_->await_in_sync());
  work(30);
  // Both go; the first one keeps what the kernel had, the second one does not.
  world_->at(0).kill();
  world_->at(1).cut_power();
  world_->at(1).start();
  world_->run(8s);
  EXPECT_EQ(world_->server(), nullptr);

  world_->at(0).start();

  ASSERT_EQ(world_->await_server(), &world_->at(0));
  expect_nothing_lost();
  ASSERT_TRUE(world_->await_in_sync());
  work(10);
  world_->run(1s);
  EXPECT_FALSE(is_doubtful(1));
  world_->at(0).wipe();
  ASSERT_EQ(world_->await_server(), &world_->at(1));
  expect_nothing_lost();
  expect_all_complete();
  expect_sound_stores();
}

TEST_F(ReplicatedStore, WhenAllHaveLostPowerTheLossIsNamed) {
  make({.mode = durability::os, .nodes = 2});
  ASSERT_TRUE(world_->await_server());
  ASSERT_TRUE(world_->await_in_sync());
  work(20);
  world_->at(0).cut_power();
  world_->at(1).cut_power();
  world_->at(0).start();
  world_->at(1).start();

  ASSERT_TRUE(world_->await_server());
  EXPECT_EQ(world_->value().condition, shard_condition::loss_accepted);
  EXPECT_EQ(user().violation(), "");
}

TEST_F(ReplicatedStore, CopyThatIsBehindServesWhenItIsForced) {
  make({.mode = durability::sync, .nodes = 2});
  ASSERT_EQ(world_->await_server(), &world_->at(0));
  ASSERT_TRUE(world_->await_in_sync());
  world_->at(1).kill();
  ASSERT_TRUE(world_->run_until([&] { return world_->value().in_sync.size() == 1; }));
  work(10);
  world_->at(0).kill();
  world_->at(1).start();
  world_->run(8s);
  ASSERT_EQ(world_->server(), nullptr) << "it was not in sync";
  const auto before = world_->value().epoch;

  world_->force(1);

  ASSERT_EQ(world_->await_server(), &world_->at(1));
  EXPECT_GE(world_->value().epoch, before + forced_epochs);
  EXPECT_EQ(world_->value().condition, shard_condition::loss_accepted);
  // What the other one has more does not join: it is copied.
  world_->at(0).start();
  ASSERT_TRUE(world_->await_in_sync());
  expect_sound_stores();
}

TEST_F(ReplicatedStore, CopiesDropWhatIsNotNeededAnyMore) {
  make({.mode = durability::os, .nodes = 2});
  ASSERT_EQ(world_->await_server(), &world_->at(0));
  work(20);
  ASSERT_TRUE(world_->await_in_sync());
  work(40);
  expect_all_complete();
  const auto old = outcomes_at(1);
  ASSERT_GT(old.size(), 20u);
  ASSERT_EQ(outcomes_at(0), old);
  // Their retention passes, and a snapshot later, which the copy has synced, they may go.
  world_->run(2h);
  work(60);
  expect_all_complete();
  world_->run(3s);

  for (std::size_t index : {0, 1}) {
    compact(index);
    const auto left = outcomes_at(index);
    EXPECT_FALSE(left.empty()) << index;
    for (const auto& key : left)
      EXPECT_FALSE(old.contains(key)) << index;
  }
  world_->at(0).wipe();
  ASSERT_EQ(world_->await_server(&world_->at(0)), &world_->at(1));
  work(10);
  expect_all_complete();
  expect_sound_stores();
}

TEST_F(ReplicatedStore, LosesNothingUnderRandomFaults) {
  for (const auto mode : {durability::sync, durability::os}) {
    make({.mode = mode, .nodes = 3});
    ASSERT_TRUE(world_->await_server());
    for (int round = 0; round < 12; ++round) {
      ASSERT_TRUE(world_->await_in_sync()) << "round " << round;
      work(5 + static_cast<int>(world_->random().below(20)));
      const auto victim = world_->random().below(3);
      disturb(victim);
      work(static_cast<int>(world_->random().below(10)));
      world_->run(world_->random().moment(0, 3'000'000));
      if (!world_->at(victim).is_up())
        world_->at(victim).start();
      ASSERT_TRUE(world_->await_server()) << "round " << round;
      expect_nothing_lost();
    }
    ASSERT_TRUE(world_->await_in_sync());
    expect_all_complete();
    expect_sound_stores();
  }
}

} // namespace
} // namespace codeq::replication::stores
