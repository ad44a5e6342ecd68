// SPDX-License-Identifier: Apache-2.0
#include "core/flow/permit_recalls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

/// The recalls of a shard. Two others have permits, and their sessions are 7.
class PermitRecalls : public testing::Test {
protected:
  void close(
    const std::string& key, const std::set<shard_id>& holders, const std::string& tenant = "t") {
    permit_recalls::holders by;
    for (auto shard : holders)
      by.emplace(shard, session);
    recalls_.wait({{tenant, "api"}, key, 1, ++requests_}, std::move(by), 3, now_);
  }

  void note_closed(const std::string& tenant, std::size_t keys) {
    for (std::size_t i = 0; i < keys; ++i)
      recalls_.note_closed({tenant, "api", std::to_string(i)}, first);
  }

  /// Number of keys that the second shard is told of until nothing more is to be said.
  std::size_t keys_said() {
    std::size_t said = 0;
    while (const auto count = said_to(second).keys.size())
      said += count;
    return said;
  }

  /// What is said to a shard now; without keys: nothing.
  permit_recalls::letter said_to(shard_id to) {
    for (auto& one : recalls_.say(now_, {first, second}))
      if (one.to == to)
        return one;
    return {};
  }

  /// The numbers of the requests that are answered now.
  std::vector<std::uint64_t> answered() {
    std::vector<std::uint64_t> numbers;
    unconfirmed_.clear();
    for (const auto& one : recalls_.take_ended(now_)) {
      numbers.push_back(one.what.number);
      unconfirmed_.insert(one.unconfirmed.begin(), one.unconfirmed.end());
    }
    return numbers;
  }

  using numbers = std::vector<std::uint64_t>;
  using keys = std::vector<permit_recall>;

  static constexpr shard_id first{1};
  static constexpr shard_id second{2};
  static constexpr std::uint32_t session = 7;
  permit_recalls recalls_;
  monotonic_time now_{1h};
  std::uint64_t requests_ = 0;
  /// The shards that had not confirmed what was answered last.
  std::set<shard_id> unconfirmed_;
};

TEST_F(PermitRecalls, CloseIsAnsweredWhenAllShardsHaveConfirmed) {
  close("k", {first, second});
  const auto said = said_to(first);
  EXPECT_EQ(said.keys, (keys{{"t", "api", "k"}}));
  EXPECT_TRUE(answered().empty());

  recalls_.confirm(first, session, said.recall);
  EXPECT_TRUE(answered().empty()) << "the second shard has permits, too";
  recalls_.confirm(second, session, said.recall - 1);
  EXPECT_TRUE(answered().empty()) << "of an earlier recall";
  recalls_.confirm(second, session, said.recall);

  EXPECT_EQ(answered(), numbers{1});
  EXPECT_TRUE(unconfirmed_.empty());
  EXPECT_TRUE(recalls_.empty());
  EXPECT_FALSE(recalls_.next_look());
}

TEST_F(PermitRecalls, NextProcessOfAShardHasNothingToReturn) {
  close("k", {first});

  recalls_.confirm(first, session + 1, 0);

  EXPECT_EQ(answered(), numbers{1});
}

TEST_F(PermitRecalls, RecallIsSaidAgainWithAllThatIsNotConfirmed) {
  close("a", {first});
  const auto before = said_to(first);
  EXPECT_TRUE(said_to(first).keys.empty());
  EXPECT_EQ(recalls_.next_look(), now_ + permit_recalls::say_again);
  now_ += 10ms;
  close("b", {first, second});

  const auto after = said_to(first);
  EXPECT_EQ(after.keys, (keys{{"t", "api", "a"}, {"t", "api", "b"}}));
  EXPECT_GT(after.recall, before.recall);
  now_ += permit_recalls::say_again;
  EXPECT_EQ(said_to(second).keys, (keys{{"t", "api", "b"}}));
  recalls_.confirm(first, session, after.recall);

  EXPECT_EQ(answered(), numbers{1});
}

TEST_F(PermitRecalls, CloseDoesNotWaitForeverForAShardThatIsSilent) {
  close("k", {first});
  (void)said_to(first);

  now_ += permit_recalls::wait_max - 1ms;
  EXPECT_TRUE(answered().empty());
  (void)said_to(first);
  EXPECT_EQ(recalls_.next_look(), now_ + 1ms);
  now_ += 1ms;

  EXPECT_EQ(answered(), numbers{1});
  EXPECT_EQ(unconfirmed_, std::set{first});
}

TEST_F(PermitRecalls, ReportIsSaidOnceToAllButItsOwnShard) {
  recalls_.note_closed({"t", "api", "k"}, first);

  const auto letters = recalls_.say(now_, {first, second});

  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters.front().to, second);
  EXPECT_EQ(letters.front().keys, (keys{{"t", "api", "k"}}));
  EXPECT_EQ(letters.front().recall, 0u) << "it need not be confirmed";
  EXPECT_TRUE(recalls_.say(now_, {first, second}).empty());
}

TEST_F(PermitRecalls, ManyReportsAreSaidInParts) {
  for (std::size_t i = 0; i <= permit_recalls::message_keys_max; ++i)
    recalls_.note_closed({"t", "api", std::to_string(i)}, first);

  EXPECT_EQ(said_to(second).keys.size(), permit_recalls::message_keys_max);
  EXPECT_EQ(recalls_.next_look(), monotonic_time{}) << "at once";
  EXPECT_EQ(said_to(second).keys.size(), 1u);
}

TEST_F(PermitRecalls, ReportsOfManyKeysDoNotDelayThoseOfOtherTenants) {
  note_closed("t", 2 * permit_recalls::message_keys_max);
  note_closed("z", 1);

  const auto said = said_to(second).keys;

  EXPECT_EQ(std::count(said.begin(), said.end(), permit_recall{"z", "api", "0"}), 1);
  EXPECT_EQ(keys_said() + said.size(), 2 * permit_recalls::message_keys_max + 1);
}

TEST_F(PermitRecalls, ReportsOfATenantAreBounded) {
  note_closed("t", permit_recalls::closed_max + 5);
  recalls_.note_closed({"t", "api", "0"}, first);
  note_closed("z", 3);

  EXPECT_EQ(keys_said(), permit_recalls::closed_max + 3);
  EXPECT_TRUE(recalls_.empty());
}

TEST_F(PermitRecalls, ClosesThatWaitAreSharedByTenants) {
  std::size_t tenants = 0;
  for (; recalls_.has_room("t" + std::to_string(tenants)) && tenants < 100; ++tenants)
    while (recalls_.has_room("t" + std::to_string(tenants)))
      close("k", {first}, "t" + std::to_string(tenants));

  EXPECT_LE(recalls_.waiting(), permit_recalls::waiting_of_all_max);
  EXPECT_EQ(recalls_.waiting_of("t0"), permit_recalls::waiting_max);
  EXPECT_GT(tenants, permit_recalls::waiting_of_all_max / permit_recalls::waiting_max);
  EXPECT_LT(tenants, 100u);
}

TEST_F(PermitRecalls, TenantMayHaveSoManyClosesThatWait) {
  for (std::size_t i = 0; i < permit_recalls::waiting_max; ++i) {
    EXPECT_TRUE(recalls_.has_room("t"));
    close("k", {first});
  }

  EXPECT_FALSE(recalls_.has_room("t"));
  EXPECT_TRUE(recalls_.has_room("other"));
}

} // namespace
} // namespace codeq::core
