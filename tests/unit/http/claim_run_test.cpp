// SPDX-License-Identifier: Apache-2.0
#include "http/claims/claim_run.hpp"
#include "unit/http/claim_run_fixture.hpp"

#include <optional>
#include <tuple>
#include <vector>

namespace codeq::http {
namespace {

using coordinator::claim_left;
using coordinator::shard_reply;

// Answers.

TEST_F(ClaimRun, EndsOnceWithTheTasksThatItWants) {
  started_here();

  grant(first, 1);
  EXPECT_EQ(take(), (lines{"0 detach", "ended with 1", "close"}));
  run_->end();
  run_->end(true);

  EXPECT_EQ(take(), lines{});
}

TEST_F(ClaimRun, GivesBackTasksThatArriveAfterItsEnd) {
  started_here();
  grant(first, 1);
  std::ignore = take();

  grant(first, 2);

  EXPECT_EQ(take(), lines{"gives back 2"});
}

TEST_F(ClaimRun, GivesBackTasksBeyondThoseThatItWants) {
  started_here();

  grant(first, 2);

  EXPECT_EQ(take(), (lines{"gives back 1", "0 detach", "ended with 1", "close"}));
}

TEST_F(ClaimRun, EndsEmptyWhenItHasWaitedLongEnough) {
  started_here();

  run_->end();
  EXPECT_EQ(take(), lines{"0 revoke 1"});
  tell(first, kind::returned, 1);

  EXPECT_EQ(take(), (lines{"0 detach", "ended with 0", "close"}));
}

TEST_F(ClaimRun, EndsWithTheTasksThatCrossTheEndOfItsWait) {
  options_.count = 2;
  start();
  run_->end();
  EXPECT_EQ(count_of(take(), "ended"), 0);

  grant(first, 1);
  EXPECT_EQ(count_of(take(), "ended"), 0);
  tell(second, kind::returned, 1);

  EXPECT_EQ(take(), (lines{"0 detach", "1 detach", "ended with 1", "close"}));
}

// Without work.

TEST_F(ClaimRun, ThatMayNotWaitEndsAfterTwoRoundsWithoutNews) {
  options_.only_now = true;
  started_here();
  tell(first, kind::drained);
  EXPECT_EQ(take(), (lines{"1 attach 5", "0 ask 1", "1 ask 1"}));

  answer(first, 1);
  EXPECT_EQ(take(), lines{});
  answer(second, 1);
  EXPECT_EQ(take(), (lines{"0 ask 2", "1 ask 2"}));
  answer(first, 2);
  answer(second, 2);
  EXPECT_EQ(take(), lines{"0 revoke 1"});
  tell(first, kind::returned, 1);

  EXPECT_EQ(take(), (lines{"0 detach", "1 detach", "ended with 0", "close"}));
}

TEST_F(ClaimRun, IsRefusedWithoutATaskWhenAShardHasTooFewCopies) {
  options_.only_now = true;
  started_here();
  tell(first, kind::drained);
  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer(first, round);
    answer_without_copies(second, round);
  }
  tell(first, kind::returned, 1);

  EXPECT_EQ(take().end()[-2], "ended with 0 refused unavailable");
}

TEST_F(ClaimRun, OfAShardThatHasEnoughCopiesAgainIsNotRefused) {
  options_.only_now = true;
  started_here();
  tell(first, kind::drained);
  answer_without_copies(first, 1);
  answer(second, 1);
  answer(first, 2);
  answer(second, 2);
  tell(first, kind::returned, 1);

  EXPECT_EQ(take().end()[-2], "ended with 0");
}

TEST_F(ClaimRun, WithATaskIsNotRefusedForAShardWithTooFewCopies) {
  options_.only_now = true;
  options_.count = 2;
  start();
  grant(first, 1);
  std::ignore = take();
  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer(first, round);
    answer_without_copies(second, round);
  }
  EXPECT_EQ(take().back(), "1 revoke 1");
  tell(second, kind::returned, 1);

  EXPECT_EQ(take().end()[-2], "ended with 1");
}

TEST_F(ClaimRun, CountsTheQuietRoundsAnewAfterNews) {
  options_.only_now = true;
  started_here();
  tell(first, kind::drained);
  answer(first, 1);
  answer(second, 1);

  tell(second, kind::has_work);
  answer(first, 2);
  answer(second, 2);

  EXPECT_EQ(count_of(take(), "ask 3"), 2);
}

TEST_F(ClaimRun, EndsAfterManyRoundsWithNewsInEach) {
  options_.only_now = true;
  started_here();
  tell(first, kind::drained);

  std::uint64_t round = 0;
  while (round < 100 && count_of(take(), "ask") > 0) {
    ++round;
    tell(first, kind::drained);
    answer(first, round);
    answer(second, round);
  }

  EXPECT_EQ(round, 32u);
}

TEST_F(ClaimRun, IgnoresAnAnswerToAnEarlierQuestion) {
  options_.only_now = true;
  started_here();
  tell(first, kind::drained);
  answer(first, 1);
  answer(second, 1);
  std::ignore = take();

  answer(first, 1);
  answer(second, 1);

  EXPECT_EQ(take(), lines{});
}

