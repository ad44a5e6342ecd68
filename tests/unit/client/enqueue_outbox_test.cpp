// SPDX-License-Identifier: Apache-2.0
#include "client/enqueue_outbox.hpp"
#include "core/commands/routing.hpp"
#include "protocol/error_code.hpp"
#include "unit/client/sent_request.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::client {

namespace {

constexpr store_identity store_a{1, 4};
constexpr store_identity store_b{2, 4};

/// An outbox with recorded requests and answers, all on one thread.
class EnqueueOutbox : public ::testing::Test {
protected:
  enqueue_outbox make(std::size_t in_flight_max = 10) {
    return enqueue_outbox({.in_flight_max = in_flight_max, .new_session = [this] {
                             return producer_id{7, sessions_++};
                           }});
  }

  void connect(enqueue_outbox& box, store_identity store = store_a) {
    box.connect([this](const auto& frame) { sent.push_back(read_sent(frame)); }, store);
  }

  /// Connects with a cluster of which the shards in `reached` can be sent to.
  void connect_cluster(enqueue_outbox& box) {
    box.connect(
      enqueue_outbox::way{
        [this](shard_id, const protocol::enqueue_request& frame) {
          sent.push_back(read_sent(frame));
        },
        [this](shard_id shard) { return reached.contains(shard); }},
      store_a);
  }

  void submit(enqueue_outbox& box, std::size_t count = 1) {
    task_spec task;
    task.queue = "q";
    std::vector<task_spec> tasks(count, task);
    auto encoded = protocol::encoded_tasks::encode(tasks);
    ASSERT_TRUE(encoded);
    last_tasks = std::make_shared<const protocol::encoded_tasks>(std::move(*encoded));
    last = box.submit(last_tasks, [this, call = ++submitted_](result<enqueue_answers> answer) {
      answers.push_back(
        std::to_string(call) + (answer ? " " + std::to_string(answer->size()) + " tasks"
                                       : " " + std::string(to_string(answer.error().code))));
      ids.clear();
      if (answer)
        for (const auto& one : *answer)
          ids.push_back(one->id);
    });
  }

  /// Tasks with the keys k0, k1, ...
  void submit_keys(enqueue_outbox& box, std::size_t count) {
    std::vector<task_spec> tasks(count);
    for (std::size_t i = 0; i < count; ++i) {
      tasks[i].queue = "q";
      tasks[i].key = "k" + std::to_string(i);
    }
    auto encoded = protocol::encoded_tasks::encode(tasks);
    ASSERT_TRUE(encoded);
    box.submit(
      std::make_shared<const protocol::encoded_tasks>(std::move(*encoded)),
      [this](result<enqueue_answers> answer) {
        ASSERT_TRUE(answer);
        each = *answer;
      });
  }

  /// The shard that owns key k`i`.
  static shard_id owner(std::size_t i, std::uint16_t shards = 4) {
    return core::shard_of_name({"default", "q"}, "k" + std::to_string(i), shards);
  }

  static protocol::enqueue_reply
  reply_kinds(const sent_request& to, const std::vector<unsigned char>& kinds) {
    return protocol::enqueue_reply::build([&](auto root) {
      root.setNumber(to.number);
      root.setShard(to.shard);
      auto run = root.initTasks(1)[0];
      run.setFirst(1);
      run.setCount(to.tasks);
      root.setKinds({kinds.data(), kinds.size()});
    });
  }

