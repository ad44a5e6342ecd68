// SPDX-License-Identifier: Apache-2.0
#include "codeq/producer.hpp"

#include "integration/fake_coordinator.hpp"
#include "support/channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace codeq::test {

using testing::HasSubstr;
using namespace std::chrono_literals;

namespace {

task_spec spec(const std::string& payload = "x") {
  task_spec task;
  task.queue = "q";
  task.payload = payload;
  return task;
}

/// A producer against a coordinator whose replies the test sends.
class ClientProducer : public ::testing::Test {
protected:
  void connect(std::size_t window = 8) {
    auto made = producer::connect({{coordinator.address()}, "p", window});
    ASSERT_TRUE(made) << to_string(made.error());
    client = std::move(*made);
  }

  void enqueue_async(std::vector<task_spec> tasks) {
    client->enqueue_all_or_none(
      std::move(tasks), [this](result<std::vector<task_id>> ids) { answers.push(std::move(ids)); });
  }

  enqueue_word next_enqueue() { return read(coordinator.expect<protocol::enqueue_request>()); }

  /// The next answer as "shard:seq ...", or the name of its error.
  std::string next_answer() {
    auto answer = answers.pop();
    if (!answer)
      return "none came";
    if (!*answer)
      return std::string(to_string(answer->error().code));
    std::string text;
    for (auto id : **answer)
      text += std::to_string(value(id.shard)) + ":" + std::to_string(id.seq) + " ";
    return text;
  }

  fake_coordinator coordinator;
  channel<result<std::vector<task_id>>> answers;
  std::unique_ptr<producer> client;
};

std::string ids(const enqueue_word& word, std::uint64_t first) {
  std::string text;
  for (std::uint32_t i = 0; i < word.tasks; ++i)
    text += std::to_string(word.shard) + ":" + std::to_string(first + i) + " ";
  return text;
}

} // namespace

TEST_F(ClientProducer, EnqueueReturnsTheIdsOnceTheyAreDurable) {
  connect();
  coordinator.accept();
  enqueue_async({spec(), spec(), spec()});

  auto word = next_enqueue();
  EXPECT_EQ(word.tasks, 3u);
  EXPECT_EQ(word.number, 1u);
  coordinator.say(durable(word, 40));

  EXPECT_EQ(next_answer(), ids(word, 40));
}

TEST_F(ClientProducer, BracesAreATaskOrAListOfTasks) {
  using one = result<enqueued_task>;
  const std::vector<task_spec> some{spec(), spec()};

  static_assert(std::is_same_v<one, decltype(client->enqueue({.queue = "q"}))>);
  static_assert(std::is_same_v<one, decltype(client->enqueue({.queue = "q", .payload = "x"}))>);
  static_assert(
    std::is_same_v<enqueue_answers, decltype(client->enqueue({{.queue = "q", .payload = "x"}}))>);
  static_assert(
    std::is_same_v<enqueue_answers, decltype(client->enqueue({{.queue = "q"}, {.queue = "r"}}))>);
  static_assert(std::is_same_v<enqueue_answers, decltype(client->enqueue(some))>);
}

TEST_F(ClientProducer, CallbackThatThrowsEndsNothing) {
  connect();
  coordinator.accept();
  client->enqueue(
    {spec()}, [](const auto&) -> void { throw std::runtime_error("not the producer's fault"); });
  coordinator.say(durable(next_enqueue(), 1));

  enqueue_async({spec()});

  auto word = next_enqueue();
  coordinator.say(durable(word, 2));
  EXPECT_EQ(next_answer(), ids(word, 2));
}

TEST_F(ClientProducer, BlockingEnqueueWaitsForTheAnswer) {
  connect();
  coordinator.accept();
  auto waiting = std::async(std::launch::async, [&] { return client->enqueue(spec(), 10s); });

  coordinator.say(durable(next_enqueue(), 7));

  auto task = waiting.get();
  ASSERT_TRUE(task);
  EXPECT_EQ(task->id.seq, 7u);
  EXPECT_EQ(task->kind, enqueue_kind::created);
}

