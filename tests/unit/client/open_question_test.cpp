// SPDX-License-Identifier: Apache-2.0
#include "client/inquiry/open_question.hpp"

#include "client/operator_questions.hpp"
#include "protocol/messages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace codeq::client {
namespace {

using lines = std::vector<std::string>;

constexpr connection_number near = 11;
constexpr connection_number far = 22;

const error lost_link{errc::disconnected, "the link is down"};

/// Writes down what the question does, and knows the connections.
class noting_port : public open_question_port {
public:
  void send(connection_number to, protocol::wire_frame request) override {
    auto read = protocol::queue_request::parse(request.body);
    ASSERT_TRUE(read);
    auto number = read->read([](auto reader) -> result<std::uint64_t> {
      return reader.getNumber();
    });
    told.push_back("ask " + std::to_string(*number) + " on " + std::to_string(to));
  }

  void drop(const error& reason) override { told.push_back("drop: " + reason.context); }

  void ask_members_after(duration wait, std::uint64_t number) override {
    told.push_back(
      "wait " + std::to_string(wait.count()) + " for members of " + std::to_string(number));
  }

  [[nodiscard]] bool is_cluster() const override { return in_cluster; }

  [[nodiscard]] connection_number connection_of(shard_id) const override { return of_shard; }

  [[nodiscard]] std::string place_of(shard_id shard) const override {
    return "shard " + std::to_string(value(shard)) + " is served by c1";
  }

  [[nodiscard]] error unreached(shard_id shard) const override {
    return {errc::disconnected, place_of(shard) + ", which is away"};
  }

  [[nodiscard]] reached_members all_members() const override { return members; }

  lines told;
  bool in_cluster = false;
  connection_number of_shard = 0;
  reached_members members;
};

/// A question about a queue on shard 3.
class OpenQuestion : public testing::Test {
protected:
  void ask(bool repeatable = true) {
    question_.ask(
      {.question = show_queue(3, {"t", "q"}),
       .answered = [this](const protocol::wire_frame&) { return note_answer(); },
       .failed = [this](const error& reason) { port_.told.push_back("failed: " + reason.context); },
       .repeatable = repeatable});
  }

  /// Asks every coordinator.
  void ask_all() {
    question_.ask(
      {.question = show_queue(3, {"t", "q"}),
       .answered = [this](const protocol::wire_frame&) { return note_answer(); },
       .failed = [this](const error& reason) { port_.told.push_back("failed: " + reason.context); },
       .completed =
         [this](const actors::missing_answers& missing) {
           auto text = "completed without " + std::to_string(missing.coordinators);
           for (auto shard : missing.shards)
             text += " s" + std::to_string(value(shard));
           port_.told.push_back(text);
         }});
  }

  /// Why the open question has no answer after that time.
  std::string give_up(duration waited = duration{5000}) {
    const auto why = question_.give_up(waited);
    return why ? to_string(*why) : "unknown";
  }

  void reply(std::uint64_t number, errc code = errc::none) { question_.take({number, code}, {}); }

  [[nodiscard]] lines take() { return std::exchange(port_.told, {}); }

