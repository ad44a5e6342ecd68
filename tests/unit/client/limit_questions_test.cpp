// SPDX-License-Identifier: Apache-2.0
#include "client/limit_questions.hpp"
#include "protocol/shared_data.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace codeq::client {
namespace {

using namespace std::chrono_literals;

const limit_address stripe{"t", "stripe"};

told_parts<limits_part>
told(std::vector<limits_part> parts, std::vector<shard_id> missing = {}) {
  return {std::move(parts), std::move(missing), {}};
}

limits_part part_with(std::uint32_t concurrency, std::uint64_t leased) {
  limit_info info;
  info.limit.name = stripe.name;
  info.definition.concurrency = concurrency;
  info.leased = leased;
  info.held = 10 * leased;
  info.keys = leased;
  info.keys_above = 1;
  return {{info}, {}, false};
}

limits_part keys_of(const std::vector<std::string>& keys, bool more = false) {
  limits_part part;
  for (const auto& key : keys) {
    limit_key_info info;
    info.key = key;
    part.keys.push_back(info);
  }
  part.more = more;
  return part;
}

std::vector<std::string> names_of(const limit_keys_page& page) {
  std::vector<std::string> names;
  for (const auto& key : page.keys)
    names.push_back(key.key);
  return names;
}

/// The request that a question builds.
template <class Read>
void read_request(const question& built, Read read) {
  auto wire = built(7);
  auto request = protocol::limit_request::parse(wire.body);
  ASSERT_TRUE(request);
  auto ok = request->read([&](schema::LimitRequest::Reader from) -> result<void> {
    EXPECT_EQ(from.getNumber(), 7u);
    read(from);
    return {};
  });
  EXPECT_TRUE(ok);
}

TEST(LimitQuestions, UseOfAllShardsIsAddedUp) {
  auto whole = merge_limit(stripe, {part_with(5, 1), part_with(5, 2)});

  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->limit, stripe);
  EXPECT_EQ(whole->definition.concurrency, 5u);
  EXPECT_EQ(whole->leased, 3u);
  EXPECT_EQ(whole->held, 30u);
  EXPECT_EQ(whole->keys, 3u);
  EXPECT_EQ(whole->keys_above, 2u);
  EXPECT_TRUE(whole->is_uniform);
}

TEST(LimitQuestions, ShardsThatDifferAreSaid) {
  EXPECT_FALSE(merge_limit(stripe, {part_with(5, 1), part_with(6, 1)})->is_uniform);
  EXPECT_FALSE(merge_limit(stripe, {limits_part{}, part_with(5, 1)})->is_uniform);
  EXPECT_FALSE(merge_limit(stripe, {part_with(5, 1), limits_part{}})->is_uniform);
}

TEST(LimitQuestions, ALimitThatNoShardHasIsUnknown) {
  auto whole = merge_limit(stripe, {limits_part{}, limits_part{}});

  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code, errc::unknown_limit);
  EXPECT_EQ(whole.error().context, "tenant \"t\" has no limit \"stripe\"");
}

TEST(LimitQuestions, AForecastAddsUpTheTasksOfAKeyAndTakesTheRoomOfItsOwner) {
  limit_change change{stripe, {.concurrency = 5}, true};
  auto owner = part_with(5, 1);
  owner.waiting = {{"a", 4, 2}, {"b", 0, 0}};
  owner.has_all_waiting = true;
  auto other = part_with(5, 2);
  other.waiting = {{"a", 3, {}}, {"b", 6, {}}, {"c", 5, {}}, {"d", 7, {}}};
  other.has_all_waiting = true;

  auto whole = merge_preview(change, {owner, other});

  ASSERT_TRUE(whole);
  // a: 7 of which 2 may start, b: 6, c: 5 of which all may start, d: 7 of which 5 may.
  EXPECT_EQ(whole->forecast, (limit_forecast{5 + 6 + 0 + 2, 3, true}));
  EXPECT_EQ(whole->leased, 3u);
  change.definition = {.rate = start_rate{1, 1s, 1}};
  EXPECT_EQ(merge_preview(change, {other})->forecast->keys, 4u);
  other.has_all_waiting = false;
  EXPECT_FALSE(merge_preview(change, {owner, other})->forecast->is_whole);
  EXPECT_FALSE(merge_limit(stripe, {owner, other})->forecast);
}

TEST(LimitQuestions, OnlyAnUnknownLimitMayBeMissing) {
  EXPECT_TRUE(or_absent(error{errc::unknown_limit, {}}));
  EXPECT_EQ(or_absent(error{errc::timeout, {}}).error().code, errc::timeout);
}

