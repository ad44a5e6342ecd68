// SPDX-License-Identifier: Apache-2.0
#include "http/desk/recent_leases.hpp"

#include <gtest/gtest.h>

namespace codeq::http {
namespace {

std::shared_ptr<const caller> worker(const std::string& tenant, const std::string& subject) {
  caller made;
  made.tenant = tenant;
  made.subject = subject;
  return std::make_shared<const caller>(made);
}

TEST(RecentLeases, AreTakenOnceByTheirHolderAlone) {
  recent_leases leases;
  auto holder = worker("acme", "w1");
  task_id task{shard_id{1}, 7};
  leases.note({task, fencing_token{3}, "q", holder});

  EXPECT_FALSE(leases.take(task, *worker("acme", "w2")));
  EXPECT_FALSE(leases.take(task, *worker("other", "w1")));
  EXPECT_FALSE(leases.take({shard_id{2}, 7}, *holder));
  auto lease = leases.take(task, *worker("acme", "w1"));
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->token, fencing_token{3});
  EXPECT_FALSE(leases.take(task, *holder));
}

TEST(RecentLeases, TokenThatLostItsQueueTakesNone) {
  recent_leases leases;
  auto holder = worker("acme", "w1");
  task_id task{shard_id{1}, 7};
  leases.note({task, fencing_token{3}, "q", holder});
  auto limited = *holder;
  limited.all_queues = false;
  limited.queues = {"other"};

  EXPECT_FALSE(leases.take(task, limited));
  EXPECT_TRUE(leases.take(task, *holder));
}

TEST(RecentLeases, NewerOneTakesThePlaceOfAnother) {
  recent_leases leases;
  auto holder = worker("acme", "w1");
  task_id first{shard_id{0}, 1};
  task_id second{shard_id{0}, 1 + limits::http_recent_leases_max};
  leases.note({first, fencing_token{1}, "q", holder});
  leases.note({second, fencing_token{2}, "q", holder});

  EXPECT_FALSE(leases.take(first, *holder));
  EXPECT_TRUE(leases.take(second, *holder));
}

} // namespace
} // namespace codeq::http
