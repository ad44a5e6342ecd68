// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "coordinator/task_batches.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace codeq::coordinator {
namespace {

/// One task per run, as tasks come that were given back.
std::vector<actors::tasks_for_peer> pack(std::size_t runs, std::size_t body_size) {
  std::vector<actors::tasks_for_peer> sent;
  task_batches batches(
    shard_id{3}, true, [&](actors::tasks_for_peer m) { sent.push_back(std::move(m)); });
  for (std::size_t i = 0; i < runs; ++i) {
    core::granted_run run;
    run.first = i + 1;
    run.count = 1;
    run.attempts = {2};
    run.queue = {
      std::string(limits::name_bytes_max, 't'), std::string(limits::name_bytes_max, 'q')};
    batches.add(std::move(run), test::encode_bodies(1, body_size));
  }
  batches.send();
  return sent;
}

TEST(TaskBatches, EachFitsAFrame) {
  for (std::size_t body_size : {std::size_t{8}, limits::segment_bytes_max, std::size_t{1} << 20}) {
    auto runs = body_size == 8 ? std::size_t{50'000} : std::size_t{100};

    auto sent = pack(runs, body_size);

    std::size_t count = 0;
    std::size_t largest = 0;
    for (const auto& m : sent) {
      count += m.count;
      largest = std::max(largest, m.frame.body.size());
    }
    EXPECT_EQ(count, runs);
    EXPECT_LE(largest, limits::frame_bytes_max) << "bodies of " << body_size;
  }
}

TEST(TaskBatches, FewTasksShareOneMessage) {
  auto sent = pack(10, 100);

  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].count, 10u);
  EXPECT_EQ(sent[0].shard, shard_id{3});
  EXPECT_TRUE(sent[0].redelivered);
}

TEST(TaskBatches, NothingIsSentForNothing) {
  EXPECT_TRUE(pack(0, 0).empty());
}

} // namespace
} // namespace codeq::coordinator