TEST_F(ClientProducer, BatchesWithKeysAreAnsweredTaskByTask) {
  connect();
  coordinator.accept();
  std::vector<task_spec> tasks(12, spec());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    tasks[i].key = "k" + std::to_string(i);
  auto waiting = std::async(std::launch::async, [&] { return client->enqueue(tasks, 10s); });

  std::uint32_t asked = 0;
  for (bool first = true; asked < tasks.size(); first = false) {
    auto word = next_enqueue();
    asked += word.tasks;
    coordinator.say(first ? refused(word, errc::queue_full) : durable(word, 1));
  }

  auto answers = waiting.get();
  ASSERT_EQ(answers.size(), tasks.size());
  EXPECT_EQ(answers.front().error().code, errc::queue_full);
  EXPECT_TRUE(std::any_of(
    answers.begin(), answers.end(), [](const auto& answer) { return answer.has_value(); }));
}

TEST_F(ClientProducer, AllOrNothingTakesNoKeysAndGroups) {
  connect();
  auto grouped = spec();
  grouped.group = "g";

  auto ids = client->enqueue_all_or_none({spec(), grouped}, 10s);

  ASSERT_FALSE(ids);
  EXPECT_EQ(
    to_string(ids.error()),
    "invalid_argument: task 1 has a group; enqueue takes batches with keys, groups and limits");
}

TEST_F(ClientProducer, AllOrNothingTakesNoLimits) {
  connect();
  auto limited = spec();
  limited.limits = {{"stripe", "acct_42"}};

  auto ids = client->enqueue_all_or_none({spec(), spec(), limited}, 10s);

  ASSERT_FALSE(ids);
  EXPECT_EQ(
    to_string(ids.error()),
    "invalid_argument: task 2 has a limit; enqueue takes batches with keys, groups and limits");
}

TEST_F(ClientProducer, ALostAnswerIsAskedForAgainUnderTheSameNumberAndShard) {
  connect();
  coordinator.accept();
  enqueue_async({spec(), spec()});
  enqueue_async({spec()});
  auto first = next_enqueue();
  auto second = next_enqueue();

  coordinator.cut();
  coordinator.accept();

  EXPECT_EQ(next_enqueue(), first);
  EXPECT_EQ(next_enqueue(), second);
  coordinator.say(durable(first, 1));
  coordinator.say(durable(second, 3));
  EXPECT_EQ(next_answer(), ids(first, 1));
  EXPECT_EQ(next_answer(), ids(second, 3));
}

TEST_F(ClientProducer, AnsweredBelowFollowsTheAnswers) {
  connect();
  coordinator.accept();
  enqueue_async({spec()});
  coordinator.say(durable(next_enqueue(), 1));
  next_answer();

  enqueue_async({spec()});

  auto word = next_enqueue();
  EXPECT_EQ(word.number, 2u);
  EXPECT_EQ(word.answered_below, 2u);
}

TEST_F(ClientProducer, AnOverloadedCoordinatorIsAskedAgainAfterThePause) {
  connect();
  coordinator.accept();
  enqueue_async({spec()});
  auto word = next_enqueue();

  coordinator.say(refused(word, errc::overloaded, 20));

  EXPECT_EQ(next_enqueue(), word);
  coordinator.say(durable(word, 9));
  EXPECT_EQ(next_answer(), ids(word, 9));
}

TEST_F(ClientProducer, ARefusalIsReported) {
  connect();
  coordinator.accept();
  enqueue_async({spec()});

  coordinator.say(refused(next_enqueue(), errc::queue_full));

  EXPECT_EQ(next_answer(), "queue_full");
}

TEST_F(ClientProducer, AnotherStoreEndsWhatIsOpenInsteadOfRepeatingIt) {
  connect();
  coordinator.accept(1);
  enqueue_async({spec()});
  next_enqueue();

  coordinator.cut();
  coordinator.accept(2);

  EXPECT_EQ(next_answer(), "session_expired");
  enqueue_async({spec()});
  EXPECT_EQ(next_enqueue().number, 2u);
}

TEST_F(ClientProducer, ARefusalForGoodEndsWhatWaits) {
  connect();
  enqueue_async({spec()});

  coordinator.refuse(errc::unauthorized, "no");

  EXPECT_EQ(next_answer(), "unauthorized");
}

