// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/claim_router.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace codeq::coordinator {
namespace {

constexpr shard_id shard(std::uint16_t n) {
  return static_cast<shard_id>(n);
}

std::string say(const claim_router::moves& moves) {
  std::string text;
  for (const auto& move : moves) {
    text += text.empty() ? "" : " ";
    text += move.what == claim_router::move::kind::claim ? "claim" : "revoke";
    text += std::to_string(value(move.shard)) + "x" + std::to_string(move.credits);
  }
  return text;
}

TEST(ClaimRouter, SpreadsIdleCreditsOverAllShards) {
  claim_router router(4);

  EXPECT_EQ(say(router.add_credits(8)), "claim0x2 claim1x2 claim2x2 claim3x2");
}

TEST(ClaimRouter, PlacesNewCreditsWhereWorkIs) {
  claim_router router(2);
  EXPECT_EQ(say(router.has_work(shard(1))), "");

  EXPECT_EQ(say(router.add_credits(4)), "claim1x4");
}

TEST(ClaimRouter, FetchesIdleCreditsForAShardThatHasWork) {
  claim_router router(2);
  EXPECT_EQ(say(router.add_credits(1)), "claim0x1");
  EXPECT_EQ(say(router.has_work(shard(1))), "revoke0x1");

  EXPECT_EQ(say(router.returned(shard(0), 1)), "claim1x1");
}

TEST(ClaimRouter, AsksForCreditsBackOnlyOnce) {
  claim_router router(3);
  EXPECT_EQ(say(router.add_credits(1)), "claim0x1");
  EXPECT_EQ(say(router.has_work(shard(1))), "revoke0x1");

  EXPECT_EQ(say(router.has_work(shard(2))), "");
}

TEST(ClaimRouter, DoesNotAskAgainForCreditsThatAreOnTheirWayWithTasks) {
  claim_router router(2);
  EXPECT_EQ(say(router.add_credits(1)), "claim0x1");
  EXPECT_EQ(say(router.has_work(shard(1))), "revoke0x1");

  EXPECT_EQ(say(router.returned(shard(0), 0)), "");
  EXPECT_EQ(say(router.has_work(shard(1))), "");
  EXPECT_EQ(say(router.granted(shard(0), 1, std::nullopt)), "");
  EXPECT_EQ(say(router.add_credits(1)), "claim1x1");
}

TEST(ClaimRouter, AsksAgainForCreditsThatWereAddedMeanwhile) {
  claim_router router(2);
  EXPECT_EQ(say(router.add_credits(2)), "claim0x1 claim1x1");
  EXPECT_EQ(say(router.pause(true)), "revoke0x1 revoke1x1");
  EXPECT_EQ(say(router.pause(false)), "");
  EXPECT_EQ(say(router.add_credits(2)), "claim0x1 claim1x1");
  EXPECT_EQ(say(router.pause(true)), "");

  EXPECT_EQ(say(router.returned(shard(0), 0)), "revoke0x2");
  EXPECT_EQ(say(router.returned(shard(0), 1)), "");
}

TEST(ClaimRouter, LateTasksDoNotHideWorkThatCameMeanwhile) {
  claim_router router(3);
  EXPECT_EQ(say(router.add_credits(3)), "claim0x1 claim1x1 claim2x1");
  EXPECT_EQ(say(router.drained(shard(0))), "");
  EXPECT_EQ(say(router.has_work(shard(0))), "");

  EXPECT_EQ(say(router.granted(shard(0), 1, std::nullopt)), "revoke1x1 revoke2x1");

  EXPECT_EQ(say(router.returned(shard(1), 1)), "claim0x1");
}

TEST(ClaimRouter, LateTasksDoNotRecallWorkThatIsDone) {
  claim_router router(2);
  EXPECT_EQ(say(router.has_work(shard(0))), "");
  EXPECT_EQ(say(router.add_credits(2)), "claim0x2");
  EXPECT_EQ(say(router.drained(shard(0))), "");
  EXPECT_EQ(say(router.granted(shard(0), 1, std::nullopt)), "");

  EXPECT_EQ(say(router.has_work(shard(1))), "revoke0x1");
}

TEST(ClaimRouter, SpreadsAgainWhenTheWorkIsDone) {
  claim_router router(2);
  EXPECT_EQ(say(router.has_work(shard(0))), "");
  EXPECT_EQ(say(router.add_credits(2)), "claim0x2");
  EXPECT_EQ(say(router.granted(shard(0), 2, false)), "");

  EXPECT_EQ(say(router.add_credits(2)), "claim0x1 claim1x1");
}

TEST(ClaimRouter, TakesEverythingBackWhilePaused) {
  claim_router router(2);
  EXPECT_EQ(say(router.add_credits(4)), "claim0x2 claim1x2");
  EXPECT_EQ(say(router.pause(true)), "revoke0x2 revoke1x2");
  EXPECT_EQ(say(router.returned(shard(0), 2)), "");

  EXPECT_EQ(say(router.returned(shard(1), 2)), "");
  EXPECT_EQ(say(router.pause(false)), "claim0x2 claim1x2");
}

TEST(ClaimRouter, MovesCreditsToTheShardWithTheBetterTask) {
  claim_router router(3);
  EXPECT_EQ(say(router.has_work(shard(0))), "");
  EXPECT_EQ(say(router.add_credits(2)), "claim0x2");

  EXPECT_EQ(say(router.outranked(shard(0), 2, shard(2), 3)), "claim2x2");
  EXPECT_EQ(say(router.granted(shard(2), 2, true, 4)), "");
  EXPECT_EQ(say(router.add_credits(1)), "claim2x1");
}

TEST(ClaimRouter, MovesCreditsBackOnceTheBetterTasksAreGranted) {
  claim_router router(2);
  EXPECT_EQ(say(router.has_work(shard(0))), "");
  EXPECT_EQ(say(router.add_credits(2)), "claim0x2");
  EXPECT_EQ(say(router.outranked(shard(0), 2, shard(1), 3)), "claim1x2");
  EXPECT_EQ(say(router.granted(shard(1), 1, true, 4)), "");

  EXPECT_EQ(say(router.granted(shard(1), 1, true, 3)), "");

  EXPECT_EQ(say(router.add_credits(2)), "claim0x1 claim1x1");
}

TEST(ClaimRouter, FetchesCreditsFromAShardThatIsDrainedMeanwhile) {
  claim_router router(2);
  EXPECT_EQ(say(router.has_work(shard(0))), "");
  EXPECT_EQ(say(router.add_credits(1)), "claim0x1");
  EXPECT_EQ(say(router.outranked(shard(0), 1, shard(1), 5)), "claim1x1");

  EXPECT_EQ(say(router.drained(shard(1))), "revoke1x1");
  EXPECT_EQ(say(router.returned(shard(1), 1)), "claim0x1");
}

TEST(ClaimRouter, ShardsThatAreBothOutrankedGetCreditsAllTheSame) {
  claim_router router(2);
  EXPECT_EQ(say(router.has_work(shard(0))), "");
  EXPECT_EQ(say(router.add_credits(1)), "claim0x1");
  EXPECT_EQ(say(router.outranked(shard(0), 1, shard(1), 5)), "claim1x1");

  EXPECT_EQ(say(router.outranked(shard(1), 1, shard(0), 3)), "claim0x1");
  EXPECT_EQ(say(router.granted(shard(0), 1, false, 3)), "");
  EXPECT_EQ(say(router.add_credits(1)), "claim1x1");
}

TEST(ClaimRouter, BetterTasksOfAShardThatLeftHoldNothingUp) {
  claim_router router(3);
  EXPECT_EQ(say(router.has_work(shard(0))), "");
  EXPECT_EQ(say(router.add_credits(1)), "claim0x1");
  EXPECT_EQ(say(router.outranked(shard(0), 1, shard(1), 3)), "claim1x1");
  EXPECT_EQ(say(router.has_work(shard(2))), "");

  EXPECT_EQ(say(router.set_here(shard(1), false)), "claim2x1");
  EXPECT_EQ(say(router.add_credits(1)), "claim0x1");
}

TEST(ClaimRouter, KeepsCreditsFromAShardThatComesAfterOneOfAnotherCoordinator) {
  claim_router router(3);
  static_cast<void>(router.set_here(shard(2), false));
  static_cast<void>(router.has_work(shard(0)));
  static_cast<void>(router.has_work(shard(1)));
  EXPECT_EQ(say(router.add_credits(2)), "claim0x1 claim1x1");

  EXPECT_EQ(say(router.outranked(shard(0), 1, shard(2), 3)), "claim1x1");
  EXPECT_EQ(say(router.outranked(shard(1), 2, shard(2), 3)), "");
  EXPECT_EQ(router.credits(), 2u);
  EXPECT_EQ(router.waiting(), 0u);
  EXPECT_FALSE(router.is_starving(true)) << "the tasks here come later";

  EXPECT_EQ(say(router.has_work(shard(0))), "claim0x2");
}

TEST(ClaimRouter, ShardWhoseTaskComesFirstHereDoesNotWaitForAnotherCoordinatorAnyMore) {
  claim_router router(3);
  static_cast<void>(router.set_here(shard(2), false));
  static_cast<void>(router.has_work(shard(0)));
  EXPECT_EQ(say(router.add_credits(1)), "claim0x1");
  EXPECT_EQ(say(router.outranked(shard(0), 1, shard(2), 3)), "claim1x1");

  EXPECT_EQ(say(router.outranked(shard(1), 1, shard(0), 2)), "claim0x1");
}

TEST(ClaimRouter, GivesTheWorkerCreditsThatWaitForAnotherCoordinator) {
  claim_router router(2);
  static_cast<void>(router.set_here(shard(1), false));
  static_cast<void>(router.has_work(shard(0)));
  EXPECT_EQ(say(router.add_credits(2)), "claim0x2");
  EXPECT_EQ(say(router.outranked(shard(0), 2, shard(1), 3)), "");

  EXPECT_EQ(say(router.take_back(2)), "");
  EXPECT_FALSE(router.is_taking_back());
  EXPECT_EQ(router.take_returned(), 2u);
  EXPECT_EQ(router.credits(), 0u);
}

/// A router among shards that behave like the core: work comes and goes at random; messages in both
/// directions are queued and arrive late, in order.
class routed_shards {
public:
  explicit routed_shards(std::size_t count) : router(count), shards(count) {}

