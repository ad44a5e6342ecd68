// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"
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

  /// Reads the next request of type `Request`, which must be for that shard; returns its number.
  template <class Request>
  std::uint64_t expect_for(std::uint16_t shard) {
    auto request = coordinator.expect<Request>();
    auto found =
      request.read([](auto reader) -> result<std::uint16_t> { return reader.getShard(); });
    EXPECT_EQ(*found, shard);
    return number_of(request);
  }

  /// Answers that the queue exists on one of the shards, or on none.
  void tell_whether_it_exists(bool exists) {
    for (std::uint16_t shard = 0; shard < 4; ++shard)
      coordinator.say(protocol::queue_reply::build([&](auto root) {
                        root.setNumber(expect_for<protocol::queue_request>(shard));
                        root.initSettings().initDefaults();
                        root.setIsUnknown(!exists || shard != 2);
                      }).to_wire());
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

TEST_F(ClientOperator, AQueueIsConfiguredOnEveryShard) {
  connect();
  queue_config config;
  config.max_depth = 10;
  auto waiting = std::async(std::launch::async, [&] {
    return client->configure_queue({.queue = "q"}, config);
  });

  for (std::uint16_t shard = 0; shard < 4; ++shard) {
    auto request = coordinator.expect<protocol::queue_request>();
    auto depth = request.read([&](auto reader) -> result<std::uint64_t> {
      EXPECT_EQ(reader.getShard(), shard);
      EXPECT_TRUE(reader.isSet());
      EXPECT_EQ(reader.getSet().getMaxDepth(), 3u) << "for coordinators of older versions";
      return reader.getSet().getMaxDepthWhole();
    });
    EXPECT_EQ(*depth, 10u);
    coordinator.say(protocol::queue_reply::build([&](auto root) {
                      root.setNumber(number_of(request));
                      root.initSettings().initDefaults();
                      root.getSettings().setMaxDepth(3);
                      root.getSettings().setMaxDepthWhole(10);
                    }).to_wire());
  }

  auto info = waiting.get();
  ASSERT_TRUE(info) << to_string(info.error());
  EXPECT_EQ(info->config.max_depth, 10u);
  EXPECT_EQ(info->shards, 4u);
  EXPECT_TRUE(info->is_uniform);
}

TEST_F(ClientOperator, WeightsAreChangedOnEveryShardByThemselves) {
  connect();
  auto waiting = std::async(std::launch::async, [&] {
    return client->change_weights({.queue = "q"}, {{"vip", 5}});
  });

  for (std::uint16_t shard = 0; shard < 4; ++shard) {
    auto request = coordinator.expect<protocol::queue_request>();
    auto weight = request.read([&](auto reader) -> result<std::uint64_t> {
      EXPECT_EQ(reader.getShard(), shard);
      EXPECT_TRUE(reader.isWeigh());
      return std::uint64_t{reader.getWeightChanges()[0].getWeight()};
    });
    EXPECT_EQ(*weight, 5u);
    coordinator.say(protocol::queue_reply::build([&](auto root) {
                      root.setNumber(number_of(request));
                      root.initSettings().initDefaults();
                    }).to_wire());
  }

  EXPECT_TRUE(waiting.get());
}

TEST_F(ClientOperator, AWalkThatFailsSaysHowFarItCame) {
  connect();
  auto waiting = std::async(std::launch::async, [&] {
    return client->configure_queue({.queue = "q"}, {});
  });

  coordinator.say(protocol::queue_reply::build([&](auto root) {
                    root.setNumber(expect_for<protocol::queue_request>(0));
                    root.initSettings().initDefaults();
                  }).to_wire());
  coordinator.say(protocol::queue_reply::build([&](auto root) {
                    root.setNumber(expect_for<protocol::queue_request>(1));
                    root.setCode(protocol::to_schema(errc::disk_full));
                    root.setContext("no space");
                  }).to_wire());

  auto info = waiting.get();
  ASSERT_FALSE(info);
  EXPECT_EQ(
    to_string(info.error()),
    "disk_full: no space; the change is made on shard 0, not on shards 1, 2, 3; make it again for "
    "the rest");
}

TEST_F(ClientOperator, APurgeWalksAllPartsOfAllShards) {
  connect();
  auto waiting = std::async(std::launch::async, [&] {
    return client->purge_queue({.queue = "q"});
  });
  auto answer = [&](std::uint16_t shard, std::uint64_t after, bool more) {
    auto request = coordinator.expect<protocol::bulk_request>();
    auto read = request.read([&](auto reader) -> result<std::uint64_t> {
      EXPECT_EQ(reader.getShard(), shard);
      EXPECT_EQ(reader.getWhat(), schema::BulkKind::PURGE_ALL);
      return reader.getFilter().getAfter();
    });
    EXPECT_EQ(*read, after);
    coordinator.say(protocol::bulk_reply::build([&](auto root) {
                      root.setNumber(number_of(request));
                      root.setChanged(5);
                      root.setAfter(after + 10);
                      root.setMore(more);
                    }).to_wire());
  };

  tell_whether_it_exists(true);
  answer(0, 0, true);
  answer(0, 10, false);
  for (std::uint16_t shard = 1; shard < 4; ++shard)
    answer(shard, 0, false);

  auto changed = waiting.get();
  ASSERT_TRUE(changed) << to_string(changed.error());
  EXPECT_EQ(*changed, 25u);
}

TEST_F(ClientOperator, AQueueThatDoesNotExistIsNeitherPausedNorPurged) {
  connect();
  auto paused = std::async(std::launch::async, [&] {
    return client->pause_queue({.queue = "q"}, true);
  });
  tell_whether_it_exists(false);
  auto purged = [&] {
    EXPECT_EQ(
      to_string(paused.get().error()), "unknown_queue: tenant default has no queue `q`");
    return std::async(std::launch::async, [&] { return client->purge_queue({.queue = "q"}); });
  }();
  tell_whether_it_exists(false);

  EXPECT_EQ(purged.get().error().code, errc::unknown_queue);
}

TEST_F(ClientOperator, AListIsTheOldestOfAllShards) {
  connect();
  auto waiting = std::async(std::launch::async, [&] { return client->list({.queue = "q"}, 2); });

  for (std::uint16_t shard = 0; shard < 4; ++shard)
    coordinator.say(protocol::list_reply::build([&](auto root) {
                      root.setNumber(expect_for<protocol::list_request>(shard));
                      auto task = root.initTasks(1)[0];
                      task.setSeq(7);
                      task.setEnqueuedAtMs(100 - shard);
                    }).to_wire());

  auto tasks = waiting.get();
  ASSERT_TRUE(tasks) << to_string(tasks.error());
  ASSERT_EQ(tasks->size(), 2u);
  EXPECT_EQ((*tasks)[0].id, (task_id{shard_id{3}, 7}));
  EXPECT_EQ((*tasks)[1].id, (task_id{shard_id{2}, 7}));
}

TEST_F(ClientOperator, ForceIsNotAskedAgainAfterAReconnect) {
  connect();
  auto waiting = std::async(std::launch::async, [&] {
    return client->force({shard_id{0}, 5}, force_kind::revoke);
  });
  coordinator.expect<protocol::force_request>();

  coordinator.cut();
  auto outcome = waiting.get();
  coordinator.accept();

  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::disconnected);
  // The next request is the new one: the old request was not resent.
  auto next = ask_status();
  coordinator.say(leased(number_of(coordinator.expect<protocol::status_request>())));
  EXPECT_TRUE(next.get());
}

