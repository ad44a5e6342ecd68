// SPDX-License-Identifier: Apache-2.0
#include "cluster/record_json.hpp"

#include "cluster/catalogue_keys.hpp"

#include <gtest/gtest.h>

namespace codeq::cluster {
namespace {

using replication::replica_id;
using replication::shard_condition;

// Golden bytes of format 1, as they are in etcd: never change them, add others.

const std::string cluster_bytes =
  R"({"format":1,"version":7,"identity":"00000000000000ff","shards":12,"copies":3,)"
  R"("min_in_sync":2,"store_format":4,"settings_version":9,"drained":["a","b"]})";
const std::string node_bytes =
  R"({"format":1,"version":3,"incarnation":"fedcba9876543210","address":"10.0.0.1:7400",)"
  R"("http_address":"10.0.0.1:8080","zone":"rack-1","free_bytes":1000,"tasks":12,)"
  R"("store_format_max":4,"is_leaving":false})";
const std::string controller_bytes =
  R"({"format":1,"version":1,"node":"a","incarnation":"0000000000000005"})";
const std::string shard_bytes =
  R"({"format":1,"version":12,"epoch":5,"primary":"0000000000000001",)"
  R"("in_sync":["0000000000000001","0000000000000002"],"learners":["0000000000000003"],)"
  R"("replicas":{"0000000000000001":"a","0000000000000002":"b","0000000000000003":"c"},)"
  R"("min_in_sync":2,"state":"normal","wanted":["a","b","c"],"preferred":"b"})";

shard_record golden_shard() {
  shard_record shard;
  shard.value.version = 12;
  shard.value.epoch = 5;
  shard.value.primary = replica_id{1};
  shard.value.in_sync = {replica_id{1}, replica_id{2}};
  shard.value.replicas = {replica_id{1}, replica_id{2}, replica_id{3}};
  shard.value.min_in_sync = 2;
  shard.nodes = {{replica_id{1}, "a"}, {replica_id{2}, "b"}, {replica_id{3}, "c"}};
  shard.wanted = {"a", "b", "c"};
  shard.preferred = "b";
  return shard;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(ClusterRecords, AreWrittenAndReadAsTheirGoldenBytes) {
  cluster_record cluster{7, 0xFF, 12, 3, 2, 4, 9, {"a", "b"}, {}};
  EXPECT_EQ(encode(cluster), cluster_bytes);
  EXPECT_EQ(decode<cluster_record>(cluster_bytes).value(), cluster);

  node_record node{
    3,  0xFEDCBA9876543210, "10.0.0.1:7400", "10.0.0.1:8080", "rack-1", 1000,
    12, 4,                  false,           false,           {}};
  EXPECT_EQ(encode(node), node_bytes);
  EXPECT_EQ(decode<node_record>(node_bytes).value(), node);

  controller_record controller{1, "a", 5, {}};
  EXPECT_EQ(encode(controller), controller_bytes);
  EXPECT_EQ(decode<controller_record>(controller_bytes).value(), controller);

  EXPECT_EQ(encode(golden_shard()), shard_bytes);
  EXPECT_EQ(decode<shard_record>(shard_bytes).value(), golden_shard());
}

TEST(ClusterRecords, ShardTellsHowItsPrimaryCameToBe) {
  auto shard = golden_shard();
  shard.value.condition = shard_condition::loss_accepted;
  EXPECT_NE(encode(shard).find(R"("state":"loss_accepted")"), std::string::npos);
  EXPECT_EQ(decode<shard_record>(encode(shard)).value(), shard);
  shard.is_forced = true;
  EXPECT_NE(encode(shard).find(R"("state":"forced")"), std::string::npos);
  EXPECT_EQ(decode<shard_record>(encode(shard)).value(), shard);
}

TEST(ClusterRecords, KeepFieldsOfANewerVersion) {
  auto bytes = shard_bytes;
  bytes.pop_back();
  bytes += R"(,"a_list":[1,"x",{"y":true}],"zone":"east"})";

  auto shard = decode<shard_record>(bytes);

  ASSERT_TRUE(shard) << to_string(shard.error());
  EXPECT_EQ(encode(*shard), bytes);
  const auto next = with_value(*shard, elect(shard->value, replica_id{2}, {replica_id{2}}, 6));
  EXPECT_NE(encode(next).find(R"("a_list":[1,"x",{"y":true}],"zone":"east"})"), std::string::npos);
}

TEST(ClusterRecords, NewerFormatIsRefusedClearly) {
  const auto shard = decode<shard_record>(replaced(shard_bytes, "\"format\":1", "\"format\":2"));
  ASSERT_FALSE(shard);
  EXPECT_EQ(shard.error().code, errc::unsupported);
  EXPECT_EQ(
    shard.error().context,
    "written by a newer version of codeq: format 2, but 1 is known");
}

TEST(ClusterRecords, OnlyTheOneSpellingIsRead) {
  const std::pair<const char*, const char*> changes[] = {
    {"\"version\":12", "\"version\": 12"},
    {"\"version\":12,\"epoch\":5", "\"epoch\":5,\"version\":12"},
    {"\"version\":12", "\"version\":12.0"},
    {"0000000000000001", "000000000000000G"},
  };
  for (const auto& [what, by] : changes) {
    const auto shard = decode<shard_record>(replaced(shard_bytes, what, by));
    ASSERT_FALSE(shard) << by;
    EXPECT_EQ(shard.error().code, errc::corruption);
  }
}

TEST(ClusterRecords, RefusalNamesTheField) {
  const std::tuple<const char*, const char*, const char*> changes[] = {
    {"\"version\":12,", "", "field version is missing"},
    {"\"epoch\":5", "\"epoch\":-5", "field epoch is no number"},
    {"\"epoch\":5", "\"epoch\":4294967296", "field epoch is no number from 0 to 4294967295"},
    {"\"primary\":\"0000000000000001\"", "\"primary\":\"1\"", "field primary is no text of 16"},
    {"\"primary\":\"0000000000000001\"", "\"primary\":\"0000000000000003\"",
     "field primary is not in sync"},
    {"[\"0000000000000001\",\"0000000000000002\"]", "[\"0000000000000002\",\"0000000000000001\"]",
     "field in_sync is no ascending list"},
    {"[\"0000000000000001\",\"0000000000000002\"]", "[\"0000000000000001\",\"0000000000000009\"]",
     "field in_sync has an identity that is not among the replicas"},
    {"\"learners\":[\"0000000000000003\"]", "\"learners\":[]",
     "field learners are not the replicas"},
    {"\"0000000000000002\":\"b\"", "\"0000000000000002\":\"a\"", "two identities on one node"},
    {"\"0000000000000002\":\"b\"", "\"0000000000000002\":\"b/b\"", "field replicas is no list"},
    {"\"min_in_sync\":2", "\"min_in_sync\":0", "field min_in_sync is 0"},
    {"\"normal\"", "\"fine\"", "field state is not normal, loss_accepted or forced"},
    {"[\"a\",\"b\",\"c\"]", "[\"b\",\"a\"]", "field wanted is no ascending list"},
    {"\"preferred\":\"b\"", "\"preferred\":7", "field preferred is neither empty nor a name"},
  };
  for (const auto& [what, by, words] : changes) {
    const auto shard = decode<shard_record>(replaced(shard_bytes, what, by));
    ASSERT_FALSE(shard) << by;
    EXPECT_EQ(shard.error().code, errc::corruption);
    EXPECT_NE(shard.error().context.find(words), std::string::npos) << shard.error().context;
  }
  EXPECT_FALSE(decode<cluster_record>(replaced(cluster_bytes, "\"copies\":3", "\"copies\":4")));
  EXPECT_FALSE(
    decode<cluster_record>(replaced(cluster_bytes, "\"min_in_sync\":2", "\"min_in_sync\":4")));
  EXPECT_FALSE(decode<cluster_record>(replaced(cluster_bytes, "\"shards\":12", "\"shards\":0")));
  EXPECT_FALSE(decode<node_record>(replaced(node_bytes, "10.0.0.1:7400", "a\\nb")));
  EXPECT_FALSE(decode<controller_record>(""));
  EXPECT_FALSE(decode<controller_record>(std::string(100, '[')));
}

TEST(ClusterRecords, EveryOtherSpellingIsRefusedOrAnotherState) {
  const auto own = golden_shard();
  std::size_t other_states = 0;
  for (std::size_t at = 0; at < shard_bytes.size(); ++at)
    for (int c = 0; c < 256; ++c) {
      auto bytes = shard_bytes;
      bytes[at] = static_cast<char>(c);
      const auto shard = decode<shard_record>(bytes);
      if (!shard || bytes == shard_bytes)
        continue;
      ++other_states;
      ASSERT_FALSE(*shard == own) << bytes;
      ASSERT_EQ(encode(*shard), bytes);
    }
  EXPECT_GT(other_states, 100u);
}

TEST(ClusterRecords, LearnersAreTheReplicasThatAreNotInSync) {
  const auto shard = golden_shard();
  EXPECT_EQ(learners(shard), std::vector{replica_id{3}});
  EXPECT_EQ(node_of(shard, replica_id{3}), "c");
  EXPECT_EQ(node_of(shard, replica_id{4}), "");
  EXPECT_EQ(*replica_on(shard, "b"), replica_id{2});
  EXPECT_EQ(replica_on(shard, "d"), nullptr);
}

TEST(ClusterRecords, ReplicasComeAndGoAsLearners) {
  const auto more = with_replica(golden_shard(), replica_id{9}, "d");
  EXPECT_EQ(more.value.version, 13u);
  EXPECT_EQ(learners(more), (std::vector{replica_id{3}, replica_id{9}}));
  const auto less = without_replica(more, replica_id{3});
  EXPECT_EQ(less.value.version, 14u);
  EXPECT_EQ(learners(less), std::vector{replica_id{9}});
  EXPECT_TRUE(decode<shard_record>(encode(less)));
}

TEST(ClusterRecords, ForceEndsWithTheNextElection) {
  auto shard = golden_shard();
  shard.value.condition = shard_condition::loss_accepted;
  shard.is_forced = true;
  EXPECT_TRUE(with_value(shard, remove_member(shard.value, replica_id{2})).is_forced);
  const auto next = elect(shard.value, replica_id{2}, {replica_id{2}}, 6);
  EXPECT_FALSE(with_value(shard, next).is_forced);
}

TEST(ClusterRecords, WishForAPrimaryEndsWithTheNextElection) {
  const auto shard = golden_shard();
  ASSERT_FALSE(shard.preferred.empty());
  const auto fewer = remove_member(shard.value, replica_id{2});
  EXPECT_EQ(with_value(shard, fewer).preferred, shard.preferred);
  const auto next = elect(shard.value, replica_id{2}, {replica_id{2}}, 6);
  EXPECT_EQ(with_value(shard, next).preferred, "");
}

TEST(CatalogueKeys, NameTheirSubjects) {
  const catalogue_keys keys("prod");
  using parsed = catalogue_keys::parsed;
  EXPECT_EQ(keys.prefix(), "/codeq/prod/");
  EXPECT_EQ(keys.node("a.b"), "/codeq/prod/nodes/a.b");
  EXPECT_EQ(keys.shard(shard_id{17}), "/codeq/prod/shards/17");
  EXPECT_EQ(keys.parse("/codeq/prod/cluster"), parsed(catalogue_keys::cluster_key{}));
  EXPECT_EQ(keys.parse(keys.controller()), parsed(catalogue_keys::controller_key{}));
  EXPECT_EQ(keys.parse(keys.node("a.b")), parsed(catalogue_keys::node_key{"a.b"}));
  EXPECT_EQ(
    keys.parse(keys.shard(shard_id{1023})), parsed(catalogue_keys::shard_key{shard_id{1023}}));
  for (const char* other :
       {"/codeq/prod/", "/codeq/other/cluster", "/codeq/prod/nodes/", "/codeq/prod/nodes/a/b",
        "/codeq/prod/shards/", "/codeq/prod/shards/01", "/codeq/prod/shards/1024",
        "/codeq/prod/shards/-1", "/codeq/prod/shards/1x", "/codeq/prod/new"})
    EXPECT_EQ(keys.parse(other), parsed(catalogue_keys::other_key{})) << other;
}

TEST(ClusterRecords, RefusalOfTasksIsWrittenOnlyWhenThereIsOne) {
  auto node = decode<node_record>(node_bytes).value();
  node.refuses_tasks = true;
  const auto bytes = replaced(
    node_bytes, R"("is_leaving":false)", R"("is_leaving":false,"refuses_tasks":true)");

  EXPECT_EQ(encode(node), bytes);
  EXPECT_EQ(decode<node_record>(bytes).value(), node);
}

TEST(ClusterRecords, MoveOfAnOperatorIsWrittenOnlyWhenThereIsOne) {
  auto shard = golden_shard();
  shard.pinned = "b";
  const auto bytes =
    replaced(shard_bytes, R"("preferred":"b")", R"("preferred":"b","pinned":"b")");

  EXPECT_EQ(encode(shard), bytes);
  EXPECT_EQ(decode<shard_record>(bytes).value(), shard);
}

} // namespace
} // namespace codeq::cluster