  static protocol::enqueue_reply
  reply(
    const sent_request& to,
    std::uint32_t count,
    errc code = errc::none,
    std::uint32_t retry_ms = 0) {
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

  void answer(enqueue_outbox& box, const sent_request& to, errc code = errc::none) {
    auto accepted = box.accept(reply(to, code == errc::none ? 1 : 0, code));
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    EXPECT_FALSE(accepted->has_value());
  }

  std::vector<sent_request> sent;
  std::set<shard_id> reached;
  std::vector<std::string> answers;
  /// Number of the latest call of `submit`.
  std::uint64_t last = 0;
  enqueue_outbox::tasks_ptr last_tasks;
  std::vector<task_id> ids;
  enqueue_answers each;

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

  EXPECT_EQ(sent, (std::vector<sent_request>{first[0], first[2]}));
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
  EXPECT_EQ(sent, (std::vector<sent_request>{sent[0], sent[0]}));
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

TEST_F(EnqueueOutbox, WhatIsGivenUpFreesItsPlaceForTheNext) {
  auto box = make(1);
  connect(box);
  submit(box);
  auto sent_one = last;
  submit(box);
  auto waiting_one = last;
  submit(box);

  box.give_up(waiting_one, {errc::timeout, {}});
  box.give_up(sent_one, {errc::timeout, {}});

  EXPECT_EQ(answers, (lines{"2 timeout", "1 timeout"}));
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].number, 2u);
  EXPECT_EQ(sent[1].answered_below, 2u);
  // A late answer no longer belongs to any request.
  answer(box, sent[0]);
  box.give_up(sent_one, {errc::timeout, {}});
  EXPECT_EQ(answers.size(), 2u);
  answer(box, sent[1]);
  EXPECT_EQ(answers.back(), "3 1 tasks");
}

TEST_F(EnqueueOutbox, KeysAreSplitByShardAndAnsweredTogetherInTheirOrder) {
  auto box = make();
  connect(box);
  submit_keys(box, 12);

  ASSERT_GT(sent.size(), 1u);
  // The last part is answered first: the order of answers is not the order of tasks.
  for (auto part = sent.rbegin(); part != sent.rend(); ++part) {
    EXPECT_TRUE(each.empty());
    ASSERT_TRUE(box.accept(reply(*part, part->tasks)));
  }

  ASSERT_EQ(each.size(), 12u);
  for (std::size_t i = 0; i < each.size(); ++i) {
    ASSERT_TRUE(each[i]);
    EXPECT_EQ(each[i]->id.shard, owner(i)) << i;
  }
}

TEST_F(EnqueueOutbox, APartThatIsRefusedIsRefusedAlone) {
  auto box = make();
  connect(box);
  submit_keys(box, 12);
  auto refused = sent[0];

  for (const auto& part : sent) {
    bool first = part == refused;
    ASSERT_TRUE(
      box.accept(reply(part, first ? 0 : part.tasks, first ? errc::queue_full : errc::none)));
  }

  ASSERT_EQ(each.size(), 12u);
  for (std::size_t i = 0; i < each.size(); ++i) {
    bool is_refused = owner(i) == shard_id{refused.shard};
    EXPECT_EQ(each[i].has_value(), !is_refused) << i;
    if (is_refused) {
      EXPECT_EQ(each[i].error().code, errc::queue_full);
    }
  }
}

TEST_F(EnqueueOutbox, WhatBecameOfEachTaskIsTold) {
  auto box = make();
  connect(box, {1, 1});
  submit_keys(box, 3);

  ASSERT_TRUE(box.accept(reply_kinds(sent[0], {0, 6, 2})));

  ASSERT_EQ(each.size(), 3u);
  EXPECT_EQ(each[0]->kind, enqueue_kind::created);
  EXPECT_EQ(each[1].error().code, errc::duplicate);
  EXPECT_EQ(each[2]->kind, enqueue_kind::deferred);
}

TEST_F(EnqueueOutbox, KindsThatDoNotFitAreAProtocolError) {
  auto box = make();
  connect(box, {1, 1});
  submit_keys(box, 2);

  EXPECT_FALSE(box.accept(reply_kinds(sent[0], {0})));
  EXPECT_FALSE(box.accept(reply_kinds(sent[0], {0, 7})));

  EXPECT_TRUE(each.empty());
}

TEST_F(EnqueueOutbox, PartsBeyondTheWindowWait) {
  auto box = make(1);
  connect(box);
  submit_keys(box, 12);

  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].number, i + 1);
    ASSERT_TRUE(box.accept(reply(sent[i], sent[i].tasks)));
  }

  EXPECT_EQ(each.size(), 12u);
}

TEST_F(EnqueueOutbox, APartThatWaitsIsSplitAnewForAnotherStore) {
  auto box = make(1);
  connect(box, {1, 2});
  submit_keys(box, 12);
  ASSERT_EQ(sent.size(), 1u);
  auto lost = sent[0].tasks;
  sent.clear();
  box.disconnect();

  connect(box, {2, 8});
  for (std::size_t i = 0; i < sent.size(); ++i)
    ASSERT_TRUE(box.accept(reply(sent[i], sent[i].tasks)));

  EXPECT_GT(sent.size(), 1u);
  ASSERT_EQ(each.size(), 12u);
  std::uint32_t expired = 0;
  for (std::size_t i = 0; i < each.size(); ++i) {
    if (each[i]) {
      EXPECT_EQ(each[i]->id.shard, owner(i, 8));
    } else {
      expired += each[i].error().code == errc::session_expired ? 1 : 0;
    }
  }
  EXPECT_EQ(expired, lost);
}

TEST_F(EnqueueOutbox, APartIsRepeatedUnchangedAfterAReconnect) {
  auto box = make();
  connect(box);
  submit_keys(box, 12);
  auto first = sent;
  sent.clear();
  ASSERT_TRUE(box.accept(reply(first[0], first[0].tasks)));
  box.disconnect();

  connect(box);

  EXPECT_EQ(sent, std::vector<sent_request>(first.begin() + 1, first.end()));
}

