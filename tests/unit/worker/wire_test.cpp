// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "worker/node/wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::worker {
namespace {

std::string body_of(const std::string& payload) {
  auto body = protocol::frame<schema::TaskBody>::build([&](schema::TaskBody::Builder root) {
    auto data = root.initPayload(static_cast<unsigned>(payload.size()));
    std::copy(payload.begin(), payload.end(), data.begin());
    auto header = root.initHeaders(1)[0];
    header.setName("traceparent");
    header.setValue("for " + payload);
  });
  return std::string(body.body().view());
}

using change = std::function<void(schema::TaskBatch::Builder)>;

/// Two tasks in one run of shard 3, as a coordinator sends them, modified by `spoil`.
protocol::task_batch make_batch(const change& spoil = [](auto) {}) {
  return protocol::task_batch::build([&](schema::TaskBatch::Builder root) {
    root.setShard(3);
    auto run = root.initRuns(1)[0];
    run.setFirst(100);
    run.setCount(2);
    run.setFirstToken(500);
    run.setLeaseMs(10'000);
    run.setMaxAttempts(5);
    run.setPriority(4);
    run.setEnqueuedAtMs(1234);
    run.getQueue().setTenant("default");
    run.getQueue().setQueue("thumbs");
    auto first = body_of("one");
    auto bodies = first + body_of("the second");
    root.getTasks().setEnds(
      {static_cast<std::uint32_t>(first.size()), static_cast<std::uint32_t>(bodies.size())});
    root.getTasks().setBytes({reinterpret_cast<const kj::byte*>(bodies.data()), bodies.size()});
    spoil(root);
  });
}

TEST(Wire, TaskBatchGivesTasksWithTheirOwnIdTokenAndPayload) {
  auto batch = make_batch([](auto root) { root.getRuns()[0].setAttempts({1, 4}); });

  auto read = read_task_batch(batch);

  ASSERT_TRUE(read) << to_string(read.error());
  ASSERT_EQ(read->tasks.size(), 2u);
  const auto& second = read->tasks[1];
  EXPECT_EQ(second.id, (task_id{shard_id{3}, 101}));
  EXPECT_EQ(second.token, fencing_token{501});
  EXPECT_EQ(second.attempt, 4u);
  EXPECT_EQ(second.max_attempts, 5u);
  EXPECT_EQ(second.queue, "thumbs");
  EXPECT_EQ(second.priority, 4);
  EXPECT_EQ(second.lease, duration{10'000});
  EXPECT_EQ(second.payload.view(), "the second");
  ASSERT_EQ(second.headers.size(), 1u);
  EXPECT_EQ(second.headers.begin()->second, "for the second");
}

TEST(Wire, PayloadIsASliceOfTheFrame) {
  auto batch = make_batch();

  auto read = read_task_batch(batch);

  ASSERT_TRUE(read);
  const char* begin = batch.body().data();
  EXPECT_GE(read->tasks[0].payload.data(), begin);
  EXPECT_LT(read->tasks[0].payload.data(), begin + batch.body().size());
}

/// A batch of two payloads in one buffer whose references can be counted.
struct counted_batch {
  counted_batch(const std::string& first, const std::string& second) {
    auto made = make_batch([&](schema::TaskBatch::Builder root) {
      auto bodies = body_of(first);
      auto end = bodies.size();
      bodies += body_of(second);
      root.getTasks().setEnds(
        {static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(bodies.size())});
      root.getTasks().setBytes({reinterpret_cast<const kj::byte*>(bodies.data()), bodies.size()});
      auto saved = root.getRuns()[0].initCheckpoints(1)[0];
      saved.setSeq(100);
      saved.setData({reinterpret_cast<const kj::byte*>("state"), 5});
    });
    buffer = std::make_shared<const std::string>(made.body().view());
  }

  /// The tasks of the batch; nothing else refers to the buffer.
  [[nodiscard]] std::vector<task> read() const {
    auto batch = protocol::task_batch::parse(bytes(buffer, *buffer));
    return std::move(read_task_batch(batch.value()).value().tasks);
  }

  std::shared_ptr<const std::string> buffer;
};

TEST(Wire, SmallTaskHoldsNothingOfALargeBatch) {
  counted_batch batch("small", std::string(100'000, 'x'));
  auto tasks = batch.read();

  tasks.pop_back();

  EXPECT_EQ(batch.buffer.use_count(), 1);
  EXPECT_EQ(tasks[0].payload.view(), "small");
  EXPECT_EQ(tasks[0].checkpoint.view(), "state");
}

TEST(Wire, LargePartOfABatchIsNotCopied) {
  // Each body has a header as long as its payload.
  counted_batch batch(std::string(100'000, 'y'), std::string(50'000, 'x'));

  auto tasks = batch.read();

  EXPECT_GE(tasks[0].payload.data(), batch.buffer->data());
  EXPECT_LT(tasks[0].payload.data(), batch.buffer->data() + batch.buffer->size());
  EXPECT_EQ(tasks[0].payload.size(), 100'000u);
}

TEST(Wire, TasksOfASmallBatchShareIt) {
  counted_batch batch("small", std::string(10'000, 'x'));

  auto tasks = batch.read();

  EXPECT_GT(batch.buffer.use_count(), 2);
}

TEST(Wire, MissingAttemptsAreAllTheFirst) {
  auto read = read_task_batch(make_batch());

  ASSERT_TRUE(read);
  EXPECT_EQ(read->tasks[0].attempt, 1u);
  EXPECT_EQ(read->tasks[1].attempt, 1u);
}

TEST(Wire, BatchThatDoesNotFitIsAProtocolError) {
  const std::vector<change> spoilers = {
    [](auto root) { root.getRuns()[0].setCount(3); },
    [](auto root) { root.getRuns()[0].setCount(1); },
    [](auto root) { root.getRuns()[0].setAttempts({1}); },
    [](auto root) { root.getRuns()[0].setPriority(10); },
    [](auto root) { root.getRuns()[0].setLeaseMs(0); },
    [](auto root) { root.getTasks().getEnds().set(0, 0); },
    [](auto root) { root.getTasks().getEnds().set(1, 1u << 20); },
    [](auto root) { root.getTasks().getEnds().set(0, 9); },
    // A checkpoint for a task that is not in the batch.
    [](auto root) { root.getRuns()[0].initCheckpoints(1)[0].setSeq(1); },
  };

  for (std::size_t i = 0; i < spoilers.size(); ++i) {
    auto read = read_task_batch(make_batch(spoilers[i]));

    ASSERT_FALSE(read) << "spoiler " << i;
    EXPECT_EQ(read.error().code, errc::protocol_error) << "spoiler " << i;
  }
}

TEST(Wire, HeartbeatsAreOnePerShard) {
  auto key = [](std::uint16_t shard, std::uint64_t token) {
    return lease_key{0, shard_id{shard}, fencing_token{token}};
  };

  auto made = make_heartbeats(
    {{key(2, 20), 1, lease_phase::running},
     {key(1, 10), 2, lease_phase::queued},
     {key(2, 21), 3, lease_phase::queued}});

  ASSERT_EQ(made.size(), 2u);
  auto lines = made[1].read([](auto reader) -> result<std::size_t> {
    EXPECT_EQ(reader.getShard(), 2);
    EXPECT_EQ(reader.getLeases()[1].getSeq(), 3u);
    EXPECT_EQ(reader.getLeases()[1].getPhase(), schema::LeasePhase::QUEUED);
    return std::size_t{reader.getLeases().size()};
  });
  EXPECT_EQ(lines.value(), 2u);
}

TEST(Wire, ResumeGoesToEveryShardAlsoWithoutHoldings) {
  lease_key held{0, shard_id{1}, fencing_token{10}};

  auto made = make_resumes({{held, 7, lease_phase::running}}, 3);

  ASSERT_EQ(made.size(), 3u);
  for (std::uint16_t shard = 0; shard < 3; ++shard) {
    auto ok = made[shard].read([&](auto reader) -> result<void> {
      EXPECT_EQ(reader.getShard(), shard);
      EXPECT_EQ(reader.getLeases().size(), shard == 1 ? 1u : 0u);
      return {};
    });
    EXPECT_TRUE(ok);
  }
}

TEST(Wire, ResultsTakeTheirFollowUpsWithThem) {
  task_spec task;
  task.queue = "next";
  task.payload = "of the second";
  auto encoded = protocol::encoded_tasks::encode({&task, 1});
  report plain{{0, shard_id{1}, fencing_token{10}}, 7, disposition::completed, {}, true, "r", {}};
  auto with = plain;
  with.follow_ups = std::make_shared<const protocol::encoded_tasks>(std::move(*encoded));

  auto made = make_results({shard_id{1}, {&plain, &with}});

  auto ok = made.read([](auto reader) -> result<void> {
    EXPECT_FALSE(reader.getReports()[0].hasFollowUps());
    auto follow_ups = reader.getReports()[1].getFollowUps();
    EXPECT_EQ(follow_ups.getRuns()[0].getCount(), 1u);
    EXPECT_EQ(std::string(follow_ups.getRuns()[0].getQueue().getQueue()), "next");
    EXPECT_EQ(follow_ups.getTasks().getEnds().size(), 1u);
    return {};
  });
  EXPECT_TRUE(ok);
}

TEST(Wire, ResultsTakeTheirLimitAndCostsWithThem) {
  report made;
  made.key = {0, shard_id{1}, fencing_token{5}};
  made.what = disposition::limited;
  made.delay = std::chrono::seconds(30);
  made.limit_name = "stripe";
  made.costs = {{"stripe", {}, 3}, {"smtp", {}, 0}};

  auto request = make_results({shard_id{1}, {&made}});

  auto ok = request.read([](auto reader) -> result<void> {
    auto line = reader.getReports()[0];
    EXPECT_EQ(line.getDisposition(), schema::Disposition::LIMITED);
    EXPECT_EQ(line.getDelayMs(), 30'000);
    EXPECT_EQ(std::string(line.getLimitName()), "stripe");
    EXPECT_EQ(line.getCosts().size(), 2u);
    EXPECT_EQ(line.getCosts()[0].getCost(), 3u);
    EXPECT_EQ(line.getCosts()[1].getCost(), 0u);
    return {};
  });
  EXPECT_TRUE(ok);
}

TEST(Wire, RefusalSaysWhatIsOutOfBounds) {
  auto reply = protocol::result_reply::build([](schema::ResultReply::Builder root) {
    auto answer = root.initAnswers(1)[0];
    answer.setCode(schema::ErrorCode::INVALID_ARGUMENT);
    answer.setContext("priority is 10");
  });

  auto read = read_result_reply(0, reply);

  ASSERT_TRUE(read);
  EXPECT_EQ(read->at(0).code, errc::invalid_argument);
  EXPECT_EQ(read->at(0).context, "priority is 10");
}

TEST(Wire, CheckpointsFillNoRequestBeyondItsLimit) {
  constexpr std::size_t fitting =
    tuning::checkpoint_bytes_per_request_max / limits::checkpoint_bytes_max;
  auto state = bytes(std::string(limits::checkpoint_bytes_max, 'x'));
  std::vector<progress_of> said;
  for (std::size_t i = 0; i <= fitting; ++i)
    said.push_back(
      {{{0, shard_id{0}, fencing_token{i + 1}}, i + 1}, std::nullopt, checkpoint_line{1, state}});

  auto made = make_progress(said);

  std::vector<std::size_t> sizes;
  for (const auto& request : made)
    static_cast<void>(request.read([&](schema::HeartbeatRequest::Reader root) -> result<void> {
      EXPECT_EQ(root.getLeases().size(), root.getCheckpoints().size());
      sizes.push_back(root.getCheckpoints().size());
      return {};
    }));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{fitting, 1}));
}

} // namespace
} // namespace codeq::worker
