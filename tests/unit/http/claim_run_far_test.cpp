// SPDX-License-Identifier: Apache-2.0
// How a claim uses shards of other coordinators, and follows those that move.
#include "unit/http/claim_run_fixture.hpp"

#include <string>
#include <tuple>

namespace codeq::http {
namespace {

using coordinator::claim_answer;
using coordinator::claim_left;
using coordinator::claim_tasks;

// Shards of other coordinators.

TEST_F(ClaimRun, ConfirmsTheTasksThatItTakesFromAnotherCoordinator) {
  started_far();

  grant_far(1, 1);

  EXPECT_EQ(take(), (lines{"1/1 received 1", "1/1 detach", "ended with 1", "close"}));
}

TEST_F(ClaimRun, CountsTheConfirmedMessagesOfAnAttachment) {
  start_far(3);
  grant_far(1, 1);
  std::ignore = take();

  grant_far(1, 1);

  EXPECT_EQ(take().front(), "1/1 received 2");
}

TEST_F(ClaimRun, CountsTheConfirmedMessagesOfEachAttachmentAnew) {
  options_.count = 2;
  options_.away = {first, second};
  options_.reached = {second};
  start();
  grant_far(1, 1);
  find_connection();
  std::ignore = take();

  grant_far(2, 1);

  EXPECT_EQ(take().front(), "1/2 received 1");
}

TEST_F(ClaimRun, AsksAllShardsWhereverTheyAre) {
  options_.only_now = true;
  started_far();
  tell_far(1, credit_news{second, kind::drained});
  EXPECT_EQ(take(), (lines{"0 attach 5", "0 ask 1", "1/1 ask 1"}));
  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer(first, round);
    tell_far(1, claim_answer{round});
  }
  EXPECT_EQ(take(), (lines{"0 ask 2", "1/1 ask 2", "1/1 revoke 1"}));

  tell_far(1, credit_news{second, kind::returned, 1});

  EXPECT_EQ(take(), (lines{"0 detach", "1/1 detach", "ended with 0", "close"}));
}

TEST_F(ClaimRun, UsesCreditsElsewhereThatAnotherCoordinatorReturns) {
  started_far();

  tell_far(1, credit_news{second, kind::returned, 1});

  EXPECT_EQ(take(), (lines{"0 attach 5", "0 claim 1"}));
}

TEST_F(ClaimRun, DoesNotWaitForTasksThatAnotherCoordinatorKeepsFromIt) {
  options_.away = {second};
  options_.reached = {second};
  start();
  for (int i = 1; i <= 3; ++i) {
    std::ignore = take();
    run_->take(credit_news{first, kind::outranked, 1, 0, second, 3});
    tell_far(1, credit_news{second, kind::drained});

    const auto said = take();
    EXPECT_EQ(std::count(said.begin(), said.end(), "0 claim 0") > 0, i == 3);
    tell_far(1, credit_news{second, kind::returned, 1});
  }
}

TEST_F(ClaimRun, PlacesItsCreditsAnewWhenAConnectionIsLost) {
  started_far();

  lose_connection();
  EXPECT_EQ(take(), (lines{"1/1 detach", "0 attach 5", "0 claim 1"}));
  grant_far(1, 1);
  EXPECT_EQ(take(), lines{"gives back 1"});
  grant(first, 1);

  EXPECT_EQ(take(), (lines{"0 detach", "ended with 1", "close after 300"}));
}

TEST_F(ClaimRun, AttachesAnewOverANewConnection) {
  started_far();
  lose_connection();
  std::ignore = take();

  find_connection();
  EXPECT_EQ(take(), lines{"0 claim 0"}) << "the shard hears that the claim reaches all";
  run_->take_move(first, false);

  EXPECT_EQ(take(), (lines{"0 claim 0", "1/2 attach", "1/2 claim 1"}));
}

TEST_F(ClaimRun, LeavesTheConnectionThatAnotherOneReplaces) {
  options_.away = {first, second};
  options_.reached = {second};
  start();
  EXPECT_EQ(take(), (lines{"1/1 attach", "1/1 claim 1"}));

  find_connection();

  EXPECT_EQ(take(), (lines{"1/1 detach", "1/2 attach", "1/2 claim 1"}));
}

TEST_F(ClaimRun, LooksAgainOnceForAllShardsThatHaveChanged) {
  started_far();
  tell_far(1, credit_news{second, kind::drained});
  std::ignore = take();

  run_->lose(second);
  run_->find(second, true);
  const auto told = take();
  EXPECT_EQ(count_of(told, "look again"), 1);
  run_->look_again();
  EXPECT_EQ(take(), (lines{"1 attach 5", "0 ask 2", "1 ask 2"}));
  run_->look_again();

  EXPECT_EQ(take(), lines{});
}

TEST_F(ClaimRun, LooksNotAgainWhileItEnds) {
  started_far();
  tell_far(1, credit_news{second, kind::drained});
  run_->lose(second);
  run_->end();
  std::ignore = take();

  run_->look_again();

  EXPECT_EQ(take(), lines{});
}

TEST_F(ClaimRun, IsRefusedWithoutATaskWhenAShardElsewhereHasTooFewCopies) {
  options_.only_now = true;
  started_far();
  tell_far(1, credit_news{second, kind::drained});
  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer(first, round);
    tell_far(1, claim_answer{round, false, true});
  }
  tell_far(1, credit_news{second, kind::returned, 1});

