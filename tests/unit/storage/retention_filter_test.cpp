// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/records/headers_codec.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/retention/retention_filter.hpp"
#include "support/task_bodies.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

constexpr shard_id shard{3};
constexpr timestamp start{2000h};

/// All records are judged as of a snapshot at position 100, a day after the start.
class RetentionFilter : public testing::Test {
protected:
  void hold(core::log_position position) { horizon_.held = horizon_.held.changed({position}, {}); }

  void forget_held() { horizon_.is_held_known = false; }

  [[nodiscard]] bool drops_outcome(
    core::log_position position, timestamp at, duration retention = 1h, shard_id of = shard) {
    core::leases_ended e{position, at, {}, retention};
    e.ends.push_back({1, fencing_token{1}, {}, true, task_state::completed, {}, {}});
    return drops(outcome_key{of, position}.encode(), encode(e));
  }

  [[nodiscard]] bool
  drops_fate(core::log_position position, timestamp closed_at, duration retention = 1h) {
    core::segment_fate fate;
    fate.first = 7;
    fate.closed_at = closed_at;
    fate.retention = retention;
    fate.entries.resize(2);
    return drops(fate_key{shard, 7}.encode(), encode(fate, position));
  }

  /// For a task whose records are those of `stored_`.
  [[nodiscard]] bool drops_history(timestamp at, bool aside = false) {
    core::task_note note;
    note.segment = 7;
    note.aside = aside;
    note.event.at = at;
    return drops(history_key{shard, 8, 0}.encode(), encode(note));
  }

  /// The headers of segment 7.
  [[nodiscard]] bool drops_headers(timestamp at) {
    auto tasks = test::encode_bodies_with_headers({{{"a", "1"}}});
    return drops(headers_key{shard, 7}.encode(), encode_headers({&tasks, 1}, at));
  }

  /// For task 7, whose fate record exists if `stored_` has it.
  [[nodiscard]] verdict judged_key(timestamp expires_at) {
    core::retained_key record{7, 50, expires_at};
    return judged(key_key{shard, {{"default", "q"}, {}, "x"}}.encode(), encode(record));
  }

  [[nodiscard]] verdict judged_audit(timestamp at, shard_id of = shard) {
    auto ms = static_cast<std::uint64_t>(at.time_since_epoch().count());
    return judged(audit_key{of, ms, 1, 2}.encode(), {});
  }

  [[nodiscard]] bool drops(const std::string& key, const std::string& value) {
    return judged(key, value) != verdict::keep;
  }

  [[nodiscard]] verdict judged(const std::string& key, const std::string& value) {
    retention_view view{
      {{shard, std::make_shared<shard_horizon>(horizon_)}},
      evicted_before_,
      audits_evicted_before_};
    auto is_there = [this](std::string_view record) {
      asked_.emplace_back(record);
      return stored_.contains(record);
    };
    return judge(view, key, value, is_there);
  }

  const timestamp now_ = start + 24h;
  timestamp evicted_before_{};
  timestamp audits_evicted_before_{};
  std::set<std::string, std::less<>> stored_;
  std::vector<std::string> asked_;

private:
  shard_horizon horizon_{shard, 100, now_, {}};
};

TEST_F(RetentionFilter, DropsWhatIsPastItsRetentionToTheMillisecond) {
  EXPECT_TRUE(drops_outcome(100, now_ - 1h));
  EXPECT_FALSE(drops_outcome(100, now_ - 1h + 1ms));
  EXPECT_TRUE(drops_fate(100, now_ - 1h));
  EXPECT_FALSE(drops_fate(100, now_ - 1h + 1ms));
}

TEST_F(RetentionFilter, KeepsWhatIsBehindTheSnapshot) {
  EXPECT_FALSE(drops_outcome(101, start));
  EXPECT_FALSE(drops_fate(101, start));
}

TEST_F(RetentionFilter, KeepsOutcomesThatLiveTasksNeed) {
  hold(50);
  hold(60);

  EXPECT_FALSE(drops_outcome(50, start));
  EXPECT_TRUE(drops_outcome(51, start));
  EXPECT_FALSE(drops_outcome(60, start));
}

TEST_F(RetentionFilter, KeepsAllOutcomesWhenItIsNotKnownWhichOnesAreNeeded) {
  forget_held();

  EXPECT_FALSE(drops_outcome(51, start));
  EXPECT_TRUE(drops_fate(51, start));
}

