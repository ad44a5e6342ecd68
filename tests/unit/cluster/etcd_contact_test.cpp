// SPDX-License-Identifier: Apache-2.0
#include "cluster/etcd_contact.hpp"

#include <gtest/gtest.h>

namespace codeq::cluster {
namespace {

using namespace std::chrono_literals;
using news = etcd_contact::news;

constexpr monotonic_time start{1000s};

TEST(EtcdContact, FailuresForFiveSecondsAreToldOnceWithTheReason) {
  etcd_contact contact(start);
  contact.note({}, start + 1s);
  contact.note(error{errc::timeout, "no member answers"}, start + 3s);

  EXPECT_EQ(contact.look(start + 5999ms), news::none);
  EXPECT_EQ(contact.silent(start + 5999ms), 0s);
  EXPECT_EQ(contact.look(start + 6s), news::lost);
  EXPECT_EQ(contact.reason(), "timeout: no member answers");
  EXPECT_EQ(contact.silent(start + 9s), 8s);
  EXPECT_EQ(contact.look(start + 9s), news::none);
}

TEST(EtcdContact, AnswerAfterALossIsToldOnce) {
  etcd_contact contact(start);
  ASSERT_EQ(contact.look(start + 7s), news::lost);

  contact.note({}, start + 8s);

  EXPECT_EQ(contact.look(start + 8s), news::found);
  EXPECT_EQ(contact.silent(start + 8s), 0s);
  EXPECT_EQ(contact.look(start + 9s), news::none);
}

TEST(EtcdContact, ShortOutageIsNotTold) {
  etcd_contact contact(start);
  contact.note(error{errc::timeout, "no member answers"}, start + 4s);
  contact.note({}, start + 4900ms);

  EXPECT_EQ(contact.look(start + 9s), news::none);
}

TEST(EtcdContact, SingleWriteThatFailsIsNoLoss) {
  etcd_contact contact(start);
  contact.note_write(error{errc::unavailable, "no leader"}, start + 1s);
  contact.note({}, start + 20s);

  EXPECT_EQ(contact.look(start + 20s), news::none);
}

TEST(EtcdContact, AnswersThatDecideNoWriteForFiveSecondsAreALoss) {
  const error full{errc::unavailable, "database space exceeded"};
  etcd_contact contact(start);
  for (auto at = start + 1s; at < start + 10s; at += 1s) {
    contact.note({}, at);
    contact.note_write(full, at);
    EXPECT_EQ(contact.look(at), at == start + 6s ? news::lost : news::none);
  }
  EXPECT_EQ(contact.reason(), "unavailable: database space exceeded");
  EXPECT_EQ(contact.silent(start + 9s), 8s);

  contact.note_write({}, start + 10s);

  EXPECT_EQ(contact.look(start + 10s), news::found);
}

} // namespace
} // namespace codeq::cluster
