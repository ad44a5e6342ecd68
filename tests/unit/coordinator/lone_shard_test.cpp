// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "support/task_builder.hpp"
#include "unit/coordinator/lone_port.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

class LoneShard : public testing::Test {
protected:
  LoneShard() {
    options_.state = std::make_shared<core::shard_state>(shard_id{}, 1);
    shard_.emplace(options_, port_, now_);
    shard_->start(now_);
    auto worker = std::make_shared<const worker_identity>(worker_identity{"w", 1});
    shard_->attach({.peer = 1, .worker = std::move(worker), .queues = {queue_}}, now_);
  }

  /// Leases so many new tasks to the worker; returns a report for each.
  std::vector<core::lease_report> lease(std::uint32_t count) {
    core::enqueue added{1, {make_producer_id(now_.shard, 1, 2), 1}, {}};
    added.runs.emplace_back().queue = queue_;
    added.runs.back().tasks = test::encode_bodies(count, 1);
    shard_->decide(core::claim{1, count}, now_);
    close();
    shard_->decide(added, now_);
    close();
    std::vector<core::lease_report> reports;
    auto& leases = options_.state->leases;
    for (auto token : leases.tokens_of([](const core::live_grant&) { return true; })) {
      reports.emplace_back().token = token;
      reports.back().seq = leases.find(token)->seq;
    }
    return reports;
  }

  void close() {
    shard_->close_turn(now_);
    shard_->committed(port_.submitted, now_);
  }

  /// How the shard takes a completion whose result has that size.
  errc take_result(std::size_t size) {
    auto request = protocol::result_request::build(
      [&](schema::ResultRequest::Builder root) {
        root.initReports(1)[0].setSeq(1);
        root.initTexts().setEnds({static_cast<std::uint32_t>(size)});
        root.getTexts().initBytes(static_cast<capnp::uint>(size));
      },
      size / 8 + 100);
    auto command = shard_->read({1, request}, now_);
    return std::get<core::report>(command.value()).reports.at(0).allowed.error().code;
  }

  const queue_address queue_{"default", "q"};
  lone_port port_;
  shard_options options_;
  instant now_{monotonic_time{1h}, timestamp{1'700'000'000s}};
  std::optional<shard> shard_;
};

TEST_F(LoneShard, NotesTheBreakerThatPausedAQueue) {
  shard_->decide(core::configure_queue{1, 1, queue_, {.pause_when_failing = {50, 1min}}}, now_);
  auto reports = lease(limits::breaker_attempts_min);
  ASSERT_EQ(reports.size(), limits::breaker_attempts_min);
  for (auto& report : reports)
    report.how = disposition::failed_permanently;

  shard_->decide(core::report{1, reports}, now_);
  EXPECT_EQ(port_.breakers, "") << "it is not durable yet";
  close();

  EXPECT_EQ(port_.breakers, "q: breaker, 100 % of 20 attempts failed in 1m\n");
}

TEST_F(LoneShard, NotesTheTurnInWhichAnOperatorPurgesATask) {
  const auto operation = [this](std::uint64_t number) {
    return std::make_shared<const core::command_origin>(
      core::command_origin{.at = now_.shard, .operation = number});
  };
  auto reports = lease(2);
  ASSERT_EQ(reports.size(), 2u);
  for (auto& report : reports)
    report.how = disposition::failed_permanently;
  shard_->decide(core::report{1, reports}, now_);
  close();
  shard_->decide(core::redrive{1, 1, reports[0].seq, operation(1)}, now_);
  close();
  EXPECT_EQ(port_.purges, 0u);

  shard_->decide(core::purge{1, 2, reports[1].seq, operation(2)}, now_);
  close();

  EXPECT_EQ(port_.purges, 1u);
}

TEST_F(LoneShard, LargeResultWaitsWhileTheDiskHasLittleSpace) {
  EXPECT_EQ(take_result(tuning::small_result_bytes_max + 1), errc::none);

  port_.is_tight = true;

  EXPECT_EQ(take_result(tuning::small_result_bytes_max + 1), errc::overloaded);
  EXPECT_EQ(take_result(tuning::small_result_bytes_max), errc::none);
}

TEST_F(LoneShard, HeartbeatHasNoEffectWhileAnotherCoordinatorMayServeTheShard) {
  const peer_request beat{1, protocol::heartbeat_request::build([](auto) {})};
  EXPECT_TRUE(shard_->read(beat, now_));

  port_.is_primary = false;

  EXPECT_FALSE(shard_->read(beat, now_));
}

} // namespace
} // namespace codeq::coordinator