TEST_F(EnqueueOutbox, FailAllEndsWhatWasSentAndWhatWaits) {
  auto box = make(1);
  connect(box);
  submit(box);
  submit(box);

  box.fail_all({errc::going_away, "stopped"});

  EXPECT_EQ(answers, (lines{"1 going_away", "2 going_away"}));
}

TEST_F(EnqueueOutbox, OnlyARequestThatWasNotSentIsWithdrawn) {
  auto box = make(1);
  connect(box);
  submit(box);
  EXPECT_FALSE(box.withdraw(last_tasks, {errc::disconnected, {}}));
  submit(box);
  EXPECT_TRUE(box.withdraw(last_tasks, {errc::disconnected, {}}));
  EXPECT_EQ(answers, (lines{"2 disconnected"}));
}

TEST_F(EnqueueOutbox, SessionIsFinishedWhenAllOfItsRequestsAreAnswered) {
  auto box = make();
  connect(box);
  EXPECT_EQ(box.finished_session(), producer_id{}) << "it was not used";
  submit(box);
  EXPECT_EQ(box.finished_session(), producer_id{});

  ASSERT_TRUE(box.accept(reply(sent.at(0), 1)));

  EXPECT_EQ(box.finished_session(), sent.at(0).producer);
}

TEST_F(EnqueueOutbox, SessionOfAnEarlierConnectionIsNeverFinished) {
  auto box = make();
  connect(box);
  submit(box);
  box.disconnect();
  EXPECT_EQ(box.finished_session(), producer_id{});

  connect(box);
  ASSERT_TRUE(box.accept(reply(sent.at(1), 1)));

  EXPECT_EQ(box.finished_session(), producer_id{}) << "the first copy may arrive later";
}

TEST_F(EnqueueOutbox, SessionWithARequestThatWasGivenUpIsNeverFinished) {
  auto box = make();
  connect(box);
  submit(box);

  box.give_up(last, {errc::timeout, "late"});

  EXPECT_EQ(box.finished_session(), producer_id{});
}

TEST_F(EnqueueOutbox, RequestWithoutKeysGoesToAShardThatIsReached) {
  auto box = make();
  reached = {shard_id{2}};
  connect_cluster(box);
  submit(box);
  submit(box);

  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].shard, 2u);
  EXPECT_EQ(sent[1].shard, 2u);
}

TEST_F(EnqueueOutbox, RequestWithoutKeysPrefersTheShardWithFewestUnansweredOnes) {
  auto box = make();
  reached = {shard_id{1}, shard_id{3}};
  connect_cluster(box);
  for (int i = 0; i < 4; ++i)
    submit(box);
  std::map<std::uint16_t, int> at;
  for (const auto& one : sent)
    ++at[one.shard];
  EXPECT_EQ(at, (std::map<std::uint16_t, int>{{1, 2}, {3, 2}}));

  for (const auto& one : std::vector<sent_request>(sent))
    if (one.shard == 3)
      answer(box, one);
  submit(box);
  EXPECT_EQ(sent.back().shard, 3u);
}

TEST_F(EnqueueOutbox, PartOfAShardThatIsNotReachedWaitsAndTakesNoPlace) {
  auto box = make(3);
  connect_cluster(box);
  submit_keys(box, 8);
  EXPECT_TRUE(sent.empty());
  reached = {owner(0)};
  const std::vector<shard_id> shards{owner(0)};
  box.resend(shards);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(shard_id{sent[0].shard}, owner(0));

  submit(box);

  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(shard_id{sent[1].shard}, owner(0));
}

TEST_F(EnqueueOutbox, UnansweredRequestIsResentUnchangedToTheNewPlaceOfItsShard) {
  auto box = make();
  reached = {shard_id{0}, shard_id{1}, shard_id{2}, shard_id{3}};
  connect_cluster(box);
  for (int i = 0; i < 4; ++i)
    submit(box);
  auto before = std::exchange(sent, {});

  const std::vector<shard_id> moved{shard_id{before[1].shard}};
  box.resend(moved);

  EXPECT_EQ(sent, std::vector<sent_request>{before[1]});
}

TEST_F(EnqueueOutbox, NotOwnerKeepsTheRequestOpen) {
  auto box = make();
  reached = {shard_id{0}, shard_id{1}, shard_id{2}, shard_id{3}};
  connect_cluster(box);
  submit(box);
  auto request = sent.back();

  answer(box, request, errc::not_owner);

  EXPECT_TRUE(answers.empty());
  answer(box, request);
  EXPECT_EQ(answers.size(), 1u);
}

} // namespace codeq::client
