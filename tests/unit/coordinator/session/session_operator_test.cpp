// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "client/operator_replies.hpp"
#include "protocol/cluster_convert.hpp"
#include "unit/coordinator/session/keeping_port.hpp"

#include <gtest/gtest.h>

#include <cstdint>
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

  /// The entry for the audit log that was made last.
  const core::note_command* noted() {
    return port_.commands.empty() ? nullptr
                                  : std::get_if<core::note_command>(&port_.commands.back());
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
  ASSERT_NE(by, nullptr) << "the audit log needs it";
  EXPECT_EQ(by->at, port_.now());
}

TEST(SessionOfAGateway, OnlyWhatItDoesForOthersIsAudited) {
  security::principal admin;
  admin.tenant = security::everything;
  admin.role = security::role::admin;
  session_options options{1};
  options.places = std::make_shared<one_shard>();
  options.bearer = std::make_shared<const security::principal>(std::move(admin));
  options.is_gateway = true;
  keeping_port port;
  session gateway(options, port);
  const auto drain = protocol::make_cluster_request(7, {cluster_change::kind::drain, {}, "c2"});
  core::command_origin user;
  user.is_audited = true;
  user.subject = "ann";

  gateway.take(protocol::session_request{protocol::make_acting_for(user)});
  gateway.take(protocol::session_request{drain});
  gateway.take(protocol::session_request{drain});

  ASSERT_EQ(port.asked.size(), 2u);
  EXPECT_TRUE(port.asked[0].by->is_audited);
  EXPECT_EQ(port.asked[0].by->subject, "ann");
  EXPECT_FALSE(port.asked[1].by->is_audited);
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

/// The same, asking for counts.
class SessionCounts : public SessionOperator {
protected:
  void ask_for_stats(std::uint64_t number) {
    take(protocol::stats_request::build(
      [number](schema::StatsRequest::Builder root) { root.setNumber(number); }));
  }

  void ask_for_workers(std::uint64_t number) {
    take(protocol::workers_request::build(
      [number](schema::WorkersRequest::Builder root) { root.setNumber(number); }));
  }

  /// The numbers of the `StatsReply`s that were sent since the last call, and their errors.
  std::vector<std::pair<std::uint64_t, errc>> told() {
    std::vector<std::pair<std::uint64_t, errc>> found;
    for (const auto& frame : std::exchange(port_.sent, {})) {
      if (frame.type != protocol::frame_type<schema::StatsReply>)
        continue;
      const auto reply = *protocol::stats_reply::parse(frame.body);
      const auto number = *reply.read([](auto from) -> result<std::uint64_t> {
        return from.getNumber();
      });
      const auto read = client::read_stats(reply);
      found.emplace_back(number, read->answer ? errc::none : read->answer.error().code);
    }
    return found;
  }
};

using told_counts = std::vector<std::pair<std::uint64_t, errc>>;

TEST_F(SessionCounts, AreRequestedOnceAtATimeHoweverManyAskForThem) {
  ask_for_stats(1);
  ask_for_stats(2);
  ask_for_stats(3);
  ASSERT_EQ(port_.gathered, (std::vector{false}));

  session_.tell_stats(base::coordinator_counts{});
  EXPECT_EQ(told(), (told_counts{{1, errc::none}})) << "the counts may be older than the others";
  EXPECT_EQ(port_.gathered, (std::vector{false, false}));
  session_.tell_stats(error{errc::timeout, "a shard says nothing"});
  EXPECT_EQ(told(), (told_counts{{2, errc::timeout}, {3, errc::timeout}}));

  EXPECT_EQ(port_.gathered, (std::vector{false, false}));
  ask_for_stats(4);
  EXPECT_EQ(port_.gathered, (std::vector{false, false, false}));
}

TEST_F(SessionCounts, OfWorkersDoNotWaitForThoseOfQueues) {
  ask_for_stats(1);
  ask_for_workers(2);

  EXPECT_EQ(port_.gathered, (std::vector{false, true}));
}

TEST_F(SessionCounts, AreRefusedWhenTooManyRequestsWait) {
  for (std::uint64_t number = 1; number <= limits::counts_waiting_max; ++number)
    ask_for_stats(number);
  EXPECT_EQ(told(), told_counts{});

  ask_for_stats(77);
  EXPECT_EQ(told(), (told_counts{{77, errc::overloaded}}));
  EXPECT_EQ(port_.met, (std::vector<std::string>{"counts_waiting_max"}));
  ask_for_workers(78);
  EXPECT_EQ(port_.gathered, (std::vector{false, true})) << "they have room of their own";

  session_.tell_stats(base::coordinator_counts{});
  told();
  ask_for_stats(79);
  EXPECT_EQ(told(), told_counts{});
}

TEST_F(SessionOperator, ListOfWorkersSaysWhichAreDrained) {
  take(protocol::workers_request::build([](schema::WorkersRequest::Builder) {}));
  base::coordinator_counts counts;
  counts.workers.resize(2);
  counts.workers[0].name = "w1";
  counts.workers[1].name = "w2";
  port_.drained = "w2";

  session_.tell_workers(counts);

  EXPECT_EQ(workers(), "w1 is at work\nw2 is drained\n");
}

TEST_F(SessionCounts, HaveTheGaugesOfTheProcess) {
  ask_for_stats(5);

  session_.tell_stats(base::coordinator_counts{});

  auto read = client::read_stats(*protocol::stats_reply::parse(port_.sent.back().body));
  ASSERT_TRUE(read && read->answer);
  EXPECT_EQ(read->answer->gauges, port_.gauges());
}

TEST_F(SessionCounts, OfMoreQueuesThanAFrameHoldsAreRefused) {
  ask_for_stats(5);
  base::coordinator_counts counts;
  for (int i = 0; i < 150'000; ++i)
    counts.queues.emplace_back().queue = {"default", "q" + std::to_string(i)};

  session_.tell_stats(counts);

  auto read = client::read_stats(*protocol::stats_reply::parse(port_.sent.back().body));
  ASSERT_TRUE(read && !read->answer);
  EXPECT_EQ(read->answer.error().code, errc::too_large);
}

TEST_F(SessionOperator, BackupIsStartedAndNoted) {
  take(protocol::backup_request::build(
    [](schema::BackupRequest::Builder root) { root.setStart(true); }));

  ASSERT_EQ(port_.backups.size(), 1u);
  EXPECT_TRUE(port_.backups.front().starts);
  auto read = client::read_backup(*protocol::backup_reply::parse(port_.sent.back().body));
  ASSERT_TRUE(read && read->answer);
  EXPECT_EQ(read->answer->number, 4u);
  ASSERT_NE(noted(), nullptr);
  EXPECT_EQ(noted()->action, operator_action::backup);
}

TEST_F(SessionOperator, BackupsAreListed) {
  take(protocol::backup_request::build(
    [](schema::BackupRequest::Builder root) { root.setList(true); }));

  auto read = client::read_backups(*protocol::backup_reply::parse(port_.sent.back().body));
  ASSERT_TRUE(read && read->answer);
  EXPECT_EQ(read->answer->size(), 3u);
  EXPECT_TRUE(port_.backups.empty());
}

TEST_F(SessionOperator, ChangeOfTheLogLevelIsNotedWithTheOneBefore) {
  take(protocol::log_level_request::build(
    [](schema::LogLevelRequest::Builder root) { root.setLevel("debug"); }));

  EXPECT_EQ(port_.log_level, "debug");
  auto read = client::read_log_level(*protocol::log_level_reply::parse(port_.sent.back().body));
  ASSERT_TRUE(read && read->answer);
  EXPECT_EQ(*read->answer, "debug");
  ASSERT_NE(noted(), nullptr);
  EXPECT_EQ(noted()->detail, "info -> debug");
}

TEST_F(SessionOperator, EndsAreTold) {
  take(protocol::goodbye::build([](schema::Goodbye::Builder) {}));
  EXPECT_EQ(port_.goodbyes, 1);
  EXPECT_TRUE(port_.refusals.empty());

  session_.refuse({errc::protocol_error, "a frame that cannot be read"});
  EXPECT_EQ(port_.refusals, (std::vector{errc::protocol_error}));
}

} // namespace
} // namespace codeq::coordinator
