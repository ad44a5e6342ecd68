// SPDX-License-Identifier: Apache-2.0
// A shard that has too few replicas in sync for new writes.
#include "unit/coordinator/lone_port.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

/// A worker has a lease, and reports nothing.
class FewReplicas : public testing::Test {
protected:
  FewReplicas() {
    options_.state = std::make_shared<core::shard_state>(shard_id{}, 1);
    shard_.emplace(options_, port_, now_);
    shard_->start(now_);
    peer_attached who{worker};
    who.worker = std::make_shared<const worker_identity>(worker_identity{"w", 1});
    who.queues = {{"t", "q"}};
    shard_->attach(who, now_);
    shard_->decide(core::claim{worker, 1}, now_);
    core::enqueue_run run;
    run.queue = {"t", "q"};
    run.settings.lease = 10s;
    run.tasks = {bytes("body"), {4}};
    const auto session = make_producer_id(now_.shard, 1, 1);
    shard_->decide(core::enqueue{client, {session, 1, 0}, {run}}, now_);
    close();
    port_.has_replicas = false;
  }

  void SetUp() override {
    ASSERT_EQ(leases(), 1u);
    options_.state->leases.for_each_lease(1, [this](const core::lease& l) { seq_ = l.seq; });
    token_ = core::find_segment(options_.state->segments, seq_)->view(seq_).token;
  }

  [[nodiscard]] std::size_t leases() const { return options_.state->leases.size(); }

  void close() {
    shard_->close_turn(now_);
    shard_->committed(port_.submitted, now_);
  }

  /// Heartbeats of the lease, and of one that is not there.
  void beat(std::uint64_t number) {
    const auto request = protocol::heartbeat_request::build([&](auto r) {
      r.setNumber(number);
      auto lines = r.initLeases(2);
      lines[0].setSeq(seq_);
      lines[0].setToken(value(token_));
      lines[1].setSeq(seq_);
      lines[1].setToken(value(token_) + 1);
    });
    shard_->take({worker, request}, now_);
  }

  /// So much time passes, and the lease's timer fires.
  void pass(duration time) {
    now_.steady += time;
    now_.shard += time;
    shard_->decide(core::expire_lease{seq_, token_}, now_);
    close();
  }

  /// Lets so much time pass, with the wake-ups that come.
  void stay_awake(duration span) {
    const auto end = now_.steady + span;
    while (port_.wakeup && now_.steady + port_.wakeup->first <= end) {
      const auto [wait, number] = *std::exchange(port_.wakeup, std::nullopt);
      now_.steady += wait;
      now_.shard += wait;
      shard_->wake(number, now_);
      close();
    }
  }

  /// Reads a queue, or pauses it.
  void ask_queue(core::peer_id by, std::uint64_t number, bool pauses) {
    const auto request = protocol::queue_request::build([number, pauses](auto r) {
      r.setNumber(number);
      auto queue = r.initQueue();
      queue.setTenant("t");
      queue.setQueue("q");
      if (pauses)
        r.setPause();
      else
        r.setShow();
    });
    shard_->take({by, request}, now_);
    close();
  }

  void show(std::uint64_t number, core::peer_id by = client) { ask_queue(by, number, false); }

