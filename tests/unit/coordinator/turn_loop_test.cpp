// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/turn_loop.hpp"

#include "codeq/producer.hpp"

#include "base/clock.hpp"
#include "coordinator/actors/frame_sinks.hpp"
#include "coordinator/actors/journal_driver.hpp"
#include "coordinator/actors/reader_driver.hpp"
#include "coordinator/actors/session_driver.hpp"
#include "coordinator/actors/shard_driver.hpp"
#include "protocol/task_convert.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/recovery/recovery.hpp"
#include "support/deterministic_system.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto only_shard = shard_id{};

/// The connection of a session, which keeps the types of the frames that were sent.
class outlet final : public actors::frame_outlet {
public:
  void write(const protocol::wire_frame& frame) override { written_.push_back(frame.type); }

  void flush() override {
    sent_.insert(sent_.end(), written_.begin(), written_.end());
    written_.clear();
  }

  /// Numbers of the messages sent since the last call.
  std::vector<std::uint16_t> take() { return std::exchange(sent_, {}); }

private:
  std::vector<std::uint16_t> written_;
  std::vector<std::uint16_t> sent_;
};

actors::connection_actor::behavior_type idle_connection(actors::connection_actor::pointer) {
  return {
    [](const protocol::wire_frame&) { ADD_FAILURE() << "a frame was sent as a message"; },
    [](const actors::connection_accepted&) {},
    [](actors::probe_peer) { return true; },
    [](const actors::close_connection&) {},
  };
}

/// Shows always the same time.
class still_clock final : public base::clock {
public:
  [[nodiscard]] instant now() override {
    constexpr std::chrono::hours since(1);
    return {monotonic_time{since}, timestamp{since}};
  }
};

struct peer {
  outlet out;
  std::shared_ptr<actors::outgoing_progress> progress =
    std::make_shared<actors::outgoing_progress>();
  actors::frame_sink sink;
};

/// A shard, its journal and sessions, all on one thread with a loop. Actors run only in `run`, so
/// that everything else is done by plain calls.
class TurnLoop : public testing::Test {
protected:
  TurnLoop() : TurnLoop(std::chrono::microseconds(0)) {}

  explicit TurnLoop(std::chrono::microseconds quiet_time)
    : loop_(std::make_shared<coordinator::turn_loop>(quiet_time)) {
    coordinator::journal_driver_options writes;
    writes.store = store_;
    writes.journal.mode = storage::durability::os;
    writes.journal.identity.epoch = 1;
    writes.on_failure = [](const error& e) { FAIL() << to_string(e); };
    writes.meter = meter_;
    writes.loop = loop_;
    coordinator::shard_driver_options options;
    options.clock = std::make_shared<still_clock>();
    auto steady = options.clock->now().steady;
    options.shard.state = std::move(storage::recover(*store_, only_shard, 1, steady).value());
    options.store = store_;
    options.loop = loop_;
    options.journal = system_.own(system_.get().spawn(coordinator::drive_journal, writes));
    coordinator::reader_driver_options reads;
    reads.reader.store = store_;
    options.reader = system_.own(system_.get().spawn(coordinator::drive_reader, reads));
    shard_ = system_.own(system_.get().spawn(coordinator::drive_shard, options));
    system_.run();
  }

  /// Connects a worker of queue `q`, or a producer when `worker` is null.
  std::unique_ptr<peer>
  connect(schema::Role role, std::shared_ptr<const worker_identity> worker = nullptr) {
    auto made = std::make_unique<peer>();
    made->progress->outlet = &made->out;
    coordinator::session_driver_options options;
    options.session.peer = ++last_peer_;
    options.session.worker = worker;
    options.outgoing = made->progress;
    options.connection = system_.own(system_.get().spawn(idle_connection));
    options.shards = {shard_};
    options.loop = loop_;
    auto session = system_.own(system_.get().spawn(coordinator::drive_session, options));
    system_.run();
    coordinator::attach_peer who{{last_peer_, worker}, session};
    if (worker)
      who.who.queues = {{"default", "q"}};
    EXPECT_TRUE(loop_->attach(only_shard, who));
    made->sink = coordinator::session_sink(role, {session, last_peer_, loop_}, {});
    system_.run();
    return made;
  }

