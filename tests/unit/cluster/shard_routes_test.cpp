// SPDX-License-Identifier: Apache-2.0
#include "cluster/shard_routes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::cluster {
namespace {

constexpr shard_id s0{0};
constexpr shard_id s1{1};
constexpr shard_id s2{2};

using shards = std::vector<shard_id>;
using strings = std::vector<std::string>;
using links = std::vector<std::size_t>;

/// A place on a node whose address is its name and port 1.
shard_place place_on(const std::string& node, std::uint64_t version) {
  return {node, node + ":1", "", static_cast<std::uint32_t>(version), version};
}

map_news news_of(std::vector<map_news::item> items) {
  return {3, std::move(items)};
}

/// A client that knows the address of node a, which serves shards 0 and 1; b serves shard 2.
class ShardRoutes : public testing::Test {
protected:
  ShardRoutes() : routes({"a:1"}) {
    static_cast<void>(routes.take_up(0, "a"));
    first = *routes.take_places(
      0, news_of({{s0, place_on("a", 1)}, {s1, place_on("a", 1)}, {s2, place_on("b", 1)}}), {});
  }

  /// b is connected and tells its map; returns what that leads to.
  shard_routes::changes connect_b() {
    static_cast<void>(routes.take_up(1, "b"));
    return *routes.take_places(1, news_of({}), {});
  }

  /// Shard 0 is said to be nowhere; returns the number of pauses until it is asked for again.
  unsigned pauses_of_s0() {
    EXPECT_TRUE(routes.take_places(0, news_of({}), shards{s0})->retries);
    for (unsigned pauses = 1; pauses <= 2 * shard_routes::pauses_max; ++pauses) {
      const auto again = routes.retry();
      EXPECT_EQ(again.retries, again.resend.empty());
      if (!again.resend.empty())
        return pauses;
    }
    return 0;
  }

