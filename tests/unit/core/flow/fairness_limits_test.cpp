// SPDX-License-Identifier: Apache-2.0
#include "core/state/queue_fairness.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::test {
namespace {

class FairnessLimits : public shard_fixture {
protected:
  /// Enqueues a task for each of `count` keys that were not used before.
  std::string add_keys(std::size_t count) {
    std::vector<enqueue_options> tasks(count);
    for (auto& task : tasks)
      task.fairness.key = "key-" + std::to_string(next_++);
    return enqueue_all("q", tasks);
  }

  std::size_t active() {
    return state().find_queue({"default", "q"})->fair->keys().active();
  }

  std::size_t next_ = 0;
};

TEST_F(FairnessLimits, EnqueueOverTheMaximumNumberOfKeysIsRefused) {
  constexpr std::size_t part = 1000;
  for (std::size_t i = 0; i < limits::fairness_keys_max; i += part)
    add_keys(part);
  ASSERT_EQ(active(), limits::fairness_keys_max);

  EXPECT_NE(add_keys(1).find("queue_full"), std::string::npos);
  // Keys that are in use may have further tasks.
  EXPECT_EQ(enqueue("q", 1, {.fairness = {"key-0"}}).find("queue_full"), std::string::npos);
  cancel(1);
  EXPECT_EQ(active(), limits::fairness_keys_max);
}

} // namespace
} // namespace codeq::test
