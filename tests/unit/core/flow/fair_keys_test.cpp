// SPDX-License-Identifier: Apache-2.0
#include "core/flow/fair_keys.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

TEST(FairKeys, FirstSlashSeparatesTheGroup) {
  fair_keys keys;
  auto bob = keys.take("acme/bob");
  auto ann = keys.take("acme/ann/x");
  auto acme = keys.take("acme");
  auto other = keys.take("other");
  auto empty = keys.take("");

  EXPECT_EQ(bob.group, ann.group);
  EXPECT_EQ(bob.group, acme.group);
  EXPECT_NE(bob.key, ann.key);
  EXPECT_NE(bob.group, other.group);
  EXPECT_NE(empty.group, other.group);
  EXPECT_EQ(keys.name_of(ann), "acme/ann/x");
}

TEST(FairKeys, KeyKeepsItsNumberWhileItHasLiveTasks) {
  fair_keys keys;
  auto first = keys.take("a");
  EXPECT_EQ(keys.take("a"), first);
  keys.drop(first);

  EXPECT_EQ(keys.take("a"), first);
  EXPECT_EQ(keys.size(), 1u);
}

TEST(FairKeys, ExpectedRunTimeIsTheMovingAverageOfTheKey) {
  fair_keys keys;
  auto a = keys.take("a");
  EXPECT_EQ(keys.cost_of(a), 1);

  keys.note(a, 80ms);
  EXPECT_EQ(keys.cost_of(a), 80);
  keys.note(a, 160ms);
  EXPECT_EQ(keys.cost_of(a), 90);
  for (int i = 0; i < 100; ++i)
    keys.note(a, 0ms);
  EXPECT_EQ(keys.cost_of(a), 1);
}

TEST(FairKeys, NewKeyIsExpectedToRunAsLongAsTheQueueDoes) {
  fair_keys keys;
  keys.note(keys.take("a"), 80ms);

  EXPECT_EQ(keys.cost_of(keys.take("b")), 80);
}

TEST(FairKeys, LargestCostIsThatOfTheKeysWithLiveTasks) {
  fair_keys keys;
  auto fast = keys.take("fast");
  auto slow = keys.take("slow", 2);
  EXPECT_EQ(keys.largest_cost(), 1);
  keys.note(fast, 8ms);
  EXPECT_EQ(keys.largest_cost(), 8) << "which is expected of the other one, too";
  keys.note(slow, 1000ms);
  keys.drop(slow);
  EXPECT_GE(keys.largest_cost(), 1000);
  fair_keys renumbered;
  (void)renumbered.adopt(keys, slow);
  EXPECT_GE(renumbered.largest_cost(), 1000);

  keys.drop(slow);
  EXPECT_EQ(keys.largest_cost(), 8);
  (void)keys.take("slow");
  EXPECT_GE(keys.largest_cost(), 1000);
  for (int i = 0; i < 100; ++i)
    keys.note(slow, 0ms);
  EXPECT_EQ(keys.largest_cost(), 8);
}

TEST(FairKeys, LargestCostIsAnEighthTooLargeAtMost) {
  for (int ms : {1, 7, 15, 16, 17, 31, 32, 1000, 3'600'000, 2'000'000'000}) {
    fair_keys keys;
    keys.note(keys.take("a"), duration{ms});

    EXPECT_GE(keys.largest_cost(), ms);
    EXPECT_LE(keys.largest_cost(), std::int64_t{ms} + ms / 8);
  }
}

TEST(FairKeys, IdleKeyIsRememberedUntilThereAreTooMany) {
  fair_keys keys;
  auto slow = keys.take("slow");
  keys.note(slow, 1s);
  keys.drop(slow);
  auto busy = keys.take("busy");
  for (std::size_t i = 1; i < fair_keys::idle_keys_max; ++i)
    keys.drop(keys.take("k" + std::to_string(i)));
  EXPECT_EQ(keys.cost_of(keys.take("slow")), 1000);
  keys.drop(keys.take("slow"));

  for (std::size_t i = 0; i < 3 * fair_keys::idle_keys_max; ++i)
    keys.drop(keys.take("group/" + std::to_string(i)));

  EXPECT_EQ(keys.name_of(busy), "busy");
  EXPECT_LE(keys.size(), fair_keys::idle_keys_max + 2);
}

TEST(FairKeys, KeyThatIsUsedAgainAndAgainStaysKnown) {
  fair_keys keys;
  keys.note(keys.take("a"), 500ms);
  keys.drop({0, 0});
  for (std::size_t i = 0; i < 5 * fair_keys::idle_keys_max; ++i)
    keys.drop(keys.take("a"));

  EXPECT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys.cost_of(keys.take("a")), 500);
}

} // namespace
} // namespace codeq::core
