// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "unit/coordinator/session/keeping_port.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace codeq::coordinator {
namespace {

class SessionClaims : public testing::Test {
protected:
  static session_options options() {
    session_options made{1};
    made.shard_count = 2;
    made.places = std::make_shared<one_shard>();
    return made;
  }

  void take(const claim_place& place, const claim_step& step) {
    session_.take(protocol::session_request{make_claim_at(place, step)});
  }

  void attach(const claim_place& place, const std::string& tenant = "t") {
    auto worker = std::make_shared<const worker_identity>(worker_identity{"http:t/w", 1});
    take(place, claim_attached{std::move(worker), {{tenant, "q"}}});
  }

  keeping_port port_;
  session session_{options(), port_};
};

TEST_F(SessionClaims, PassesOnWhatAClaimSaysUntilItHasEnded) {
  const claim_place place{7, 1, shard_id{0}};
  attach(place);
  take(place, claim_question{1});
  EXPECT_EQ(port_.passed, (std::vector{place, place}));

  session_.claim_ended(place);
  take(place, claim_question{2});

  EXPECT_EQ(port_.passed.size(), 2u);
}

TEST_F(SessionClaims, ShardThatIsNotHereIsNamed) {
  attach({7, 1, shard_id{1}});

  EXPECT_EQ(port_.refused, std::vector{errc::not_owner});
  EXPECT_TRUE(port_.passed.empty());
}

TEST_F(SessionClaims, OneTenantLeavesRoomForAnother) {
  for (std::uint32_t i = 0; i <= limits::cluster_claims_max / 2; ++i)
    attach({i, 1, shard_id{0}}, "greedy");
  EXPECT_EQ(port_.refused, std::vector{errc::overloaded});
  EXPECT_EQ(port_.met, std::vector<std::string>{"cluster_claims_max"});

  const claim_place other{limits::cluster_claims_max, 1, shard_id{0}};
  attach(other, "other");
  ASSERT_FALSE(port_.passed.empty());
  EXPECT_EQ(port_.passed.back(), other);
  attach({1, 2, shard_id{0}}, "greedy");
  EXPECT_EQ(port_.refused.size(), 2u);

  session_.claim_ended({0, 1, shard_id{0}});
  attach({1, 2, shard_id{0}}, "greedy");
  EXPECT_EQ(port_.refused.size(), 2u);
}

TEST_F(SessionClaims, AreHeldWhileTheConnectionHasTooManyUnreadBytes) {
  const claim_place before{7, 1, shard_id{0}};
  const claim_place meanwhile{8, 1, shard_id{0}};
  attach(before);
  EXPECT_TRUE(port_.held.empty());

  session_.set_pressure(true);
  attach(meanwhile);
  EXPECT_EQ(port_.held, (std::vector{before, meanwhile}));
  session_.set_pressure(false);
  attach({9, 1, shard_id{0}});

  EXPECT_EQ(port_.released, (std::vector{before, meanwhile}));
  EXPECT_EQ(port_.held.size(), 2u);
  EXPECT_TRUE(port_.refused.empty());
}

TEST_F(SessionClaims, EndedClaimTakesNoPlace) {
  for (std::uint32_t i = 0; i <= limits::cluster_claims_max / 2; ++i)
    attach({i, 1, shard_id{0}});
  EXPECT_EQ(port_.refused.size(), 1u);

  take({0, 1, shard_id{0}}, claim_detached{});
  attach({0, 2, shard_id{0}});
  EXPECT_EQ(port_.refused.size(), 1u);
  session_.claim_ended({0, 1, shard_id{0}});
  attach({0, 3, shard_id{0}});

  EXPECT_EQ(port_.refused.size(), 2u) << "its place was free once";
}

TEST_F(SessionClaims, AreHeldAtAShardThatHasTooManyEndedOnesOfTheirTenant) {
  constexpr auto many = static_cast<std::uint32_t>(tuning::ended_claims_max);
  for (std::uint32_t i = 0; i < many; ++i) {
    attach({i, 1, shard_id{0}});
    take({i, 1, shard_id{0}}, claim_detached{});
  }
  EXPECT_TRUE(port_.held.empty());

  const claim_place ended{many, 1, shard_id{0}};
  const claim_place waiting{many + 1, 1, shard_id{0}};
  attach(ended);
  attach(waiting);
  attach({many + 2, 1, shard_id{0}}, "other");
  EXPECT_EQ(port_.held, (std::vector{ended, waiting}));
  take(ended, claim_detached{});
  session_.claim_ended(ended);
  for (std::uint32_t i = 0; i < many / 2; ++i)
    session_.claim_ended({i, 1, shard_id{0}});

  EXPECT_EQ(port_.released, std::vector{waiting});
  EXPECT_TRUE(port_.refused.empty());
}

TEST_F(SessionClaims, StayHeldForTheReasonThatIsLeft) {
  constexpr auto many = static_cast<std::uint32_t>(tuning::ended_claims_max);
  for (std::uint32_t i = 0; i < many; ++i) {
    attach({i, 1, shard_id{0}});
    take({i, 1, shard_id{0}}, claim_detached{});
  }
  const claim_place waiting{many, 1, shard_id{0}};
  attach(waiting);

  session_.set_pressure(true);
  for (std::uint32_t i = 0; i < many; ++i)
    session_.claim_ended({i, 1, shard_id{0}});
  EXPECT_TRUE(port_.released.empty());
  session_.set_pressure(false);

  EXPECT_EQ(port_.released, std::vector{waiting});
}

TEST(ClaimPlaces, GrowWithTheNamesOfTheClaim) {
  claim_attached claim;
  claim.queues = {{"t", "q"}};
  EXPECT_EQ(places_of(claim), 1u);

  claim.queues.assign(
    limits::queues_per_worker_max, {"t", std::string(limits::name_bytes_max, 'q')});

  EXPECT_GT(places_of(claim), limits::queues_per_worker_max / 2);
}

} // namespace
} // namespace codeq::coordinator