  std::unique_ptr<peer> connect_worker() {
    return connect(
      schema::Role::WORKER, std::make_shared<const worker_identity>(worker_identity{"w", 1}));
  }

  static protocol::wire_frame enqueue(std::uint64_t number) {
    task_spec spec;
    spec.queue = "q";
    spec.payload = "payload";
    auto encoded = protocol::encoded_tasks::encode({&spec, 1});
    return encoded->to_request({{1, 2}, number, 1, only_shard}).to_wire();
  }

  static protocol::wire_frame claim(std::uint32_t credits) {
    return protocol::claim_request::build([&](auto root) { root.setCredits(credits); }).to_wire();
  }

  /// A connection reads these frames at once.
  void read(peer& from, const std::vector<protocol::wire_frame>& frames) {
    for (const auto& frame : frames)
      ASSERT_TRUE(from.sink(frame));
    loop_->read_done();
  }

  [[nodiscard]] std::uint64_t commits() const { return meter_->groups; }

  deterministic_system system_;
  std::shared_ptr<coordinator::turn_loop> loop_;
  std::shared_ptr<storage::memory_store> store_ = std::make_shared<storage::memory_store>();
  std::shared_ptr<coordinator::journal_meter> meter_ =
    std::make_shared<coordinator::journal_meter>();
  coordinator::shard_internal_actor shard_;
  core::peer_id last_peer_ = 0;
};

constexpr auto enqueued = protocol::frame_type<schema::EnqueueReply>;
constexpr auto tasks = protocol::frame_type<schema::TaskBatch>;

TEST_F(TurnLoop, CarriesAnEnqueueToAWaitingWorkerWithinTheRead) {
  auto producer = connect(schema::Role::PRODUCER);
  auto worker = connect_worker();
  read(*worker, {claim(1)});

  read(*producer, {enqueue(1)});

  EXPECT_THAT(producer->out.take(), ElementsAre(enqueued));
  EXPECT_THAT(worker->out.take(), ElementsAre(tasks));
  EXPECT_EQ(commits(), 1u);
}

TEST_F(TurnLoop, CommitsTheFramesOfOneReadTogether) {
  auto producer = connect(schema::Role::PRODUCER);

  read(*producer, {enqueue(1), enqueue(2), enqueue(3)});

  EXPECT_THAT(producer->out.take(), ElementsAre(enqueued, enqueued, enqueued));
  EXPECT_EQ(commits(), 1u);
}

/// The last work is never long enough ago.
class BusyTurnLoop : public TurnLoop {
protected:
  BusyTurnLoop() : TurnLoop(std::chrono::hours(24 * 365 * 100)) {}
};

TEST_F(BusyTurnLoop, GathersTheReadsOfSeveralConnectionsUnderLoad) {
  auto first = connect(schema::Role::PRODUCER);
  auto second = connect(schema::Role::PRODUCER);

  read(*first, {enqueue(1)});
  read(*second, {enqueue(2)});

  EXPECT_THAT(first->out.take(), IsEmpty());
  EXPECT_EQ(commits(), 0u);
  system_.run();
  EXPECT_THAT(first->out.take(), SizeIs(1));
  EXPECT_THAT(second->out.take(), SizeIs(1));
  EXPECT_EQ(commits(), 1u);
}

TEST_F(BusyTurnLoop, SendsToASessionThatHasLeftByItsActor) {
  auto producer = connect(schema::Role::PRODUCER);
  read(*producer, {enqueue(1)});

  loop_->remove(last_peer_);
  system_.run();

  EXPECT_THAT(producer->out.take(), ElementsAre(enqueued));
  EXPECT_EQ(commits(), 1u);
}

TEST_F(BusyTurnLoop, WritesNothingToAConnectionThatHasClosed) {
  auto producer = connect(schema::Role::PRODUCER);
  read(*producer, {enqueue(1)});

  loop_->settle();
  producer->progress->outlet = nullptr;
  loop_->written(producer->progress);
  loop_->settle();

  EXPECT_THAT(producer->out.take(), ElementsAre(enqueued));
}

} // namespace
} // namespace codeq::test
