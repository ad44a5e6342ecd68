// SPDX-License-Identifier: Apache-2.0
#include "protocol/schedule_convert.hpp"
#include "unit/coordinator/lone_port.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

class ShardSchedules : public testing::Test {
protected:
  ShardSchedules() {
    options_.state = std::make_shared<core::shard_state>(shard_id{}, 1);
    define({});
  }

  /// Schedules that fire each second and have not been looked at for years.
  void define(schedule_spec spec) {
    if (spec.rule.empty())
      spec.rule = "every 1s";
    spec.misfire = misfire_policy::all;
    spec.catch_up = 24h;
    spec.overlap = overlap_policy::allow;
    spec.task.queue = "q";
    auto encoded = protocol::encode_spec(spec).value();
    auto packed = encoded.read([](auto from) { return protocol::pack_spec(from, "default"); });
    for (const auto* name : {"a", "b", "c"})
      options_.state->schedules.put({"default", name}, packed.value(), {});
  }

  void start() {
    shard_.emplace(options_, port_, now_);
    shard_->start(now_);
    shard_->attach({.peer = 1}, now_);
    close();
  }

  static protocol::schedule_request backfill(std::uint64_t number, const std::string& tenant) {
    return protocol::schedule_request::build([&](auto request) {
      request.setNumber(number);
      request.setTenant(tenant);
      request.setName("d");
      auto range = request.initBackfill();
      range.setFromMs(1'600'000'000'000);
      range.setUntilMs(1'600'000'010'000);
    });
  }

  static protocol::schedule_request resume(std::uint64_t number, const std::string& tenant) {
    return protocol::schedule_request::build([&](auto request) {
      request.setNumber(number);
      request.setTenant(tenant);
      request.setName("d");
      request.setResume();
    });
  }

  static protocol::schedule_request list(std::uint64_t number, const std::string& tenant) {
    return protocol::schedule_request::build([&](auto request) {
      request.setNumber(number);
      request.setTenant(tenant);
      request.initList().setLimit(10);
    });
  }

  /// Paused schedules `d` of two tenants.
  void set_paused() {
    auto definition = options_.state->schedules.find({"default", "a"})->definition;
    for (const auto* name : {"a", "b", "c"})
      options_.state->schedules.erase({"default", name});
    for (const auto* tenant : {"acme", "mallory"}) {
      core::schedule_progress paused;
      paused.paused = true;
      options_.state->schedules.put({tenant, "d"}, definition, paused);
    }
  }

  void ask(std::uint64_t number, const std::string& tenant) {
    shard_->take({1, backfill(number, tenant)}, now_);
  }

  [[nodiscard]] std::string answers() { return std::exchange(port_.answers, {}); }

  void close() {
    shard_->close_turn(now_);
    shard_->committed(port_.submitted, now_);
  }

  /// Lets the time of the latest wake-up come; returns how long it was.
  duration wake() {
    auto [wait, number] = *std::exchange(port_.wakeup, std::nullopt);
    now_.steady += wait;
    now_.shard += wait;
    shard_->wake(number, now_);
    close();
    return wait;
  }

  /// Lets so much time pass; returns how many wake-ups came.
  std::size_t pass(duration span) {
    const auto end = now_.steady + span;
    std::size_t wakeups = 0;
    for (; port_.wakeup && now_.steady + port_.wakeup->first <= end; ++wakeups)
      wake();
    return wakeups;
  }

  [[nodiscard]] std::uint64_t fired() const { return options_.state->schedules.counts.fired; }

