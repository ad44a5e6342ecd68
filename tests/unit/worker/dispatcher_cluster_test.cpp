// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "protocol/map_convert.hpp"
#include "unit/worker/dispatcher_fixture.hpp"

#include <string>

namespace codeq::worker::test {
namespace {

protocol::hello_ack ack_of(const std::string& node) {
  return protocol::hello_ack::build([&](schema::HelloAck::Builder root) {
    root.setShardCount(2);
    root.setNode(node);
    root.setAnswersHeartbeats(true);
  });
}

class DispatcherOfACluster : public DispatcherAlone {
protected:
  /// Node c1 is connected, and link 1 to c2 is opened.
  void SetUp() override {
    auto options = one_at_a_time();
    options.coordinators = {"c1:4000"};
    options.wake = std::make_shared<wake_signal>([] {});
    dispatcher_.emplace(options, port);
    dispatcher_->take_links(1);
    dispatcher_->take_link_up(link, ack_of("c1"), now);
    said();
    cluster::map_news places{
      2, {{shard_id{0}, {"c1", "c1:4000", {}}}, {shard_id{1}, {"c2", "c2:4000", {}}}}};
    dispatcher_->take(link, protocol::make_cluster_map(places, {}), now);
    opened_ = said();
  }

  /// Node c1 serves shard 0 in that epoch from now on.
  void serve_in_epoch(replication::epoch_number epoch) {
    const cluster::map_news later{2, {{shard_id{0}, {"c1", "c1:4000", "", epoch, epoch}}}};
    dispatcher_->take(link, protocol::make_cluster_map(later, {}), now);
  }

  std::string opened_;
};

TEST_F(DispatcherOfACluster, LinkIsOpenedToEachFurtherCoordinator) {
  EXPECT_TRUE(opened_.starts_with("open link 1 to c2:4000\n")) << opened_;
}

TEST_F(DispatcherOfACluster, CoordinatorThatIsAloneIsNotUsed) {
  dispatcher_->take_link_up(1, ack_of(""), now);

  EXPECT_EQ(said(), "break the coordinator is alone, and not of the cluster any more\n");

  dispatcher_->take_link_down(link, {errc::disconnected, "lost"}, false);
  dispatcher_->take_link_up(link, ack_of(""), now);

  EXPECT_EQ(said(), "break the coordinator is alone, and not of the cluster any more\n");
}

TEST_F(DispatcherOfACluster, RefusalByOneCoordinatorMayEnd) {
  dispatcher_->take_link_down(1, {errc::unauthorized, "not known yet"}, true);

  EXPECT_EQ(said(), "");

  dispatcher_->take_link_up(1, ack_of("c2"), now);

  EXPECT_EQ(dispatcher_->counts().links_up, 2u);
}

TEST_F(DispatcherOfACluster, AttemptEndsWithItsLeaseWhenHeartbeatsAreNotAnswered) {
  const auto token = tuning::token_counter_max + 2;
  grant(token);
  said();
  look_after(duration{2'500});
  EXPECT_EQ(said(), "beat\n");
  answer_heartbeat(token);
  for (int i = 0; i < 3; ++i) {
    look_after(duration{2'500});
    EXPECT_EQ(said(), "beat\n");
  }

  // 10 s after the heartbeat that was answered.
  look_after(duration{2'500});

  EXPECT_EQ(said(), "over\n");
}

TEST_F(DispatcherOfACluster, TasksOfALinkThatAnotherOneHasReplacedDoNotRun) {
  // The address of c2 was another one of c1.
  dispatcher_->take_link_up(1, ack_of("c1"), now);
  said();

  grant(tuning::token_counter_max + 2);

  EXPECT_EQ(said(), "");
}

TEST_F(DispatcherOfACluster, GrantOfAnEarlierEpochDoesNotRunThoughItsCoordinatorServesAgain) {
  const auto of_epoch_1 = tuning::token_counter_max + 2;
  serve_in_epoch(2);
  said();

  // The network had held it up.
  grant(of_epoch_1);
  EXPECT_EQ(port.starts[of_epoch_1], 0);

  grant(of_epoch_1, "a", true);
  EXPECT_EQ(port.starts[of_epoch_1], 1);
}

TEST_F(DispatcherOfACluster, SecondCopyOfALeaseThatWasDeliveredAgainDoesNotRun) {
  const auto token = tuning::token_counter_max + 2;
  grant(token, "a", true);
  complete(1);
  answer(token);
  said();

  grant(token, "a", true);

  EXPECT_EQ(port.starts[token], 1);
  EXPECT_NE(said().find("unstarted"), std::string::npos);
}

TEST_F(DispatcherOfACluster, LeaseThatComesAgainAfterTheResumeThatFollowsItsAnswerDoesNotRun) {
  const auto token = tuning::token_counter_max + 2;
  grant(token);
  complete(1);
  serve_in_epoch(2);
  answer(token);
  serve_in_epoch(3);
  EXPECT_NE(said().find("resume in epoch 3"), std::string::npos);

  // The shard decided the resume of epoch 2 before the report, and read the task's body slowly.
  grant(token, "a", true);

  EXPECT_EQ(port.starts[token], 1);
  EXPECT_NE(said().find("unstarted"), std::string::npos);
}

TEST_F(DispatcherOfACluster, LinkThatAnotherOneHasReplacedIsNotTakenUp) {
  dispatcher_->take_link_up(1, ack_of("c1"), now);
  EXPECT_EQ(dispatcher_->counts().links_up, 1u);
  said();

  // It had come before the link heard that it has to close.
  dispatcher_->take_link_up(link, ack_of("c1"), now);

  EXPECT_EQ(said(), "");
  EXPECT_EQ(dispatcher_->counts().links_up, 1u);
}

TEST_F(DispatcherOfACluster, NewerProcessWithItsNameAtOneCoordinatorEndsIt) {
  dispatcher_->take_link_up(1, ack_of("c2"), now);
  said();

  dispatcher_->take_link_down(1, {errc::superseded, "a newer process has the name"}, true);

  EXPECT_EQ(said(), "failed a newer process has the name\n");
}

} // namespace
} // namespace codeq::worker::test
