// SPDX-License-Identifier: Apache-2.0
#include "unit/coordinator/session/keeping_port.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace codeq::coordinator {
namespace {

constexpr shard_id s0{0};
constexpr auto map_news = protocol::frame_type<schema::ClusterMap>;

/// The session of a worker whose coordinator serves shard 0 in epoch 44.
class SessionResumes : public testing::Test {
protected:
  SessionResumes() { places_->epoch = 44; }

  void resume(replication::epoch_number epoch) {
    session_.take(protocol::session_request{protocol::resume_request::build(
      [&](schema::ResumeRequest::Builder root) { root.setEpoch(epoch); })});
  }

  session_options options() {
    session_options made{1};
    made.shard_count = 2;
    made.places = places_;
    return made;
  }

  std::shared_ptr<one_shard> places_ = std::make_shared<one_shard>();
  keeping_port port_;
  session session_{options(), port_};
};

TEST_F(SessionResumes, ShardTakesTheLeasesOfTheEpochInWhichItIsServed) {
  resume(44);
  EXPECT_EQ(port_.shards_asked, std::vector{s0});

  // Its tasks are on their way.
  resume(44);
  EXPECT_EQ(port_.shards_asked.size(), 1u);
  EXPECT_TRUE(port_.sent.empty());
}

TEST_F(SessionResumes, RequestOfAnEarlierEpochIsIgnored) {
  // The network has held it up while the shard was elsewhere.
  resume(41);
  EXPECT_TRUE(port_.shards_asked.empty());

  resume(44);
  EXPECT_EQ(port_.shards_asked, std::vector{s0});
}

TEST_F(SessionResumes, WorkerThatKnowsALaterEpochIsToldThatTheShardIsNotHere) {
  resume(45);
  EXPECT_TRUE(port_.shards_asked.empty());
  ASSERT_EQ(port_.sent.size(), 1u);
  EXPECT_EQ(port_.sent[0].type, map_news);

  places_->epoch = 45;
  resume(45);
  EXPECT_EQ(port_.shards_asked, std::vector{s0});
}

TEST_F(SessionResumes, WorkerMayNameNoEpoch) {
  resume(0);

  EXPECT_EQ(port_.shards_asked, std::vector{s0});
}

} // namespace
} // namespace codeq::coordinator
