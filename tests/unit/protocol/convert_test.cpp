// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "protocol/convert.hpp"
#include "protocol/task_convert.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace codeq::protocol {
namespace {

/// An enqueue of one task whose body contains `slack` bytes that belong to no field.
enqueue_request enqueue_with_slack(std::size_t slack) {
  task_spec task;
  task.queue = "q";
  task.payload = "payload";
  auto plain = encoded_tasks::encode({&task, 1})->to_request({{1, 2}, 1, 1, shard_id{}});
  return enqueue_request::build(
    [&](schema::EnqueueRequest::Builder root) {
      auto ok = plain.read([&](schema::EnqueueRequest::Reader from) -> result<void> {
        root.setProducer(from.getProducer());
        root.setNumber(1);
        root.setProducer(from.getProducer());
        root.setRuns(from.getRuns());
        auto body = from.getTasks().getBytes();
        auto size = static_cast<capnp::uint>(body.size() + slack);
        std::copy(body.begin(), body.end(), root.initTasks().initBytes(size).begin());
        root.getTasks().initEnds(1).set(0, size);
        return {};
      });
      EXPECT_TRUE(ok);
    },
    (slack + 4096) / 8);
}

TEST(Convert, TakesABodyWithinItsLimits) {
  EXPECT_TRUE(to_command(enqueue_with_slack(0), 1, timestamp{}, {}));
}

TEST(Convert, RefusesABodyThatIsMostlySlack) {
  auto command = to_command(enqueue_with_slack(8u << 20), 1, timestamp{}, {});

  ASSERT_FALSE(command);
  EXPECT_EQ(command.error().code, errc::too_large);
}

TEST(Convert, RefusesABeatThatAsksForMoreThanALeaseMayBe) {
  auto beat_for = [](duration extend) {
    auto request = heartbeat_request::build([&](auto root) {
      root.initLeases(1)[0].setExtendMs(static_cast<std::uint64_t>(extend.count()));
    });
    return to_command(request, 1);
  };

  EXPECT_EQ(beat_for(limits::lease_max)->beats.at(0).extend, limits::lease_max);
  EXPECT_EQ(beat_for(duration{0})->beats.at(0).extend, duration{0});
  EXPECT_FALSE(beat_for(limits::lease_max + duration{1}));
  EXPECT_FALSE(beat_for(limits::lease_min - duration{1}));
}

TEST(Convert, RefusesABodyOfEmptyHeaders) {
  auto body = frame<schema::TaskBody>::build(
    [](schema::TaskBody::Builder root) { root.initHeaders(500'000); }, 1'100'000);
  auto request = enqueue_request::build(
    [&](schema::EnqueueRequest::Builder root) {
      root.initProducer().setHigh(1);
      root.setNumber(1);
      auto run = root.initRuns(1)[0];
      run.setCount(1);
      run.initQueue().setTenant("default");
      run.getQueue().setQueue("q");
      run.initSettings();
      auto bytes = body.body().view();
      root.initTasks().setBytes({reinterpret_cast<const capnp::byte*>(bytes.data()), bytes.size()});
      root.getTasks().initEnds(1).set(0, static_cast<capnp::uint>(bytes.size()));
    },
    1'100'000);

  auto command = to_command(request, 1, timestamp{}, {});

  ASSERT_FALSE(command);
  EXPECT_EQ(command.error().code, errc::too_large);
}

TEST(Convert, HeartbeatCarriesExtensionsAndProgress) {
  auto request = heartbeat_request::build([](schema::HeartbeatRequest::Builder root) {
    auto beat = root.initLeases(1)[0];
    beat.setSeq(5);
    beat.setToken(50);
    beat.setProgressed(true);
    beat.setExtendMs(60'000);
    auto line = root.initProgress(1)[0];
    line.setSeq(5);
    line.setToken(50);
    line.setPercent(40);
    line.setNote("halfway");
  });

  auto command = to_command(request, 1).value();

  EXPECT_TRUE(command.beats.at(0).progressed);
  EXPECT_EQ(command.beats.at(0).extend, std::chrono::minutes(1));
  EXPECT_EQ(command.progress.at(0).percent, 40);
  EXPECT_EQ(command.progress.at(0).note, "halfway");
}

TEST(Convert, ProgressOutOfBoundsBreaksTheProtocol) {
  auto with = [](std::uint8_t percent, std::size_t note) {
    return heartbeat_request::build([&](schema::HeartbeatRequest::Builder root) {
      auto line = root.initProgress(1)[0];
      line.setPercent(percent);
      line.setNote(std::string(note, 'x'));
    });
  };

  EXPECT_TRUE(to_command(with(100, limits::progress_note_bytes_max), 1));
  EXPECT_EQ(to_command(with(101, 0), 1).error().code, errc::protocol_error);
  EXPECT_EQ(
    to_command(with(0, limits::progress_note_bytes_max + 1), 1).error().code, errc::protocol_error);
}

TEST(Convert, HeartbeatCarriesCheckpointsWithinTheirLimit) {
  auto with = [](std::size_t size, std::uint32_t number) {
    return heartbeat_request::build([&](schema::HeartbeatRequest::Builder root) {
      auto line = root.initCheckpoints(1)[0];
      line.setSeq(5);
      line.setToken(50);
      line.setNumber(number);
      line.initData(static_cast<capnp::uint>(size));
    });
  };

  auto taken = to_command(with(limits::checkpoint_bytes_max, 3), 1).value().checkpoints.at(0);
  EXPECT_EQ(taken.seq, 5u);
  EXPECT_EQ(taken.mark, (core::checkpoint_mark{fencing_token{50}, 3}));
  EXPECT_EQ(taken.data.size(), limits::checkpoint_bytes_max);
  auto refused = to_command(with(limits::checkpoint_bytes_max + 1, 3), 1).error();
  EXPECT_EQ(refused.code, errc::protocol_error);
  EXPECT_EQ(refused.context, "checkpoint is 65537 bytes; it must be at most 65536");
  EXPECT_EQ(to_command(with(1, 0), 1).value().checkpoints.at(0).mark.number, 0u);
}

TEST(Convert, HeartbeatIsSplitFromItsCheckpoints) {
  auto whole = heartbeat_request::build([](schema::HeartbeatRequest::Builder root) {
    root.setShard(3);
    root.setNumber(7);
    root.initLeases(1)[0].setToken(50);
    root.initProgress(1)[0].setPercent(40);
    auto line = root.initCheckpoints(1)[0];
    line.setSeq(5);
    line.setToken(50);
    line.setNumber(2);
    line.initData(100);
  });

  auto parts = split(whole).value();

  EXPECT_EQ(number_of(parts.without_checkpoints), 7u);
  EXPECT_EQ(shard_of(parts.without_checkpoints, 4).value(), shard_id{3});
  auto rest = to_command(parts.without_checkpoints, 1).value();
  ASSERT_EQ(rest.beats.size(), 1u);
  EXPECT_EQ(rest.beats[0].token, fencing_token{50});
  EXPECT_TRUE(rest.checkpoints.empty());
  ASSERT_EQ(rest.progress.size(), 1u);
  EXPECT_EQ(rest.progress[0].percent, 40);
  EXPECT_EQ(parts.shard, shard_id{3});
  ASSERT_EQ(parts.checkpoints.size(), 1u);
  EXPECT_EQ(parts.checkpoints[0].seq, 5u);
  EXPECT_EQ(parts.checkpoints[0].mark, (core::checkpoint_mark{fencing_token{50}, 2}));
}

TEST(Convert, ClaimMaySayWhichQueuesItIsFor) {
  auto plain = claim_request::build([](schema::ClaimRequest::Builder root) { root.setCredits(3); });
  auto change = claim_request::build([](schema::ClaimRequest::Builder root) {
    root.setSetsQueues(true);
    root.initQueues(1)[0].setTenant("default");
    root.getQueues()[0].setQueue("q");
  });
  auto wrong = claim_request::build([](schema::ClaimRequest::Builder root) {
    root.setSetsQueues(true);
    root.initQueues(1)[0].setTenant("default");
    root.getQueues()[0].setQueue("no queue");
  });

  EXPECT_FALSE(read_claim(plain).value().queues);
  EXPECT_EQ(read_claim(plain).value().credits, 3u);
  EXPECT_EQ(*read_claim(change).value().queues, (std::vector<queue_address>{{"default", "q"}}));
  EXPECT_FALSE(read_claim(wrong));
}

} // namespace
} // namespace codeq::protocol
