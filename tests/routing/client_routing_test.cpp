// SPDX-License-Identifier: Apache-2.0
// Clients of a cluster, over real links, against two coordinators whose replies the test sends.
#include "codeq/operator.hpp"
#include "codeq/producer.hpp"

#include "core/commands/routing.hpp"
#include "integration/fake_coordinator.hpp"
#include "protocol/error_code.hpp"
#include "protocol/map_convert.hpp"
#include "support/channel.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace codeq::test {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t the_store = 9;
constexpr std::uint16_t shard_count = 4;

/// Coordinator a, whose address the client knows, serves shards 0 and 1; b serves 2 and 3.
class ClientOfACluster : public ::testing::Test {
protected:
  ClientOfACluster() {
    for (std::uint16_t shard = 0; shard < shard_count; ++shard)
      place(shard, shard < 2 ? "a" : "b");
  }

  /// Gives a shard to a coordinator in a new epoch.
  void place(std::uint16_t shard, const std::string& node) {
    auto& at = places_[shard];
    const auto version = at.version + 1;
    at = {node, (node == "a" ? a : b).address(), "", static_cast<std::uint32_t>(version), version};
  }

  /// The places of some shards.
  [[nodiscard]] protocol::wire_frame
  places(const std::vector<std::uint16_t>& shards, const std::vector<shard_id>& not_here = {}) {
    cluster::map_news news{shard_count, {}};
    for (auto shard : shards)
      news.items.push_back({shard_id{shard}, places_.at(shard)});
    return protocol::make_cluster_map(news, not_here).to_wire();
  }

  [[nodiscard]] protocol::wire_frame all_places() { return places({0, 1, 2, 3}); }

  void accept_both() {
    a.accept(the_store, shard_count, "a");
    a.say(all_places());
    b.accept(the_store, shard_count, "b");
    b.say(all_places());
  }

  void connect_producer() {
    auto made = producer::connect({{a.address()}, "p", 8});
    ASSERT_TRUE(made) << to_string(made.error());
    client = std::move(*made);
    accept_both();
  }

  void connect_operator(duration timeout) {
    auto waiting = std::async(std::launch::async, [&] {
      operator_options options{{a.address()}, timeout};
      options.waits = [this](const error& why) { waits.push_back(why.context); };
      return operator_client::connect(std::move(options));
    });
    accept_both();
    auto made = waiting.get();
    ASSERT_TRUE(made) << to_string(made.error());
    ctl = std::move(*made);
  }

  /// Ends the connection to b for good, and waits until the client has noticed.
  void lose_b() {
    b.cut();
    // The client connects again only then.
    b.ignore_hello();
  }

  /// The words of clients about a shard of b after that.
  [[nodiscard]] std::string unreached(std::uint16_t shard) const {
    return "shard " + std::to_string(shard) + " is served by coordinator b at " + b.address()
           + ", which cannot be reached from here at present";
  }

  /// A task with a key of the shard.
  static task_spec task_of(std::uint16_t shard) {
    task_spec task;
    task.queue = "q";
    for (int i = 0; task.key.empty(); ++i)
      if (auto key = "k" + std::to_string(i);
          core::shard_of_name({"default", "q"}, key, shard_count) == shard_id{shard})
        task.key = key;
    return task;
  }

  /// Adds a task with a key of the shard.
  void enqueue_at(std::uint16_t shard) {
    client->enqueue({task_of(shard)}, [this](enqueue_answers told) {
      answers.push(std::move(told.front()));
    });
  }

  /// Waits for the outcome of another one.
  std::string enqueue_and_wait(std::uint16_t shard, duration wait = 200ms) {
    const auto added = client->enqueue(task_of(shard), wait);
    return added ? "added" : to_string(added.error());
  }

