// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/segment_cache.hpp"

#include <gtest/gtest.h>

namespace codeq::coordinator {
namespace {

core::encoded_tasks pieces(const std::string& body, std::vector<std::uint32_t> sizes) {
  return {bytes(body), std::move(sizes)};
}

TEST(SegmentCache, FindsTasksAcrossPieces) {
  segment_cache cache(1000);
  cache.insert(10, {pieces("aabbb", {2, 3}), pieces("cdddd", {1, 4})});

  auto found = cache.find(10, 11, 2);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->body.view(), "bbbc");
  EXPECT_EQ(found->sizes, (std::vector<std::uint32_t>{3, 1}));
}

TEST(SegmentCache, SharesTheBytesOfTasksInOnePiece) {
  segment_cache cache(1000);
  auto whole = pieces("aabbb", {2, 3});
  cache.insert(10, {whole});

  auto found = cache.find(10, 11, 1);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->body.data(), whole.body.data() + 2);
}

TEST(SegmentCache, GivesTheBodyThatReplacedAnother) {
  segment_cache cache(100);
  core::segment_appended appended;
  appended.first = 10;
  appended.pieces = {pieces("old", {3})};
  core::event enqueued = std::move(appended);
  cache.take(enqueued);
  core::task_change change{10, core::change_kind::body_replaced};
  change.body = bytes("newer");
  change.body_bytes = 5;
  core::event changed = core::tasks_changed{1, {}, {change}};

  cache.take(changed);

  ASSERT_TRUE(cache.find(10, 10, 1));
  EXPECT_EQ(cache.find(10, 10, 1)->body.view(), "newer");
  cache.replace(10, pieces(std::string(200, 'x'), {200}));
  EXPECT_FALSE(cache.find(10, 10, 1));
  EXPECT_EQ(cache.byte_size(), 0u);
}

TEST(SegmentCache, LetsASegmentGoWithItsLastTask) {
  segment_cache cache(1000);
  cache.insert(10, {pieces("aabbb", {2, 3}), pieces("c", {1})});
  cache.insert(20, {pieces("d", {1})});

  cache.granted(10, 10, 2);
  EXPECT_TRUE(cache.find(10, 12, 1));
  cache.granted(10, 12, 1);

  EXPECT_FALSE(cache.find(10, 10, 1));
  EXPECT_TRUE(cache.find(20, 20, 1));
  cache.granted(20, 20, 1);
  EXPECT_EQ(cache.byte_size(), 0u);
}

core::event ended(task_state next) {
  core::leases_ended record;
  record.ends.emplace_back().next = next;
  return record;
}

core::event snapshot(std::vector<sequence> closed = {}) {
  core::snapshot_taken taken;
  for (auto first : closed)
    taken.closed.emplace_back().first = first;
  return taken;
}

void take(segment_cache& cache, core::event e) {
  cache.take(e);
}

TEST(SegmentCache, KeepsGrantedSegmentsForRetriesUntilTheyAreClosed) {
  segment_cache cache(1000);
  cache.insert(10, {pieces("a", {1})});
  cache.insert(20, {pieces("b", {1})});
  take(cache, ended(task_state::scheduled));

  cache.granted(10, 10, 1);
  cache.granted(20, 20, 1);
  EXPECT_TRUE(cache.find(10, 10, 1));

  take(cache, snapshot({10}));
  EXPECT_FALSE(cache.find(10, 10, 1));
  EXPECT_TRUE(cache.find(20, 20, 1));
}

TEST(SegmentCache, KeepsNoGrantedSegmentOnceNoAttemptFails) {
  segment_cache cache(1000);
  cache.insert(10, {pieces("a", {1})});
  cache.insert(20, {pieces("b", {1})});
  take(cache, ended(task_state::scheduled));
  cache.granted(10, 10, 1);
  take(cache, snapshot());
  EXPECT_TRUE(cache.find(10, 10, 1));

  take(cache, ended(task_state::completed));
  take(cache, snapshot());

  EXPECT_FALSE(cache.find(10, 10, 1));
  EXPECT_TRUE(cache.find(20, 20, 1));
  cache.granted(20, 20, 1);
  EXPECT_EQ(cache.byte_size(), 0u);
}

TEST(SegmentCache, KeepsThreeTimesAsMuchAsLongAsAttemptsFail) {
  segment_cache cache(100);
  auto add = [&](sequence first) { cache.insert(first, {pieces(std::string(20, 'x'), {20})}); };
  take(cache, ended(task_state::scheduled));
  for (sequence first = 1; first <= 20; ++first)
    add(first);
  EXPECT_GT(cache.byte_size(), 200u);
  EXPECT_LE(cache.byte_size(), 300u);

  take(cache, snapshot());
  take(cache, snapshot());

  EXPECT_LE(cache.byte_size(), 100u);
  EXPECT_TRUE(cache.find(20, 20, 1));
}

TEST(SegmentCache, ForgetsTheOldestBeyondItsBound) {
  segment_cache cache(100);
  for (sequence first = 1; first <= 5; ++first)
    cache.insert(first, {pieces(std::string(20, 'x'), {20})});

  EXPECT_LE(cache.byte_size(), 100u);
  EXPECT_FALSE(cache.find(1, 1, 1));
  EXPECT_TRUE(cache.find(5, 5, 1));
}

TEST(SegmentCache, KeepsNothingThatIsLargerThanItself) {
  segment_cache cache(100);
  cache.insert(1, {pieces(std::string(200, 'x'), {200})});

  EXPECT_EQ(cache.byte_size(), 0u);
  EXPECT_FALSE(cache.find(1, 1, 1));
}

} // namespace
} // namespace codeq::coordinator
