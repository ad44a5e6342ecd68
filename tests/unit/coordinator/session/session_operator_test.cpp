// SPDX-License-Identifier: Apache-2.0
#include "protocol/cluster_convert.hpp"
#include "unit/coordinator/session/keeping_port.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::coordinator {
namespace {

/// The session of an operator with a coordinator of a cluster.
class SessionOperator : public testing::Test {
protected:
  static session_options options() {
    session_options made{1};
    made.places = std::make_shared<one_shard>();
    return made;
  }

  template <class S>
  void take(const protocol::frame<S>& request) {
    session_.take(protocol::session_request{request});
  }

  /// The workers of the latest reply.
  std::string workers() {
    return *protocol::workers_reply::parse(port_.sent.back().body)
              ->read([](schema::WorkersReply::Reader from) -> result<std::string> {
                std::string text;
                for (auto worker : from.getWorkers())
                  text += std::string(worker.getName().cStr())
                          + (worker.getDraining() ? " is drained\n" : " is at work\n");
                return text;
              });
  }

  keeping_port port_;
  session session_{options(), port_};
};

TEST_F(SessionOperator, ChangeOfTheClusterIsPassedOnWithItsOrigin) {
  take(protocol::make_cluster_request(7, {cluster_change::kind::drain, {}, "c2"}));

  ASSERT_EQ(port_.asked.size(), 1u);
  const auto& [number, change, by] = port_.asked.front();
  EXPECT_EQ(number, 7u);
  EXPECT_EQ(change.what, cluster_change::kind::drain);
  EXPECT_EQ(change.node, "c2");
  EXPECT_NE(by, nullptr) << "the audit log needs it";
}

TEST_F(SessionOperator, WorkerIsDrainedAndTakenBack) {
  take(protocol::workers_request::build(
    [](schema::WorkersRequest::Builder root) { root.setDrain("w1"); }));
  EXPECT_EQ(workers(), "w1 is drained\n");
  take(protocol::workers_request::build(
    [](schema::WorkersRequest::Builder root) { root.setResume("w1"); }));
  EXPECT_EQ(workers(), "w1 is at work\n");

  EXPECT_EQ(
    port_.drains, (std::vector<std::pair<std::string, bool>>{{"w1", true}, {"w1", false}}));
}

TEST_F(SessionOperator, ListOfWorkersSaysWhichAreDrained) {
  base::coordinator_counts counts;
  counts.workers.resize(2);
  counts.workers[0].name = "w1";
  counts.workers[1].name = "w2";
  port_.drained = "w2";

  session_.tell_workers(5, std::vector{counts});

  EXPECT_EQ(workers(), "w1 is at work\nw2 is drained\n");
}

} // namespace
} // namespace codeq::coordinator
