// SPDX-License-Identifier: Apache-2.0
// A shard that has too few replicas in sync for new writes.
#include "unit/coordinator/lone_port.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>

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

  static constexpr core::peer_id worker = 1;
  static constexpr core::peer_id client = 2;

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
  const auto cancel = protocol::change_request::build([this](auto r) {
    r.setNumber(7);
    r.setChange(schema::TaskChange::CANCEL);
    r.initTask().setSeq(seq_);
  });

  shard_->attach({client}, now_);

  shard_->take({client, cancel}, now_);
  EXPECT_EQ(port_.answers, "7:unavailable ");
  port_.has_replicas = true;
  shard_->take({client, cancel}, now_);
  close();

  EXPECT_EQ(port_.answers, "7:unavailable ") << "the second one was not refused";
}

} // namespace
} // namespace codeq::coordinator
