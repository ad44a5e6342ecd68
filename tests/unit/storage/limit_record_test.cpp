// SPDX-License-Identifier: Apache-2.0
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/projection.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/recovery/recovery.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

const std::vector<task_limit> uses{{"api", std::string("a\0\xff", 3), 7}, {"db", {}, 1}};
const limit_address api{"t", "api"};
const limit_definition rule{.concurrency = 3, .rate = start_rate{100, 1s, 20}};

core::segment_appended segment_of(std::vector<task_limit> limits) {
  core::segment_appended e;
  e.position = 1;
  e.first = 7;
  e.queue = {"t", "q"};
  e.pieces = {test::encode_bodies(1, 8)};
  e.count = 1;
  e.body_bytes = 8;
  e.limits = std::move(limits);
  return e;
}

void write(task_store& store, const core::event& e) {
  auto writes = std::make_shared<write_set>();
  project(shard_id{}, e, *writes);
  std::shared_ptr<const write_set> set = writes;
  ASSERT_TRUE(store.commit({&set, 1}, durability::sync));
}

TEST(LimitRecord, SegmentsFatesAndFollowUpsKeepLimits) {
  core::segment_fate fate;
  fate.queue = {"t", "q"};
  fate.entries.emplace_back();
  fate.limits = uses;
  core::follow_ups_sent sent;
  auto& task = sent.tasks.emplace_back();
  task.run.queue = {"t", "q"};
  task.run.tasks = test::encode_bodies(1, 8);
  task.run.limits = uses;

  EXPECT_EQ(decode_segment(encode(segment_of(uses)), 7)->limits, uses);
  EXPECT_EQ(decode_follow_ups(encode(sent))->tasks.front().run.limits, uses);
  EXPECT_EQ(decode_fate(encode(fate, 1), 0)->limits, uses);
  EXPECT_TRUE(decode_segment(encode(segment_of({})), 7)->limits.empty());
}

TEST(LimitRecord, LimitsThatNoProducerCanHaveSetAreDamage) {
  for (const auto& wrong : std::vector<task_limit>{
         {"", "k", 1}, {"api", "k", 0}, {"api", "k", 1001}, {"api", std::string(257, 'k'), 1}})
    EXPECT_EQ(decode_segment(encode(segment_of({wrong})), 7).error().code, errc::corruption);
}

TEST(LimitRecord, DefinitionsAreKept) {
  for (const auto& definition : {rule, limit_definition{.concurrency = 0},
                                 limit_definition{.rate = start_rate{1, 1ms, 1}}}) {
    core::limit_defined e{1, timestamp{5s}, api, definition};
    auto read = decode_limit(encode(e), api);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->definition, definition);
    EXPECT_EQ(read->at, e.at);
  }
  core::limit_defined empty{1, timestamp{5s}, api, limit_definition{}};
  EXPECT_EQ(decode_limit(encode(empty), api).error().code, errc::corruption);
}

TEST(LimitRecord, KeysDecodeOnlyWhatTheyEncoded) {
  limit_key_key key{shard_id{0x0102}, api, std::string("k\0\xff", 3)};
  limit_name_key name{shard_id{0x0102}, api};

  EXPECT_EQ(limit_key_key::decode(key.encode()), key);
  EXPECT_EQ(limit_name_key::decode(name.encode()), name);
  EXPECT_EQ(key.encode(), std::string("k\x01\x02t\0api\0k\0\xff", 12));
  EXPECT_EQ(name.encode(), std::string("l\x01\x02t\0api", 8));
  EXPECT_EQ(limit_key_key::decode(limit_key_key{shard_id{1}}.encode()), limit_key_key{shard_id{1}});
  EXPECT_FALSE(limit_key_key::decode(name.encode()));
  EXPECT_FALSE(limit_name_key::decode(key.encode()));
  EXPECT_TRUE(is_data_of(shard_id{0x0102}, key.encode()));
  EXPECT_TRUE(is_data_of(shard_id{0x0102}, name.encode()));
}

TEST(LimitRecord, KeysOfPermitsDecodeOnlyWhatTheyEncoded) {
  permit_key key{shard_id{0x0102}, shard_id{0x0304}, 5};

  EXPECT_EQ(permit_key::decode(key.encode()), key);
  EXPECT_EQ(key.encode(), std::string("g\x01\x02\x03\x04\0\0\0\0\0\0\0\x05", 13));
  EXPECT_FALSE(permit_key::decode(limit_name_key{shard_id{1}, api}.encode()));
  EXPECT_TRUE(is_data_of(shard_id{0x0102}, key.encode()));
}