TEST_F(RetentionFilter, KeepsWhatHasNoRetention) {
  EXPECT_FALSE(drops_outcome(1, start, 0s));
  EXPECT_FALSE(drops_fate(1, start, 0s));
}

TEST_F(RetentionFilter, EvictsWhatIsOlderButNotWhatIsNeeded) {
  evicted_before_ = now_ - 1h;
  hold(50);

  EXPECT_TRUE(drops_outcome(1, now_ - 1h - 1ms, 24h));
  EXPECT_FALSE(drops_outcome(1, now_ - 1h, 24h));
  EXPECT_TRUE(drops_fate(1, now_ - 1h - 1ms, 24h));
  EXPECT_FALSE(drops_outcome(50, start, 48h));
  EXPECT_FALSE(drops_outcome(101, start, 48h));
}

TEST_F(RetentionFilter, TellsWhatIsEvictedFromWhatIsPast) {
  evicted_before_ = now_;
  auto of = [&](duration retention) {
    core::leases_ended e{1, now_ - 1h, {}, retention};
    return judged(outcome_key{shard, 1}.encode(), encode(e));
  };

  EXPECT_EQ(of(1h), verdict::past);
  EXPECT_EQ(of(2h), verdict::evicted);
}

TEST_F(RetentionFilter, DropsCommandsThatAreOlderThanThirtyDays) {
  EXPECT_EQ(judged_audit(now_ - limits::audit_retention), verdict::past);
  EXPECT_EQ(judged_audit(now_ - limits::audit_retention + 1ms), verdict::keep);
  EXPECT_EQ(judged_audit(start, shard_id{4}), verdict::keep);
}

TEST_F(RetentionFilter, EvictsTheOldestCommandsOfALogThatIsTooLong) {
  evicted_before_ = now_;
  EXPECT_EQ(judged_audit(now_ - 1h), verdict::keep);
  audits_evicted_before_ = now_ - 30min;
  EXPECT_EQ(judged_audit(now_ - 1h), verdict::evicted);
  EXPECT_EQ(judged_audit(now_ - 30min), verdict::keep);
}

