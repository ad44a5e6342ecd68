// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "worker/node/outbox.hpp"

#include <gtest/gtest.h>

#include <array>

namespace codeq::worker {
namespace {

lease_key key_of(std::uint64_t token, std::uint16_t shard = 0, std::size_t link = 0) {
  return {link, shard_id{shard}, fencing_token{token}};
}

report make(const lease_key& key, std::string text = {}) {
  return {key, value(key.token), disposition::completed, std::nullopt, true, std::move(text), {}};
}

/// A completion with one follow-up of `payload_bytes`.
report make_with_follow_up(const lease_key& key, std::size_t payload_bytes) {
  task_spec task;
  task.queue = "q";
  task.payload = std::string(payload_bytes, 'x');
  auto made = make(key);
  auto encoded = protocol::encoded_tasks::encode({&task, 1});
  made.follow_ups = std::make_shared<const protocol::encoded_tasks>(std::move(*encoded));
  return made;
}

/// Each batch that is sent, as "shard: tokens".
std::string sent(outbox& box, std::size_t link = 0) {
  std::string text;
  for (const auto& batch : box.take(link)) {
    text += std::to_string(value(batch.shard)) + ":";
    for (const auto* made : batch.reports)
      text += " " + std::to_string(value(made->key.token));
    text += "; ";
  }
  return text;
}

TEST(Outbox, PostponedReportIsSentAgain) {
  outbox box(1);
  box.add(make(key_of(1)));
  EXPECT_EQ(sent(box), "0: 1; ");

  EXPECT_TRUE(box.postpone(key_of(1)));
  EXPECT_FALSE(box.postpone(key_of(2)));

  EXPECT_EQ(sent(box), "");
  box.send_postponed();
  EXPECT_EQ(sent(box), "0: 1; ");
  EXPECT_TRUE(box.answered(key_of(1)));
}

TEST(Outbox, PostponedReportIsSentOnceAfterAReconnection) {
  outbox box(1);
  box.add(make(key_of(1, 0)));
  box.add(make(key_of(2, 1)));
  (void)sent(box);
  box.postpone(key_of(1, 0));
  box.postpone(key_of(2, 1));

  box.resend(0);
  box.send_postponed();
  EXPECT_EQ(sent(box), "0: 1; 1: 2; ");

  box.postpone(key_of(1, 0));
  const std::array shards{shard_id{0}};
  box.resend(0, shards);
  box.send_postponed();
  EXPECT_EQ(sent(box), "0: 1; ");
}

TEST(Outbox, ReportsLeaveOnceGroupedByShard) {
  outbox box(1);
  box.add(make(key_of(1, 0)));
  box.add(make(key_of(2, 1)));
  box.add(make(key_of(3, 0)));

  EXPECT_EQ(sent(box), "0: 1 3; 1: 2; ");
  EXPECT_EQ(sent(box), "");
}

TEST(Outbox, UnansweredReportsLeaveAgainInTheirOrder) {
  outbox box(1);
  for (std::uint64_t token : {9, 4, 7})
    box.add(make(key_of(token)));
  EXPECT_EQ(sent(box), "0: 9 4 7; ");
  EXPECT_TRUE(box.answered(key_of(4)));

  box.resend(0);
  box.add(make(key_of(1)));

  EXPECT_EQ(sent(box), "0: 9 7 1; ");
}

TEST(Outbox, AnswerToNothingIsNoticed) {
  outbox box(1);

  EXPECT_FALSE(box.answered(key_of(1)));
}

TEST(Outbox, LinksHaveTheirOwnReports) {
  outbox box(2);
  box.add(make(key_of(1, 0, 0)));
  box.add(make(key_of(1, 0, 1)));

  EXPECT_EQ(sent(box, 1), "0: 1; ");
  box.drop(1);

  EXPECT_FALSE(box.has_reported(key_of(1, 0, 1)));
  EXPECT_TRUE(box.has_reported(key_of(1, 0, 0)));
  EXPECT_EQ(box.size(), 1u);
}

TEST(Outbox, LargeTextsAreSplitOverRequests) {
  outbox box(1);
  for (std::uint64_t token = 1; token <= 9; ++token)
    box.add(make(key_of(token), std::string(limits::result_bytes_max, 'x')));

  EXPECT_EQ(sent(box), "0: 1 2 3 4 5 6 7 8; 0: 9; ");
}

TEST(Outbox, FollowUpsCountLikeTexts) {
  outbox box(1);
  std::uint64_t token = 0;
  while (!box.is_full())
    box.add(make_with_follow_up(key_of(++token), limits::payload_bytes_max));

  EXPECT_EQ(token, tuning::unanswered_bytes_max / limits::payload_bytes_max);
  EXPECT_EQ(box.take(0)[0].reports.size(), 7u);
  for (; token > 0; --token)
    EXPECT_TRUE(box.answered(key_of(token)));
  box.add(make(key_of(1), std::string(tuning::unanswered_bytes_max - 1, 'x')));
  EXPECT_FALSE(box.is_full());
}

TEST(Outbox, CompletionRefusedForItsFollowUpsLeavesOnceMoreAsAFailure) {
  outbox box(1);
  box.add(make_with_follow_up(key_of(1), 10));
  EXPECT_EQ(sent(box), "0: 1; ");

  EXPECT_NE(box.refused(key_of(1), "priority is 10"), nullptr);

  auto batches = box.take(0);
  ASSERT_EQ(batches.size(), 1u);
  const auto& failed = *batches[0].reports.at(0);
  EXPECT_EQ(failed.what, disposition::failed);
  EXPECT_NE(failed.text.find("priority is 10"), std::string::npos) << failed.text;
  EXPECT_EQ(failed.follow_ups, nullptr);
  EXPECT_EQ(box.refused(key_of(1), "again"), nullptr);
  EXPECT_TRUE(box.answered(key_of(1)));
}

TEST(Outbox, RefusedLimitBecomesAFailureThatIsTaken) {
  outbox box(1);
  auto limited = make(key_of(1));
  limited.what = disposition::limited;
  limited.delay = duration{30'000};
  limited.limit_name = "stripe";
  limited.costs = {{"smtp", {}, 3}};
  box.add(limited);
  EXPECT_EQ(sent(box), "0: 1; ");

  EXPECT_NE(box.refused(key_of(1), "limit is \"stripe\""), nullptr);

  auto batches = box.take(0);
  ASSERT_EQ(batches.size(), 1u);
  const auto& failed = *batches[0].reports.at(0);
  EXPECT_EQ(failed.what, disposition::failed);
  EXPECT_EQ(failed.text, "the outcome was refused: limit is \"stripe\"");
  EXPECT_EQ(failed.limit_name, "");
  EXPECT_TRUE(failed.costs.empty());
  EXPECT_FALSE(failed.delay);
  EXPECT_EQ(box.refused(key_of(1), "again"), nullptr);
}

TEST(Outbox, ManyReportsAreSplitOverRequests) {
  outbox box(1);
  for (std::uint64_t token = 1; token <= limits::reports_per_request_max + 1; ++token)
    box.add(make(key_of(token)));

  auto batches = box.take(0);

  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].reports.size(), limits::reports_per_request_max);
  EXPECT_EQ(batches[1].reports.size(), 1u);
}

TEST(Outbox, BatchesAreAsSmallAsTheNodeWishes) {
  outbox box(1, 2);
  for (std::uint64_t token = 1; token <= 5; ++token)
    box.add(make(key_of(token)));

  auto batches = box.take(0);

  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[1].reports.size(), 2u);
  EXPECT_EQ(batches[2].reports.size(), 1u);
}

TEST(Outbox, IsFullAtItsByteLimitUntilAnswered) {
  outbox box(1);
  std::uint64_t token = 0;
  while (!box.is_full())
    box.add(make(key_of(++token), std::string(limits::result_bytes_max, 'x')));
  EXPECT_EQ(token, tuning::unanswered_bytes_max / limits::result_bytes_max);

  EXPECT_TRUE(box.answered(key_of(1)));

  EXPECT_FALSE(box.is_full());
}

} // namespace
} // namespace codeq::worker
