// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "unit/coordinator/keeping_port.hpp"

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
  EXPECT_EQ(port_.passed.back(), other);
  attach({1, 2, shard_id{0}}, "greedy");
  EXPECT_EQ(port_.refused.size(), 2u);

  session_.claim_ended({0, 1, shard_id{0}});
  attach({1, 2, shard_id{0}}, "greedy");
  EXPECT_EQ(port_.refused.size(), 2u);
}

TEST_F(SessionClaims, AreRefusedWhileTheConnectionHasTooManyUnreadBytes) {
  attach({7, 1, shard_id{0}});
  session_.set_pressure(true);
  EXPECT_EQ(port_.refused, std::vector{errc::overloaded});

  attach({8, 1, shard_id{0}});
  session_.set_pressure(false);
  attach({9, 1, shard_id{0}});

  EXPECT_EQ(port_.refused, (std::vector{errc::overloaded, errc::overloaded}));
  EXPECT_EQ(port_.passed.back().claim, 9u);
}

} // namespace
} // namespace codeq::coordinator
