// SPDX-License-Identifier: Apache-2.0
#include "worker/node/slot_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace codeq::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

served_queue queue_in(isolation where, const std::string& name = "q") {
  served_queue made;
  made.queue = name;
  made.run_in = where;
  return made;
}

served_queue keyed_queue_in(isolation where, const std::string& name) {
  auto made = queue_in(where, name);
  made.idle = duration{60'000};
  return made;
}

/// The handlers of a node; they are numbered from 1 in the order of their starts.
class SlotPool : public testing::Test {
protected:
  /// Starts a task; returns the handler that runs it.
  handler_number run(const std::string& queue = "q", const std::string& group = {}) {
    task made;
    made.queue = queue;
    made.group = group;
    made.token = fencing_token{++last_token};
    waiting_list one;
    one.emplace_back(lease_key{0, shard_id{}, made.token}, std::move(made));
    return pool.start(one).handler;
  }

  void finish(handler_number handler) { static_cast<void>(pool.finish(handler, now)); }

  /// Changes the queues; returns the handlers that end at once.
  std::vector<handler_number> configure(const std::vector<served_queue>& queues) {
    pool.configure(queues, 4);
    std::vector<handler_number> retired;
    for (auto handler : pool.handlers())
      if (pool.retire(handler))
        retired.push_back(handler);
    return retired;
  }

  const monotonic_time now{duration{1'000}};
  handler_number last_handler = 0;
  std::uint64_t last_token = 0;
  slot_pool pool{
    {queue_in(isolation::shared)},
    4,
    [this](const std::string&, const std::string&) { return ++last_handler; }};
};

TEST_F(SlotPool, IdleHandlerIsRetiredWhenTheIsolationOfItsQueueChanges) {
  auto first = run();
  finish(first);

  EXPECT_THAT(configure({queue_in(isolation::process)}), ElementsAre(first));

  EXPECT_NE(run(), first);
}

TEST_F(SlotPool, HandlerThatRunsIsRetiredWhenItHasFinished) {
  auto first = run();
  EXPECT_THAT(configure({queue_in(isolation::process)}), IsEmpty());
  finish(first);

  EXPECT_TRUE(pool.retire(first));

  EXPECT_NE(run(), first);
  EXPECT_FALSE(pool.retire(first)) << "it is not in the pool any more";
}

TEST_F(SlotPool, IdleHandlerIsKeptWhenOtherSettingsChange) {
  auto first = run();
  finish(first);
  auto narrow = queue_in(isolation::shared);
  narrow.slots = 1;

  EXPECT_THAT(configure({narrow}), IsEmpty());

  EXPECT_EQ(run(), first);
}

TEST_F(SlotPool, HandlerOfAGroupIsRetiredWhenItsQueueGetsAnIsolationBesideThatOfThePattern) {
  auto all = keyed_queue_in(isolation::shared, "print-*");
  configure({all});
  ASSERT_TRUE(pool.adopt("print-a"));
  auto first = run("print-a", "g");
  finish(first);

  EXPECT_THAT(
    configure({all, keyed_queue_in(isolation::thread, "print-a")}), ElementsAre(first));

  EXPECT_NE(run("print-a", "g"), first);
}

} // namespace
} // namespace codeq::worker
