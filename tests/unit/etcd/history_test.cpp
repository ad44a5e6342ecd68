// SPDX-License-Identifier: Apache-2.0
#include "etcd/history.hpp"

#include <gtest/gtest.h>

namespace codeq::etcd {
namespace {

using verdict = history::verdict;

TEST(EtcdHistory, LearnsTheFirstClusterAndItsRevisions) {
  history known{{}};
  EXPECT_EQ(known.note({7, 10}, false, 0), verdict::fits);
  EXPECT_EQ(known.note({7, 12}, true, 10), verdict::fits);
  EXPECT_EQ(known.known(), (header{7, 12}));
}

TEST(EtcdHistory, AnswerOfALaggingMemberIsStale) {
  history known{{7, 12}};
  EXPECT_EQ(known.note({7, 11}, false, 12), verdict::stale);
  EXPECT_EQ(known.known(), (header{7, 12}));
  EXPECT_EQ(known.replaced_because(), "");
}

TEST(EtcdHistory, AnswerThatIsOvertakenByALaterOneFits) {
  history known{{7, 12}};
  EXPECT_EQ(known.note({7, 20}, true, 12), verdict::fits);
  EXPECT_EQ(known.note({7, 15}, true, 12), verdict::fits);
  EXPECT_EQ(known.known().revision, 20u);
}

TEST(EtcdHistory, DecisionOfAnEarlierRevisionShowsARestoredEtcd) {
  history known{{7, 12}};
  EXPECT_EQ(known.note({7, 11}, true, 12), verdict::replaced);
  EXPECT_EQ(known.replaced_because(), "etcd is at revision 11, but was at 12 before");
}

TEST(EtcdHistory, AnotherClusterIdShowsAReplacedEtcd) {
  history known{{7, 12}};
  EXPECT_EQ(known.note({8, 90}, false, 0), verdict::replaced);
  EXPECT_EQ(known.replaced_because(), "etcd has cluster id 8, but 7 is known");
  EXPECT_EQ(known.known(), (header{7, 12}));
}

TEST(EtcdHistory, NothingFitsAfterwards) {
  history known{{7, 12}};
  EXPECT_EQ(known.note({7, 3}, true, 12), verdict::replaced);
  EXPECT_EQ(known.note({7, 13}, true, 12), verdict::replaced);
  EXPECT_EQ(known.known(), (header{7, 12}));
}

} // namespace
} // namespace codeq::etcd
