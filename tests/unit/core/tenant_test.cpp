// SPDX-License-Identifier: Apache-2.0
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// Workers, operators and settings belong to tenant `default`; `theirs` belongs to another tenant
/// that has a queue of the same name.
class Tenant : public shard_fixture {
protected:
  static enqueue_options theirs(enqueue_options options = {}) {
    options.tenant = "theirs";
    return options;
  }
};

TEST_F(Tenant, WorkersGetNothingOfAnother) {
  attach("w", {"q"});
  claim("w", 5);

  EXPECT_EQ(enqueue("q", 1, theirs({.priority = 9})), "p: enqueued 1");
  EXPECT_EQ(enqueue("q"), "p: enqueued 2; w: got 2/t1");

  EXPECT_EQ(advance(1h), "timer 2/t1 at 10000");
  EXPECT_EQ(state_of(1), "ready");
}

TEST_F(Tenant, KeysAreUnknownToAnother) {
  enqueue("q", 1, theirs({.delay = 1h, .allow_promotion = true, .key = "x"}));

  EXPECT_EQ(describe_key("q", "x"), "p: 0 is not here");
  EXPECT_EQ(promote_key("q", "x"), "p: not found 0 ready");
  EXPECT_EQ(cancel_key("q", "x"), "p: not found 0 ready");
  EXPECT_EQ(enqueue("q", 1, {.key = "x", .duplicate = on_duplicate::reject}), "p: enqueued 2");

  EXPECT_EQ(state_of(1), "scheduled");
  EXPECT_EQ(describe_key("q", "x"), "p: 2 is ready");
}

TEST_F(Tenant, GroupsOfOneHoldUpNobodyElse) {
  enqueue("q", 1, theirs({.group = "g"}));
  enqueue("q", 1, {.group = "g"});

  EXPECT_EQ(state_of(1), "ready");
  EXPECT_EQ(state_of(2), "ready");
}

TEST_F(Tenant, SettingsAreThoseOfItsOwnQueue) {
  configure("q", {.defaults = {.max_attempts = 9}, .max_depth = 1});
  enqueue("q");

  enqueue("q", 3, theirs({.left_to_queue = 0xff}));

  EXPECT_EQ(core::find_segment(state().segments, task(2))->settings.max_attempts, 5);
  EXPECT_EQ(enqueue("q"), "p: refused queue_full");
}

TEST_F(Tenant, PurgeOfOneLeavesTheOthersAlsoAfterARestart) {
  attach("w", {"q"});
  claim("w", 1);
  enqueue("q", 2);
  enqueue("q", 2, theirs());
  core::task_part all;
  all.filter.tenant = "theirs";
  all.limit = 100;

  EXPECT_EQ(change_many(core::bulk_kind::purge_all, all), "p: 2 changed");
  restart();

  EXPECT_EQ(describe("p", 1), "p: 1 is leased by w");
  EXPECT_EQ(describe("p", 2), "p: 2 is ready");
  EXPECT_EQ(describe("p", 3), "p: 3 is not here");
  EXPECT_EQ(state().purged->count({"default", "q"}), 0);
}

} // namespace
} // namespace codeq::test
