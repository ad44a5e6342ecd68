// SPDX-License-Identifier: Apache-2.0
#include "client/enqueue_outbox.hpp"
#include "protocol/error_code.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::client {

namespace {

constexpr store_identity store_a{1, 4};
constexpr store_identity store_b{2, 4};

/// What was said to the coordinator, without the tasks.
struct said {
  producer_id producer;
  std::uint64_t number = 0;
  std::uint64_t answered_below = 0;
  std::uint16_t shard = 0;

  friend bool operator==(const said&, const said&) = default;
};

said read(const protocol::enqueue_request& request) {
  auto taken = request.read([](auto reader) -> result<said> {
    return said{
      {reader.getProducer().getHigh(), reader.getProducer().getLow()},
      reader.getNumber(),
      reader.getAnsweredBelow(),
      reader.getShard()};
  });
  EXPECT_TRUE(taken);
  return *taken;
}

/// An outbox, the coordinator's ear and the producer's, all on one thread.
class EnqueueOutbox : public ::testing::Test {
protected:
  enqueue_outbox make(std::size_t in_flight_max = 10) {
    return enqueue_outbox(
      {.in_flight_max = in_flight_max, .new_session = [this] {
         return producer_id{7, sessions_++};
       }});
  }

  void connect(enqueue_outbox& box, store_identity store = store_a) {
    box.connect([this](const auto& frame) { sent.push_back(read(frame)); }, store);
  }

  void submit(enqueue_outbox& box, std::size_t count = 1) {
    task_spec task;
    task.queue = "q";
    std::vector<task_spec> tasks(count, task);
    auto encoded = protocol::encoded_tasks::encode(tasks);
    ASSERT_TRUE(encoded);
    auto shared = std::make_shared<const protocol::encoded_tasks>(std::move(*encoded));
    box.submit(shared, [this, call = ++submitted_](result<std::vector<task_id>> answer) {
      answers.push_back(
        std::to_string(call) + (answer ? " " + std::to_string(answer->size()) + " tasks"
                                       : " " + std::string(to_string(answer.error().code))));
      if (answer)
        ids = *answer;
    });
  }

  static protocol::enqueue_reply
  reply(const said& to, std::uint32_t count, errc code = errc::none, std::uint32_t retry_ms = 0) {
    return protocol::enqueue_reply::build([&](auto root) {
      root.setNumber(to.number);
      root.setShard(to.shard);
      root.setCode(protocol::to_schema(code));
      root.setRetryAfterMs(retry_ms);
      if (count != 0) {
        auto runs = root.initTasks(1);
        runs[0].setFirst(100 * to.number);
        runs[0].setCount(count);
      }
    });
  }

  void answer(enqueue_outbox& box, const said& to, errc code = errc::none) {
    auto accepted = box.accept(reply(to, code == errc::none ? 1 : 0, code));
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    EXPECT_FALSE(accepted->has_value());
  }

  std::vector<said> sent;
  std::vector<std::string> answers;
  std::vector<task_id> ids;

private:
  int submitted_ = 0;
  std::uint64_t sessions_ = 0;
};

using lines = std::vector<std::string>;

} // namespace

TEST_F(EnqueueOutbox, NothingIsSentBeforeTheConnectionIsUp) {
  auto box = make();
  submit(box);
  EXPECT_TRUE(sent.empty());

  connect(box);

  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].number, 1u);
  EXPECT_EQ(sent[0].answered_below, 1u);
}

TEST_F(EnqueueOutbox, AnAnswerGivesTheIdsInOrder) {
  auto box = make();
  connect(box);
  submit(box, 3);

  ASSERT_TRUE(box.accept(reply(sent[0], 3)));

  EXPECT_EQ(answers, lines{"1 3 tasks"});
  auto shard = shard_id{sent[0].shard};
  EXPECT_EQ(ids, (std::vector<task_id>{{shard, 100}, {shard, 101}, {shard, 102}}));
}

TEST_F(EnqueueOutbox, RequestsAreSpreadOverTheShards) {
  auto box = make();
  connect(box);
  for (int i = 0; i < 4; ++i)
    submit(box);

  std::vector<bool> met(4);
  for (const auto& one : sent)
    met[one.shard] = true;
  EXPECT_EQ(met, std::vector<bool>(4, true));
}

