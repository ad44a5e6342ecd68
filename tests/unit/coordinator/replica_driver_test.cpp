// SPDX-License-Identifier: Apache-2.0
// Two replicas of a shard whose messages, which cross as bytes, journals and etcd answer at once.
#include "coordinator/replica/replica_driver.hpp"

#include "coordinator/replica/replica_wire.hpp"
#include "core/state/shard_state.hpp"
#include "replication/timing.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/recovery/recovery.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;
using replication::replica_id;

constexpr shard_id driven_shard{3};

/// The next steps, in order, and the value that etcd has.
struct driven_world {
  std::deque<std::function<void()>> steps;
  replication::membership value;
  monotonic_time now{1h};
};

replica_driver_options options_of(replica_id id, const replication::membership& value) {
  replica_driver_options options;
  options.shard = driven_shard;
  options.stored.record = {id, 1, false, false};
  options.value = value;
  options.incarnation = 1;
  return options;
}

class driven_replica final : public replica_host {
public:
  driven_replica(driven_world& world, replica_id id)
    : world_(world),
      id_(id),
      driver(options_of(id, world.value), *this, memory_, world.now) {}

  void send(replica_id, const replication::message& what) override {
    shard_message m{driven_shard, id_, other->id_, what};
    world_.steps.emplace_back([this, body = encode(m)] {
      auto read = decode_shard_message(body);
      ASSERT_TRUE(read);
      other->driver.receive(
        {id_, 1, std::get<replication::message>(std::move(read->content))}, world_.now);
    });
  }

  void send(replica_id, const copy_message& what) override { sent.push_back(what); }

  void gather(turn_commit turn) override {
    turns.push_back(turn);
    world_.steps.emplace_back([this, turn] {
      std::vector sets{turn.writes};
      if (turn.replica_writes)
        sets.push_back(turn.replica_writes);
      EXPECT_TRUE(store_.commit(sets, storage::durability::sync));
      driver.committed(turn.number);
      driver.settle(world_.now);
    });
  }

  void compare_and_set(
    const replication::membership& old, const replication::membership& next) override {
    world_.steps.emplace_back([this, old, next] {
      const auto is_applied = world_.value == old;
      if (is_applied)
        world_.value = next;
      driver.etcd_answered(world_.value, is_applied, world_.now);
    });
  }

  void spool(const replication::entry&) override { ++spooled; }
  void read_spool(replica_id, replication::position) override {}
  void keep_spool(std::optional<std::uint64_t> from) override { kept_from = from; }
  void open_copy(const replication::copy_id&) override {}
  void read_part(const replication::copy_id&) override { ++parts_asked; }
  void close_copy(const replication::copy_id&) override { ++copies_closed; }
  void read_removals(const replication::copy_id&) override {}

  void recover(replication::epoch_number epoch, timestamp) override {
    auto found = storage::recover(store_, driven_shard, epoch, world_.now);
    ASSERT_TRUE(found);
    state = std::move(*found);
    world_.steps.emplace_back([this, epoch] { driver.recovered(epoch, world_.now); });
  }

  void drop_recovery() override { state.reset(); }
  void serve(replication::epoch_number) override {}
  void stop_serving() override {}
  void acknowledged(std::uint64_t) override {}

  timestamp shard_time() override { return {}; }

  [[nodiscard]] bool reaches_etcd() const override { return true; }

  [[nodiscard]] bool takes_copies() const override { return has_room; }

private:
  driven_world& world_;
  replica_id id_;
  ring_memory memory_;
  storage::memory_store store_;

public:
  replica_driver driver;
  driven_replica* other = nullptr;
  /// Number of deltas that its spool was given.
  std::size_t spooled = 0;
  /// The number from which on its spool keeps deltas.
  std::optional<std::uint64_t> kept_from;
  /// The messages about copies that it sent.
  std::vector<copy_message> sent;
  /// Its disk takes copies.
  bool has_room = true;
  std::size_t parts_asked = 0;
  std::size_t copies_closed = 0;
  /// The turns that the journal was given.
  std::vector<turn_commit> turns;
  /// The shard as it was recovered last.
  std::unique_ptr<core::shard_state> state;
};

