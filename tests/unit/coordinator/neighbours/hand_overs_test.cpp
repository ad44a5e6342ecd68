// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/hand_overs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace codeq::coordinator {

void PrintTo(const hand_overs::parcel& p, std::ostream* out) {
  *out << p.number << " to " << value(p.to);
}

namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

using parcel = hand_overs::parcel;

constexpr shard_id a{1};
constexpr shard_id b{2};
constexpr shard_id c{3};

class HandOvers : public testing::Test {
protected:
  void add(shard_id to, std::uint64_t from, std::uint64_t until, std::size_t bytes = 10) {
    for (auto number = from; number <= until; ++number)
      records_.add(to, number, {{"acme", bytes}});
  }

  std::vector<parcel> sent() {
    std::vector<parcel> all;
    while (auto next = records_.next(now_))
      all.push_back(*next);
    return all;
  }

  void confirm(shard_id by, std::uint64_t number) { records_.confirmed(by, number, now_); }

  void pass(duration by) { now_ += by; }

  monotonic_time now_{1h};
  hand_overs records_{{.records = 3, .bytes = 100, .waiting_bytes = 1000, .silence = 1s,
                       .question = 250ms}};
};

TEST_F(HandOvers, GoInOrderOnce) {
  add(a, 1, 2);

  EXPECT_THAT(sent(), ElementsAre(parcel{a, 1}, parcel{a, 2}));
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(HandOvers, WaitForTheWindow) {
  add(a, 1, 5);
  EXPECT_EQ(sent().size(), 3u);

  confirm(a, 2);

  EXPECT_THAT(sent(), ElementsAre(parcel{a, 4}));
}

TEST_F(HandOvers, WindowIsBoundedInBytes) {
  add(a, 1, 3, 60);
  EXPECT_THAT(sent(), ElementsAre(parcel{a, 1}));

  confirm(a, 1);

  EXPECT_THAT(sent(), ElementsAre(parcel{a, 2}));
}

TEST_F(HandOvers, OneRecordLargerThanTheWindowGoesAlone) {
  add(a, 1, 2, 500);
  EXPECT_THAT(sent(), ElementsAre(parcel{a, 1}));

  confirm(a, 1);

  EXPECT_THAT(sent(), ElementsAre(parcel{a, 2}));
}

TEST_F(HandOvers, ShardsTakeTurns) {
  add(a, 1, 2);
  add(b, 3, 4);
  add(c, 5, 5);

  EXPECT_THAT(
    sent(),
    ElementsAre(parcel{a, 1}, parcel{b, 3}, parcel{c, 5}, parcel{a, 2}, parcel{b, 4}));
}

TEST_F(HandOvers, SilentShardDoesNotHoldUpOthers) {
  add(a, 1, 9);
  sent();
  pass(10s);
  add(b, 10, 10);

  EXPECT_THAT(sent(), ElementsAre(parcel{b, 10}, parcel{a, 1}));
}

TEST_F(HandOvers, SilentShardIsSentItsFirstRecordAgainAndAgain) {
  add(a, 1, 3);
  sent();
  pass(999ms);
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(records_.next_look(), now_ + 1ms);

  pass(1ms);
  EXPECT_THAT(sent(), ElementsAre(parcel{a, 1}));
  EXPECT_EQ(records_.next_look(), now_ + 250ms);
  pass(249ms);
  EXPECT_THAT(sent(), IsEmpty());
  pass(1ms);
  EXPECT_THAT(sent(), ElementsAre(parcel{a, 1}));
}

TEST_F(HandOvers, EverythingIsSentAgainWhenASilentShardAnswers) {
  add(a, 1, 4);
  sent();
  pass(1s);
  sent();

  confirm(a, 1);

  EXPECT_THAT(sent(), ElementsAre(parcel{a, 2}, parcel{a, 3}, parcel{a, 4}));
}

TEST_F(HandOvers, ConfirmationPutsSilenceOff) {
  add(a, 1, 2);
  sent();
  pass(900ms);
  confirm(a, 1);
  pass(900ms);

  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(HandOvers, OneThatWasLostAmongOthersIsSentAgain) {
  add(a, 1, 2);
  sent();
  pass(600ms);
  confirm(a, 2);
  pass(400ms);

  EXPECT_THAT(sent(), ElementsAre(parcel{a, 1}));
}

TEST_F(HandOvers, ShardThatMovedIsAskedAtOnce) {
  add(a, 1, 3);
  sent();

  records_.moved(a, now_);

  EXPECT_EQ(records_.next_look(), now_);
  EXPECT_THAT(sent(), ElementsAre(parcel{a, 1}));
}

TEST_F(HandOvers, NewRecordsOfASilentShardWait) {
  add(a, 1, 1);
  sent();
  records_.moved(a, now_);
  sent();

  add(a, 2, 2);

  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(HandOvers, UnknownConfirmationsChangeNothing) {
  add(a, 1, 4);
  sent();

  confirm(a, 7);
  confirm(b, 1);
  confirm(a, 1);
  confirm(a, 1);

  EXPECT_THAT(sent(), ElementsAre(parcel{a, 4}));
  EXPECT_EQ(records_.size(), 3u);
}

TEST_F(HandOvers, NothingIsToBeDoneWhenAllIsConfirmed) {
  add(a, 1, 1);
  sent();
  confirm(a, 1);

  EXPECT_EQ(records_.next_look(), std::nullopt);
  EXPECT_EQ(records_.size(), 0u);
  records_.moved(a, now_);
  EXPECT_EQ(records_.next_look(), std::nullopt);
}

TEST_F(HandOvers, ShardIsFullForTheTenantWhoseBytesWaitForIt) {
  add(a, 1, 4, 124);
  EXPECT_FALSE(records_.is_full(a, "acme"));

  add(a, 5, 5, 4);

  EXPECT_TRUE(records_.is_full(a, "acme")) << "half of all bytes are its";
  EXPECT_FALSE(records_.is_full(a, "other"));
  EXPECT_FALSE(records_.is_full(b, "acme"));
  confirm(a, 1);
  EXPECT_FALSE(records_.is_full(a, "acme"));
}

TEST_F(HandOvers, RecordOfSeveralTenantsCountsForEach) {
  records_.add(a, 1, {{"acme", 400}, {"other", 200}});

  EXPECT_TRUE(records_.is_full(a, "acme"));
  EXPECT_FALSE(records_.is_full(a, "other"));
  confirm(a, 1);
  EXPECT_FALSE(records_.is_full(a, "acme"));
}

} // namespace
} // namespace codeq::coordinator