TEST_F(ClientOperator, AReplyOfAnotherTypeClosesTheConnection) {
  connect();
  auto waiting = ask_status();

  coordinator.say(counts(number_of(coordinator.expect<protocol::status_request>())));
  coordinator.expect<actors::connection_lost>();
  coordinator.accept();

  coordinator.say(leased(number_of(coordinator.expect<protocol::status_request>())));
  EXPECT_TRUE(waiting.get());
}

TEST_F(ClientOperator, FiltersOutOfBoundsAreNotAsked) {
  connect();

  EXPECT_EQ(
    to_string(client->list({}, 10'001).error()),
    "invalid_argument: limit is 10001; it must be 1..10000");
  EXPECT_EQ(
    to_string(client->change_dead({.rate = 1'000'001}, dead_change::purge).error()),
    "invalid_argument: rate is 1000001; it must be 0..1000000");
  EXPECT_EQ(client->purge_queue({"default", ""}).error().code, errc::invalid_argument);
  auto text = std::string(limits::error_text_bytes_max + 1, 'x');
  EXPECT_EQ(client->force({shard_id{0}, 5}, force_kind::fail, text).error().code, errc::too_large);
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

TEST(ClientOperatorOptions, AddressThatIsNoneIsRefused) {
  auto made = operator_client::connect({{"nowhere"}, 10s});

  ASSERT_FALSE(made);
  EXPECT_EQ(
    to_string(made.error()), "invalid_argument: coordinators: \"nowhere\" is not host:port");
}

TEST(ClientOperatorOptions, ARefusedConnectionFailsWithinASecond) {
  auto begin = std::chrono::steady_clock::now();

  auto made = operator_client::connect({{"127.0.0.1:1"}, 10s});

  auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::disconnected);
  EXPECT_NE(made.error().context.find("refused"), std::string::npos) << made.error().context;
  EXPECT_LT(took, 1s);
}

} // namespace codeq::test