TEST_F(ClaimRun, TakesARefusedQuestionAsAnAnswer) {
  options_.only_now = true;
  started_here();
  tell(first, kind::drained);
  std::ignore = take();

  answer(first, 1);
  run_->take(shard_reply{second, protocol::request_refused<schema::QueueRequest>{1, {}}});

  EXPECT_EQ(take(), (lines{"0 ask 2", "1 ask 2"}));
}

TEST_F(ClaimRun, AsksAgainOnlyWhenTheTasksThatAreReadHaveCome) {
  options_.only_now = true;
  options_.count = 2;
  start();
  tell(first, kind::drained, 0, 1);
  std::ignore = take();
  answer(first, 1);
  answer(second, 1);
  EXPECT_EQ(take(), lines{});

  grant(first, 1, std::nullopt);

  EXPECT_EQ(count_of(take(), "ask 2"), 2);
}

TEST_F(ClaimRun, WaitsALittleForLeasesForWhichAShardAsks) {
  options_.only_now = true;
  started_here();
  tell(first, kind::drained);
  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer(first, round, true);
    answer(second, round);
  }
  EXPECT_EQ(take().back(), "end after 100");

  run_->end();
  EXPECT_EQ(take(), lines{"0 revoke 1"});
  tell(first, kind::returned, 1);

  EXPECT_EQ(take(), (lines{"0 detach", "1 detach", "ended with 0", "close"}));
}

TEST_F(ClaimRun, AsksNothingMoreWhileItEnds) {
  options_.only_now = true;
  started_here();
  tell(first, kind::drained);
  run_->end();
  std::ignore = take();

  answer(first, 1);
  answer(second, 1);

  EXPECT_EQ(take(), lines{});
}

TEST_F(ClaimRun, ThatMayWaitTellsOnceThatThereIsNoWork) {
  started_here();
  tell(first, kind::drained);
  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer(first, round);
    answer(second, round);
  }
  EXPECT_EQ(take().back(), "waits");

  tell(first, kind::drained);
  run_->find(second, true);
  EXPECT_EQ(take(), lines{});
  grant(first, 1);

  EXPECT_EQ(take().back(), "close");
}

TEST_F(ClaimRun, ThatMayNotWaitEndsWhenNoShardIsReached) {
  options_.away = {first, second};
  options_.only_now = true;

  start();

  EXPECT_EQ(take(), (lines{"0 attach 5", "1 attach 5", "0 detach", "1 detach", "ended with 0",
                           "close"}));
}

TEST_F(ClaimRun, UsesAShardThatComesHereWhileItWaits) {
  options_.away = {first, second};
  start();
  EXPECT_EQ(take(), (lines{"0 attach 5", "1 attach 5", "waits"}));

  run_->take_move(second, true);

  EXPECT_EQ(take(), lines{"1 claim 1"});
}

// Room.

TEST_F(ClaimRun, TellsEachShardOnceHowManyBytesItMayGrant) {
  options_.room = 1000;
  options_.count = 3;
  start();
  std::ignore = take();

  tell(first, kind::drained);
  tell(second, kind::has_work);
  tell(first, kind::returned, 2);

  EXPECT_EQ(port_.rooms, (std::vector<std::int64_t>{1000, 1000, 0}));
}

TEST_F(ClaimRun, GivesAShardThatComesBackTheRoomThatIsLeft) {
  options_.room = 1000;
  options_.count = 2;
  options_.shard_count = 1;
  start();
  auto tasks = test::granted_tasks(first, 1);
  tasks.granted.bytes = 300;
  run_->take(tasks);

  run_->take_move(first, false);
  run_->take_move(first, true);

  EXPECT_EQ(port_.rooms, (std::vector<std::int64_t>{1000, 0, 0, 700}))
    << "it hears twice whether the claim reaches all";
}

TEST_F(ClaimRun, EndsCutWhenBetterTasksHaveNoRoom) {
  options_.room = 10;
  options_.count = 4;
  start();
  auto tasks = test::granted_tasks(first, 1);
  tasks.granted.bytes = 10;
  tasks.more = true;
  run_->take(tasks);
  std::ignore = take();

  credit_news news{second, kind::outranked, 2};
  news.by = first;
  news.priority = 3;
  run_->take(news);
  tell(first, kind::returned, 3);

  const auto told = take();
  ASSERT_GE(told.size(), 2u);
  EXPECT_EQ(told[told.size() - 2], "ended with 1 cut");
}

// Refusals.

TEST_F(ClaimRun, EndsWhenAShardRefusesIt) {
  started_here();

  run_->refuse({errc::protocol_error, "no such claim"});
  EXPECT_EQ(take(), (lines{"refused by a shard of this coordinator", "0 revoke 1"}));
  tell(first, kind::returned, 1);

  EXPECT_EQ(take(), (lines{"0 detach", "ended with 0", "close"}));
}

TEST_F(ClaimRun, TellsWhyAnotherCoordinatorRefusesIt) {
  started_far();

  tell_far(1, claim_left{{errc::overloaded, "too many"}});

  EXPECT_EQ(
    take(),
    (lines{"refused by the coordinator of shard 1", "1/1 revoke 1", "1/1 detach",
           "ended with 0 refused overloaded", "close after 300"}));
}

} // namespace
} // namespace codeq::http