TEST(LimitQuestions, ListsAreMergedByName) {
  auto other = part_with(5, 1);
  other.limits.front().limit.name = "smtp";
  auto both = part_with(5, 2);
  both.limits.push_back(other.limits.front());

  const auto list = merge_limits("t", told({both, part_with(5, 3)}));
  const auto& all = list.limits;

  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(list.missing.empty());
  EXPECT_EQ(all[0].limit, (limit_address{"t", "smtp"}));
  EXPECT_FALSE(all[0].is_uniform);
  EXPECT_EQ(all[1].leased, 5u);
  EXPECT_TRUE(all[1].is_uniform);
}

TEST(LimitQuestions, ListsNameTheShardsThatHaveNotAnswered) {
  const auto list = merge_limits("t", told({part_with(5, 2)}, {shard_id{1}}));

  EXPECT_EQ(list.missing, std::vector{shard_id{1}});
  ASSERT_EQ(list.limits.size(), 1u);
  EXPECT_EQ(list.limits[0].missing, std::vector{shard_id{1}});
  EXPECT_FALSE(list.limits[0].is_uniform);
  EXPECT_EQ(
    merge_limit_keys(stripe, told({keys_of({"a"})}, {shard_id{1}}), 10).missing,
    std::vector{shard_id{1}});
}

TEST(LimitQuestions, AShardThatHasNotAnsweredMayHaveTheLimit) {
  EXPECT_TRUE(check_exists(stripe, told({part_with(5, 2), limits_part{}})));
  EXPECT_TRUE(check_exists(stripe, told(std::vector<limits_part>(1), {shard_id{1}})));
  EXPECT_EQ(
    check_exists(stripe, told(std::vector<limits_part>(2))).error().code, errc::unknown_limit);
}

TEST(LimitQuestions, KeysOfAllShardsAreInTheOrderOfTheirBytes) {
  auto page = merge_limit_keys(stripe, told({keys_of({"b", "\xff"}), keys_of({"", "a"})}), 10);

  EXPECT_EQ(names_of(page), (std::vector<std::string>{"", "a", "b", "\xff"}));
  EXPECT_FALSE(page.more);
}

