// SPDX-License-Identifier: Apache-2.0
#include "etcd/history.hpp"

#include <gtest/gtest.h>

namespace codeq::etcd {
namespace {

using verdict = history::verdict;
using news = history::news;

/// An etcd of one member that is known.
history known_history() {
  return {{7, 12}, 1};
}

TEST(EtcdHistory, LearnsTheFirstClusterAndItsRevisions) {
  history known{{}, 1};
  EXPECT_EQ(known.note(0, {7, 10}, false, 0), verdict::fits);
  EXPECT_EQ(known.note(0, {7, 12}, true, 10), verdict::fits);
  EXPECT_EQ(known.known(), (header{7, 12}));
}

TEST(EtcdHistory, AnswerOfALaggingMemberIsStale) {
  auto known = known_history();
  EXPECT_EQ(known.note(0, {7, 11}, false, 12), verdict::stale);
  EXPECT_EQ(known.known(), (header{7, 12}));
  EXPECT_EQ(known.replaced_because(), "");
}

TEST(EtcdHistory, AnswerThatIsOvertakenByALaterOneFits) {
  auto known = known_history();
  EXPECT_EQ(known.note(0, {7, 20}, true, 12), verdict::fits);
  EXPECT_EQ(known.note(0, {7, 15}, true, 12), verdict::fits);
  EXPECT_EQ(known.known().revision, 20u);
}

TEST(EtcdHistory, DecisionOfAnEarlierRevisionShowsARestoredEtcd) {
  auto known = known_history();
  EXPECT_EQ(known.note(0, {7, 11}, true, 12), verdict::replaced);
  EXPECT_EQ(known.replaced_because(), "etcd is at revision 11, but was at 12 before");
}

TEST(EtcdHistory, AnotherClusterIdShowsAReplacedEtcd) {
  auto known = known_history();
  EXPECT_EQ(known.note(0, {8, 90}, false, 0), verdict::replaced);
  EXPECT_EQ(known.replaced_because(), "etcd has cluster id 8, but 7 is known");
  EXPECT_EQ(known.known(), (header{7, 12}));
}

TEST(EtcdHistory, NothingFitsAfterAChangeWasForgotten) {
  auto known = known_history();
  EXPECT_EQ(known.note(0, {7, 3}, true, 12), verdict::replaced);
  EXPECT_EQ(known.note(0, {7, 13}, true, 12), verdict::replaced);
  EXPECT_EQ(known.known(), (header{7, 12}));
}

TEST(EtcdHistory, OneMemberOfAnotherClusterCountsForNothing) {
  history known{{7, 12}, 3};
  EXPECT_EQ(known.note(1, {8, 90}, true, 12), verdict::foreign);
  EXPECT_EQ(known.foreign_words(1), "it has cluster id 8, but 7 is known");
  EXPECT_EQ(known.replaced_because(), "");
  EXPECT_EQ(known.note(0, {7, 13}, true, 12), verdict::fits);
  EXPECT_EQ(known.known(), (header{7, 13}));
}

TEST(EtcdHistory, MemberOfAnotherClusterIsNewsOnceUntilItBelongsAgain) {
  history known{{7, 12}, 3};
  EXPECT_EQ(known.take_news(1), news::none);
  for (const auto expected : {news::foreign, news::none}) {
    known.note(1, {8, 90}, true, 12);
    EXPECT_EQ(known.take_news(1), expected);
  }
  known.note(0, {7, 13}, true, 12);
  EXPECT_EQ(known.take_news(0), news::none) << "it never was of another one";

  for (const auto expected : {news::own, news::none}) {
    known.note(1, {7, 13}, false, 12);
    EXPECT_EQ(known.take_news(1), expected);
  }
  known.note(1, {9, 1}, false, 12);
  EXPECT_EQ(known.take_news(1), news::foreign) << "a third one";
}

TEST(EtcdHistory, MembersAreNoNewsWhileEtcdIsReplacedOrUnknown) {
  history replaced{{7, 12}, 1};
  replaced.note(0, {8, 90}, true, 12);
  EXPECT_EQ(replaced.take_news(0), news::none) << "all of etcd is another one";

  history unknown{{}, 3};
  unknown.note(0, {8, 2}, true, 0);
  EXPECT_EQ(unknown.take_news(0), news::none) << "it may be the right one";
  unknown.note(1, {7, 12}, true, 0);
  unknown.note(2, {7, 12}, true, 0);
  EXPECT_EQ(unknown.take_news(0), news::foreign);
}

TEST(EtcdHistory, MostMembersOfAnotherClusterShowAReplacedEtcdUntilTheyAreBack) {
  history known{{7, 12}, 3};
  EXPECT_EQ(known.note(1, {8, 90}, false, 0), verdict::foreign);
  EXPECT_EQ(known.note(2, {8, 91}, false, 0), verdict::replaced);
  EXPECT_EQ(known.replaced_because(), "etcd has cluster id 8, but 7 is known");
  EXPECT_EQ(known.note(0, {7, 13}, false, 12), verdict::replaced);
  EXPECT_EQ(known.note(2, {7, 13}, false, 12), verdict::fits);
  EXPECT_EQ(known.replaced_because(), "");
}

TEST(EtcdHistory, UnknownEtcdIsTheOneOfHalfOfTheMembers) {
  history known{{}, 3};
  EXPECT_EQ(known.note(0, {8, 2}, true, 0), verdict::foreign);
  EXPECT_EQ(
    known.foreign_words(0),
    "it has cluster id 8, and fewer than half of the members have told the same");
  EXPECT_EQ(known.note(1, {7, 12}, true, 0), verdict::foreign);
  EXPECT_EQ(known.note(2, {7, 12}, true, 0), verdict::fits);
  EXPECT_EQ(known.known(), (header{7, 12}));
  EXPECT_EQ(known.note(0, {8, 3}, true, 0), verdict::foreign);
}

} // namespace
} // namespace codeq::etcd
