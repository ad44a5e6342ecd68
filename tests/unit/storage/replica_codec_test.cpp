// SPDX-License-Identifier: Apache-2.0
#include "storage/keys/keyspace.hpp"
#include "storage/records/replica_codec.hpp"
#include "storage/replica/packed_writes.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace codeq::storage {
namespace {

using namespace std::chrono_literals;

constexpr shard_id shard{3};

std::string key(std::uint64_t number) {
  return segment_key{shard, number}.encode();
}

write_set some_writes() {
  write_set writes;
  writes.put(key(1), std::string("value\0", 6));
  writes.remove(key(2));
  writes.single_remove(key(3));
  writes.put(key(4), "");
  return writes;
}

delta some_delta(bool is_synced = false) {
  return {shard, {4, 18}, {2, 17}, pack(some_writes()), is_synced};
}

TEST(PackedWrites, AreReadBackInOrder) {
  const auto written = some_writes();

  const auto read = unpack(pack(written), shard);

  ASSERT_TRUE(read);
  ASSERT_EQ(read->operations().size(), written.operations().size());
  for (std::size_t i = 0; i < written.operations().size(); ++i) {
    EXPECT_EQ(read->operations()[i].what, written.operations()[i].what);
    EXPECT_EQ(read->operations()[i].key, written.operations()[i].key);
    EXPECT_EQ(read->operations()[i].value, written.operations()[i].value);
  }
  EXPECT_EQ(read->byte_size(), written.byte_size());
}

TEST(PackedWrites, OfKeysThatAreNotOfTheShardsDataAreRefused) {
  for (const auto& foreign :
       {segment_key{shard_id{4}, 1}.encode(),
        store_key{}.encode(),
        boot_key{}.encode(),
        replica_key{shard}.encode(),
        replica_position_key{shard}.encode(),
        std::string("S")}) {
    write_set writes;
    writes.put(foreign, "x");

    EXPECT_FALSE(unpack(pack(writes), shard)) << foreign;
  }
}

TEST(PackedWrites, ThatAreCutAreRefused) {
  write_set writes;
  writes.put(key(1), "value");
  const auto packed = pack(writes);

  for (std::size_t size = 1; size < packed.size(); ++size)
    EXPECT_FALSE(unpack(std::string_view(packed).substr(0, size), shard)) << size;
}

TEST(Delta, IsReadBack) {
  for (auto is_synced : {false, true}) {
    const auto written = some_delta(is_synced);

    const auto read = decode_delta(encode(written));

    ASSERT_TRUE(read);
    EXPECT_EQ(*read, written);
  }
}

TEST(Delta, ThatIsToBeSyncedIsSoForOtherReplicas) {
  const auto read = decode_entry(shard, encode(some_delta(true)));

  ASSERT_TRUE(read);
  EXPECT_TRUE(packed_of(*read)->is_synced());
  EXPECT_TRUE(packed_of(*read)->without_writes()->is_synced());
  EXPECT_EQ(encode(shard, *read), encode(some_delta(true)));
}

/// Flips each bit of the delta's bytes in turn.
void expect_refused_or_same(const delta& good) {
  const auto bytes = encode(good);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const auto read = decode_delta(damaged);
    // Some bits are padding.
    EXPECT_TRUE(!read || *read == good) << bit;
  }
}

TEST(Delta, WithAFlippedBitIsRefusedOrReadTheSame) {
  expect_refused_or_same(some_delta());
}

TEST(Delta, WithAHorizonThatIsDamagedIsRefused) {
  auto good = some_delta();
  good.horizon = pack(shard_horizon{shard, 9, timestamp{7h}, core::position_set({3, 5})});

  expect_refused_or_same(good);
}

TEST(Delta, TellsOtherReplicasTheHorizon) {
  packed_writes body(
    std::make_shared<const write_set>(some_writes()),
    false,
    std::make_shared<const shard_horizon>(
      shard_horizon{shard, 9, timestamp{7h}, core::position_set({3, 5})}));
  EXPECT_EQ(body.packed_horizon(), "");

  const auto told = body.tell_horizon();

  const auto kept = body.without_writes();
  EXPECT_EQ(kept->horizon(), nullptr);
  EXPECT_EQ(kept->byte_size(), body.packed().size() + told);
  const auto read = decode_entry(shard, encode(shard, {{4, 18}, {2, 17}, kept}));
  ASSERT_TRUE(read);
  const auto& horizon = packed_of(*read)->horizon();
  ASSERT_NE(horizon, nullptr);
  EXPECT_EQ(horizon->shard, shard);
  EXPECT_EQ(horizon->through, 9u);
  EXPECT_EQ(horizon->at, timestamp{7h});
  EXPECT_TRUE(horizon->is_held_known);
  EXPECT_EQ(horizon->held.all(), (std::vector<core::log_position>{3, 5}));
}

TEST(Delta, OfAnotherShardIsRefused) {
  EXPECT_TRUE(decode_entry(shard, encode(some_delta())));
  EXPECT_FALSE(decode_entry(shard_id{4}, encode(some_delta())));
}

TEST(Delta, ThatStartsAnEpochHasNoBody) {
  const replication::entry start{{5, 19}, {4, 18}, nullptr};

  const auto read = decode_entry(shard, encode(shard, start));

  ASSERT_TRUE(read);
  EXPECT_EQ(read->at, start.at);
  EXPECT_EQ(read->previous, start.previous);
  EXPECT_EQ(read->body, nullptr);
}

TEST(ReplicaRecords, AreReadBack) {
  const replica_record replica{replication::replica_id{77}, 5, true, true};
  const boot_record boot{"1-2-3", true, true};

  EXPECT_EQ(*decode_replica(encode(replica)), replica);
  EXPECT_EQ(*decode_boot(encode(boot)), boot);
  EXPECT_EQ(*decode_position(encode(replication::position{3, 9})), (replication::position{3, 9}));
  EXPECT_EQ(*decode_epoch_start(encode_epoch_start(12)), 12u);
  EXPECT_FALSE(decode_replica("damaged!"));
}

} // namespace
} // namespace codeq::storage