  shard_routes routes;
  shard_routes::changes first;
};

TEST_F(ShardRoutes, FirstMapIsReachedFromOneAddress) {
  EXPECT_EQ(first.dial, strings{"b:1"});
  EXPECT_EQ(first.resend, (shards{s0, s1}));
  EXPECT_EQ(routes.link_of(s1), 0u);
  EXPECT_EQ(routes.link_of(s2), std::nullopt);

  EXPECT_EQ(connect_b().resend, shards{s2});
  EXPECT_EQ(routes.link_of(s2), 1u);
}

TEST_F(ShardRoutes, CoordinatorAloneHasNoMap) {
  shard_routes alone({"x:1"});
  EXPECT_EQ(alone.take_up(0, ""), shard_routes::changes{});
  EXPECT_FALSE(alone.is_cluster());
  EXPECT_EQ(alone.link_of(s0), std::nullopt);
}

TEST_F(ShardRoutes, ShardThatMovesIsSentAgainToItsNewPlace) {
  connect_b();

  auto moved = routes.take_places(1, news_of({{s0, place_on("b", 2)}}), {});

  EXPECT_EQ(moved->resend, shards{s0});
  EXPECT_EQ(routes.link_of(s0), 1u);
  EXPECT_TRUE(routes.take_places(0, news_of({{s0, place_on("a", 1)}}), {})->resend.empty());
  EXPECT_EQ(routes.link_of(s0), 1u);
}

TEST_F(ShardRoutes, ShardHasMovedOnFromALinkOnceItsPlaceIsElsewhereInALaterEpoch) {
  connect_b();
  EXPECT_FALSE(routes.has_moved_on(s0, 0, 1)) << "it is served there";
  EXPECT_FALSE(routes.has_moved_on(s0, 1, 2)) << "news of that place is on its way";

  static_cast<void>(routes.take_places(1, news_of({{s0, place_on("b", 2)}}), {}));

  EXPECT_TRUE(routes.has_moved_on(s0, 0, 1));
  EXPECT_FALSE(routes.has_moved_on(s0, 1, 1)) << "what was granted before is told again there";
  routes.take_down(1);
  EXPECT_TRUE(routes.has_moved_on(s0, 0, 1)) << "also while its place is not reached";
}

TEST_F(ShardRoutes, NewEpochOfTheSamePlaceIsSentAgain) {
  EXPECT_EQ(routes.take_places(0, news_of({{s1, place_on("a", 2)}}), {})->resend, shards{s1});
  auto later = place_on("a", 3);
  later.epoch = 2;
  EXPECT_TRUE(routes.take_places(0, news_of({{s1, later}}), {})->resend.empty());
}

TEST_F(ShardRoutes, ConnectionThatComesBackIsNewToItsShards) {
  connect_b();
  routes.take_down(1);
  EXPECT_EQ(routes.link_of(s2), std::nullopt);

  EXPECT_TRUE(routes.take_up(1, "b").resend.empty());
  EXPECT_EQ(routes.link_of(s2), std::nullopt);
  EXPECT_EQ(routes.take_places(1, news_of({}), {})->resend, shards{s2});
}

TEST_F(ShardRoutes, NewEpochThatAConnectionTellsFirstIsSentAgainOnce) {
  connect_b();
  routes.take_down(1);
  static_cast<void>(routes.take_up(1, "b"));

  auto told = routes.take_places(1, news_of({{s2, place_on("b", 2)}}), {});

  EXPECT_EQ(told->resend, shards{s2});
}

TEST_F(ShardRoutes, ShardThatIsNowhereIsTriedAgainUntilItsPlaceIsKnown) {
  const shards not_here{s0};
  auto told = routes.take_places(0, news_of({}), not_here);
  EXPECT_TRUE(told->retries);
  EXPECT_TRUE(told->resend.empty());
  EXPECT_EQ(routes.retry().resend, shards{s0});
  EXPECT_TRUE(routes.retry().resend.empty());

  static_cast<void>(routes.take_places(0, news_of({}), not_here));
  connect_b();
  EXPECT_EQ(routes.take_places(1, news_of({{s0, place_on("b", 2)}}), {})->resend, shards{s0});
  EXPECT_TRUE(routes.retry().resend.empty());
}

TEST_F(ShardRoutes, ShardThatStaysNowhereIsTriedAgainMoreAndMoreRarely) {
  for (unsigned pauses : {1u, 2u, 4u, 8u, 16u, 20u, 20u})
    EXPECT_EQ(pauses_of_s0(), pauses);

  static_cast<void>(routes.take_places(0, news_of({{s0, place_on("a", 2)}}), {}));
  EXPECT_EQ(pauses_of_s0(), 1u) << "after a new epoch";
  EXPECT_EQ(pauses_of_s0(), 2u);

  routes.take_down(0);
  static_cast<void>(routes.take_up(0, "a"));
  static_cast<void>(routes.take_places(0, news_of({}), {}));
  EXPECT_EQ(pauses_of_s0(), 1u) << "after a new connection";
}

TEST_F(ShardRoutes, RefusalsOfSeveralMessagesAreOneReasonToPause) {
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(routes.take_places(0, news_of({}), shards{s0})->retries);

  EXPECT_EQ(routes.retry().resend, shards{s0});
  EXPECT_EQ(pauses_of_s0(), 2u);
}

TEST_F(ShardRoutes, ShardThatIsNowhereForTheFirstTimeIsNotHeldUpByOneThatStaysSo) {
  EXPECT_EQ(pauses_of_s0(), 1u);
  EXPECT_TRUE(routes.take_places(0, news_of({}), shards{s0, s1})->retries);

  const auto again = routes.retry();

  EXPECT_EQ(again.resend, shards{s1});
  EXPECT_TRUE(again.retries);
  EXPECT_EQ(routes.retry().resend, shards{s0});
}

TEST_F(ShardRoutes, ShardThatArrivesWhereItIsAwaitedIsSentAgainAtOnce) {
  const auto there = news_of({{s0, place_on("a", 1)}});
  EXPECT_TRUE(routes.take_places(0, there, {})->resend.empty());
  EXPECT_TRUE(routes.take_places(0, there, shards{s0})->retries);

  EXPECT_EQ(routes.take_places(0, there, {})->resend, shards{s0});
  EXPECT_TRUE(routes.take_places(0, there, {})->resend.empty());
  EXPECT_TRUE(routes.retry().resend.empty());
}

TEST_F(ShardRoutes, ArrivalIsToldByThePlaceItself) {
  connect_b();
  static_cast<void>(routes.take_places(0, news_of({}), shards{s0}));

  EXPECT_TRUE(routes.take_places(1, news_of({{s0, place_on("a", 1)}}), {})->resend.empty());
  EXPECT_EQ(routes.retry().resend, shards{s0});
}

TEST_F(ShardRoutes, AnswerOfAnEarlierPlaceIsNoReasonToTryAgain) {
  connect_b();
  static_cast<void>(routes.take_places(1, news_of({{s0, place_on("b", 2)}}), {}));

  EXPECT_FALSE(routes.take_places(0, news_of({}), shards{s0})->retries);
}

TEST_F(ShardRoutes, SecondLinkToACoordinatorReplacesTheFirst) {
  shard_routes two({"a:1", "other-name-of-b:1"});
  static_cast<void>(two.take_up(0, "a"));
  auto told = two.take_places(0, news_of({{s2, place_on("b", 1)}}), {});
  EXPECT_EQ(told->dial, strings{"b:1"});
  static_cast<void>(two.take_up(2, "b"));
  EXPECT_EQ(two.take_places(2, news_of({}), {})->resend, shards{s2});

  EXPECT_EQ(two.take_up(1, "b").close, links{2});

  EXPECT_EQ(two.take_places(1, news_of({}), {})->resend, shards{s2});
  EXPECT_EQ(two.link_of(s2), 1u);
}

TEST_F(ShardRoutes, CoordinatorThatWasStartedElsewhereIsDialledThere) {
  connect_b();
  routes.take_down(1);
  auto moved = place_on("b", 2);
  moved.address = "elsewhere:1";

  auto told = routes.take_places(0, news_of({{s2, moved}}), {});

  EXPECT_EQ(told->dial, strings{"elsewhere:1"});
  EXPECT_EQ(told->close, links{1});
  static_cast<void>(routes.take_up(2, "b"));
  EXPECT_EQ(routes.take_places(2, news_of({}), {})->resend, shards{s2});
}

TEST_F(ShardRoutes, LinkOfAnAddressThatTheUserNamedStays) {
  routes.take_down(0);

  auto told = routes.take_places(0, news_of({{s0, place_on("b", 2)}, {s1, place_on("b", 2)}}), {});

  EXPECT_TRUE(told->close.empty());
}

TEST_F(ShardRoutes, AddressThatTheUserNamedIsDialledOnBesideAnotherOneOfItsCoordinator) {
  connect_b();
  routes.take_down(0);
  auto moved = place_on("a", 2);
  moved.address = "10.0.0.1:1";
  auto told = routes.take_places(1, news_of({{s0, moved}, {s1, moved}}), {});
  ASSERT_EQ(told->dial, strings{"10.0.0.1:1"});

  EXPECT_EQ(routes.take_up(2, "a").close, links{});

  EXPECT_EQ(routes.take_up(0, "a").close, links{2});
}

TEST_F(ShardRoutes, AddressThatAnotherCoordinatorHasTakenIsNotDialled) {
  connect_b();
  auto gone = place_on("c", 2);
  gone.address = "b:1";

  EXPECT_EQ(routes.take_places(0, news_of({{s0, gone}}), {})->dial, strings{});

  EXPECT_EQ(routes.link_of(s0), std::nullopt);
  routes.take_down(1);
  EXPECT_EQ(routes.take_places(0, news_of({}), {})->dial, strings{});
  EXPECT_EQ(routes.take_up(1, "c").close, links{});
  EXPECT_EQ(routes.take_places(1, news_of({}), {})->resend, shards{s0});
}

TEST_F(ShardRoutes, MapOfAnotherClusterIsRefused) {
  auto told = routes.take_places(0, {4, {}}, {});
  EXPECT_EQ(
    to_string(told.error()), "protocol_error: cluster map: shards is 4, but this cluster has 3");
  EXPECT_EQ(routes.link_of(s0), 0u);
}

} // namespace
} // namespace codeq::cluster