TEST_F(EnqueueOutbox, UnansweredRequestsAreRepeatedUnchangedAndInOrder) {
  auto box = make();
  connect(box);
  for (int i = 0; i < 3; ++i)
    submit(box);
  answer(box, sent[1]);
  auto first = sent;
  sent.clear();
  box.disconnect();

  connect(box);

  EXPECT_EQ(sent, (std::vector<said>{first[0], first[2]}));
}

TEST_F(EnqueueOutbox, TheAnswerToACopyIsIgnored) {
  auto box = make();
  connect(box);
  submit(box);
  box.disconnect();
  connect(box);

  answer(box, sent[0]);
  answer(box, sent[1]);

  EXPECT_EQ(answers, lines{"1 1 tasks"});
}

TEST_F(EnqueueOutbox, MoreThanTheWindowWaits) {
  auto box = make(2);
  connect(box);
  for (int i = 0; i < 3; ++i)
    submit(box);
  ASSERT_EQ(sent.size(), 2u);

  answer(box, sent[0]);

  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[2].number, 3u);
  EXPECT_EQ(sent[2].answered_below, 2u);
}

TEST_F(EnqueueOutbox, OverloadedIsRepeatedAfterItsPause) {
  auto box = make();
  connect(box);
  submit(box);

  auto accepted = box.accept(reply(sent[0], 0, errc::overloaded, 250));

  ASSERT_TRUE(accepted && *accepted);
  EXPECT_EQ((*accepted)->number, 1u);
  EXPECT_EQ((*accepted)->pause, duration{250});
  EXPECT_TRUE(answers.empty());
  box.retry_due(1);
  EXPECT_EQ(sent, (std::vector<said>{sent[0], sent[0]}));
}

TEST_F(EnqueueOutbox, APauseOutlivesAReconnect) {
  auto box = make();
  connect(box);
  submit(box);
  ASSERT_TRUE(box.accept(reply(sent[0], 0, errc::overloaded, 250)));
  box.disconnect();

  connect(box);
  EXPECT_EQ(sent.size(), 1u);
  box.retry_due(1);
  EXPECT_EQ(sent.size(), 2u);
}

TEST_F(EnqueueOutbox, ARefusalIsTheAnswer) {
  auto box = make();
  connect(box);
  submit(box);

  answer(box, sent[0], errc::queue_full);

  EXPECT_EQ(answers, lines{"1 queue_full"});
}

TEST_F(EnqueueOutbox, AnotherStoreEndsWhatWasSentAndKeepsWhatWasNot) {
  auto box = make(1);
  connect(box);
  submit(box);
  submit(box);
  box.disconnect();

  connect(box, store_b);

  EXPECT_EQ(answers, lines{"1 session_expired"});
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].number, 2u);
  EXPECT_NE(sent[1].producer, sent[0].producer);
}

TEST_F(EnqueueOutbox, AForgottenSessionIsRenewedForARequestThatWasSentOnce) {
  auto box = make();
  connect(box);
  submit(box);

  answer(box, sent[0], errc::session_expired);

  EXPECT_TRUE(answers.empty());
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_NE(sent[1].producer, sent[0].producer);
  answer(box, sent[1], errc::session_expired);
  EXPECT_EQ(answers, lines{"1 session_expired"});
}

TEST_F(EnqueueOutbox, ARepeatedRequestOfAForgottenSessionIsNeverExecutedAgain) {
  auto box = make();
  connect(box);
  submit(box);
  box.disconnect();
  connect(box);

  answer(box, sent[1], errc::session_expired);

  EXPECT_EQ(answers, lines{"1 session_expired"});
  EXPECT_EQ(sent.size(), 2u);
}

TEST_F(EnqueueOutbox, AnAnswerWithAnotherNumberOfTasksIsAProtocolError) {
  auto box = make();
  connect(box);
  submit(box, 2);

  EXPECT_FALSE(box.accept(reply(sent[0], 1)));
  EXPECT_FALSE(box.accept(reply(sent[0], 4'000'000'000u)));

  EXPECT_TRUE(answers.empty());
}

TEST_F(EnqueueOutbox, FailAllEndsWhatWasSentAndWhatWaits) {
  auto box = make(1);
  connect(box);
  submit(box);
  submit(box);

  box.fail_all({errc::going_away, "stopped"});

  EXPECT_EQ(answers, (lines{"1 going_away", "2 going_away"}));
}

} // namespace codeq::client
