// SPDX-License-Identifier: Apache-2.0
#include "worker/node/lease_book.hpp"

#include <gtest/gtest.h>

namespace codeq::worker {
namespace {

using namespace std::chrono_literals;

class LeaseBook : public testing::Test {
protected:
  lease_key hold(std::uint64_t token, duration lease, lease_phase phase = lease_phase::running) {
    lease_key key{0, shard_id{1}, fencing_token{token}};
    held_lease held;
    held.seq = token * 10;
    held.phase = phase;
    held.lease = lease;
    held.counted_from = now;
    held.cancel = std::make_shared<cancellation>();
    book.add(key, std::move(held));
    return key;
  }

  lease_book::look_result look(bool connected = true) {
    auto seen = book.look(now, [connected](const lease_key&) { return connected; });
    if (!answered)
      for (const auto& sent : seen.beats)
        book.find(sent.key)->count_from(now);
    return seen;
  }

  /// The coordinator answers heartbeats.
  bool answered = false;

  lease_book book;
  monotonic_time now{1'000'000ms};
};

TEST_F(LeaseBook, NothingHeldNeedsNoLook) {
  EXPECT_FALSE(book.next_look());
}

TEST_F(LeaseBook, LookIsDueAfterAQuarterOfTheShortestLease) {
  hold(1, 60s);
  EXPECT_EQ(book.next_look(), now + 15s);

  hold(2, 10s);

  EXPECT_EQ(book.next_look(), now + 2500ms);
}

TEST_F(LeaseBook, OnlyLeasesUnderThreeQuartersAreBeaten) {
  auto old = hold(1, 10s, lease_phase::queued);
  now += 2499ms;
  hold(2, 10s);
  now += 1ms;

  auto seen = look();

  ASSERT_EQ(seen.beats.size(), 1u);
  EXPECT_EQ(seen.beats[0], (beat{old, 10, lease_phase::queued}));
}

TEST_F(LeaseBook, BeatCountsFromWhenItWasSent) {
  hold(1, 10s);
  now += 4s;
  EXPECT_EQ(look().beats.size(), 1u);

  now += 2s;
  EXPECT_TRUE(look().beats.empty());
  now += 500ms;

  EXPECT_EQ(look().beats.size(), 1u);
}

TEST_F(LeaseBook, NoLeaseIsEverThreeQuartersThrough) {
  // Leases of three durations arrive at odd times; the book is checked whenever it is due.
  auto longest_gap = std::map<std::uint64_t, duration>{};
  auto latest = std::map<std::uint64_t, monotonic_time>{};
  auto lease_of = [](std::uint64_t token) { return duration{token % 3 == 0 ? 1000 : 7000}; };
  for (std::uint64_t step = 1; step <= 4000; ++step, now += 7ms) {
    if (step % 97 == 0 && latest.size() < 30) {
      hold(step, lease_of(step));
      latest[step] = now;
    }
    if (!book.next_look() || now < *book.next_look())
      continue;
    for (const auto& sent : look().beats) {
      auto token = value(sent.key.token);
      longest_gap[token] = std::max(longest_gap[token], now - latest[token]);
      latest[token] = now;
    }
  }

  EXPECT_EQ(longest_gap.size(), 30u);
  for (auto [token, gap] : longest_gap)
    EXPECT_LT(gap, lease_of(token) * 3 / 4) << "token " << token;
}

TEST_F(LeaseBook, WithoutConnectionNothingIsBeatenAndLeasesRunOut) {
  auto key = hold(1, 10s);
  now += 9999ms;
  EXPECT_TRUE(look(false).over.empty());

  now += 1ms;
  auto seen = look(false);

  EXPECT_TRUE(seen.beats.empty());
  ASSERT_EQ(seen.over.size(), 1u);
  EXPECT_EQ(seen.over[0], key);
}

TEST_F(LeaseBook, LeaseThatIsOverIsListedOnce) {
  auto key = hold(1, 10s);
  now += 11s;
  EXPECT_EQ(look(false).over.size(), 1u);
  book.find(key)->stop = stop_cause::own;

  now += 1s;

  EXPECT_TRUE(look(false).over.empty());
}

TEST_F(LeaseBook, LookAfterTheLastLeaseNeedsNoOther) {
  auto key = hold(1, 10s);
  book.remove(key);
  now += 3s;

  EXPECT_TRUE(look().beats.empty());

  EXPECT_FALSE(book.next_look());
}

TEST_F(LeaseBook, LeaseCountsFromTheLastHeartbeatThatIsAnswered) {
  answered = true;
  auto key = hold(1, 10s);
  now += 4s;
  const auto sent = now;
  EXPECT_EQ(look().beats.size(), 1u);
  now += 1s;
  book.find(key)->count_from(sent);

  EXPECT_EQ(book.find(key)->valid_until(), sent + 10s);
}

TEST_F(LeaseBook, LeaseWhoseHeartbeatsAreNotAnsweredEnds) {
  answered = true;
  auto key = hold(1, 10s);
  const auto until = now + 10s;
  std::size_t beats = 0;
  while (now < until) {
    now = *book.next_look();
    auto seen = look();
    beats += seen.beats.size();
    EXPECT_EQ(seen.over.size(), now == until ? 1u : 0u);
  }

  EXPECT_EQ(now, until) << "the look is due when the lease ends";
  EXPECT_EQ(beats, 3u);
  book.find(key)->stop = stop_cause::own;
  EXPECT_TRUE(look().over.empty());
}

TEST_F(LeaseBook, LateLookEndsNoLeaseBeforeItsHeartbeatCanBeAnswered) {
  answered = true;
  auto key = hold(1, 10s);
  now += 11s;
  const auto sent = now;

  auto seen = look();

  EXPECT_EQ(seen.beats.size(), 1u);
  EXPECT_TRUE(seen.over.empty());
  now += 100ms;
  EXPECT_TRUE(look().over.empty());
  book.find(key)->count_from(sent);
  now += 5s;
  EXPECT_TRUE(look().over.empty());
}

TEST_F(LeaseBook, HeartbeatsOfAnEarlierConnectionAwaitNoAnswer) {
  answered = true;
  hold(1, 10s);
  now += 4s;
  EXPECT_EQ(look().beats.size(), 1u);
  now += 7s;

  EXPECT_EQ(book.beat_all(now, [](const lease_key&) { return true; }).size(), 1u);

  EXPECT_TRUE(look().over.empty()) << "the new one may be answered";
}

TEST_F(LeaseBook, RequestOfTheHandlerCountsWhenItIsAnswered) {
  auto key = hold(1, 10s);
  auto& lease = *book.find(key);
  now += 1s;
  const auto asked = now;
  lease.beat(now, 60s);
  EXPECT_EQ(lease.valid_until(), asked + 9s);

  now += 1s;
  lease.beat(now);
  lease.count_from(now);
  EXPECT_EQ(lease.valid_until(), now + 10s);
  lease.count_from(asked);

  EXPECT_EQ(lease.valid_until(), asked + 60s);
}

TEST_F(LeaseBook, SameTaskUnderTwoTokensIsTwoLeases) {
  auto old = hold(1, 10s);
  auto fresh = hold(2, 10s);

  book.remove(old);

  EXPECT_EQ(book.find(old), nullptr);
  EXPECT_NE(book.find(fresh), nullptr);
}

} // namespace
} // namespace codeq::worker
