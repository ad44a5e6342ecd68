// SPDX-License-Identifier: Apache-2.0
// Which answers about its follow-ups a shard of a cluster lets the other shards forget.
#include "support/task_builder.hpp"
#include "unit/coordinator/lone_port.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

/// Shard 0 of two, whose worker has three tasks; each completion has a follow-up for shard 1.
class AnsweredFollowUps : public testing::Test {
protected:
  AnsweredFollowUps() {
    options_.state = std::make_shared<core::shard_state>(shard_id{}, 1);
    options_.shard_count = 2;
    options_.hand_overs.emplace();
    shard_.emplace(options_, port_, now_);
    shard_->start(now_);
    auto worker = std::make_shared<const worker_identity>(worker_identity{"w", 1});
    shard_->attach({.peer = 1, .worker = std::move(worker), .queues = {queue_}}, now_);
    shard_->decide(core::claim{1, 3}, now_);
    shard_->decide(core::enqueue{1, {make_producer_id(now_.shard, 1, 2), 1}, {tasks(3)}}, now_);
    close();
    auto& leases = options_.state->leases;
    for (auto token : leases.tokens_of([](const core::live_grant&) { return true; }))
      leases_.push_back({leases.find(token)->seq, token});
  }

  core::enqueue_run tasks(std::uint32_t count) const {
    core::enqueue_run run;
    run.queue = queue_;
    run.tasks = test::encode_bodies(count, 1);
    return run;
  }

  void complete(const core::task_lease& lease) {
    core::lease_report done;
    done.seq = lease.seq;
    done.token = lease.token;
    done.follow_ups.push_back({shard_id{1}, tasks(1)});
    shard_->decide(core::report{1, {std::move(done)}}, now_);
  }

  void close() {
    shard_->close_turn(now_);
    shard_->committed(port_.submitted, now_);
  }

  const queue_address queue_{"default", "q"};
  lone_port port_;
  shard_options options_;
  instant now_{monotonic_time{1h}, timestamp{1'700'000'000s}};
  std::optional<shard> shard_;
  std::vector<core::task_lease> leases_;
};

TEST_F(AnsweredFollowUps, ConfirmationCountsOnceItIsWritten) {
  ASSERT_EQ(leases_.size(), 3u);
  complete(leases_[0]);
  close();
  ASSERT_EQ(port_.handed_over.size(), 1u);
  const auto first = port_.handed_over[0].number;

  complete(leases_[1]);
  shard_->close_turn(now_);
  shard_->decide(core::confirm_follow_ups{shard_id{1}, first, {}}, now_);
  shard_->committed(port_.submitted, now_);
  ASSERT_EQ(port_.handed_over.size(), 2u);
  EXPECT_EQ(port_.handed_over[1].answered_below, first) << "the turn with the confirmation is open";

  complete(leases_[2]);
  close();

  ASSERT_EQ(port_.handed_over.size(), 3u);
  EXPECT_EQ(port_.handed_over[2].answered_below, port_.handed_over[1].number);
}

} // namespace
} // namespace codeq::coordinator
