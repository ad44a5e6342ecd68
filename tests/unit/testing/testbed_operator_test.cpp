// SPDX-License-Identifier: Apache-2.0
#include "codeq/testing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace codeq::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// A testbed whose handler of queue `q` gives `answer`, and an operator.
class TestbedOperator : public ::testing::Test {
protected:
  task_id enqueue(task_spec spec = {.queue = "q", .payload = {}}) {
    return bed().enqueue(spec).value().id;
  }

  task_state state_of(task_id task) { return bed().status(task).value().state; }

  testbed& bed() {
    if (!bed_) {
      handlers.handle("q", [this](const task&) { return answer; });
      bed_.emplace(handlers, testbed_options{.tenant = tenant});
    }
    return *bed_;
  }

  std::string tenant = "default";
  outcome answer = outcome::completed();
  handler_registry handlers;

private:
  std::optional<testbed> bed_;
};

TEST_F(TestbedOperator, SettingsOfAQueueHoldForItsTasks) {
  answer = outcome::failed("no");
  queue_config config;
  config.defaults.max_attempts = 1;

  auto info = bed().configure_queue("q", config);
  ASSERT_TRUE(info) << to_string(info.error());
  EXPECT_EQ(info->config, config);

  EXPECT_EQ(state_of(enqueue()), task_state::dead);
}

TEST_F(TestbedOperator, QueuesOfTheTestbedsTenantAreConfigured) {
  tenant = "shop";
  queue_config config;
  config.max_depth = 1;

  auto info = bed().configure_queue("other", config);
  ASSERT_TRUE(info) << to_string(info.error());
  EXPECT_EQ(info->queue, (queue_address{"shop", "other"}));

  task_spec spec{.tenant = "shop", .queue = "other", .payload = {}};
  EXPECT_TRUE(bed().enqueue(spec));
  EXPECT_EQ(bed().enqueue(spec).error().code, errc::queue_full);
}

TEST_F(TestbedOperator, SettingsOutOfBoundsAreRefused) {
  queue_config config;
  config.defaults.max_attempts = limits::attempts_max + 1;
  EXPECT_EQ(bed().configure_queue("q", config).error().code, errc::invalid_argument);
  EXPECT_EQ(bed().configure_queue("no such", {}).error().code, errc::invalid_argument);

  config = {};
  config.keep_payload = true;
  EXPECT_EQ(bed().configure_queue("q", config).error().code, errc::unsupported);
}

TEST_F(TestbedOperator, DeadTaskIsRedriven) {
  answer = outcome::failed_permanently("no");
  auto task = enqueue();
  answer = outcome::completed("yes");

  auto changed = bed().change(task, task_change::redrive);

  EXPECT_EQ(changed.value().what, change_result::changed);
  EXPECT_EQ(changed.value().id, task);
  EXPECT_EQ(bed().status(task).value().result, "yes");
}

TEST_F(TestbedOperator, WaitingTaskIsPromotedIfItAllowsThat) {
  auto guarded = enqueue({.queue = "q", .payload = {}, .delay = 1h});
  auto allows = enqueue({.queue = "q", .payload = {}, .delay = 1h, .allow_promotion = true});

  EXPECT_EQ(bed().change(guarded, task_change::promote).value().what, change_result::guarded);
  EXPECT_EQ(bed().change(allows, task_change::promote).value().what, change_result::changed);

  EXPECT_EQ(state_of(guarded), task_state::scheduled);
  EXPECT_EQ(state_of(allows), task_state::completed);
}

TEST_F(TestbedOperator, ExplainsWhyATaskDoesNotRun) {
  answer = outcome::nack(1min, "not yet");
  auto retried = enqueue();
  auto unserved = enqueue({.queue = "other", .payload = {}});

  auto why = bed().explain(retried);
  ASSERT_TRUE(why) << to_string(why.error());
  EXPECT_EQ(why->reason, task_reason::retry_waiting);
  EXPECT_EQ(why->until, bed().now() + 1min);
  EXPECT_EQ(why->error_text, "not yet");
  EXPECT_EQ(bed().explain(unserved).value().reason, task_reason::no_worker);
}

TEST_F(TestbedOperator, UnknownTaskIsAnError) {
  task_id unknown{shard_id{}, 99};

  EXPECT_EQ(bed().explain(unknown).error().code, errc::unknown_task);
  EXPECT_EQ(bed().change(unknown, task_change::cancel).error().code, errc::unknown_task);
}

} // namespace
} // namespace codeq::testing
