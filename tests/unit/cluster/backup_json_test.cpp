// SPDX-License-Identifier: Apache-2.0
#include "cluster/backup/backup_json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::cluster {
namespace {

cluster_backup two_shards() {
  return {
    "c",
    0xfedcba9876543210,
    {{"c1", 4, 4096, 7}, {"c2", 6, 8192, 9}},
    {{shard_id{0}, 3, 42}, {shard_id{1}, 2, 17}}};
}

std::string without(std::string text, const std::string& part, const std::string& other) {
  return text.replace(text.find(part), part.size(), other);
}

TEST(BackupJson, IsReadAsItWasWritten) {
  auto read = decode_backup(encode(two_shards()));

  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(*read, two_shards());
}

TEST(BackupJson, NamesTheFieldThatIsWrong) {
  const auto text = encode(two_shards());

  for (const auto* field : {"cluster", "run", "coordinators", "shards", "node", "position"}) {
    const auto name = std::string("\"") + field + "\"";
    auto read = decode_backup(without(text, name, "\"other\""));
    ASSERT_FALSE(read) << field;
    EXPECT_EQ(read.error().code, errc::corruption);
    EXPECT_NE(read.error().context.find(field), std::string::npos) << read.error().context;
  }
}

TEST(BackupJson, ShardThatIsMissingIsNamed) {
  auto backup = two_shards();
  backup.shards.erase(backup.shards.begin());

  auto read = decode_backup(encode(backup));

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().context, "field shards has no shard 0 in its place");
}

TEST(BackupJson, TextThatIsNoObjectIsRefused) {
  EXPECT_FALSE(decode_backup(""));
  EXPECT_FALSE(decode_backup("[]"));
  EXPECT_FALSE(decode_backup(encode(two_shards()).substr(0, 40)));
}

} // namespace
} // namespace codeq::cluster
