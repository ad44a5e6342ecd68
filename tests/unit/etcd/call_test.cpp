// SPDX-License-Identifier: Apache-2.0
#include "etcd/call.hpp"

#include "etcd/etcd_limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace codeq::etcd {
namespace {

using namespace std::chrono_literals;

constexpr monotonic_time start{duration{1'000'000}};

/// A call to three members that begins with the second one.
class EtcdCall : public testing::Test {
protected:
  /// The member that the next copy is sent to.
  std::optional<std::size_t> next() {
    const auto copy = call_.next(now_);
    if (!copy)
      return std::nullopt;
    copies_.push_back(*copy);
    return copy->member;
  }

  void advance(duration by) { now_ += by; }

  /// The last copy to a member fails.
  void fail(std::size_t member) {
    const auto copy = std::find_if(copies_.rbegin(), copies_.rend(), [member](const auto& one) {
      return one.member == member;
    });
    call_.failed(*copy, "refused", now_);
  }

  call call_{3, 1, limits::call, start};
  std::vector<call::copy> copies_;
  monotonic_time now_ = start;
};

TEST_F(EtcdCall, AsksOneMemberAndWaits) {
  EXPECT_EQ(next(), 1u);
  EXPECT_EQ(next(), std::nullopt);
  advance(299ms);
  EXPECT_EQ(next(), std::nullopt);
  EXPECT_EQ(call_.wake_at(), start + 300ms);
}

TEST_F(EtcdCall, AsksTheNextMemberAfter300Milliseconds) {
  EXPECT_EQ(next(), 1u);
  advance(300ms);
  EXPECT_EQ(next(), 2u);
  EXPECT_EQ(next(), std::nullopt);
  advance(300ms);
  EXPECT_EQ(next(), 0u);
}

TEST_F(EtcdCall, AsksTheFirstMemberAgainAfterTheLast) {
  for (std::size_t member : {1, 2, 0, 1, 2}) {
    EXPECT_EQ(next(), member);
    advance(300ms);
  }
}

TEST(EtcdCallWithoutAnAnswer, SendsOnlySoManyCopiesToOneMember) {
  call one(1, 0, 1h, start);
  for (std::size_t i = 0; i < limits::copies_open_max; ++i)
    EXPECT_TRUE(one.next(start + 300ms * i));
  EXPECT_EQ(one.next(start + 10min), std::nullopt);
  EXPECT_EQ(one.wake_at(), start + 1h);
}

TEST_F(EtcdCall, PassesBrokenMembersByAtOnce) {
  EXPECT_EQ(next(), 1u);
  fail(1);
  EXPECT_EQ(next(), 2u);
  fail(2);
  EXPECT_EQ(next(), 0u);
}

TEST_F(EtcdCall, PausesWhenAllMembersFail) {
  for (std::size_t member : {1, 2, 0}) {
    EXPECT_EQ(next(), member);
    fail(member);
  }
  EXPECT_EQ(next(), std::nullopt);
  EXPECT_EQ(call_.wake_at(), start + limits::failed_pause);
  advance(limits::failed_pause);
  EXPECT_EQ(next(), 1u);
}

TEST_F(EtcdCall, LateFailureOfAnEarlierMemberHurriesNobody) {
  EXPECT_EQ(next(), 1u);
  advance(300ms);
  EXPECT_EQ(next(), 2u);
  fail(1);
  EXPECT_EQ(next(), std::nullopt);
  advance(300ms);
  EXPECT_EQ(next(), 0u);
}

TEST_F(EtcdCall, EndsWithoutAnAnswer) {
  EXPECT_EQ(next(), 1u);
  fail(1);
  advance(limits::call);
  EXPECT_TRUE(call_.is_over(now_));
  EXPECT_EQ(next(), std::nullopt);
}

TEST_F(EtcdCall, SaysWhatEachMemberDid) {
  EXPECT_EQ(next(), 1u);
  fail(1);
  EXPECT_EQ(next(), 2u);
  EXPECT_EQ(call_.words_of(0), "");
  EXPECT_EQ(call_.words_of(1), "refused");
  EXPECT_EQ(call_.words_of(2), "no answer");
}

TEST_F(EtcdCall, IsSentWhenItsOwnerSaysSo) {
  EXPECT_FALSE(call_.is_sent());
  call_.note_sent();
  EXPECT_TRUE(call_.is_sent());
}

TEST(EtcdCallToOneMember, IsSentAgainAfterAFailureAndAPause) {
  call one(1, 0, limits::call, start);
  const auto first = one.next(start);
  ASSERT_TRUE(first);
  one.failed(*first, "reset", start + 200ms);
  EXPECT_EQ(one.next(start + 200ms), std::nullopt);
  EXPECT_EQ(one.next(start + 200ms + limits::failed_pause), (call::copy{2, 0}));
}

TEST(EtcdMemberOrder, BeginsWithTheLastThatAnswered) {
  member_order order(3);
  EXPECT_EQ(order.first(), 0u);
  order.note_silence(0);
  EXPECT_EQ(order.first(), 1u);
  order.note_silence(0);
  EXPECT_EQ(order.first(), 1u);
  order.note_answer(2);
  EXPECT_EQ(order.first(), 2u);
  order.note_silence(2);
  EXPECT_EQ(order.first(), 0u);
}

} // namespace
} // namespace codeq::etcd