  noting_port port_;
  open_question question_{port_};
  result<void> answer_{};

private:
  result<void> note_answer() {
    port_.told.push_back("answered");
    return answer_;
  }
};

TEST_F(OpenQuestion, WaitsForAConnection) {
  ask();
  EXPECT_EQ(take(), lines{});

  question_.use(near);

  EXPECT_EQ(take(), lines{"ask 1 on 11"});
}

TEST_F(OpenQuestion, IsAnsweredOnce) {
  question_.use(near);
  ask();
  std::ignore = take();

  reply(1);
  reply(1);

  EXPECT_EQ(take(), lines{"answered"});
}

TEST_F(OpenQuestion, IgnoresTheReplyToAnEarlierOne) {
  question_.use(near);
  ask();
  ask();
  EXPECT_EQ(take(), (lines{"ask 1 on 11", "ask 2 on 11"}));

  reply(1);
  EXPECT_EQ(take(), lines{});
  reply(2);

  EXPECT_EQ(take(), lines{"answered"});
}

TEST_F(OpenQuestion, IsAskedAgainOnTheNextConnection) {
  question_.use(near);
  ask();
  std::ignore = take();

  question_.lose(near, lost_link);
  EXPECT_FALSE(question_.is_connected());
  question_.use(far);

  EXPECT_EQ(take(), lines{"ask 1 on 22"});
}

TEST_F(OpenQuestion, FailsWhenItMayNotBeAskedAgain) {
  constexpr bool is_repeatable = false;
  question_.use(near);
  ask(is_repeatable);
  std::ignore = take();

  question_.lose(near, lost_link);
  EXPECT_EQ(
    take(),
    lines{"failed: lost before the answer; whether it took effect is unknown: the link is down"});
  question_.use(far);

  EXPECT_EQ(take(), lines{});
}

TEST_F(OpenQuestion, OutlivesTheLossOfAConnectionOnWhichItWasNotAsked) {
  constexpr bool is_repeatable = false;
  question_.use(near);
  ask(is_repeatable);
  std::ignore = take();

  question_.lose(far, lost_link);
  EXPECT_TRUE(question_.is_connected());
  reply(1);

  EXPECT_EQ(take(), lines{"answered"});
}

TEST_F(OpenQuestion, OutlivesTheLossOfAConnectionOnWhichAnEarlierOneWasAsked) {
  constexpr bool is_repeatable = false;
  port_.in_cluster = true;
  port_.of_shard = near;
  question_.use(near);
  ask(is_repeatable);
  port_.of_shard = 0;
  ask(is_repeatable);
  std::ignore = take();

  question_.lose(near, lost_link);

  EXPECT_EQ(take(), lines{});
}

TEST_F(OpenQuestion, ClosesAConnectionWhoseReplyCannotBeUsed) {
  question_.use(near);
  ask();
  std::ignore = take();
  answer_ = error{errc::protocol_error, "no such field"};

  reply(1);
  EXPECT_EQ(take(), (lines{"answered", "drop: no such field"}));
  question_.lose(near, lost_link);
  question_.use(near);

  EXPECT_EQ(take(), lines{"ask 1 on 11"});
}

TEST_F(OpenQuestion, IsAskedWhereItsShardIs) {
  port_.in_cluster = true;
  question_.use(near);
  ask();
  EXPECT_EQ(take(), lines{});

  port_.of_shard = far;
  question_.send_moved();

  EXPECT_EQ(take(), lines{"ask 1 on 22"});
}

TEST_F(OpenQuestion, IsNotAskedAgainElsewhereWhenItMayHaveBeenExecuted) {
  constexpr bool is_repeatable = false;
  port_.in_cluster = true;
  port_.of_shard = near;
  question_.use(near);
  ask(is_repeatable);
  std::ignore = take();

  port_.of_shard = far;
  question_.send_moved();
  EXPECT_EQ(take(), lines{});
  reply(1, errc::not_owner);
  question_.send_moved();

  EXPECT_EQ(take(), lines{"ask 1 on 22"});
}

TEST_F(OpenQuestion, IsNotAskedTwiceWhenAConnectionOfOtherShardsIsReplaced) {
  constexpr bool is_repeatable = false;
  port_.in_cluster = true;
  port_.of_shard = far;
  question_.use(near);
  ask(is_repeatable);
  EXPECT_EQ(take(), lines{"ask 1 on 22"});

  question_.lose(near, lost_link);
  question_.use(far);

  EXPECT_EQ(take(), lines{});
}

TEST_F(OpenQuestion, FailsWhenAnotherConnectionReplacesItsOwn) {
  constexpr bool is_repeatable = false;
  question_.use(near);
  ask(is_repeatable);
  std::ignore = take();

  question_.replace(near, far);

  EXPECT_EQ(
    take(),
    lines{"failed: lost before the answer; whether it took effect is unknown: there is another "
          "connection to the coordinator"});
}

// Given up.

TEST_F(OpenQuestion, NamesItsShardWhenThatIsNotReached) {
  port_.in_cluster = true;
  question_.use(near);
  ask();

  EXPECT_EQ(give_up(), "disconnected: shard 3 is served by c1, which is away");

  port_.of_shard = far;
  question_.send_moved();
  EXPECT_EQ(take(), lines{}) << "what its caller has given up is not asked later";
}

TEST_F(OpenQuestion, SaysThatItMayBeDoneWhenItsShardWasLostAfterIt) {
  port_.in_cluster = true;
  port_.of_shard = far;
  question_.use(near);
  ask();
  port_.of_shard = 0;
  question_.lose(far, lost_link);

  EXPECT_EQ(
    give_up(),
    "disconnected: shard 3 is served by c1, which is away; the request had been sent, and whether "
    "it took effect is unknown");
}

TEST_F(OpenQuestion, NamesAShardThatDoesNotAnswer) {
  port_.in_cluster = true;
  port_.of_shard = far;
  question_.use(near);
  ask();

  EXPECT_EQ(give_up(), "timeout: shard 3 is served by c1, which did not answer within 5000 ms");
}

TEST_F(OpenQuestion, NamesAShardThatIsNotServedWhereItShouldBe) {
  port_.in_cluster = true;
  port_.of_shard = far;
  question_.use(near);
  ask();
  reply(1, errc::not_owner);

  EXPECT_EQ(
    give_up(),
    "disconnected: shard 3 is served by c1, which answers that it does not serve it at present");
}

TEST_F(OpenQuestion, TellsWhyItWaits) {
  port_.in_cluster = true;
  question_.use(near);
  EXPECT_FALSE(question_.obstacle()) << "none is open";
  ask();
  EXPECT_EQ(
    to_string(*question_.obstacle()), "disconnected: shard 3 is served by c1, which is away");

  port_.of_shard = far;
  question_.send_moved();
  EXPECT_FALSE(question_.obstacle()) << "it is at its shard";
  reply(1, errc::not_owner);

  EXPECT_EQ(
    to_string(*question_.obstacle()),
    "disconnected: shard 3 is served by c1, which answers that it does not serve it at present");
}

TEST_F(OpenQuestion, RefusalAfterALossDoesNotSayThatItWasNotDone) {
  port_.in_cluster = true;
  port_.of_shard = far;
  question_.use(near);
  ask();
  question_.lose(far, lost_link);
  port_.of_shard = near;
  question_.send_moved();
  reply(1, errc::not_owner);
  port_.of_shard = 0;

  EXPECT_EQ(
    give_up(),
    "disconnected: shard 3 is served by c1, which is away; the request had been sent, and whether "
    "it took effect is unknown");
}

TEST_F(OpenQuestion, NamesNoShardOfACoordinatorThatIsAlone) {
  question_.use(near);
  ask();
  EXPECT_EQ(give_up(), "unknown");
  EXPECT_EQ(give_up(), "unknown") << "none is open";
  std::ignore = take();

  reply(1);

  EXPECT_EQ(take(), lines{});
}

TEST_F(OpenQuestion, FailsAtOnceWhileItsShardIsStillNotReached) {
  port_.in_cluster = true;
  port_.members = {{near}, 1, {shard_id{3}}};
  question_.use(near);
  ask();
  std::ignore = give_up();
  ask();
  EXPECT_EQ(take(), lines{"failed: shard 3 is served by c1, which is away"});

  port_.of_shard = far;
  question_.send_moved();
  port_.of_shard = 0;
  ask();

  EXPECT_EQ(take(), lines{}) << "it was reached meanwhile, and may be again soon";
}

TEST_F(OpenQuestion, WaitsForAShardThatWasGivenUpSoon) {
  port_.in_cluster = true;
  port_.members = {{near}, 1, {shard_id{3}}};
  question_.use(near);
  ask();
  std::ignore = give_up(duration{500});

  ask();

  EXPECT_EQ(take(), lines{}) << "it may be taken over just now";
}

// To every coordinator.

TEST_F(OpenQuestion, IsAskedOnceWhenItsCoordinatorIsAlone) {
  question_.use(near);
  ask_all();
  EXPECT_EQ(take(), lines{"ask 1 on 11"});

  reply(1);

  EXPECT_EQ(take(), (lines{"answered", "completed without 0"}));
}

TEST_F(OpenQuestion, GathersTheAnswersOfAllCoordinators) {
  port_.in_cluster = true;
  port_.members = {{near, far}, 0};
  question_.use(near);
  ask_all();
  EXPECT_EQ(take(), (lines{"ask 2 on 11", "ask 3 on 22"}));

  reply(3);
  EXPECT_EQ(take(), lines{"answered"});
  reply(2);

  EXPECT_EQ(take(), (lines{"answered", "completed without 0"}));
}

TEST_F(OpenQuestion, IsAskedAnewThoughAnEarlierOneHasNotAllItsAnswers) {
  port_.in_cluster = true;
  port_.members = {{near, far}, 0};
  question_.use(near);
  ask_all();
  std::ignore = take();

  ask_all();
  reply(2);

  EXPECT_EQ(take(), (lines{"ask 5 on 11", "ask 6 on 22"}));
}

TEST_F(OpenQuestion, CountsTheMissingCoordinatorsAnew) {
  port_.in_cluster = true;
  port_.members = {{}, 3};
  question_.use(near);
  ask_all();
  question_.ask_members(1);
  port_.in_cluster = false;
  ask_all();
  std::ignore = take();

  reply(2);

  EXPECT_EQ(take(), (lines{"answered", "completed without 0"}));
}

TEST_F(OpenQuestion, WaitsOnceForCoordinatorsThatAreNotConnected) {
  port_.in_cluster = true;
  port_.members = {{near}, 1};
  question_.use(near);
  ask_all();
  question_.send_moved();
  EXPECT_EQ(take(), lines{"wait 1000 for members of 1"});

  question_.ask_members(1);
  EXPECT_EQ(take(), lines{"ask 2 on 11"});
  reply(2);

  EXPECT_EQ(take(), (lines{"answered", "completed without 1"}));
}

TEST_F(OpenQuestion, IsCompletedWithoutAnyCoordinator) {
  port_.in_cluster = true;
  port_.members = {{}, 3, {shard_id{0}, shard_id{3}}};
  question_.use(near);
  ask_all();
  std::ignore = take();

  question_.ask_members(1);

  EXPECT_EQ(take(), lines{"completed without 3 s0 s3"});
}

TEST_F(OpenQuestion, IgnoresTheEndOfTheWaitOfAnEarlierOne) {
  port_.in_cluster = true;
  port_.members = {{near}, 1};
  question_.use(near);
  ask_all();
  ask_all();
  EXPECT_EQ(take(), (lines{"wait 1000 for members of 1", "wait 1000 for members of 2"}));

  question_.ask_members(1);

  EXPECT_EQ(take(), lines{});
}

TEST_F(OpenQuestion, CountsACoordinatorThatIsLostBeforeItAnswers) {
  port_.in_cluster = true;
  port_.members = {{near, far}, 0};
  question_.use(near);
  ask_all();
  reply(2);
  std::ignore = take();

  port_.members = {{near}, 1, {shard_id{5}}};
  question_.lose(far, lost_link);

  EXPECT_EQ(take(), lines{"completed without 1 s5"});
}

TEST_F(OpenQuestion, AsksACoordinatorAgainUnderTheSameNumberOnItsOtherConnection) {
  constexpr connection_number other = 33;
  port_.in_cluster = true;
  port_.members = {{near, far}, 0};
  question_.use(near);
  ask_all();
  std::ignore = take();

  question_.replace(far, other);
  EXPECT_EQ(take(), lines{"ask 3 on 33"});
  question_.lose(other, lost_link);
  reply(2);

  EXPECT_EQ(take(), (lines{"answered", "completed without 1"}));
}

} // namespace
} // namespace codeq::client