  EXPECT_EQ(take().end()[-2], "ended with 0 refused unavailable");
}

TEST_F(ClaimRun, RequestsItsLaterEndOnce) {
  options_.only_now = true;
  started_far();
  tell_far(1, credit_news{second, kind::drained});
  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer(first, round, true);
    tell_far(1, claim_answer{round});
  }
  EXPECT_EQ(count_of(take(), "end after"), 1);

  find_connection();
  for (std::uint64_t round = 3; round <= 4; ++round) {
    answer(first, round, true);
    tell_far(2, claim_answer{round});
  }

  EXPECT_EQ(count_of(take(), "end after"), 0);
}

TEST_F(ClaimRun, CountsTheQuietRoundsAnewWhenAShardComes) {
  options_.only_now = true;
  started_far();
  tell_far(1, credit_news{second, kind::drained});
  answer(first, 1);
  tell_far(1, claim_answer{1});
  find_connection();
  EXPECT_EQ(count_of(take(), "ask 3"), 2);

  answer(first, 3);
  tell_far(2, claim_answer{3});

  EXPECT_EQ(count_of(take(), "ask 4"), 2);
}

TEST_F(ClaimRun, WaitsForNoTasksThatAShardReadsWhenItHasLeft) {
  options_.only_now = true;
  started_far();
  credit_news reads{second, kind::drained};
  reads.being_read = 1;
  tell_far(1, reads);
  lose_connection();
  EXPECT_EQ(count_of(take(), "0 ask 2"), 1);

  answer(first, 2);

  EXPECT_EQ(take(), lines{"0 ask 3"});
}

TEST_F(ClaimRun, AsksNoMoreQuestionsOnceItHasToldThatItWaits) {
  started_far();
  tell_far(1, credit_news{second, kind::drained});
  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer(first, round);
    tell_far(1, claim_answer{round});
  }
  EXPECT_EQ(take().back(), "waits");

  find_connection();

  const auto told = take();
  EXPECT_EQ(count_of(told, "1/2 attach"), 1);
  EXPECT_EQ(count_of(told, "ask"), 0);
}

TEST_F(ClaimRun, EndsAtOnceWithoutTheCreditsOfAnotherCoordinator) {
  started_far();
  run_->end();
  EXPECT_EQ(take(), lines{"1/1 revoke 1"});

  run_->end(true);

  EXPECT_EQ(take(), (lines{"1/1 detach", "ended with 0", "close after 300"}));
}

TEST_F(ClaimRun, EndsAtOnceOnlyWhenTheShardsHereHaveReturnedTheirCredits) {
  start_far(2);
  std::ignore = take();

  run_->end(true);
  EXPECT_EQ(count_of(take(), "ended"), 0);
  tell(first, kind::returned, 1);

  EXPECT_EQ(take(), (lines{"0 detach", "ended with 0", "close after 300"}));
}

TEST_F(ClaimRun, UsesAShardThatComesHere) {
  started_far();

  run_->find(second, true);

  const auto told = take();
  EXPECT_EQ(told.front(), "1/1 detach");
  EXPECT_EQ(count_of(told, "claim 1"), 1);
}

// Tasks that come late, and races.

TEST_F(ClaimRun, KeepsTheLateTasksOfAShardThatLeftAnotherCoordinator) {
  started_far();
  tell_far(1, claim_left{{errc::not_owner, "moved"}});
  EXPECT_EQ(take(), (lines{"0 attach 5", "0 claim 1"}));

  grant_far(1, 1);
  EXPECT_EQ(take(), lines{"0 revoke 1"});
  tell(first, kind::returned, 1);

  EXPECT_EQ(take(), (lines{"0 detach", "ended with 1", "close after 300"}));
}

