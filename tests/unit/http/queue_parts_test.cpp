// SPDX-License-Identifier: Apache-2.0
#include "http/json/task_fields.hpp"
#include "http/routes/queue_parts.hpp"

#include <gtest/gtest.h>

namespace codeq::http {
namespace {

new_settings settings_after_vip(const queue_info& before) {
  auto body = input::read(
    R"({"maxDepth":8,"fairnessWeights":[{"fairnessKey":"vip","fairnessWeight":5}]})",
    {settings_fields});
  EXPECT_TRUE(body) << body.error().context;
  return settings_after(before, *body);
}

TEST(QueueParts, SettingsChangeWeightsOneByOne) {
  queue_info before;
  before.config.fairness_weights = {{"other", 2}};

  auto after = settings_after_vip(before);

  EXPECT_EQ(8u, after.config.max_depth);
  EXPECT_EQ((weight_changes{{"vip", 5}}), after.weights);
}

TEST(QueueParts, SettingsGiveShardsThatDifferTheSameWeights) {
  queue_info before;
  before.config.fairness_weights = {{"other", 2}};
  before.differing = {shard_id{1}};

  auto after = settings_after_vip(before);

  EXPECT_EQ(std::nullopt, after.weights);
  EXPECT_EQ((weight_changes{{"other", 2}, {"vip", 5}}), after.config.fairness_weights);
}

} // namespace
} // namespace codeq::http