  /// Reads until one is refused. Returns the number of the others.
  std::uint64_t show_all(core::peer_id by) {
    port_.answers.clear();
    std::uint64_t number = 0;
    while (port_.answers.empty() && number < 10'000)
      show(++number, by);
    EXPECT_EQ(port_.answers, std::to_string(number) + ":unavailable ");
    port_.answers.clear();
    return number - 1;
  }

  void attach(core::peer_id peer, const std::string& tenant) {
    security::principal bearer;
    bearer.tenant = tenant;
    peer_attached who{peer};
    who.bearer = std::make_shared<const security::principal>(std::move(bearer));
    shard_->attach(who, now_);
  }

  /// Waits for the end of the task.
  void await() {
    const auto request =
      protocol::await_request::build([this](auto r) { r.initSeqs(1).set(0, seq_); });
    shard_->take({client, request}, now_);
    close();
  }

  void cancel(std::uint64_t number) {
    const auto request = protocol::change_request::build([this, number](auto r) {
      r.setNumber(number);
      r.setChange(schema::TaskChange::CANCEL);
      r.initTask().setSeq(seq_);
    });
    shard_->take({client, request}, now_);
    close();
  }

  /// Another coordinator may serve the shard, or not any more.
  void set_primary(bool is_primary) {
    port_.has_replicas = true;
    port_.is_primary = is_primary;
    shard_->attach({client}, now_);
    close();
  }

  static constexpr core::peer_id worker = 1;
  static constexpr core::peer_id client = 2;
  static constexpr core::peer_id neighbour = 3;

  lone_port port_;
  shard_options options_;
  instant now_{monotonic_time{1h}, timestamp{1'700'000'000s}};
  std::optional<shard> shard_;
  sequence seq_ = 0;
  fencing_token token_{};
};

TEST_F(FewReplicas, LeasesGetAnotherTermInsteadOfEnding) {
  for (int i = 0; i < 5; ++i)
    pass(11s);
  EXPECT_EQ(leases(), 1u);

  port_.has_replicas = true;
  pass(9s);
  EXPECT_EQ(leases(), 1u) << "its term is not over";
  pass(20s);

  EXPECT_EQ(leases(), 0u);
}

TEST_F(FewReplicas, LeaseHasAWholeTermAfterwards) {
  pass(9s);
  shard_->look_at_room(now_);
  port_.has_replicas = true;

  pass(2s);
  EXPECT_EQ(leases(), 1u) << "its result was refused until a moment ago";
  pass(9s);
  EXPECT_EQ(leases(), 1u);
  pass(2s);

  EXPECT_EQ(leases(), 0u);
}

TEST_F(FewReplicas, LeaseDoesNotEndWhileTheyDoNotAnswer) {
  port_.has_replicas = true;
  port_.is_primary = false;

  pass(11s);

  EXPECT_EQ(leases(), 1u);
}

TEST_F(FewReplicas, HeartbeatsAreAnsweredAtOnce) {
  beat(7);

  EXPECT_EQ(port_.answers, "extended 1 of 7 ") << "before any commit";
}

TEST_F(FewReplicas, HeartbeatsWithoutANumberAreNotAnswered) {
  beat(0);

  EXPECT_EQ(port_.answers, "");
}

TEST_F(FewReplicas, NoHeartbeatIsAnsweredWhileAnotherCoordinatorMayServe) {
  port_.is_primary = false;

  beat(7);

  EXPECT_EQ(port_.answers, "");
}

TEST_F(FewReplicas, TaskThatIsCancelledKeepsItsLease) {
  shard_->decide(core::cancel{client, 1, seq_}, now_);
  close();
  for (int i = 0; i < 4; ++i)
    pass(11s);

  EXPECT_EQ(leases(), 1u) << "its result may come";
}

TEST_F(FewReplicas, ChangesOfOperatorsAreRefused) {
  shard_->attach({client}, now_);

  cancel(7);
  EXPECT_EQ(port_.answers, "7:unavailable ");
  port_.has_replicas = true;
  cancel(8);

  EXPECT_EQ(port_.answers, "7:unavailable ") << "the second one was not refused";
}

TEST_F(FewReplicas, ReadsAreAnswered) {
  shard_->attach({client}, now_);

  show(8);

  EXPECT_EQ(port_.answers, "queue 8 lacks copies ");
}

TEST_F(FewReplicas, ReadWaitsWhileAnotherCoordinatorMayServe) {
  set_primary(false);

  show(8);
  stay_awake(1s);
  EXPECT_EQ(port_.answers, "");
  port_.is_primary = true;
  stay_awake(100ms);

  EXPECT_EQ(port_.answers, "queue 8 ");
}

TEST_F(FewReplicas, ReadIsRefusedWhenAFailOverWouldBeOver) {
  set_primary(false);
  show(8);
  stay_awake(1s);
  show(9);

  stay_awake(2100ms);
  EXPECT_EQ(port_.answers, "8:unavailable ");
  stay_awake(1s);

  EXPECT_EQ(port_.answers, "8:unavailable 9:unavailable ");
}

TEST_F(FewReplicas, ReadsThatWaitAreBounded) {
  set_primary(false);

  EXPECT_GT(show_all(client), 1000u);
  port_.is_primary = true;
  stay_awake(100ms);

  EXPECT_TRUE(port_.answers.starts_with("queue 1 queue 2 queue 3 ")) << port_.answers;
}

TEST_F(FewReplicas, ReadsOfOneTenantThatWaitLeaveRoomForAnother) {
  set_primary(false);
  attach(client, "mallory");
  attach(neighbour, "acme");

  const auto of_one = show_all(client);
  show(1, neighbour);
  EXPECT_EQ(port_.answers, "");
  port_.is_primary = true;
  stay_awake(100ms);

  EXPECT_TRUE(port_.answers.ends_with("queue " + std::to_string(of_one) + " queue 1 "));
}

TEST_F(FewReplicas, ReadsThatHaveWaitedLeaveTheRoomOfTheirTenant) {
  set_primary(false);
  attach(client, "acme");
  const auto all = show_all(client);

  shard_->detach(client, now_);
  attach(client, "acme");
  EXPECT_EQ(show_all(client), all) << "the peer has left";
  stay_awake(4s);
  EXPECT_EQ(show_all(client), all) << "they were refused";
}

TEST_F(FewReplicas, ReadOfAPeerThatLeavesIsForgotten) {
  set_primary(false);
  show(8);

  shard_->detach(client, now_);
  set_primary(true);
  stay_awake(1s);

  EXPECT_EQ(port_.answers, "");
}

TEST_F(FewReplicas, QuestionOfAClaimIsAnsweredWhileAnotherCoordinatorMayServe) {
  set_primary(false);
  for (const auto claim : {gateway_peers_first, claim_peers_first})
    shard_->attach({claim}, now_);

  show(8, gateway_peers_first);
  show(9, claim_peers_first);

  EXPECT_EQ(port_.answers, "queue 8 lacks copies queue 9 lacks copies ");
}

TEST_F(FewReplicas, ChangeIsTakenWhileAnotherCoordinatorMayServe) {
  set_primary(false);

  ask_queue(client, 7, true);

  EXPECT_EQ(port_.answers, "queue 7 lacks copies ") << "it is committed";
}

TEST_F(FewReplicas, WaitForATaskIsPutOffWhileAnotherCoordinatorMayServe) {
  set_primary(false);

  await();

  EXPECT_EQ(port_.answers, "task overloaded ") << "the client asks again";
}

TEST_F(FewReplicas, EarlierWaitForATaskIsKept) {
  set_primary(true);
  await();
  EXPECT_EQ(port_.answers, "");

  port_.is_primary = false;
  core::lease_report done;
  done.seq = seq_;
  done.token = token_;
  shard_->decide(core::report{worker, {done}}, now_);
  close();

  EXPECT_EQ(port_.answers, "task none ");
}

} // namespace
} // namespace codeq::coordinator