TEST(LimitQuestions, TasksOfAKeyOnAllShardsAreSummed) {
  auto owner = keys_of({"a", "b"});
  owner.keys[0].leased = 1;
  owner.keys[0].held = 2;
  owner.keys[0].next_start = timestamp{duration{7}};
  owner.keys[0].closed_until = timestamp{duration{9}};
  auto other = keys_of({"a"});
  other.keys[0].held = 3;

  for (const auto& parts : {std::vector{owner, other}, std::vector{other, owner}}) {
    auto page = merge_limit_keys(stripe, told(parts), 10);

    EXPECT_EQ(names_of(page), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(page.keys[0].leased, 1u);
    EXPECT_EQ(page.keys[0].held, 5u);
    EXPECT_EQ(page.keys[0].next_start, timestamp{duration{7}});
    EXPECT_EQ(page.keys[0].closed_until, timestamp{duration{9}});
  }
}

TEST(LimitQuestions, TasksOfOtherShardsCountInTheAnswerToAClose) {
  auto owned = keys_of({"a"}).keys.front();
  owned.leased = 1;
  owned.held = 2;
  auto other = keys_of({"a"});
  other.keys[0].held = 3;
  auto without = keys_of({"b"});
  without.keys[0].held = 4;

  add_waiting(owned, other);
  add_waiting(owned, without);
  add_waiting(owned, {});

  EXPECT_EQ(owned.leased, 1u);
  EXPECT_EQ(owned.held, 5u);
}

TEST(LimitQuestions, ADeletionCountsTheTasksOfBefore) {
  auto deleted = part_with(5, 1).limits.front();
  const auto before = part_with(5, 3).limits.front();
  auto late = part_with(5, 4).limits.front();

  count_before(deleted, before);
  count_before(late, before);

  EXPECT_EQ(deleted.leased, 3u);
  EXPECT_EQ(deleted.held, 30u);
  EXPECT_EQ(deleted.keys, 3u);
  EXPECT_EQ(late.held, 40u) << "of a shard that did not answer before";
}

TEST(LimitQuestions, APageEndsWhereAShardHasMore) {
  auto page = merge_limit_keys(stripe, told({keys_of({"a", "c"}, true), keys_of({"b", "d"})}), 10);
  EXPECT_EQ(names_of(page), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(page.more);

  page = merge_limit_keys(stripe, told({keys_of({"a", "c"}), keys_of({"b", "d"})}), 2);
  EXPECT_EQ(names_of(page), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(page.more);
}

TEST(LimitQuestions, KeysAreSpreadOverTheShards) {
  std::set<std::uint16_t> shards;
  for (int i = 0; i < 100; ++i)
    shards.insert(shard_of_key(stripe, std::to_string(i), 4));

  EXPECT_EQ(shards.size(), 4u);
  EXPECT_EQ(shard_of_key(stripe, "k", 4), shard_of_key(stripe, "k", 4));
}

TEST(LimitQuestions, ARequestSaysWhatIsAsked) {
  limit_definition definition;
  definition.rate = start_rate{100, 1s, 20};
  auto set = ask_set_limit(3, {stripe, definition, false}, operation{9});
  read_request(set, [](auto from) {
    EXPECT_EQ(from.getShard(), 3u);
    EXPECT_EQ(std::string(from.getTenant()), "t");
    EXPECT_EQ(std::string(from.getName()), "stripe");
    EXPECT_EQ(from.getOperation(), 9u);
    ASSERT_TRUE(from.isSet());
    EXPECT_EQ(from.getSet().getRateCount(), 100u);
  });
  read_request(ask_set_limit(3, {stripe, definition, true}), [](auto from) {
    EXPECT_TRUE(from.isDryRun());
  });
  read_request(ask_limit_keys(3, stripe, {"k", 7, true}), [](auto from) {
    ASSERT_TRUE(from.isKeys());
    EXPECT_FALSE(from.getKeys().getFromStart());
    EXPECT_EQ(from.getKeys().getLimit(), 7u);
    EXPECT_TRUE(from.getKeys().getBusy());
  });
  read_request(ask_limit_keys(3, stripe, {}), [](auto from) {
    EXPECT_TRUE(from.getKeys().getFromStart());
  });
  read_request(ask_limit_key(3, stripe, {}), [](auto from) {
    EXPECT_TRUE(from.getKeys().getFromStart());
    EXPECT_EQ(from.getKeys().getLimit(), 1u);
  });
  read_request(ask_close_key(3, stripe, "k", 30s), [](auto from) {
    ASSERT_TRUE(from.isClose());
    EXPECT_EQ(from.getClose().getForMs(), 30'000u);
  });
  read_request(ask_open_key(3, stripe, "k"), [](auto from) { EXPECT_TRUE(from.isOpen()); });
  read_request(ask_delete_limit(3, stripe), [](auto from) { EXPECT_TRUE(from.isDelete()); });
}

TEST(LimitQuestions, OneKeyIsTheFirstAfterTheLastOneBeforeIt) {
  auto after = [](const std::string& key) {
    std::string found;
    read_request(ask_limit_key(3, stripe, key), [&](auto from) {
      EXPECT_FALSE(from.getKeys().getFromStart());
      EXPECT_EQ(from.getKeys().getLimit(), 1u);
      found = protocol::string_of(from.getKeys().getAfter());
    });
    return found;
  };

  EXPECT_EQ(after("ab"), "aa" + std::string(254, '\xff'));
  EXPECT_EQ(after(std::string("a\0", 2)), "a");
  EXPECT_EQ(after(std::string(256, 'b')), std::string(255, 'b') + "a");
}

TEST(LimitQuestions, ExplanationHasTheNextStartOfTheKeyFromItsOwner) {
  const timestamp until{5s};
  limits_part part;
  part.keys.push_back({"b", 0, 0, until, until});
  auto explained = [](const limits_part& owner, const std::string& key, timestamp now) {
    task_explanation why;
    why.limit_key = key;
    add_owned(why, owner, now);
    return std::pair(why.until, why.limit_closed_until);
  };

  EXPECT_EQ(explained(part, "b", timestamp{4s}), std::pair(until, until));
  EXPECT_EQ(explained(part, "b", timestamp{6s}), std::pair(timestamp{6s}, timestamp{})) << "now";
  EXPECT_EQ(explained(part, "a", timestamp{4s}), std::pair(timestamp{}, timestamp{}))
    << "it is not in use";
  EXPECT_EQ(explained({}, "b", timestamp{4s}), std::pair(timestamp{}, timestamp{}));
}

TEST(LimitQuestions, ExplanationSaysWhenTheOwnerHasNoRoomForTheKey) {
  limits_part part;
  part.keys.push_back({"b", 1, 0});
  part.is_out_of_keys = true;
  auto explained = [&](const std::string& key) {
    task_explanation why;
    why.limit_key = key;
    add_owned(why, part, timestamp{4s});
    return why.is_out_of_limit_keys;
  };

  EXPECT_TRUE(explained("a"));
  EXPECT_FALSE(explained("b")) << "it is in use";
}

} // namespace
} // namespace codeq::client