TEST_F(RetentionFilter, DropsKeysWhoseTimeIsOver) {
  EXPECT_EQ(judged_key(now_), verdict::past);
  EXPECT_EQ(judged_key(now_ + 1ms), verdict::keep);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(RetentionFilter, DropsKeysOfTasksThatHadToMakeRoom) {
  evicted_before_ = now_ - 1h;
  EXPECT_EQ(judged_key(now_ + 1h), verdict::evicted);

  stored_.insert(fate_key{shard, 7}.encode());
  EXPECT_EQ(judged_key(now_ + 1h), verdict::keep);
}

TEST_F(RetentionFilter, KeepsShardsWithoutASnapshot) {
  EXPECT_FALSE(drops_outcome(1, start, 1h, shard_id{4}));
}

TEST_F(RetentionFilter, KeepsOtherKindsAndWhatItCannotRead) {
  core::leases_ended e{1, start, {}, 1h};

  EXPECT_FALSE(drops(grant_key{shard, 1}.encode(), encode(e)));
  EXPECT_FALSE(drops(dead_key{shard, 1}.encode(), encode(e)));
  EXPECT_FALSE(drops(outcome_key{shard, 1}.encode(), "damaged"));
  EXPECT_FALSE(drops(outcome_key{shard, 1}.encode() + "x", encode(e)));
}

TEST_F(RetentionFilter, DropsTheHistoryOfATaskOfWhichNothingIsLeft) {
  EXPECT_TRUE(drops_history(start));
  EXPECT_TRUE(drops_history(start, true));
}

TEST_F(RetentionFilter, KeepsHistoriesOfSegmentsAsidesAndFates) {
  stored_ = {segment_key{shard, 7}.encode()};
  EXPECT_FALSE(drops_history(start));

  stored_ = {aside_key{shard, 7}.encode()};
  EXPECT_FALSE(drops_history(start, true));

  stored_ = {fate_key{shard, 7}.encode()};
  EXPECT_FALSE(drops_history(start));
  EXPECT_FALSE(drops_history(start, true));
}

TEST_F(RetentionFilter, KeepsTheHistoryOfATaskThatWasCopiedOutOfItsSegment) {
  stored_ = {aside_key{shard, 8}.encode()};
  EXPECT_FALSE(drops_history(start));

  stored_ = {copied_fate_key{shard, 8}.encode()};
  EXPECT_FALSE(drops_history(start));
}

TEST_F(RetentionFilter, LooksForTheSegmentBeforeTheFateThatReplacesIt) {
  EXPECT_TRUE(drops_history(start));

  EXPECT_EQ(
    asked_,
    (std::vector<std::string>{
      segment_key{shard, 7}.encode(),
      fate_key{shard, 7}.encode(),
      aside_key{shard, 8}.encode(),
      copied_fate_key{shard, 8}.encode()}));
}

TEST_F(RetentionFilter, KeepsYoungHistoriesWithoutLooking) {
  EXPECT_FALSE(drops_history(now_ - 1h + 1ms));
  EXPECT_TRUE(asked_.empty());

  EXPECT_TRUE(drops_history(now_ - 1h));
}

TEST_F(RetentionFilter, DropsHeadersWithTheLastRecordOfTheirTasks) {
  const std::string keys[] = {
    segment_key{shard, 7}.encode(),
    aside_key{shard, 7}.encode(),
    fate_key{shard, 7}.encode(),
    copied_fate_key{shard, 7}.encode()};
  for (const auto& key : keys) {
    stored_ = {key};
    EXPECT_FALSE(drops_headers(start));
  }
  stored_.clear();
  asked_.clear();
  EXPECT_FALSE(drops_headers(now_ - 1h + 1ms));
  EXPECT_TRUE(asked_.empty()) << "young ones are kept without looking";

  EXPECT_TRUE(drops_headers(now_ - 1h));
}

TEST_F(RetentionFilter, KeepsAnEntryThatTasksShareForTheLastOfThem) {
  core::task_note note;
  note.segment = 7;
  note.tasks = 3;
  note.event.at = start;
  auto key = history_key{shard, 8, history_key::shared_slot}.encode();

  stored_ = {copied_fate_key{shard, 10}.encode()};
  EXPECT_FALSE(drops(key, encode(note)));
  stored_ = {copied_fate_key{shard, 11}.encode()};
  EXPECT_TRUE(drops(key, encode(note)));
}

TEST_F(RetentionFilter, KeepsHistoriesOfShardsWithoutASnapshotOrALookup) {
  core::task_note note;
  note.event.at = start;
  retention_view view{
    {{shard, std::make_shared<shard_horizon>(shard_horizon{shard, 100, now_, {}})}}, {}};

  EXPECT_FALSE(drops(history_key{shard_id{4}, 8, 0}.encode(), encode(note)));
  EXPECT_EQ(judge(view, history_key{shard, 8, 0}.encode(), encode(note)), verdict::keep);
}

TEST(RetentionHorizons, KeepTheLatestOfEachShard) {
  retention_horizons horizons;
  horizons.publish(std::make_shared<shard_horizon>(shard_horizon{shard_id{0}, 1, {}, {}}));
  horizons.publish(std::make_shared<shard_horizon>(shard_horizon{shard_id{1}, 2, {}, {}}));
  horizons.publish(std::make_shared<shard_horizon>(shard_horizon{shard_id{0}, 3, {}, {}}));

  auto all = horizons.view().horizons;

  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at(shard_id{0})->through, 3u);
  EXPECT_EQ(all.at(shard_id{1})->through, 2u);
}

TEST(RetentionHorizons, NothingOfAForgottenShardIsDropped) {
  retention_horizons horizons;
  horizons.publish(std::make_shared<shard_horizon>(shard_horizon{shard_id{0}, 1, {}, {}}));
  horizons.publish(std::make_shared<shard_horizon>(shard_horizon{shard_id{1}, 2, {}, {}}));

  horizons.forget(shard_id{0});

  EXPECT_FALSE(horizons.view().horizons.contains(shard_id{0}));
  EXPECT_TRUE(horizons.view().horizons.contains(shard_id{1}));
}

TEST(RetentionHorizons, EvictionNeverGoesBack) {
  retention_horizons horizons;
  horizons.evict_before(start + 2h);
  horizons.evict_before(start + 1h);

  EXPECT_EQ(horizons.view().evicted_before, start + 2h);
}

} // namespace
} // namespace codeq::storage