  lone_port port_;
  shard_options options_;
  instant now_{monotonic_time{1h}, timestamp{1'700'000'000s}};
  std::optional<shard> shard_;
};

TEST_F(ShardSchedules, CatchUpLeavesRoomForOtherMessages) {
  start();
  EXPECT_EQ(fired(), 1000u) << "as many as one schedule catches up";

  EXPECT_LE(wake(), 10ms);
  EXPECT_EQ(fired(), 2000u);
  wake();
  EXPECT_EQ(fired(), 3000u);
}

TEST_F(ShardSchedules, BackfillsTakeTurnsWithOtherMessagesAndByTenant) {
  set_paused();
  start();
  for (auto number : {1, 2, 3})
    ask(number, "mallory");
  ask(4, "acme");
  close();
  EXPECT_EQ(answers(), "1 ");

  EXPECT_LE(wake(), 10ms);
  EXPECT_EQ(answers(), "2 ");
  wake();
  EXPECT_EQ(answers(), "4 ") << "the other tenant comes before the third of this one";
  wake();
  EXPECT_EQ(answers(), "3 ");
  wake();
  ask(5, "acme");
  close();
  EXPECT_EQ(answers(), "5 ") << "none waits, so it is done at once";
}

TEST_F(ShardSchedules, RefusesBackfillsBeyondThoseThatMayWait) {
  set_paused();
  start();
  for (std::uint64_t number = 1; number <= 65; ++number)
    ask(number, "mallory");
  close();
  EXPECT_EQ(answers(), "1 ");

  ask(66, "mallory");
  ask(67, "acme");

  EXPECT_EQ(answers(), "66:overloaded ");
  EXPECT_EQ(port_.limit, "backfills_waiting_max");
}

TEST_F(ShardSchedules, PausedOnesAreNotLookedAtAgain) {
  set_paused();
  start();

  EXPECT_EQ(options_.state->schedules.next_look(), std::nullopt);
  EXPECT_EQ(fired(), 0u);
}

TEST_F(ShardSchedules, FullDiskRefusesABackfillThatWaited) {
  set_paused();
  start();
  ask(1, "acme");
  ask(2, "acme");
  close();
  port_.disk = error{errc::disk_full, "no space"};

  wake();

  EXPECT_EQ(answers(), "1 2:disk_full ");
}

TEST_F(ShardSchedules, FullDiskHoldsThemWithoutALoop) {
  port_.disk = error{errc::disk_full, "no space"};
  start();

  EXPECT_EQ(fired(), 0u);
  EXPECT_LE(pass(1s), 5u);
  EXPECT_EQ(fired(), 0u);

  port_.disk = {};
  pass(1s);
  EXPECT_GE(fired(), 1000u);
}

TEST_F(ShardSchedules, MissingReplicasHoldThemAndRefuseBackfills) {
  port_.has_replicas = false;
  start();
  ask(1, "acme");
  close();

  EXPECT_EQ(fired(), 0u);
  EXPECT_EQ(answers(), "1:unavailable ");
  shard_->take({1, resume(2, "acme")}, now_);
  EXPECT_EQ(answers(), "2:unavailable ");
  EXPECT_LE(pass(1s), 5u);

  port_.has_replicas = true;
  pass(1s);
  EXPECT_GE(fired(), 1000u);
}

TEST_F(ShardSchedules, ListWaitsWhileAnotherCoordinatorMayServe) {
  set_paused();
  start();
  port_.is_primary = false;

  shard_->take({1, list(7, "acme")}, now_);
  close();
  EXPECT_EQ(answers(), "");
  port_.is_primary = true;
  pass(100ms);

  EXPECT_EQ(answers(), "7 ");
}

TEST_F(ShardSchedules, LargeTasksFireInSeveralTurns) {
  schedule_spec spec;
  spec.task.payload = std::string(60'000, 'x');
  define(spec);
  start();

  EXPECT_EQ(fired(), 12u) << "four of each schedule";
  EXPECT_LE(wake(), 10ms);
  EXPECT_EQ(fired(), 24u);
}

TEST_F(ShardSchedules, ResumeWithoutItsZoneIsRefused) {
  schedule_spec spec;
  spec.rule = "every 1s; zone=Europe/Berlin";
  define(spec);
  set_paused();
  start();

  shard_->take({1, resume(7, "acme")}, now_);
  close();

  EXPECT_EQ(answers(), "7:invalid_argument ");
  EXPECT_TRUE(options_.state->schedules.find({"acme", "d"})->progress.paused);
}

} // namespace
} // namespace codeq::coordinator