/// Two replicas in sync, of which the first one serves.
class DrivenReplicas : public testing::Test {
protected:
  static constexpr replica_id id_first{1};
  static constexpr replica_id id_second{2};

  DrivenReplicas() {
    world_.value = {1, 1, id_first, {id_first, id_second}, {id_first, id_second}};
    first_ = std::make_unique<driven_replica>(world_, id_first);
    second_ = std::make_unique<driven_replica>(world_, id_second);
    first_->other = second_.get();
    second_->other = first_.get();
    for (const auto end = world_.now + 4s; world_.now < end; world_.now += 25ms) {
      first_->driver.tick(world_.now);
      second_->driver.tick(world_.now);
      run();
    }
  }

  void SetUp() override { ASSERT_TRUE(first_->driver.replica().is_serving()); }

  void run() {
    for (; !world_.steps.empty(); world_.steps.pop_front())
      world_.steps.front()();
  }

  /// The first replica proposes a turn with a snapshot.
  void propose_snapshot(core::log_position through) {
    auto writes = std::make_shared<storage::write_set>();
    writes->put(storage::segment_key{driven_shard, 9}.encode(), "value");
    turn_commit turn{driven_shard, 1, std::move(writes)};
    turn.horizon = std::make_shared<const storage::shard_horizon>(
      storage::shard_horizon{driven_shard, through, timestamp{7h}, core::position_set({3, 5})});
    ASSERT_TRUE(first_->driver.propose(std::move(turn), world_.now));
    run();
  }

  /// The first replica opens a copy for the second one, which does not hear of it.
  void begin_copy_to_second() {
    first_->driver.tick(world_.now);
    first_->driver.begin_copy(id_second, world_.value.epoch);
    const replication::copy_id id{id_first, 1, 1};
    first_->driver.copy_opened(id, first_->driver.replica().log());
    world_.steps.clear();
  }

  /// The second replica is offered a copy by the first one.
  void offer_to_second(const replication::copy_id& id) {
    const auto epoch = world_.value.epoch;
    second_->driver.receive(
      {id_first, 1, replication::copy_offer{epoch, id, {{{epoch, 1}}, {epoch, 90}}}}, world_.now);
    run();
  }

  /// The second replica gets a part of a copy.
  void send_to_second(const replication::copy_id& id, std::uint32_t number, bool is_last) {
    storage::write_set writes;
    writes.put(storage::segment_key{driven_shard, number}.encode(), "value");
    copy_part part{id, number, nullptr, is_last};
    part.packed = std::make_shared<const std::string>(is_last ? "" : storage::pack(writes));
    second_->driver.receive(id_first, part, world_.now);
    run();
  }

  /// The state of a copy, as the second replica tells it.
  [[nodiscard]] copy_state state_at_second(const replication::copy_id& id) {
    second_->driver.receive(id_first, copy_question{id, 0}, world_.now);
    return std::get<copy_answer>(second_->sent.back()).state;
  }

  driven_world world_;
  std::unique_ptr<driven_replica> first_;
  std::unique_ptr<driven_replica> second_;
};

TEST_F(DrivenReplicas, GiveTheirJournalsTheHorizonOfASnapshot) {
  propose_snapshot(9);

  for (const auto* replica : {first_.get(), second_.get()}) {
    ASSERT_FALSE(replica->turns.empty());
    const auto& horizon = replica->turns.back().horizon;
    ASSERT_NE(horizon, nullptr);
    EXPECT_EQ(horizon->through, 9u);
    EXPECT_EQ(horizon->at, timestamp{7h});
    EXPECT_TRUE(horizon->is_held_known);
    EXPECT_EQ(horizon->held.all(), (std::vector<core::log_position>{3, 5}));
  }
}