  void carry_out(const claim_router::moves& moves) {
    for (auto move : moves)
      to_shards.push_back([this, move] { receive(move); });
  }

  void add_work(std::size_t at, std::uint32_t tasks) {
    shards[at].ready += tasks;
    serve(at, false);
  }

  bool step() {
    auto& queue = to_shards.empty() ? to_router : to_shards;
    if (queue.empty())
      return false;
    auto message = std::move(queue.front());
    queue.pop_front();
    message();
    return true;
  }

  struct fake_shard {
    std::uint32_t ready = 0;
    std::uint32_t credits = 0;
    bool notified = false;
  };

  void receive(const claim_router::move& move) {
    auto at = value(move.shard);
    auto& s = shards[at];
    if (move.what == claim_router::move::kind::claim) {
      s.credits += move.credits;
      s.notified = false;
      return serve(at, true);
    }
    auto taken = std::min(s.credits, move.credits);
    s.credits -= taken;
    to_router.push_back([this, at, taken] { carry_out(router.returned(shard(at), taken)); });
    serve(at, false);
  }

  /// The shard of higher tasks, if the shard may not grant its own before them. The tasks of shard
  /// n have the priority n % 3.
  [[nodiscard]] std::optional<std::size_t> rival_of(std::size_t at) const {
    for (std::size_t i = 0; i < shards.size(); ++i)
      if (shards[i].ready > 0 && i % 3 > at % 3)
        return i;
    return std::nullopt;
  }