TEST(LimitRecord, ShardIsRecoveredWithThePermitsOfOthers) {
  memory_store store;
  core::permits_changed changed{1, timestamp{5s}, shard_id{3}, 7, 11, {}, {}};
  changed.booked = {{21, "t", uses, 4}, {22, "t", {{"api", "k", 1}}, 0}};
  write(store, changed);
  core::permits_changed ended{2, timestamp{6s}, shard_id{3}, 7, 12, {}, {22}};
  write(store, ended);

  auto state = recover(store, shard_id{}, 2, monotonic_time{});
  ASSERT_TRUE(state);
  const auto& asker = (*state)->lent.of(shard_id{3});
  EXPECT_EQ(asker.session, 7u);
  EXPECT_EQ(asker.heard, 12u);
  ASSERT_EQ(asker.booked.size(), 1u);
  EXPECT_EQ(asker.booked.at(21), changed.booked.front());
  EXPECT_EQ((*state)->limits.describe_key(api, uses.front().key).leased, 1u);
  EXPECT_EQ((*state)->limits.describe_key(api, "k").leased, 0u);
}

TEST(LimitRecord, ShardIsRecoveredWithTheRoomOfOthers) {
  memory_store store;
  auto room = [](std::uint64_t life, std::uint64_t booked, std::uint64_t granted) {
    core::permit what{life, "t", {{std::string(core::depth_limit), "q", 1}}};
    what.booked = booked;
    what.granted = granted;
    return what;
  };
  core::permits_changed first{1, timestamp{5s}, shard_id{3}, 7, 11, {room(21, 9, 4)}, {}};
  write(store, first);
  core::permits_changed again{2, timestamp{6s}, shard_id{3}, 8, 1, {room(31, 6, 0)}, {21}};
  write(store, again);
  core::permits_changed more{3, timestamp{7s}, shard_id{3}, 8, 2, {room(31, 8, 2)}, {}};
  write(store, more);
  core::permits_changed other{4, timestamp{7s}, shard_id{4}, 5, 1, {room(11, 5, 5)}, {}};
  write(store, other);

  auto state = recover(store, shard_id{}, 2, monotonic_time{});
  ASSERT_TRUE(state);
  const auto& depths = (*state)->depths;
  EXPECT_EQ(depths.total({"t", "q"}), 13u);
  const auto* known = depths.find({"t", "q"}, shard_id{3});
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->life, 31u);
  EXPECT_EQ(known->booked, 8u);
  EXPECT_EQ(known->granted, 2u);
  EXPECT_TRUE((*state)->lent.of(shard_id{3}).booked.empty()) << "it is no permit";
}

TEST(LimitRecord, ShardIsRecoveredWithDefinitionsAndUnpaidStarts) {
  memory_store store;
  write(store, core::limit_defined{1, timestamp{5s}, api, rule});
  write(store, core::limit_defined{2, timestamp{5s}, {"t", "gone"}, rule});
  write(store, core::limit_defined{3, timestamp{6s}, {"t", "gone"}, {}});
  core::limit_keys_changed changed{4, timestamp{7s}, {}, {}};
  changed.keys.push_back({api, "k", 7'100'000'000, timestamp{9s}});
  changed.keys.push_back({api, "over", 1, {}});
  changed.used_up_at = timestamp{6s};
  write(store, changed);
  core::limit_keys_changed over{5, timestamp{8s}, {}, {}};
  over.keys.push_back({api, "over", 0, {}, true});
  over.used_up_at = changed.used_up_at;
  write(store, over);

  auto state = recover(store, shard_id{}, 2, monotonic_time{});
  ASSERT_TRUE(state);
  const auto& limits = (*state)->limits;
  EXPECT_EQ(*limits.find(api), rule);
  EXPECT_EQ(limits.find({"t", "gone"}), nullptr);
  ASSERT_EQ(limits.marks().size(), 1u);
  EXPECT_EQ(limits.marks().front().key, "k");
  EXPECT_EQ(limits.marks().front().paid_at, 7'100'000'000);
  EXPECT_EQ(limits.marks().front().closed_until, timestamp{9s});
  EXPECT_EQ(limits.used_up_at(), timestamp{6s});
  EXPECT_EQ((*state)->at, timestamp{8s}) << "until then the starts of a removed key were paid for";
}

} // namespace
} // namespace codeq::storage