TEST_F(ClientProducer, ARefusalForWantOfATokenNamesTheFieldThatTakesOne) {
  connect();
  coordinator.refuse(errc::unauthorized, "this coordinator requires a token");

  auto id = client->enqueue(spec(), 5s);

  ASSERT_FALSE(id);
  EXPECT_THAT(id.error().context, HasSubstr("requires a token; set producer_options::access"));
}

TEST_F(ClientProducer, EnqueueWithoutACoordinatorNamesItsAddressAndEnqueuesNothing) {
  connect();

  auto id = client->enqueue(spec("withdrawn"), 10ms);

  ASSERT_FALSE(id);
  EXPECT_EQ(
    to_string(id.error()),
    "disconnected: no connection to " + coordinator.address()
      + " within 10 ms; nothing was enqueued");
  coordinator.accept();
  enqueue_async({spec(), spec()});
  EXPECT_EQ(next_enqueue().tasks, 2u) << "the request that was given up is not sent later";
}

TEST_F(ClientProducer, EnqueueSaysWhyThereIsNoConnection) {
  // Port 1 of the loopback address has no listener.
  auto made = producer::connect({.coordinators = {"127.0.0.1:1"}});
  ASSERT_TRUE(made);

  auto id = (*made)->enqueue(spec(), 500ms);

  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, errc::disconnected);
  EXPECT_THAT(
    id.error().context,
    HasSubstr("Connection refused (is a coordinator running there?); nothing was enqueued"));
}

TEST_F(ClientProducer, OutcomeOfARequestThatWasSentIsUnknown) {
  connect();
  coordinator.accept();
  enqueue_async({spec()});
  next_enqueue();

  auto id = client->enqueue(spec(), 300ms);

  ASSERT_FALSE(id);
  EXPECT_EQ(
    to_string(id.error()),
    "timeout: no answer within 300 ms; the request was sent and goes on, whether its tasks were "
    "added is unknown");
}

TEST_F(ClientProducer, AFullWindowMakesEnqueueWait) {
  connect(1);
  coordinator.accept();
  enqueue_async({spec()});
  auto first = next_enqueue();

  auto second = client->enqueue(spec(), 10ms);
  ASSERT_FALSE(second);
  EXPECT_EQ(
    to_string(second.error()),
    "overloaded: not sent within 10 ms: the producer's window is full; nothing was enqueued");
  coordinator.say(durable(first, 1));
  next_answer();
  enqueue_async({spec()});
  EXPECT_EQ(next_enqueue().number, 2u);
}

TEST_F(ClientProducer, ACallbackMayEnqueueThoughTheWindowIsFull) {
  connect(1);
  coordinator.accept();
  client->enqueue({spec()}, [this](const enqueue_answers&) {
    enqueue_async({spec()});
    enqueue_async({spec()});
  });

  coordinator.say(durable(next_enqueue(), 1));
  coordinator.say(durable(next_enqueue(), 2));
  coordinator.say(durable(next_enqueue(), 3));

  EXPECT_NE(next_answer(), "none came");
  EXPECT_NE(next_answer(), "none came");
}

TEST_F(ClientProducer, WhatBreaksALimitIsRefusedBeforeItIsSent) {
  connect();

  auto many = client->enqueue(std::vector<task_spec>(1001, spec()));
  auto large = client->enqueue(spec(std::string(limits::payload_bytes_max + 1, 'x')));

  ASSERT_EQ(many.size(), 1001u);
  EXPECT_EQ(many.back().error().context, "the request has 1001 tasks; it must have at most 1000");
  EXPECT_EQ(large.error().code, errc::too_large);
}

TEST_F(ClientProducer, ARequestThatTimesOutIsTheAnswerOfEachOfItsTasks) {
  connect();

  auto answers = client->enqueue({spec(), spec()}, 10ms);

  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].error().code, errc::disconnected);
  EXPECT_EQ(answers[1].error().code, errc::disconnected);
}

TEST_F(ClientProducer, AnEmptyBatchIsAnsweredAtOnce) {
  connect();
  channel<enqueue_answers> told;

  client->enqueue({}, [&](enqueue_answers answers) { told.push(std::move(answers)); });

  EXPECT_TRUE(told.pop().value().empty());
  EXPECT_TRUE(client->enqueue(std::vector<task_spec>{}).empty());
  EXPECT_TRUE(client->enqueue_all_or_none({}).value().empty());
}