  void give_back(std::size_t at, std::size_t rival) {
    auto& s = shards[at];
    auto credits = std::exchange(s.credits, 0);
    s.notified = true;
    auto id = shard(static_cast<std::uint16_t>(at));
    auto by = shard(static_cast<std::uint16_t>(rival));
    auto priority = static_cast<int>(at % 3);
    to_router.push_back([this, id, credits, by, priority] {
      carry_out(router.outranked(id, credits, by, priority));
    });
  }

  void serve(std::size_t at, bool claimed) {
    auto& s = shards[at];
    if (auto rival = rival_of(at); rival && s.ready > 0 && s.credits > 0)
      return give_back(at, *rival);
    auto granted = std::min(s.ready, s.credits);
    s.ready -= granted;
    s.credits -= granted;
    running += granted;
    bool more = s.ready > 0;
    auto id = shard(static_cast<std::uint16_t>(at));
    if (granted > 0) {
      s.notified = more;
      to_router.push_back(
        [this, id, granted, more, priority = static_cast<int>(at % 3)] {
          carry_out(router.granted(id, granted, more, priority));
        });
    }
    if (claimed && s.credits > 0)
      to_router.push_back([this, id] { carry_out(router.drained(id)); });
    if (s.credits == 0 && more && !s.notified) {
      s.notified = true;
      to_router.push_back([this, id] { carry_out(router.has_work(id)); });
    }
  }