  /// Answers for shards 0 and 1 whether they know the queue.
  void tell_whether_it_exists(bool exists) {
    for (int i = 0; i < 2; ++i) {
      const auto question = a.expect<protocol::queue_request>();
      a.say(protocol::queue_reply::build([&](auto root) {
              auto number = question.read(
                [](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
              root.setNumber(*number);
              root.initSettings().initDefaults();
              root.setIsUnknown(!exists);
            }).to_wire());
    }
  }

  /// Answers for shards 0 and 1 that they have no tasks.
  void tell_no_tasks() {
    for (int i = 0; i < 2; ++i) {
      const auto question = a.expect<protocol::list_request>();
      a.say(protocol::list_reply::build([&](auto root) {
              auto number = question.read(
                [](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
              root.setNumber(*number);
            }).to_wire());
    }
  }

  [[nodiscard]] std::string next_answer() {
    auto answer = answers.pop();
    if (!answer)
      return "none came";
    if (!*answer)
      return std::string(to_string(answer->error().code));
    return std::to_string(value((*answer)->id.shard)) + ":" + std::to_string((*answer)->id.seq);
  }

  [[nodiscard]] static enqueue_word next_enqueue(fake_coordinator& at) {
    return read(at.expect<protocol::enqueue_request>());
  }

  fake_coordinator a;
  fake_coordinator b;
  channel<result<enqueued_task>> answers;
  std::unique_ptr<producer> client;
  std::unique_ptr<operator_client> ctl;
  /// The reasons for which `ctl` has waited.
  std::vector<std::string> waits;

private:
  std::map<std::uint16_t, cluster::shard_place> places_;
};

} // namespace

TEST_F(ClientOfACluster, ProducerFindsEveryCoordinatorFromOneAddress) {
  connect_producer();

  enqueue_at(2);
  enqueue_at(1);

  auto at_b = next_enqueue(b);
  EXPECT_EQ(at_b.shard, 2u);
  b.say(durable(at_b, 5));
  EXPECT_EQ(next_answer(), "2:5");
  auto at_a = next_enqueue(a);
  EXPECT_EQ(at_a.shard, 1u);
  a.say(durable(at_a, 6));
  EXPECT_EQ(next_answer(), "1:6");
}

TEST_F(ClientOfACluster, UnansweredRequestFollowsItsShard) {
  connect_producer();
  enqueue_at(1);
  auto first = next_enqueue(a);

  place(1, "b");
  b.say(places({1}));

  EXPECT_EQ(next_enqueue(b), first);
  b.say(durable(first, 7));
  EXPECT_EQ(next_answer(), "1:7");
}

TEST_F(ClientOfACluster, NamesTheEpochsInWhichItSendsToThePlacesOfShards) {
  using named = protocol::epochs_of_shards;
  connect_producer();
  EXPECT_EQ(a.next_epochs(), (named{{shard_id{0}, 1}, {shard_id{1}, 1}}));
  EXPECT_EQ(b.next_epochs(), (named{{shard_id{2}, 1}, {shard_id{3}, 1}}));

  place(1, "b");
  b.say(places({1}));

  EXPECT_EQ(b.next_epochs(), (named{{shard_id{1}, 2}}));
}

TEST_F(ClientOfACluster, RequestIsRepeatedUntilItsShardIsServed) {
  connect_producer();
  enqueue_at(0);
  auto first = next_enqueue(a);

  a.say(places({0}, {shard_id{0}}));
  a.say(refused(first, errc::not_owner));

  EXPECT_EQ(next_enqueue(a), first);
  a.say(durable(first, 8));
  EXPECT_EQ(next_answer(), "0:8");
}

TEST_F(ClientOfACluster, OtherShardsAreServedWhileOneCoordinatorIsAway) {
  connect_producer();
  b.cut();
  enqueue_at(3);
  enqueue_at(0);

  a.say(durable(next_enqueue(a), 9));
  EXPECT_EQ(next_answer(), "0:9");
  b.accept(the_store, shard_count, "b");
  b.say(all_places());
  b.say(durable(next_enqueue(b), 10));
  EXPECT_EQ(next_answer(), "3:10");
}

TEST_F(ClientOfACluster, TaskWithoutAKeyGoesToAShardThatIsReached) {
  connect_producer();
  lose_b();
  for (int i = 0; i < 4; ++i) {
    task_spec task;
    task.queue = "q";
    client->enqueue(
      {task}, [this](enqueue_answers told) { answers.push(std::move(told.front())); });
    auto word = next_enqueue(a);
    EXPECT_LT(word.shard, 2u);
    a.say(durable(word, 1));
    EXPECT_NE(next_answer(), "none came");
  }
}

TEST_F(ClientOfACluster, EnqueueNamesTheShardThatIsNotReached) {
  connect_producer();
  lose_b();

  EXPECT_EQ(
    enqueue_and_wait(2),
    "disconnected: not sent within 200 ms: " + unreached(2) + "; nothing was enqueued");
}

TEST_F(ClientOfACluster, FullWindowNamesTheShardThatIsNotReached) {
  connect_producer();
  lose_b();
  // Half of the window.
  for (int i = 0; i < 4; ++i)
    enqueue_at(2);

  EXPECT_EQ(
    enqueue_and_wait(2),
    "disconnected: not sent within 200 ms: " + unreached(2) + "; nothing was enqueued");
}

TEST_F(ClientOfACluster, FullWindowIsOverloadedWhenItsShardIsReached) {
  connect_producer();
  for (int i = 0; i < 4; ++i)
    enqueue_at(2);
  static_cast<void>(next_enqueue(b));

  EXPECT_EQ(
    enqueue_and_wait(2),
    "overloaded: not sent within 200 ms: the producer's window has no room for shard 2, which has "
    "not answered earlier requests; nothing was enqueued");
}

TEST_F(ClientOfACluster, OutcomeOfAnEnqueueWhoseShardWasLostIsUnknown) {
  connect_producer();
  auto waiting = std::async(std::launch::async, [this] { return enqueue_and_wait(2, 1000ms); });
  static_cast<void>(next_enqueue(b));
  lose_b();

  EXPECT_EQ(
    waiting.get(),
    "timeout: no answer within 1000 ms; the request was sent and goes on, whether its tasks were "
    "added is unknown; " + unreached(2));
}

TEST_F(ClientOfACluster, EndOfATaskIsAwaitedWhereItsShardIs) {
  connect_producer();
  const task_id task{shard_id{1}, 77};
  auto waiting = std::async(std::launch::async, [&] { return client->await(task, 10s); });
  static_cast<void>(a.expect<protocol::await_request>());

  place(1, "b");
  a.say(places({1}, {shard_id{1}}));
  static_cast<void>(b.expect<protocol::await_request>());
  b.say(ended(task, task_state::completed, "done"));

  auto end = waiting.get();
  ASSERT_TRUE(end) << to_string(end.error());
  EXPECT_EQ(end->result, "done");
}

TEST_F(ClientOfACluster, OperatorAsksTheCoordinatorOfATask) {
  connect_operator(10s);
  auto status = std::async(std::launch::async, [this] { return ctl->status({shard_id{2}, 5}); });

  auto question = b.expect<protocol::status_request>();
  b.say(protocol::status_reply::build([&](auto root) {
          auto number =
            question.read([](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
          root.setNumber(*number);
          root.setCode(protocol::to_schema(errc::unknown_task));
        }).to_wire());

  auto answer = status.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::unknown_task);
}

TEST_F(ClientOfACluster, OperatorNamesAShardThatIsNotReached) {
  connect_operator(2s);
  lose_b();

  const auto status = ctl->status({shard_id{2}, 5});

  ASSERT_FALSE(status);
  EXPECT_EQ(to_string(status.error()), "disconnected: " + unreached(2));
}

TEST_F(ClientOfACluster, OperatorTellsOnceWhatItWaitsFor) {
  connect_operator(2500ms);
  lose_b();

  EXPECT_FALSE(ctl->status({shard_id{2}, 5}));
  EXPECT_EQ(waits, std::vector{unreached(2)});
  EXPECT_FALSE(ctl->status({shard_id{3}, 5}));
  EXPECT_EQ(waits.size(), 1u);
}

TEST_F(ClientOfACluster, OperatorWaitsOnceForShardsThatAreNotReached) {
  connect_operator(2s);
  lose_b();
  const auto began = std::chrono::steady_clock::now();
  auto shown =
    std::async(std::launch::async, [this] { return ctl->show_queue({"default", "q"}); });
  tell_whether_it_exists(true);

  const auto info = shown.get();

  ASSERT_TRUE(info) << to_string(info.error());
  EXPECT_EQ(info->missing, (std::vector{shard_id{2}, shard_id{3}}));
  const auto status = ctl->status({shard_id{3}, 5});
  ASSERT_FALSE(status);
  EXPECT_EQ(to_string(status.error()), "disconnected: " + unreached(3));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 4s) << "2 s are for the first of them";
}

TEST_F(ClientOfACluster, QueueThatAMissingShardMayKnowIsNotSaidToBeUnknown) {
  connect_operator(2s);
  lose_b();
  auto paused =
    std::async(std::launch::async, [this] { return ctl->pause_queue({"default", "q"}, true); });
  tell_whether_it_exists(false);

  const auto info = paused.get();

  ASSERT_FALSE(info);
  EXPECT_EQ(to_string(info.error()), "disconnected: " + unreached(2) + "; nothing was changed");
}

TEST_F(ClientOfACluster, ListNamesTheShardsThatAreNotReached) {
  connect_operator(2s);
  lose_b();
  auto listed = std::async(std::launch::async, [this] {
    return ctl->list({.queue = "q"}, page_request{});
  });
  tell_no_tasks();

  const auto page = listed.get();

  ASSERT_TRUE(page) << to_string(page.error());
  EXPECT_EQ(page->missing, (std::vector{shard_id{2}, shard_id{3}}));
}

TEST_F(ClientOfACluster, ListThatHasToBeWholeFailsWithoutAShard) {
  connect_operator(2s);
  lose_b();
  auto listed =
    std::async(std::launch::async, [this] { return ctl->list({.queue = "q"}, 10); });
  tell_no_tasks();

  const auto tasks = listed.get();

  ASSERT_FALSE(tasks);
  EXPECT_EQ(to_string(tasks.error()), "disconnected: " + unreached(2));
}

TEST_F(ClientOfACluster, ChangeWithoutShard0SaysThatNothingWasChanged) {
  place(0, "b");
  connect_operator(2s);
  lose_b();

  const auto changed = ctl->configure_queue({"default", "q"}, {});

  ASSERT_FALSE(changed);
  EXPECT_EQ(to_string(changed.error()), "disconnected: " + unreached(0) + "; nothing was changed");
}

TEST_F(ClientOfACluster, SumsNameTheShardsOfACoordinatorThatIsNotReached) {
  connect_operator(10s);
  lose_b();
  auto stats = std::async(std::launch::async, [this] { return ctl->stats(); });
  const auto question = a.expect<protocol::stats_request>();
  a.say(protocol::stats_reply::build([&](auto root) {
          auto number =
            question.read([](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
          root.setNumber(*number);
          root.setTellsShards(true);
          root.setShards(1);
        }).to_wire());

  const auto sum = stats.get();

  ASSERT_TRUE(sum) << to_string(sum.error());
  EXPECT_EQ(sum->missing, (std::vector{shard_id{2}, shard_id{3}}));
  EXPECT_EQ(sum->missing_unnamed, 1u);
}

TEST_F(ClientOfACluster, QuestionToAllIsAskedOnTheConnectionThatReplacesAnother) {
  // The same coordinator at another address.
  fake_coordinator again;
  for (std::uint16_t shard = 0; shard < shard_count; ++shard)
    place(shard, "a");
  auto waiting = std::async(std::launch::async, [&] {
    return operator_client::connect({{a.address(), again.address()}, 10s});
  });
  a.accept(the_store, shard_count, "a");
  a.say(all_places());
  auto made = waiting.get();
  ASSERT_TRUE(made) << to_string(made.error());
  auto stats = std::async(std::launch::async, [&] { return (*made)->stats(); });
  static_cast<void>(a.expect<protocol::stats_request>());

  again.accept(the_store, shard_count, "a");

  auto question = again.expect<protocol::stats_request>();
  again.say(protocol::stats_reply::build([&](auto root) {
              auto number = question.read(
                [](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
              root.setNumber(*number);
            }).to_wire());
  auto answer = stats.get();
  EXPECT_TRUE(answer) << to_string(answer.error());
}

} // namespace codeq::test