TEST_F(DrivenReplicas, ForgetTheHorizonOfDataThatACopyReplaces) {
  const auto epoch = world_.value.epoch;

  second_->driver.receive(
    {id_first, 1, replication::copy_offer{epoch, {id_first, 1, 1}, {{{epoch, 1}}, {epoch, 90}}}},
    world_.now);

  EXPECT_TRUE(second_->driver.replica().is_incomplete());
  EXPECT_TRUE(second_->turns.back().forgets_horizon);
}

TEST_F(DrivenReplicas, TakeNoCopyWhileTheDiskHasNoRoom) {
  const auto before = second_->turns.size();
  second_->has_room = false;

  offer_to_second({id_first, 1, 1});
  EXPECT_FALSE(second_->driver.replica().is_incomplete());
  EXPECT_EQ(second_->turns.size(), before);
  EXPECT_EQ(state_at_second({id_first, 1, 1}), copy_state::unknown) << "it is offered again";
  second_->has_room = true;
  offer_to_second({id_first, 1, 2});

  EXPECT_TRUE(second_->driver.replica().is_incomplete());
  EXPECT_EQ(state_at_second({id_first, 1, 2}), copy_state::clearing);
}

TEST_F(DrivenReplicas, EndACopyWhenTheDiskHasNoRoomAnyMore) {
  const replication::copy_id id{id_first, 1, 1};
  offer_to_second(id);
  second_->driver.removals_read(id, storage::write_set{});
  send_to_second(id, 1, false);
  ASSERT_EQ(state_at_second(id), copy_state::arrived);
  const auto before = second_->turns.size();

  second_->has_room = false;
  send_to_second(id, 2, false);

  EXPECT_EQ(second_->turns.size(), before);
  EXPECT_EQ(state_at_second(id), copy_state::unknown);
  EXPECT_TRUE(second_->driver.replica().is_incomplete());
}

TEST_F(DrivenReplicas, TakeTheEndOfACopyAlthoughTheDiskHasNoRoomAnyMore) {
  const replication::copy_id id{id_first, 1, 1};
  offer_to_second(id);
  second_->driver.removals_read(id, storage::write_set{});
  send_to_second(id, 1, false);

  second_->has_room = false;
  send_to_second(id, 2, true);

  EXPECT_EQ(state_at_second(id), copy_state::whole);
  EXPECT_FALSE(second_->driver.replica().is_incomplete());
}

TEST_F(DrivenReplicas, SpoolKeepsWhatFollowsACopyUntilItsTakerIsSilent) {
  const auto log = first_->driver.replica().log();
  begin_copy_to_second();
  EXPECT_EQ(first_->kept_from, log.last().number + 1);

  world_.now += replication::timing::copy_silence;
  first_->driver.tick(world_.now);
  EXPECT_TRUE(first_->kept_from);
  world_.now += 1ms;
  first_->driver.tick(world_.now);

  EXPECT_FALSE(first_->kept_from);
}

TEST_F(DrivenReplicas, SilentTakerOfACopyIsAskedAndSentWhatWasLost) {
  begin_copy_to_second();
  auto& sender = *first_;
  const replication::copy_id id{id_first, 1, 1};
  sender.driver.receive(id_second, copy_answer{.id = id}, world_.now);
  sender.driver.part_read(id, std::string("first"));
  sender.driver.part_read(id, std::string("second"));
  sender.sent.clear();

  world_.now += replication::timing::copy_unanswered;
  sender.driver.tick(world_.now);
  EXPECT_TRUE(sender.sent.empty());
  world_.now += 1ms;
  sender.driver.tick(world_.now);
  sender.driver.tick(world_.now);
  ASSERT_EQ(sender.sent.size(), 1u) << "it is asked once a second";
  EXPECT_EQ(std::get<copy_question>(sender.sent[0]).parts, 2u);
  sender.sent.clear();
  sender.driver.part_read(id, std::string("third"));
  sender.driver.receive(id_second, copy_answer{id, copy_state::arrived, 0, 1, 2}, world_.now);

  ASSERT_EQ(sender.sent.size(), 2u);
  EXPECT_EQ(std::get<copy_part>(sender.sent[0]).number, 3u);
  EXPECT_EQ(std::get<copy_part>(sender.sent[1]).number, 2u) << "the third may be on its way";
}