TEST_F(ClientProducer, AwaitTellsHowATaskEnded) {
  connect();
  coordinator.accept();
  task_id task{shard_id{2}, 5};
  auto waiting = std::async(std::launch::async, [&] { return client->await(task, 10s); });

  coordinator.expect<protocol::await_request>();
  coordinator.say(ended(task, task_state::completed, std::string("\0r", 2)));

  auto status = waiting.get();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->state, task_state::completed);
  EXPECT_EQ(status->result, std::string("\0r", 2));
}

TEST_F(ClientProducer, AnAwaitIsRememberedOverAReconnect) {
  connect();
  coordinator.accept();
  task_id task{shard_id{2}, 5};
  auto waiting = std::async(std::launch::async, [&] { return client->await(task, 10s); });
  coordinator.expect<protocol::await_request>();

  coordinator.cut();
  coordinator.accept();
  coordinator.expect<protocol::await_request>();
  coordinator.say(ended(task, task_state::dead, "boom"));

  auto status = waiting.get();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->error_text, "boom");
}

TEST_F(ClientProducer, AwaitTimesOut) {
  connect();
  coordinator.accept();
  enqueue_async({spec()});
  coordinator.say(durable(next_enqueue(), 1));
  next_answer();

  auto status = client->await({shard_id{0}, 1}, 10ms);

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, errc::timeout);
}

TEST_F(ClientProducer, AwaitWithoutAConnectionSaysSoLikeEnqueue) {
  connect();

  auto status = client->await({shard_id{0}, 1}, 10ms);

  ASSERT_FALSE(status);
  EXPECT_EQ(
    to_string(status.error()),
    "disconnected: no connection to " + coordinator.address()
      + " within 10 ms; whether task " + to_string(task_id{shard_id{0}, 1})
      + " has ended is unknown");
}

TEST_F(ClientProducer, WatchReturnsAfterItsCallbackAndDoesNotCallItAgain) {
  connect();
  coordinator.accept();
  const task_id task{shard_id{2}, 5};
  channel<int> running;
  std::promise<void> leave;
  std::atomic<int> calls{0};
  auto told = [&, may_leave = leave.get_future().share()](const task_progress&) {
    running.push(++calls);
    may_leave.wait();
  };
  int calls_at_return = 0;
  auto watching = std::async(std::launch::async, [&] {
    auto end = client->watch(task, told, 500ms);
    calls_at_return = calls;
    return end;
  });
  coordinator.expect<protocol::await_request>();
  for (int i = 0; i < 3; ++i)
    coordinator.say(ended(task, task_state::leased, "half"));
  ASSERT_TRUE(running.pop());

  EXPECT_EQ(watching.wait_for(1s), std::future_status::timeout) << "the callback is running";
  leave.set_value();
  EXPECT_EQ(watching.get().error().code, errc::timeout);

  // Progress that was sent before this answer has reached the producer before it.
  coordinator.expect<protocol::await_request>();
  enqueue_async({spec()});
  coordinator.say(durable(next_enqueue(), 1));
  EXPECT_NE(next_answer(), "none came");
  EXPECT_EQ(calls.load(), calls_at_return);
}

TEST_F(ClientProducer, CallbackOfWatchMayUseTheProducer) {
  connect();
  coordinator.accept();
  const task_id task{shard_id{2}, 5};
  auto told = [&](const task_progress&) {
    enqueue_async({spec()});
    EXPECT_FALSE(client->watch(task, [](const task_progress&) {}, 0ms));
  };
  auto watching = std::async(std::launch::async, [&] { return client->watch(task, told, 10s); });
  coordinator.expect<protocol::await_request>();

  coordinator.say(ended(task, task_state::leased, "half"));

  coordinator.say(durable(next_enqueue(), 1));
  EXPECT_NE(next_answer(), "none came");
  coordinator.say(ended(task, task_state::completed, "r"));
  EXPECT_TRUE(watching.get());
}

