// SPDX-License-Identifier: Apache-2.0
#include "etcd/watch_plan.hpp"

#include "etcd/etcd_limits.hpp"

#include <gtest/gtest.h>

namespace codeq::etcd {
namespace {

using namespace std::chrono_literals;

watch_line created_at(std::uint64_t revision) {
  watch_line line;
  line.at = {7, revision};
  line.is_created = true;
  return line;
}

watch_line change_at(std::uint64_t revision) {
  watch_line line;
  line.at = {7, revision};
  line.changes.push_back({"k", "v", revision});
  return line;
}

/// A watch over three members that begins with the first one.
class EtcdWatchPlan : public testing::Test {
protected:
  void advance(duration by) { now_ += by; }

  void open() { ASSERT_TRUE(plan_.next(now_)); }

  watch_plan plan_{3, 0};
  monotonic_time now_{duration{1'000'000}};
};

TEST_F(EtcdWatchPlan, BeginsWithWhatIsNow) {
  const auto connect = plan_.next(now_);
  ASSERT_TRUE(connect);
  EXPECT_EQ(connect->member, 0u);
  EXPECT_EQ(connect->revision, 0u);
  EXPECT_FALSE(plan_.next(now_));
  EXPECT_TRUE(plan_.note_line(created_at(10))) << "what was before has to be polled";
}

TEST_F(EtcdWatchPlan, GoesOnBehindTheLastChangeAfterACut) {
  open();
  plan_.note_line(created_at(10));
  EXPECT_FALSE(plan_.note_line(change_at(12)));

  plan_.cut(now_);
  EXPECT_FALSE(plan_.next(now_));
  EXPECT_EQ(plan_.wake_at(), now_ + limits::watch_pause);
  advance(limits::watch_pause);
  const auto connect = plan_.next(now_);

  ASSERT_TRUE(connect);
  EXPECT_EQ(connect->member, 1u);
  EXPECT_EQ(connect->revision, 13u);
  EXPECT_FALSE(plan_.note_line(created_at(20))) << "changes up to 20 follow";
}

TEST_F(EtcdWatchPlan, PausesLongerTheMoreOftenItIsCut) {
  auto longest = 0ms;
  for (int i = 0; i < 10; ++i) {
    open();
    plan_.cut(now_);
    longest = plan_.wake_at() - now_;
    advance(longest);
  }
  EXPECT_EQ(longest, limits::watch_pause_max);

  open();
  plan_.note_line(created_at(1));
  plan_.note_line(change_at(2));
  plan_.cut(now_);
  EXPECT_EQ(plan_.wake_at() - now_, limits::watch_pause);
}

TEST_F(EtcdWatchPlan, RewoundChangesDoNotRewindIt) {
  open();
  plan_.note_line(created_at(10));
  plan_.note_line(change_at(12));
  plan_.note_line(change_at(5));
  plan_.cut(now_);
  advance(1s);
  EXPECT_EQ(plan_.next(now_)->revision, 13u);
}

TEST_F(EtcdWatchPlan, SaysThatChangesAreMissingAfterACompaction) {
  open();
  plan_.note_line(created_at(10));
  plan_.cut(now_);
  advance(1s);
  open();
  watch_line line;
  line.is_canceled = true;
  line.compacted = 50;

  EXPECT_TRUE(plan_.note_line(line));
  plan_.cut(now_);
  advance(1s);
  EXPECT_EQ(plan_.next(now_)->revision, 50u);
}

TEST_F(EtcdWatchPlan, IsStalledWhenItDoesNotBegin) {
  open();
  EXPECT_FALSE(plan_.is_stalled(now_));
  EXPECT_EQ(plan_.wake_at(), now_ + limits::watch_start);
  advance(limits::watch_start);
  EXPECT_TRUE(plan_.is_stalled(now_));
  plan_.cut(now_);
  EXPECT_FALSE(plan_.is_stalled(now_));
}

TEST_F(EtcdWatchPlan, IsStalledWhenAPollKnowsMore) {
  open();
  plan_.note_line(created_at(10));
  plan_.note_poll(10, now_);
  advance(1h);
  EXPECT_FALSE(plan_.is_stalled(now_));

  plan_.note_poll(11, now_);
  plan_.note_poll(12, now_ + 500ms);
  EXPECT_FALSE(plan_.is_stalled(now_));
  EXPECT_EQ(plan_.wake_at(), now_ + limits::watch_stalled);
  advance(limits::watch_stalled);
  EXPECT_TRUE(plan_.is_stalled(now_));

  plan_.note_line(change_at(12));
  EXPECT_FALSE(plan_.is_stalled(now_));
}

} // namespace
} // namespace codeq::etcd
