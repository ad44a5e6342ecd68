// SPDX-License-Identifier: Apache-2.0
#include "unit/coordinator/lone_port.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

/// A shard at which a claim of another coordinator waits.
class DroppedCredits : public testing::Test {
protected:
  DroppedCredits() {
    options_.state = std::make_shared<core::shard_state>(shard_id{}, 1);
    shard_.emplace(options_, port_, now_);
    shard_->start(now_);
    peer_attached who{claim};
    who.worker = std::make_shared<const worker_identity>(worker_identity{"http:t/w", 1});
    who.queues = {{"t", "q"}};
    shard_->attach(who, now_);
    shard_->decide(core::claim{claim, 2}, now_);
  }

  void enqueue() {
    core::enqueue_run run;
    run.queue = {"t", "q"};
    run.tasks = {bytes("body"), {4}};
    const auto session = make_producer_id(now_.shard, 1, 1);
    shard_->decide(core::enqueue{1, {session, ++requests_, 0}, {run}}, now_);
    shard_->close_turn(now_);
  }

  static constexpr auto claim = claim_peers_first;

  lone_port port_;
  shard_options options_;
  instant now_{monotonic_time{1h}, timestamp{1'700'000'000s}};
  std::optional<shard> shard_;
  std::uint64_t requests_ = 0;
};

TEST_F(DroppedCredits, LeaveTheTasksThatAreBeingCommitted) {
  enqueue();

  EXPECT_EQ(shard_->drop_credits(claim, now_), 1u);
  EXPECT_FALSE(shard_->is_settled());
  shard_->committed(port_.submitted, now_);

  EXPECT_EQ(shard_->drop_credits(claim, now_), 0u);
}

TEST_F(DroppedCredits, GetNoTasksAnyMore) {
  shard_->close_turn(now_);

  EXPECT_EQ(shard_->drop_credits(claim, now_), 0u);
  enqueue();

  EXPECT_EQ(shard_->drop_credits(claim, now_), 0u);
}

} // namespace
} // namespace codeq::coordinator