TEST_F(DrivenReplicas, TakerThatWritesNothingIsSentNoMoreAndGivenUp) {
  begin_copy_to_second();
  auto& sender = *first_;
  const replication::copy_id id{id_first, 1, 1};
  sender.driver.receive(id_second, copy_answer{.id = id}, world_.now);
  ASSERT_EQ(sender.parts_asked, 2u);
  sender.driver.part_read(id, std::string("first"));
  sender.driver.part_read(id, std::string("second"));
  const copy_answer idle{id, copy_state::arrived, 0, 2, 2};

  sender.driver.receive(id_second, idle, world_.now);
  for (const auto end = world_.now + replication::timing::copy_silence; world_.now < end;) {
    world_.now += 1s;
    sender.driver.receive(id_second, idle, world_.now);
    sender.driver.tick(world_.now);
  }
  EXPECT_EQ(sender.parts_asked, 2u);
  EXPECT_EQ(sender.copies_closed, 0u);
  world_.now += 1ms;
  sender.driver.tick(world_.now);

  EXPECT_EQ(sender.copies_closed, 1u);
}

TEST_F(DrivenReplicas, SpoolKeepsNothingForAReplicaThatReadsFromMemory) {
  const auto before = first_->driver.replica().log().last();
  begin_copy_to_second();
  propose_snapshot(9);
  ASSERT_TRUE(first_->kept_from);

  const auto tail = first_->driver.read_after(id_second, before);

  EXPECT_EQ(tail.how, replication::log_tail::state::held);
  EXPECT_FALSE(first_->kept_from);
}

TEST_F(DrivenReplicas, SpoolIsGivenNothingWhileNoOtherReplicaIsThere) {
  driven_world world;
  world.value = {1, 1, id_first, {id_first}, {id_first}};
  driven_replica lone(world, id_first);
  for (const auto end = world.now + 4s; world.now < end; world.now += 25ms) {
    lone.driver.tick(world.now);
    for (; !world.steps.empty(); world.steps.pop_front())
      world.steps.front()();
  }

  ASSERT_TRUE(lone.driver.replica().is_serving());
  EXPECT_FALSE(lone.turns.empty());
  EXPECT_EQ(lone.spooled, 0u);

  propose_snapshot(9);
  EXPECT_GT(first_->spooled, 0u);
  EXPECT_GT(second_->spooled, 0u);
}

TEST_F(DrivenReplicas, SpoolKeepsNothingForAMember) {
  begin_copy_to_second();

  first_->driver.etcd_answered(world_.value, false, world_.now);

  EXPECT_FALSE(first_->kept_from);
}

TEST_F(DrivenReplicas, SpoolKeepsNothingOnceAnotherReplicaServes) {
  begin_copy_to_second();

  first_->driver.hand_over(id_second);

  EXPECT_FALSE(first_->kept_from);
}

TEST_F(DrivenReplicas, GiveLargerTokensAfterEachFailOver) {
  auto last = first_->state->tokens.take(100) + 99;
  for (int i = 0; i < 4; ++i) {
    auto& from = i % 2 == 0 ? *first_ : *second_;
    const auto to = i % 2 == 0 ? id_second : id_first;

    from.driver.hand_over(to);
    run();

    ASSERT_TRUE(from.other->driver.replica().is_serving());
    const auto token = from.other->state->tokens.take(100);
    EXPECT_GT(token, last);
    last = token + 99;
  }
}

} // namespace
} // namespace codeq::coordinator
