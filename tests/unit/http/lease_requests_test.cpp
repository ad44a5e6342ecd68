// SPDX-License-Identifier: Apache-2.0
#include "http/desk/lease_requests.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace codeq::http {
namespace {

class LeaseRequests : public testing::Test {
protected:
  static lease_requests::lease_name lease(std::uint64_t token, std::uint16_t shard = 0) {
    return {shard_id{shard}, token, fencing_token{token}};
  }

  static std::string code_of(const result<void>& how) {
    return std::string(to_string(how ? errc::none : how.error().code));
  }

  void report(std::uint64_t token, std::uint16_t shard = 0) {
    requests_.add_report(lease(token, shard), [this, token](const result<void>& how) {
      said_ += "report " + std::to_string(token) + " " + code_of(how) + "\n";
    });
  }

  void save(std::uint64_t token, std::uint16_t shard = 0) {
    requests_.add_checkpoint(lease(token, shard), [this, token](const result<void>& how) {
      said_ += "checkpoint " + std::to_string(token) + " " + code_of(how) + "\n";
    });
  }

  /// Returns the lines that the callbacks have added, and clears them.
  [[nodiscard]] std::string said() { return std::exchange(said_, {}); }

  lease_requests requests_;
  std::string said_;
};

TEST_F(LeaseRequests, ReportsEndWithTheirAnswersAndOnlyOnce) {
  report(1);
  report(2);
  const core::reports_answered answered{
    1, {{1, fencing_token{1}, errc::none}, {2, fencing_token{2}, errc::stale_lease}}};

  requests_.take(shard_id{1}, answered);
  EXPECT_EQ(said(), "") << "the leases are of another shard";
  requests_.take(shard_id{0}, answered);
  EXPECT_EQ(said(), "report 1 none\nreport 2 stale_lease\n");
  requests_.take(shard_id{0}, answered);

  EXPECT_EQ(said(), "");
}

TEST_F(LeaseRequests, CallbackMayMakeTheNextRequest) {
  requests_.add_report(lease(1), [this](const result<void>&) { report(1); });

  requests_.take(shard_id{0}, core::reports_answered{1, {{1, fencing_token{1}, errc::none}}});
  EXPECT_EQ(said(), "");
  requests_.take(shard_id{0}, core::reports_answered{1, {{1, fencing_token{1}, errc::already}}});

  EXPECT_EQ(said(), "report 1 already\n");
}

TEST_F(LeaseRequests, CheckpointsOfALeaseAreSavedInTheirOrder) {
  save(1);
  save(1);

  requests_.take_saved(shard_id{0}, fencing_token{1});
  EXPECT_EQ(said(), "checkpoint 1 none\n");
  requests_.take_saved(shard_id{0}, fencing_token{1});
  EXPECT_EQ(said(), "checkpoint 1 none\n");
  requests_.take_saved(shard_id{0}, fencing_token{1});

  EXPECT_EQ(said(), "");
}

TEST_F(LeaseRequests, CheckpointWithoutRoomFails) {
  save(1);

  requests_.take_saved(shard_id{0}, fencing_token{1}, error{errc::overloaded, "no room"});

  EXPECT_EQ(said(), "checkpoint 1 overloaded\n");
}

TEST_F(LeaseRequests, LossOfALeaseFailsItsCheckpointsAndItsHeartbeats) {
  save(1);
  report(1);
  const auto lost = requests_.add_beat(lease(1));
  const auto alive = requests_.add_beat(lease(2));

  requests_.take(shard_id{0}, core::leases_lost{1, {{1, fencing_token{1}}}});

  EXPECT_EQ(said(), "checkpoint 1 stale_lease\n") << "the report has an answer of its own";
  EXPECT_EQ(requests_.end_beat(lease(1), lost).error().code, errc::stale_lease);
  EXPECT_TRUE(requests_.end_beat(lease(2), alive));
}

TEST_F(LeaseRequests, ShardThatMovesFailsItsRequestsOnly) {
  report(1, 0);
  save(2, 1);
  report(3, 2);
  const auto lost = requests_.add_beat(lease(4, 1));
  const auto over = requests_.add_beat(lease(5, 1));
  const auto alive = requests_.add_beat(lease(6, 2));
  requests_.take(shard_id{1}, core::leases_lost{1, {{5, fencing_token{5}}}});

  requests_.fail(std::vector{shard_id{0}, shard_id{1}}, {errc::disconnected, "moved"});

  EXPECT_EQ(said(), "report 1 disconnected\ncheckpoint 2 disconnected\n");
  EXPECT_EQ(requests_.end_beat(lease(4, 1), lost).error().code, errc::disconnected);
  EXPECT_EQ(requests_.end_beat(lease(5, 1), over).error().code, errc::stale_lease);
  EXPECT_TRUE(requests_.end_beat(lease(6, 2), alive));
  requests_.fail_all({errc::going_away, "stopping"});
  EXPECT_EQ(said(), "report 3 going_away\n");
}

} // namespace
} // namespace codeq::http