  claim_router router;
  std::vector<fake_shard> shards;
  std::uint32_t running = 0;
  std::deque<std::function<void()>> to_shards;
  std::deque<std::function<void()>> to_router;
};

TEST(ClaimRouter, NeverIdlesWhileWorkWaitsAndNeverClaimsTooMuch) {
  std::mt19937_64 random(test::choose_seed());
  auto below = [&](std::uint32_t n) {
    return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::uint32_t slots = 1 + below(20);
    routed_shards world(1 + below(8));
    world.carry_out(world.router.add_credits(slots));
    for (int i = 0; i < 200; ++i) {
      if (below(3) == 0)
        world.add_work(below(static_cast<std::uint32_t>(world.shards.size())), 1 + below(10));
      for (auto steps = below(4); steps > 0 && world.step(); --steps) {
      }
      if (world.running > 0 && below(2) == 0) {
        auto ended = 1 + below(world.running);
        world.running -= ended;
        world.carry_out(world.router.add_credits(ended));
      }
      ASSERT_LE(world.running, slots);
    }

    while (world.step()) {
    }
    std::uint32_t ready = 0;
    for (const auto& s : world.shards)
      ready += s.ready;

    ASSERT_TRUE(ready == 0 || world.running == slots)
      << "round " << round << ": " << ready << " tasks wait, " << world.running << " of " << slots
      << " slots work";
    ASSERT_EQ(world.router.credits() + world.running, slots);
  }
}

TEST(ClaimRouter, CreditsOfAShardThatLeavesArePlacedElsewhere) {
  claim_router router(3);
  EXPECT_EQ(say(router.add_credits(3)), "claim0x1 claim1x1 claim2x1");

  EXPECT_EQ(say(router.set_here(shard(1), false)), "claim0x1");
  EXPECT_EQ(say(router.add_credits(2)), "claim0x1 claim2x1");
  EXPECT_EQ(router.credits(), 5u);
}

TEST(ClaimRouter, CreditsWaitWhileNoShardIsHere) {
  claim_router router(2);
  EXPECT_EQ(say(router.set_here(shard(0), false)), "");
  EXPECT_EQ(say(router.set_here(shard(1), false)), "");
  EXPECT_EQ(say(router.add_credits(4)), "");

  EXPECT_EQ(say(router.set_here(shard(1), true)), "claim1x4");
}

TEST(ClaimRouter, WorkOfAShardThatLeftHoldsNoCreditsBack) {
  claim_router router(2);
  EXPECT_EQ(say(router.has_work(shard(1))), "");
  EXPECT_EQ(say(router.set_here(shard(1), false)), "");

  EXPECT_EQ(say(router.add_credits(2)), "claim0x2");
}

