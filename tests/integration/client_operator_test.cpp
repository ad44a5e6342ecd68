// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator.hpp"

#include "integration/fake_coordinator.hpp"
#include "protocol/error_code.hpp"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace codeq::test {

using namespace std::chrono_literals;

namespace {

template <class Request>
std::uint64_t number_of(const Request& request) {
  auto number =
    request.read([](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
  return number ? *number : 0;
}

protocol::wire_frame unknown(std::uint64_t number) {
  return protocol::status_reply::build([&](auto root) {
           root.setNumber(number);
           root.setCode(protocol::to_schema(errc::unknown_task));
         })
    .to_wire();
}

protocol::wire_frame leased(std::uint64_t number) {
  return protocol::status_reply::build([&](auto root) {
           root.setNumber(number);
           root.initTask().setSeq(5);
           root.initQueue().setQueue("q");
           root.setState(schema::TaskState::LEASED);
           root.setWorker("w1");
           root.setToken(1ull << 62);
         })
    .to_wire();
}

protocol::wire_frame counts(std::uint64_t number) {
  return protocol::stats_reply::build([&](auto root) {
           root.setNumber(number);
           auto queues = root.initQueues(1);
           queues[0].initQueue().setQueue("q");
           queues[0].setReady(3);
           queues[0].setGated(4);
           root.initGauges(1)[0].setName("codeq_lease_timers");
         })
    .to_wire();
}

class ClientOperator : public ::testing::Test {
protected:
  void connect() {
    auto waiting = std::async(std::launch::async, [this] {
      return operator_client::connect({{coordinator.address()}, 10s});
    });
    coordinator.accept();
    auto made = waiting.get();
    ASSERT_TRUE(made) << to_string(made.error());
    client = std::move(*made);
  }

  std::future<result<task_status>> ask_status() {
    return std::async(std::launch::async, [this] { return client->status({shard_id{0}, 5}); });
  }

  fake_coordinator coordinator;
  std::unique_ptr<operator_client> client;
};

} // namespace

TEST_F(ClientOperator, StatusIsAnswered) {
  connect();
  auto waiting = ask_status();

  coordinator.say(leased(number_of(coordinator.expect<protocol::status_request>())));

  auto status = waiting.get();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->state, task_state::leased);
  EXPECT_EQ(status->worker, "w1");
  EXPECT_EQ(value(status->token), 1ull << 62);
  EXPECT_EQ(status->eligible_at, std::nullopt);
}

TEST_F(ClientOperator, AnUnknownTaskIsAnError) {
  connect();
  auto waiting = ask_status();

  coordinator.say(unknown(number_of(coordinator.expect<protocol::status_request>())));

  EXPECT_EQ(waiting.get().error().code, errc::unknown_task);
}

TEST_F(ClientOperator, AQuestionIsAskedAgainAfterAReconnect) {
  connect();
  auto waiting = ask_status();
  coordinator.expect<protocol::status_request>();

  coordinator.cut();
  coordinator.accept();

  coordinator.say(leased(number_of(coordinator.expect<protocol::status_request>())));
  EXPECT_TRUE(waiting.get());
}

TEST_F(ClientOperator, StatsAreAnswered) {
  connect();
  auto waiting = std::async(std::launch::async, [this] { return client->stats(); });

  coordinator.say(counts(number_of(coordinator.expect<protocol::stats_request>())));

  auto stats = waiting.get();
  ASSERT_TRUE(stats);
  ASSERT_EQ(stats->queues.size(), 1u);
  EXPECT_EQ(stats->queues[0].ready, 3u);
  EXPECT_EQ(stats->queues[0].gated, 4u);
  EXPECT_EQ(stats->gauges.count("codeq_lease_timers"), 1u);
}

TEST_F(ClientOperator, ARefusalForGoodEndsConnectAtOnce) {
  auto waiting = std::async(std::launch::async, [this] {
    return operator_client::connect({{coordinator.address()}, 10s});
  });

  coordinator.refuse(errc::unauthorized, "no");

  auto made = waiting.get();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::unauthorized);
}

TEST(ClientOperatorOptions, NoCoordinatorIsADisconnect) {
  auto made = operator_client::connect({{"127.0.0.1:1"}, 50ms});

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::disconnected);
}

} // namespace codeq::test
