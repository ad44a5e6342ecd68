// SPDX-License-Identifier: Apache-2.0
#include "storage/keys/keyspace.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace codeq::storage {
namespace {

std::uint64_t random_number(std::mt19937_64& random) {
  // Small and large numbers equally often, and the extremes, where a wrong width shows.
  switch (random() % 8) {
  case 0:
    return 0;
  case 1:
    return ~std::uint64_t{0};
  default:
    return random() >> random() % 64;
  }
}

template <class Key>
Key random_key(std::mt19937_64& random) {
  return {shard_id{static_cast<std::uint16_t>(random_number(random))}, random_number(random)};
}

template <class Key>
class NumberedKey : public testing::Test {};

using numbered_keys = testing::Types<
  segment_key,
  aside_key,
  grant_key,
  outcome_key,
  block_key,
  fate_key,
  copied_fate_key,
  headers_key,
  dead_key,
  change_key,
  body_key,
  checkpoint_key,
  follow_up_key>;
TYPED_TEST_SUITE(NumberedKey, numbered_keys);

TYPED_TEST(NumberedKey, BytesAreOrderedAsTheFields) {
  std::mt19937_64 random{test::choose_seed()};

  for (int round = 0; round < 2000; ++round) {
    auto a = random_key<TypeParam>(random);
    auto b = random_key<TypeParam>(random);
    EXPECT_EQ(a < b, a.encode() < b.encode());
    EXPECT_EQ(a == b, a.encode() == b.encode());
  }
}

TYPED_TEST(NumberedKey, DecodesWhatItEncoded) {
  std::mt19937_64 random{test::choose_seed()};

  for (int round = 0; round < 2000; ++round) {
    auto key = random_key<TypeParam>(random);
    EXPECT_EQ(TypeParam::decode(key.encode()), key);
  }
}

TYPED_TEST(NumberedKey, RefusesForeignBytes) {
  auto good = TypeParam{shard_id{7}, 42}.encode();
  auto foreign = good;
  foreign.front() = 'z';

  EXPECT_FALSE(TypeParam::decode({}));
  EXPECT_FALSE(TypeParam::decode(foreign));
  EXPECT_FALSE(TypeParam::decode(good.substr(0, good.size() - 1)));
  EXPECT_FALSE(TypeParam::decode(good + '\0'));
  EXPECT_FALSE(TypeParam::decode(shard_key{shard_id{7}}.encode()));
}

TEST(AuditKey, DecodesOnlyWhatItEncodedAndIsOrderedByTime) {
  audit_key key{shard_id{7}, 1000, 5, 9};
  auto bytes = key.encode();

  EXPECT_EQ(audit_key::decode(bytes), key);
  EXPECT_FALSE(audit_key::decode(bytes + '\0'));
  EXPECT_FALSE(audit_key::decode(bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(audit_key::decode({}));
  EXPECT_LT(bytes, (audit_key{shard_id{7}, 1001, 0, 0}.encode()));
  EXPECT_LT(bytes, (audit_key{shard_id{7}, 1000, 6, 0}.encode()));
  EXPECT_TRUE(audits_of(shard_id{7}, 1000).contains(bytes));
  EXPECT_FALSE(audits_of(shard_id{7}, 1001).contains(bytes));
  EXPECT_FALSE(audits_of(shard_id{6}).contains(bytes));
  EXPECT_TRUE(all_audits().contains(bytes));
  bytes.front() = 'S';
  EXPECT_FALSE(audit_key::decode(bytes));
}

TEST(ShardKey, DecodesOnlyWhatItEncoded) {
  auto key = shard_key{shard_id{0xfffe}};

  EXPECT_EQ(shard_key::decode(key.encode()), key);
  EXPECT_FALSE(shard_key::decode(segment_key{shard_id{1}, 2}.encode()));
  EXPECT_FALSE(shard_key::decode("C"));
  EXPECT_FALSE(shard_key::decode("S\x01\x02"));
}

TEST(KeyKey, DecodesOnlyWhatItEncoded) {
  // Names whose bytes move from each part to the next: a separator would confuse them.
  std::vector<key_key> keys{
    {shard_id{7}, {{"t", "q"}, "", "gk"}},
    {shard_id{7}, {{"t", "q"}, "g", "k"}},
    {shard_id{7}, {{"t", "q"}, "gk", ""}},
    {shard_id{7}, {{"t", "qg"}, "", "k"}},
    {shard_id{7}, {{"", "tq"}, std::string(2, '\0'), std::string(256, '\xff')}}};

  for (const auto& key : keys) {
    EXPECT_EQ(key_key::decode(key.encode()), key);
    EXPECT_TRUE(keys_of(shard_id{7}).contains(key.encode()));
    EXPECT_FALSE(keys_of(shard_id{6}).contains(key.encode()));
    EXPECT_FALSE(key_key::decode(key.encode() + '\0'));
  }
  auto bytes = keys[1].encode();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(key_key::decode(bytes.substr(0, size)));
  bytes.front() = 'S';
  EXPECT_FALSE(key_key::decode(bytes));
}

TEST(HistoryKey, DecodesOnlyWhatItEncoded) {
  auto key = history_key{shard_id{0x0102}, 0x0304, 31};
  auto bytes = key.encode();

  EXPECT_EQ(history_key::decode(bytes), key);
  EXPECT_FALSE(history_key::decode({}));
  EXPECT_FALSE(history_key::decode(bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(history_key::decode(bytes + '\0'));
  bytes.front() = 'S';
  EXPECT_FALSE(history_key::decode(bytes));
}

TEST(HistoryKey, RangeHoldsATask) {
  auto shard = shard_id{3};

  for (int slot : {0, 1, 31}) {
    history_key key{shard, 9, static_cast<std::uint8_t>(slot)};
    EXPECT_TRUE(history_of(shard, 9).contains(key.encode()));
    EXPECT_FALSE(history_of(shard, 8).contains(key.encode()));
    EXPECT_FALSE(history_of(shard, 10).contains(key.encode()));
  }
}

TEST(StoreKey, DecodesOnlyWhatItEncoded) {
  EXPECT_TRUE(store_key::decode(store_key{}.encode()));
  EXPECT_FALSE(store_key::decode("M"));
  EXPECT_FALSE(store_key::decode("Mstored"));
}

TEST(Keyspace, BytesOfEveryKindAreAsDocumented) {
  auto number = std::string("\x01\x02\0\0\0\0\0\0\x03\x04", 10);

  EXPECT_EQ(store_key{}.encode(), "Mstore");
  EXPECT_EQ(shard_key{shard_id{0x0102}}.encode(), "C\x01\x02");
  EXPECT_EQ((segment_key{shard_id{0x0102}, 0x0304}.encode()), "S" + number);
  EXPECT_EQ((aside_key{shard_id{0x0102}, 0x0304}.encode()), "A" + number);
  EXPECT_EQ((grant_key{shard_id{0x0102}, 0x0304}.encode()), "G" + number);
  EXPECT_EQ((outcome_key{shard_id{0x0102}, 0x0304}.encode()), "R" + number);
  EXPECT_EQ((block_key{shard_id{0x0102}, 0x0304}.encode()), "B" + number);
  EXPECT_EQ((fate_key{shard_id{0x0102}, 0x0304}.encode()), "F" + number);
  EXPECT_EQ((copied_fate_key{shard_id{0x0102}, 0x0304}.encode()), "D" + number);
  EXPECT_EQ((dead_key{shard_id{0x0102}, 0x0304}.encode()), "X" + number);
  EXPECT_EQ((change_key{shard_id{0x0102}, 0x0304}.encode()), "E" + number);
  EXPECT_EQ((body_key{shard_id{0x0102}, 0x0304}.encode()), "P" + number);
  EXPECT_EQ((checkpoint_key{shard_id{0x0102}, 0x0304}.encode()), "V" + number);
  EXPECT_EQ((headers_key{shard_id{0x0102}, 0x0304}.encode()), "W" + number);
  EXPECT_EQ((history_key{shard_id{0x0102}, 0x0304, 0x1f}.encode()), "H" + number + "\x1f");
  EXPECT_EQ(
    (audit_key{shard_id{0x0102}, 0x0304, 0x05, 0x06}.encode()),
    "J" + number + std::string(7, '\0') + "\x05" + std::string(7, '\0') + "\x06");
  key_key name{shard_id{0x0102}, {{"te", "q"}, "", "key"}};
  EXPECT_EQ(name.encode(), std::string("K\x01\x02\0\2te\0\1q\0\0\0\3key", 17));
  EXPECT_EQ((follow_up_key{shard_id{0x0102}, 0x0304}.encode()), "U" + number);
  EXPECT_EQ(boot_key{}.encode(), "Mboot");
  EXPECT_EQ(replica_key{shard_id{0x0102}}.encode(), std::string("Y\x01\x02\0", 4));
  EXPECT_EQ(replica_position_key{shard_id{0x0102}}.encode(), "Y\x01\x02\x01");
  EXPECT_EQ(
    (epoch_start_key{shard_id{0x0102}, 0x0304}.encode()),
    std::string("Y\x01\x02\x02\0\0\x03\x04", 8));
}

TEST(ReplicaKeys, DecodeOnlyWhatTheyEncoded) {
  const epoch_start_key start{shard_id{7}, 9};
  const auto replica = replica_key{shard_id{7}}.encode();
  const auto position = replica_position_key{shard_id{7}}.encode();

  EXPECT_EQ(epoch_start_key::decode(start.encode()), start);
  EXPECT_EQ(replica_key::decode(replica), replica_key{shard_id{7}});
  EXPECT_EQ(replica_position_key::decode(position), replica_position_key{shard_id{7}});
  EXPECT_FALSE(replica_key::decode(position));
  EXPECT_FALSE(replica_position_key::decode(replica));
  EXPECT_FALSE(epoch_start_key::decode(replica));
  EXPECT_FALSE(replica_key::decode(replica + '\0'));
  EXPECT_FALSE(store_key::decode(boot_key{}.encode()));
}

TEST(DataOfAShard, IsAllThatItsReplicasHaveInCommon) {
  const shard_id shard{0x01ff};
  const auto ranges = data_of(shard);
  const auto has = [&](const std::string& key) {
    const auto is_in = [&](const key_range& range) { return range.contains(key); };
    const auto found = std::any_of(ranges.begin(), ranges.end(), is_in);
    EXPECT_EQ(found, is_data_of(shard, key));
    return found;
  };

  EXPECT_TRUE(has(shard_key{shard}.encode()));
  EXPECT_TRUE(has(segment_key{shard, ~std::uint64_t{0}}.encode()));
  EXPECT_TRUE(has(queue_key{shard, {"t", "q"}}.encode()));
  EXPECT_TRUE(has(history_key{shard, 1, 2}.encode()));
  EXPECT_TRUE(has(schedule_key{shard, {"t", "s"}}.encode()));
  EXPECT_TRUE(has(progress_key{shard, {"t", "s"}}.encode()));
  EXPECT_TRUE(has(occurrence_key{shard, {"t", "s"}, 99}.encode()));
  EXPECT_FALSE(has(segment_key{shard_id{0x0200}, 0}.encode()));
  EXPECT_FALSE(has(store_key{}.encode()));
  EXPECT_FALSE(has(boot_key{}.encode()));
  EXPECT_FALSE(has(replica_key{shard}.encode()));
  EXPECT_FALSE(has(replica_position_key{shard}.encode()));
  EXPECT_FALSE(has("S"));
}

TEST(QueueKey, DecodesOnlyWhatItEncoded) {
  auto key = queue_key{shard_id{0x0102}, {"tenant", "queue"}};
  auto bytes = key.encode();

  EXPECT_EQ(bytes, std::string("Q\x01\x02tenant\0queue", 15));
  EXPECT_EQ(queue_key::decode(bytes), key);
  EXPECT_FALSE(queue_key::decode("Q\x01"));
  EXPECT_FALSE(queue_key::decode("Q\x01\x02tenant"));
  EXPECT_FALSE(queue_key::decode(bytes + '\0'));
  EXPECT_FALSE(queue_key::decode(std::string("Q\x01\x02\0queue", 9)));
  EXPECT_FALSE(queue_key::decode(std::string("Q\x01\x02tenant\0", 10)));
  EXPECT_FALSE(queue_key::decode(shard_key{shard_id{0x0102}}.encode()));
}

TEST(QueueKey, IsToldFromThatOfTheTotals) {
  auto key = totals_key{shard_id{0x0102}, {"tenant", "queue"}};
  auto bytes = key.encode();

  EXPECT_EQ(bytes, std::string("L\x01\x02tenant\0queue", 15));
  EXPECT_EQ(totals_key::decode(bytes), key);
  EXPECT_FALSE(queue_key::decode(bytes));
  EXPECT_FALSE(totals_key::decode(queue_key{key.shard, key.queue}.encode()));
  EXPECT_TRUE(totals_of(key.shard).contains(bytes));
  EXPECT_FALSE(queues_of(key.shard).contains(bytes));
}

TEST(QueueKey, RangeHoldsTheQueuesOfItsShard) {
  for (std::uint16_t shard : {std::uint16_t{0}, std::uint16_t{0xffff}}) {
    auto range = queues_of(shard_id{shard});
    auto next = shard_id{static_cast<std::uint16_t>(shard + 1)};
    EXPECT_TRUE(range.contains(queue_key{shard_id{shard}, {"-", "-"}}.encode()));
    EXPECT_TRUE(range.contains(queue_key{shard_id{shard}, {"zz", "zz"}}.encode()));
    EXPECT_FALSE(range.contains(queue_key{next, {"a", "b"}}.encode()));
    EXPECT_FALSE(range.contains(outcome_key{shard_id{shard}, 1}.encode()));
  }
}

TEST(Keyspace, RangeHoldsExactlyTheKeysOfItsKindAndShard) {
  constexpr auto last = ~std::uint64_t{0};

  for (std::uint16_t shard : {std::uint16_t{0}, std::uint16_t{0x00ff}, std::uint16_t{0xffff}}) {
    auto range = segments_of(shard_id{shard});
    EXPECT_TRUE(range.contains(segment_key{shard_id{shard}, 0}.encode()));
    EXPECT_TRUE(range.contains(segment_key{shard_id{shard}, last}.encode()));
    EXPECT_FALSE(range.contains(aside_key{shard_id{shard}, 1}.encode()));
    EXPECT_FALSE(range.contains(dead_key{shard_id{shard}, 1}.encode()));
    auto next = static_cast<std::uint16_t>(shard + 1);
    EXPECT_FALSE(range.contains(segment_key{shard_id{next}, 0}.encode()));
    auto before = static_cast<std::uint16_t>(shard - 1);
    EXPECT_FALSE(range.contains(segment_key{shard_id{before}, last}.encode()));
  }
}

TEST(Keyspace, EveryRangeIsOfItsOwnKind) {
  auto shard = shard_id{3};

  EXPECT_TRUE(asides_of(shard).contains(aside_key{shard, 9}.encode()));
  EXPECT_TRUE(grants_of(shard).contains(grant_key{shard, 9}.encode()));
  EXPECT_TRUE(outcomes_of(shard).contains(outcome_key{shard, 9}.encode()));
  EXPECT_TRUE(blocks_of(shard).contains(block_key{shard, 9}.encode()));
  EXPECT_TRUE(fates_of(shard).contains(fate_key{shard, 9}.encode()));
  EXPECT_TRUE(copied_fates_of(shard).contains(copied_fate_key{shard, 9}.encode()));
  EXPECT_TRUE(producers_of(shard).contains(producer_key{shard, {~0ull, ~0ull}}.encode()));
  EXPECT_FALSE(producers_of(shard).contains(producer_key{shard_id{4}, {}}.encode()));
  EXPECT_TRUE(changes_of(shard).contains(change_key{shard, 9}.encode()));
  EXPECT_TRUE(checkpoints_of(shard).contains(checkpoint_key{shard, 9}.encode()));
  EXPECT_TRUE(follow_ups_of(shard).contains(follow_up_key{shard, 9}.encode()));
}

TEST(Keyspace, RangeFromAPositionStartsAtIt) {
  auto shard = shard_id{3};

  EXPECT_FALSE(outcomes_of(shard, 10).contains(outcome_key{shard, 9}.encode()));
  EXPECT_TRUE(outcomes_of(shard, 10).contains(outcome_key{shard, 10}.encode()));
  EXPECT_FALSE(grants_of(shard, 10).contains(grant_key{shard, 9}.encode()));
  EXPECT_TRUE(grants_of(shard, 10).contains(grant_key{shard, 10}.encode()));
}

TEST(Keyspace, RangeUpToASequenceEndsWithIt) {
  auto shard = shard_id{3};

  EXPECT_TRUE(fates_up_to(shard, 10).contains(fate_key{shard, 0}.encode()));
  EXPECT_TRUE(fates_up_to(shard, 10).contains(fate_key{shard, 10}.encode()));
  EXPECT_FALSE(fates_up_to(shard, 10).contains(fate_key{shard, 11}.encode()));
}

TEST(Keyspace, RangeOfSegmentsMayBeginAtASequence) {
  auto shard = shard_id{3};

  EXPECT_TRUE(segments_of(shard, 10).contains(segment_key{shard, 10}.encode()));
  EXPECT_FALSE(segments_of(shard, 10).contains(segment_key{shard, 9}.encode()));
  EXPECT_TRUE(asides_of(shard, 10).contains(aside_key{shard, 10}.encode()));
  EXPECT_FALSE(asides_of(shard, 10).contains(aside_key{shard, 9}.encode()));
}

} // namespace
} // namespace codeq::storage