  TEST(ClaimRouter, ReturnsIdleCreditsToTheWorker) {
    claim_router router(2);
    EXPECT_EQ(say(router.add_credits(5)), "claim0x3 claim1x2");

    EXPECT_EQ(say(router.take_back(5)), "revoke0x3 revoke1x2");
    EXPECT_EQ(router.take_returned(), 0u);
    EXPECT_EQ(say(router.returned(shard(0), 3)), "");
    EXPECT_EQ(router.take_returned(), 3u);
    EXPECT_TRUE(router.is_taking_back());
    EXPECT_EQ(say(router.returned(shard(1), 1)), "");
    EXPECT_EQ(router.take_returned(), 1u);

    EXPECT_FALSE(router.is_taking_back());
    EXPECT_EQ(router.credits(), 1u);
  }

  TEST(ClaimRouter, KeepsCreditsWhereTasksWait) {
    claim_router router(2);
    EXPECT_EQ(say(router.add_credits(2)), "claim0x1 claim1x1");
    EXPECT_EQ(say(router.has_work(shard(0))), "");

    EXPECT_EQ(say(router.take_back(2)), "revoke1x1");
    EXPECT_EQ(say(router.returned(shard(1), 1)), "");

    EXPECT_EQ(router.take_returned(), 1u);
    EXPECT_FALSE(router.is_taking_back());
    EXPECT_EQ(say(router.granted(shard(0), 1, true)), "");
  }

  TEST(ClaimRouter, StarvesWhileTasksWaitWithoutCredits) {
    claim_router router(2);
    EXPECT_FALSE(router.is_starving(false));
    EXPECT_EQ(say(router.has_work(shard(0))), "");
    EXPECT_TRUE(router.is_starving(false));

    EXPECT_EQ(say(router.add_credits(1)), "claim0x1");
    EXPECT_TRUE(router.is_starving(true));
    EXPECT_FALSE(router.is_starving(false));
    EXPECT_EQ(say(router.drained(shard(0))), "");
    EXPECT_FALSE(router.is_starving(true));
  }

  TEST(ClaimRouter, DoesNotStarveWhileItIsPaused) {
    claim_router router(1);
    EXPECT_EQ(say(router.has_work(shard(0))), "");
    EXPECT_EQ(say(router.pause(true)), "");
    EXPECT_FALSE(router.is_starving(true));
  }

  TEST(ClaimRouter, PlacesCreditsOfAShardThatLeftElsewhere) {
    claim_router router(2);
    EXPECT_EQ(say(router.add_credits(2)), "claim0x1 claim1x1");
    EXPECT_EQ(say(router.set_here(shard(0), false)), "claim1x1");
    EXPECT_EQ(say(router.set_here(shard(1), false)), "");
    EXPECT_EQ(router.credits(), 2u);
    EXPECT_EQ(say(router.set_here(shard(0), true)), "claim0x2");
  }

TEST(ClaimRouter, ShardThatComesMayHaveToldOfItsWork) {
  claim_router router(2);
  EXPECT_EQ(say(router.set_here(shard(1), false)), "");
  EXPECT_EQ(say(router.add_credits(1)), "claim0x1");
  EXPECT_EQ(say(router.has_work(shard(1))), "");
  EXPECT_FALSE(router.is_starving(false));

  EXPECT_EQ(say(router.set_here(shard(1), true)), "revoke0x1");
  EXPECT_EQ(say(router.returned(shard(0), 1)), "claim1x1");
}

} // namespace
} // namespace codeq::coordinator
