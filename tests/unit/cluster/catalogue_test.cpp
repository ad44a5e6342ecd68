// SPDX-License-Identifier: Apache-2.0
#include "cluster/catalogue.hpp"

#include "cluster/record_json.hpp"

#include <gtest/gtest.h>

namespace codeq::cluster {
namespace {

using replication::replica_id;

shard_record shard_of(std::uint64_t version) {
  shard_record shard;
  shard.value.version = version;
  shard.value.epoch = 1;
  shard.value.primary = replica_id{1};
  shard.value.in_sync = shard.value.replicas = {replica_id{1}};
  shard.nodes = {{replica_id{1}, "a"}};
  shard.wanted = {"a"};
  return shard;
}

node_record node_at(const std::string& address) {
  node_record node;
  node.version = 1;
  node.address = address;
  return node;
}

class CatalogueTest : public testing::Test {
protected:
  catalogue::change note(
    const std::string& key, std::optional<std::string> value, std::uint64_t modified) {
    return known_.note({key, std::move(value), modified});
  }

  catalogue_keys keys_{"c"};
  catalogue known_{keys_};
  std::string shard_key_ = keys_.shard(shard_id{1});
  std::string node_key_ = keys_.node("a");
};

TEST_F(CatalogueTest, ShardIsReplacedByANewerVersionOnly) {
  EXPECT_TRUE(note(shard_key_, encode(shard_of(5)), 10));
  EXPECT_FALSE(note(shard_key_, encode(shard_of(5)), 10)) << "told twice";
  EXPECT_FALSE(note(shard_key_, encode(shard_of(4)), 9)) << "told late";
  EXPECT_FALSE(note(shard_key_, encode(shard_of(3)), 12)) << "an earlier value, rewound";
  EXPECT_TRUE(note(shard_key_, encode(shard_of(6)), 13));
  EXPECT_EQ(known_.shards().at(shard_id{1}).record.value.version, 6u);
  EXPECT_EQ(known_.shards().at(shard_id{1}).bytes, encode(shard_of(6)));
}

TEST_F(CatalogueTest, NodeComesAndGoes) {
  EXPECT_TRUE(note(node_key_, encode(node_at("x")), 5));
  EXPECT_TRUE(note(node_key_, std::nullopt, 7));
  EXPECT_FALSE(note(node_key_, encode(node_at("x")), 5)) << "told late, after its end";
  EXPECT_TRUE(known_.nodes().empty());
  EXPECT_TRUE(note(node_key_, encode(node_at("y")), 8));
  EXPECT_EQ(known_.nodes().at("a").record.address, "y");
}

TEST_F(CatalogueTest, CompleteListEndsWhatIsNotInIt) {
  note(node_key_, encode(node_at("x")), 5);
  note(keys_.node("b"), encode(node_at("y")), 9);
  note(shard_key_, encode(shard_of(5)), 6);
  etcd::range_answer all;
  all.at.revision = 8;
  all.found = {{shard_key_, encode(shard_of(5)), 6}};

  const auto changed = known_.note_all(all);

  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0], catalogue_keys::parsed(catalogue_keys::node_key{"a"}));
  EXPECT_TRUE(known_.nodes().contains("b")) << "it came after the list was made";
  EXPECT_EQ(known_.count(), 2u);
}

TEST_F(CatalogueTest, UnreadableValueIsNamedAndTheOldOneStays) {
  note(shard_key_, encode(shard_of(5)), 10);
  EXPECT_FALSE(note(shard_key_, "{}", 11));
  EXPECT_EQ(
    known_.unreadable().at(shard_key_),
    "etcd key /codeq/c/shards/1: field format is missing");
  EXPECT_EQ(known_.shards().at(shard_id{1}).record.value.version, 5u);
  EXPECT_TRUE(note(shard_key_, encode(shard_of(6)), 12));
  EXPECT_TRUE(known_.unreadable().empty());
}

TEST_F(CatalogueTest, KeysOfOthersAreCountedAndLeftAlone) {
  EXPECT_FALSE(note("/codeq/c/new", "x", 3));
  EXPECT_EQ(known_.count(), 1u);
}

} // namespace
} // namespace codeq::cluster
