// SPDX-License-Identifier: Apache-2.0
#include "protocol/map_convert.hpp"
#include "protocol/task_convert.hpp"
#include "unit/coordinator/session/keeping_port.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace codeq::coordinator {
namespace {

constexpr shard_id s0{0};
constexpr auto map_news = protocol::frame_type<schema::ClusterMap>;

/// The session of a peer whose coordinator serves shard 0 in epoch 44.
class SessionEpochs : public testing::Test {
protected:
  SessionEpochs() { places_->serve_in(44); }

  void take(protocol::session_request request) { session_.take(request, nullptr); }

  void name(replication::epoch_number epoch) {
    take(protocol::make_shard_epochs({{s0, epoch}}));
  }

  void resume(replication::epoch_number epoch) {
    take(protocol::resume_request::build(
      [&](schema::ResumeRequest::Builder root) { root.setEpoch(epoch); }));
  }

  void beat() { take(protocol::heartbeat_request::build([](auto) {})); }

  void purge() {
    take(protocol::bulk_request::build([](schema::BulkRequest::Builder root) {
      root.setNumber(3);
      root.setShard(0);
    }));
  }

  void enqueue() {
    task_spec task;
    task.queue = "q";
    auto tasks = *protocol::encoded_tasks::encode(std::vector<task_spec>{task});
    take(tasks.to_request({producer_id{7, 0}, ++number_, 1, s0}));
  }

  /// How many requests were passed on to the shard.
  [[nodiscard]] std::size_t passed() const { return port_.shards_asked.size(); }

  session_options options() {
    session_options made{1};
    made.shard_count = 2;
    made.places = places_;
    return made;
  }

  std::shared_ptr<one_shard> places_ = std::make_shared<one_shard>();
  keeping_port port_;
  session session_{options(), port_};
  std::uint64_t number_ = 0;
};

TEST_F(SessionEpochs, ShardTakesLeasesOnceInTheEpochInWhichItIsServed) {
  resume(44);
  EXPECT_EQ(port_.shards_asked, std::vector{s0});

  // Its tasks are on their way.
  resume(44);
  EXPECT_EQ(passed(), 1u);
  EXPECT_TRUE(port_.sent.empty());
}

TEST_F(SessionEpochs, ListOfLeasesOfAnEarlierOneIsIgnored) {
  // The network has held it up while the shard was elsewhere.
  resume(41);
  beat();
  EXPECT_EQ(passed(), 0u);

  resume(44);
  beat();
  EXPECT_EQ(passed(), 2u);
}

TEST_F(SessionEpochs, WorkerThatKnowsALaterOneIsToldThatTheShardIsNotHere) {
  resume(45);
  EXPECT_EQ(passed(), 0u);
  ASSERT_EQ(port_.sent.size(), 1u);
  EXPECT_EQ(port_.sent[0].type, map_news);

  places_->serve_in(45);
  resume(45);
  EXPECT_EQ(passed(), 1u);
}

TEST_F(SessionEpochs, WorkerMayNameNone) {
  resume(0);

  EXPECT_EQ(passed(), 1u);
}

TEST_F(SessionEpochs, RequestsOfAnEarlierOneAreIgnored) {
  name(41);
  purge();
  enqueue();
  EXPECT_EQ(passed(), 0u);
  EXPECT_TRUE(port_.sent.empty());

  name(44);
  purge();
  enqueue();
  EXPECT_EQ(passed(), 2u);
}

TEST_F(SessionEpochs, RequestIsTakenInALaterOneThatThePeerCannotLearnHere) {
  places_->serve_in(46, false);
  name(44);
  purge();

  EXPECT_EQ(passed(), 1u);
}

TEST_F(SessionEpochs, ClientMayNameNone) {
  purge();
  enqueue();

  EXPECT_EQ(passed(), 2u);
}

TEST_F(SessionEpochs, OnesOfAShardThatDoesNotExistEndTheSession) {
  take(protocol::make_shard_epochs({{shard_id{2}, 1}}));

  EXPECT_EQ(port_.refusals, std::vector{errc::protocol_error});
}

} // namespace
} // namespace codeq::coordinator