TEST_F(ClientProducer, CallbackOfOneTaskGetsItsAnswer) {
  using wants_one = std::function<void(result<enqueued_task>)>;
  using wants_all = std::function<void(enqueue_answers)>;
  static_assert(requires { client->enqueue({.queue = "q", .payload = "x"}, wants_one()); });
  static_assert(requires { client->enqueue({{.queue = "q"}, {.queue = "r"}}, wants_all()); });
  connect();
  coordinator.accept();
  channel<result<enqueued_task>> told;
  auto tell = [&](result<enqueued_task> task) { told.push(std::move(task)); };

  client->enqueue({.queue = "q", .priority = 12}, tell);
  EXPECT_EQ(told.pop()->error().context, "priority is 12; it must be 0..9");
  client->enqueue({.queue = "q", .payload = "x"}, tell);
  coordinator.say(durable(next_enqueue(), 7));
  EXPECT_EQ(told.pop()->value().id.seq, 7u);
}

TEST_F(ClientProducer, TasksThatNameNoTenantBelongToThatOfTheProducer) {
  auto made = producer::connect({.coordinators = {coordinator.address()}, .tenant = "shop"});
  ASSERT_TRUE(made) << to_string(made.error());
  client = std::move(*made);
  coordinator.accept();
  enqueue_async({spec(), {.tenant = "own", .queue = "q"}});

  std::string tenants;
  auto ok = coordinator.expect<protocol::enqueue_request>().read([&](auto request) -> result<void> {
    for (auto run : request.getRuns())
      tenants += std::string(run.getQueue().getTenant().cStr()) + " ";
    return {};
  });

  EXPECT_TRUE(ok);
  EXPECT_EQ(tenants, "shop own ");
}

TEST_F(ClientProducer, ARefusalOfTheTenantNamesTheFieldThatSetsIt) {
  connect();
  coordinator.accept();
  auto refusal_of = [&](const task_spec& task) {
    auto waiting = std::async(std::launch::async, [&] { return client->enqueue(task, 10s); });
    auto word = next_enqueue();
    coordinator.say(protocol::enqueue_reply::build([&](auto root) {
                      root.setNumber(word.number);
                      root.setShard(word.shard);
                      root.setCode(schema::ErrorCode::UNAUTHORIZED);
                      root.setContext("the token is for tenant shop, not for default");
                    }).to_wire());
    return waiting.get().error().context;
  };

  EXPECT_EQ(
    refusal_of(spec()),
    "the token is for tenant shop, not for default; set producer_options::tenant");
  EXPECT_EQ(
    refusal_of({.tenant = "default", .queue = "q"}),
    "the token is for tenant shop, not for default")
    << "the task names a tenant by itself";
}

TEST_F(ClientProducer, AnEndingProducerEndsWhatIsOpenAndSaysGoodbye) {
  connect();
  coordinator.accept();
  enqueue_async({spec()});
  next_enqueue();
  channel<result<ended_task>> ends;
  client->await(std::vector<task_id>{{shard_id{0}, 1}}, [&](result<ended_task> how) {
    ends.push(std::move(how));
  });
  coordinator.expect<protocol::await_request>();

  client.reset();

  EXPECT_EQ(next_answer(), "going_away");
  EXPECT_EQ(ends.pop()->error().code, errc::going_away);
  coordinator.expect<actors::connection_lost>();
}

TEST_F(ClientProducer, AnAnswerThatDoesNotFitCostsTheConnectionOnly) {
  connect();
  coordinator.accept();
  enqueue_async({spec(), spec()});
  auto word = next_enqueue();
  auto wrong = word;
  wrong.tasks = 1;

  coordinator.say(durable(wrong, 1));

  coordinator.expect<actors::connection_lost>();
  coordinator.accept();
  EXPECT_EQ(next_enqueue(), word);
  coordinator.say(durable(word, 1));
  EXPECT_EQ(next_answer(), ids(word, 1));
}

TEST(ClientProducerOptions, BadOptionsAreRefused) {
  EXPECT_FALSE(producer::connect({}));
  EXPECT_FALSE(producer::connect({{"127.0.0.1:1"}, "a b"}));
  EXPECT_FALSE(producer::connect({.coordinators = {"127.0.0.1:1"}, .tenant = "a b"}));
  EXPECT_FALSE(producer::connect({{"127.0.0.1:1"}, "p", 0}));
  EXPECT_FALSE(producer::connect({{"127.0.0.1:1"}, "p", 1025}));
  EXPECT_FALSE(producer::connect({{"127.0.0.1:1", "nowhere"}}));
}

} // namespace codeq::test