TEST_F(ClaimRun, GivesBackWhatANearShardGrantsBesideLateTasks) {
  started_far();
  tell_far(1, claim_left{{errc::not_owner, "moved"}});
  grant_far(1, 1);
  std::ignore = take();

  grant(first, 1);

  EXPECT_EQ(take(), (lines{"gives back 1", "0 detach", "ended with 1", "close after 300"}));
}

TEST_F(ClaimRun, KeepsTheLateTasksOfAShardThatLeftThisCoordinator) {
  options_.away = {second};
  options_.reached = {second};
  started_here();
  run_->take_move(first, false);
  EXPECT_EQ(take(), (lines{"0 claim 0", "1/1 attach", "1/1 claim 1"}));

  grant(first, 1);
  EXPECT_EQ(take(), lines{"1/1 revoke 1"});
  tell_far(1, credit_news{second, kind::returned, 1});

  EXPECT_EQ(take(), (lines{"0 detach", "1/1 detach", "ended with 1", "close after 300"}));
}

TEST_F(ClaimRun, IgnoresNewsOfAShardThatHasLeftThisCoordinator) {
  options_.away = {second};
  options_.reached = {second};
  options_.count = 2;
  start();
  run_->take_move(first, false);
  std::ignore = take();

  tell(first, kind::drained);
  grant(first, 1);

  EXPECT_EQ(take(), lines{});
}

TEST_F(ClaimRun, TakesTheTasksOfANearAndAFarShardTogether) {
  start_far(2);
  EXPECT_EQ(take(), (lines{"0 attach 5", "0 claim 1", "1/1 attach", "1/1 claim 1"}));

  grant(first, 1);
  EXPECT_EQ(count_of(take(), "ended"), 0);
  grant_far(1, 1);

  EXPECT_EQ(
    take(), (lines{"1/1 received 1", "0 detach", "1/1 detach", "ended with 2", "close"}));
}

TEST_F(ClaimRun, GivesLateTasksBackAfterItHasEnded) {
  started_far();
  tell_far(1, claim_left{{errc::not_owner, "moved"}});
  run_->end();
  tell(first, kind::returned, 1);
  EXPECT_EQ(take().back(), "close after 300");

  grant_far(1, 1);
  grant(first, 1);

  EXPECT_EQ(take(), (lines{"gives back 1", "gives back 1"}));
}

TEST_F(ClaimRun, GivesBackWhatAnotherCoordinatorGrantsAfterItsEnd) {
  started_far();
  grant_far(1, 1);
  std::ignore = take();

  grant_far(1, 1);

  EXPECT_EQ(take(), lines{"gives back 1"});
}

TEST_F(ClaimRun, IgnoresNewsOfAnAttachmentThatHasEnded) {
  started_far();
  lose_connection();
  std::ignore = take();

  tell_far(1, credit_news{second, kind::returned, 1});
  tell_far(1, claim_left{{errc::overloaded, "too many"}});

  EXPECT_EQ(take(), lines{});
}

// News that make no sense.

TEST_F(ClaimRun, LeavesACoordinatorThatNamesAShardThatIsNone) {
  started_far();

  credit_news news{second, kind::outranked, 1};
  news.by = shard_id{2};
  tell_far(1, news);

  EXPECT_EQ(take(), (lines{"1 left", "1/1 detach", "0 attach 5", "0 claim 1"}));
}

TEST_F(ClaimRun, LeavesACoordinatorWhoseTasksCannotBeRead) {
  started_far();

  tell_far(1, claim_tasks{bytes(std::string("no tasks"))});

  EXPECT_EQ(take(), (lines{"unread its tasks", "1/1 detach", "0 attach 5", "0 claim 1"}));
}

TEST_F(ClaimRun, LeavesACoordinatorThatSendsNoTasks) {
  started_far();

  tell_far(1, claim_tasks{protocol::task_batch::build([](auto) {}).body()});

  EXPECT_EQ(take(), (lines{"1/1 detach", "0 attach 5", "0 claim 1"}));
}

TEST_F(ClaimRun, IgnoresNewsForAShardThatIsNone) {
  started_far();

  tell_far(1, claim_left{{errc::overloaded, "too many"}}, shard_id{2});

  EXPECT_EQ(take(), lines{});
}

} // namespace
} // namespace codeq::http
