// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "protocol/error_code.hpp"
#include "protocol/task_convert.hpp"
#include "unit/coordinator/session/keeping_port.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::coordinator {
namespace {

constexpr shard_id s0{0};
constexpr shard_id s1{1};
constexpr std::size_t most = limits::producer_inflight_bytes_max;

/// Serves all shards of a cluster.
class all_shards final : public map_source {
public:
  [[nodiscard]] std::optional<replication::epoch_number> served_epoch(shard_id) const override {
    return 1;
  }

  [[nodiscard]] const cluster::cluster_map& map() const override { return map_; }

private:
  cluster::cluster_map map_;
};

/// Requests of about a mebibyte each, which are answered only when a test says so.
class SessionEnqueues : public testing::Test {
protected:
  SessionEnqueues() {
    task_spec task;
    task.queue = "q";
    task.payload = std::string(limits::payload_bytes_max, 'x');
    tasks_ = std::make_unique<protocol::encoded_tasks>(
      *protocol::encoded_tasks::encode(std::vector<task_spec>{task}));
  }

  static session_options options(bool is_in_cluster) {
    session_options made{1};
    made.shard_count = 2;
    if (is_in_cluster)
      made.places = std::make_shared<all_shards>();
    return made;
  }

  /// Whether the session passes a request on to the shard.
  bool enqueue(session& at, shard_id to) {
    const auto before = port_.sent.size();
    at.take(tasks_->to_request({producer_id{7, 0}, ++number_, 1, to}), nullptr);
    return port_.sent.size() == before;
  }

  /// Enqueues until the session refuses; returns the number of requests that it passed on.
  std::size_t fill(session& at, shard_id to) {
    std::size_t count = 0;
    while (enqueue(at, to))
      ++count;
    return count;
  }

  /// The refusal that was sent last, with its code.
  std::string refusal() {
    const auto reply = protocol::enqueue_reply::parse(port_.sent.back().body);
    return *reply->read([](schema::EnqueueReply::Reader from) -> result<std::string> {
      return std::string(to_string(protocol::from_schema(from.getCode()))) + ": "
             + from.getContext().cStr();
    });
  }

  keeping_port port_;
  std::unique_ptr<protocol::encoded_tasks> tasks_;
  std::uint64_t number_ = 0;
};

TEST_F(SessionEnqueues, ShardOfAClusterThatDoesNotAnswerLeavesBytesForOthers) {
  session cluster{options(true), port_};

  const auto first = fill(cluster, s0);
  EXPECT_NEAR(static_cast<double>(first), most / 2 / limits::payload_bytes_max, 2);
  EXPECT_EQ(refusal().find("overloaded: shard 0 has "), 0u) << refusal();
  EXPECT_EQ(port_.met, std::vector<std::string>{"producer_inflight_bytes_max"});

  EXPECT_NEAR(static_cast<double>(fill(cluster, s1)), most / 4 / limits::payload_bytes_max, 2);
}

TEST_F(SessionEnqueues, AnswersFreeTheBytesOfTheirShard) {
  session cluster{options(true), port_};
  const auto count = fill(cluster, s0);
  ASSERT_GT(count, 0u);

  cluster.take(shard_reply{s0, core::enqueue_answered{1, 1, {}}});
  EXPECT_TRUE(enqueue(cluster, s0));
  EXPECT_FALSE(enqueue(cluster, s0));

  cluster.shard_left(s0);
  EXPECT_EQ(fill(cluster, s0), count) << "its requests are void";
}

TEST_F(SessionEnqueues, CoordinatorThatIsAloneGivesOneShardAllBytes) {
  session alone{options(false), port_};

  EXPECT_NEAR(static_cast<double>(fill(alone, s0)), most / limits::payload_bytes_max, 2);

  EXPECT_FALSE(enqueue(alone, s1));
  EXPECT_EQ(refusal(), "overloaded: over 67108864 bytes of requests are not answered yet");
}

} // namespace
} // namespace codeq::coordinator
