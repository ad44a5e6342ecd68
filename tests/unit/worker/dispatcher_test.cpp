// SPDX-License-Identifier: Apache-2.0
#include "protocol/map_convert.hpp"
#include "worker/node/dispatcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::worker {
namespace {

constexpr std::size_t link = 0;

/// The owners of a report's follow-ups.
std::string follow_ups_of(schema::ResultRequest::Report::Reader line) {
  std::string text;
  if (line.hasFollowUps())
    for (auto run : line.getFollowUps().getRuns())
      text += " then " + std::string(run.getQueue().getTenant().cStr()) + "/"
              + run.getQueue().getQueue().cStr();
  return text;
}

/// Describes a frame that the worker sends.
std::string describe(const protocol::wire_frame& frame) {
  std::string text;
  auto ok = protocol::visit_frame(frame, [&]<class S>(const protocol::frame<S>& m) {
    auto read = m.read([&](auto root) -> result<void> {
      if constexpr (std::is_same_v<S, schema::ClaimRequest>) {
        text = root.getSetsQueues() ? "queues" : "claim " + std::to_string(root.getCredits());
        for (auto queue : root.getQueues())
          text += " " + std::string(queue.getQueue().cStr());
        for (auto prefix : root.getPrefixes())
          text += " " + std::string(prefix.getQueue().cStr()) + "*";
        for (auto queue : root.getWithout())
          text += " without " + std::string(queue.getQueue().cStr());
      } else if constexpr (std::is_same_v<S, schema::ResultRequest>) {
        text = "results";
        for (auto line : root.getReports())
          text += " " + std::to_string(line.getToken()) + (line.getStarted() ? "" : " unstarted")
                  + follow_ups_of(line);
      } else if constexpr (std::is_same_v<S, schema::HeartbeatRequest>) {
        text = "beat";
      } else if constexpr (std::is_same_v<S, schema::ResumeRequest>) {
        text = "resume";
      }
      return {};
    });
    EXPECT_TRUE(read);
  });
  EXPECT_TRUE(ok);
  return text;
}

/// Records the requests of a dispatcher.
class recorded_port : public dispatcher_port {
public:
  void to_link(std::size_t, const protocol::wire_frame& frame) override { say(describe(frame)); }

  void break_link(std::size_t, const error& reason) override { say("break " + reason.context); }

  void open_link(std::size_t link, const std::string& coordinator) override {
    say("open link " + std::to_string(link) + " to " + coordinator);
  }

  void close_link(std::size_t, const error&) override { say("close"); }

  handler_number start_handler(const std::string& handler, const std::string&) override {
    handlers += handler + "\n";
    return ++last_handler_;
  }

  void run(handler_number handler, task&& attempt) override {
    ++starts[value(attempt.token)];
    say("run " + std::to_string(value(attempt.token)) + " by " + std::to_string(handler));
  }

  void run_batch(handler_number handler, std::vector<task> attempts) override {
    for (auto& attempt : attempts)
      run(handler, std::move(attempt));
  }

  void stop_handler(handler_number handler) override { say("stop " + std::to_string(handler)); }

  void flush_soon() override { wants_flush = true; }

  void wake_after(duration, std::uint64_t number) override { last_wake = number; }

  void ended(result<void> how) override { say(how ? "ended" : "failed " + how.error().context); }

  void note_connected(std::size_t, std::size_t) override {}

  void note_no_patterns(std::size_t) override {}

  void note_settings(std::size_t, std::size_t, std::size_t) override {}

  void note_unhandled(const task&) override {}

  void note_handler_end(fencing_token, const std::string&) override {}

  void note_failed(const failed_attempt& failed) override {
    say(
      std::string(failed.is_last ? "last attempt " : "attempt ")
      + std::to_string(failed.about.attempt) + " of " + failed.about.queue + " fails after "
      + std::to_string(failed.ran.count()) + " ms: " + std::string(failed.reason));
  }

  void note_lost(const task_id&, fencing_token) override {}

  void note_refused(const report_answer&) override {}

  void note_over(const task_id&, fencing_token) override {}

  void note_drain(std::size_t, duration) override {}

  void note_abandoned(const task_id&, fencing_token) override { say("abandoned"); }

  void note_unanswered(std::size_t) override {}

  void say(const std::string& line) { said += line + "\n"; }

  std::string said;
  /// How often a handler got a task, by token.
  std::map<std::uint64_t, int> starts;
  /// The started handlers, by the names that they are registered for.
  std::string handlers;
  bool wants_flush = false;
  std::uint64_t last_wake = 0;

private:
  handler_number last_handler_ = 0;
};

/// A dispatcher with one link to a coordinator of one shard.
class DispatcherAlone : public testing::Test {
protected:
  void start(dispatcher_options options) {
    options.wake = std::make_shared<wake_signal>([] {});
    dispatcher_.emplace(options, port);
    dispatcher_->take_links(1);
    go_up();
    port.said.clear();
  }

  void go_up() {
    auto ack =
      protocol::hello_ack::build([](schema::HelloAck::Builder root) { root.setShardCount(1); });
    dispatcher_->take_link_up(link, ack, now);
    dispatcher_->take(link, protocol::resume_reply::build([](auto) {}));
    settle();
  }

  void go_down() {
    dispatcher_->take_link_down(link, {errc::disconnected, "lost"}, false);
  }

  void grant(
    std::uint64_t token,
    const std::string& queue = "a",
    bool redelivered = false,
    std::uint16_t attempt = 1) {
    auto body = protocol::frame<schema::TaskBody>::build([](auto) {});
    auto batch = protocol::task_batch::build([&](schema::TaskBatch::Builder root) {
      root.setRedelivered(redelivered);
      auto run = root.initRuns(1)[0];
      run.setFirst(token);
      run.setCount(1);
      run.setFirstToken(token);
      run.setLeaseMs(10'000);
      run.setMaxAttempts(5);
      run.setAttempts({attempt});
      run.getQueue().setTenant(tenant);
      run.getQueue().setQueue(queue);
      auto bytes = body.body().view();
      root.getTasks().setEnds({static_cast<std::uint32_t>(bytes.size())});
      root.getTasks().setBytes({reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()});
    });
    dispatcher_->take(link, batch, now);
    settle();
  }

  /// The first handler completes a task. The report is sent again over a new connection, and is
  /// answered there.
  void report_over_two_connections(std::uint64_t token) {
    grant(token);
    complete(1);
    go_down();
    go_up();
    answer(token);
  }

  void lose(std::uint64_t token) {
    dispatcher_->take(link, protocol::leases_lost::build([&](schema::LeasesLost::Builder root) {
                        auto line = root.initLeases(1)[0];
                        line.setSeq(token);
                        line.setToken(token);
                      }));
    settle();
  }

  void complete(handler_number handler) { end(handler, outcome::completed()); }

  void end(handler_number handler, outcome answer) {
    dispatcher_->take_outcomes(handler, {&answer, 1}, now);
    settle();
  }

  void answer(
    std::uint64_t token,
    schema::ErrorCode code = schema::ErrorCode::NONE,
    const std::string& context = {}) {
    dispatcher_->take(link, protocol::result_reply::build([&](schema::ResultReply::Builder root) {
                        auto line = root.initAnswers(1)[0];
                        line.setSeq(token);
                        line.setToken(token);
                        line.setCode(code);
                        line.setContext(context);
                      }));
    settle();
  }

  void settle() {
    if (std::exchange(port.wants_flush, false))
      dispatcher_->flush();
  }

  /// The requests recorded since the last call.
  std::string said() { return std::exchange(port.said, {}); }

  recorded_port port;
  std::string tenant = "default";
  monotonic_time now{duration{1'000'000}};
  std::optional<dispatcher> dispatcher_;
};

dispatcher_options one_at_a_time() {
  dispatcher_options options;
  options.queues = {{"a"}};
  options.slots = 1;
  options.prefetch = 0;
  return options;
}

protocol::hello_ack ack_of(const std::string& node) {
  return protocol::hello_ack::build([&](schema::HelloAck::Builder root) {
    root.setShardCount(2);
    root.setNode(node);
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

TEST_F(DispatcherOfACluster, NewerProcessWithItsNameAtOneCoordinatorEndsIt) {
  dispatcher_->take_link_up(1, ack_of("c2"), now);
  said();

  dispatcher_->take_link_down(1, {errc::superseded, "a newer process has the name"}, true);

  EXPECT_EQ(said(), "failed a newer process has the name\n");
}

TEST_F(DispatcherAlone, AnswerFromBeforeALossFreesTheSlotOfTheTaskThatCameAgain) {
  start(one_at_a_time());
  grant(7);
  lose(7);
  // A power cut of the coordinator undid the loss.
  grant(7, "a", true);
  EXPECT_EQ(said(), "run 7 by 1\n");

  complete(1);

  EXPECT_EQ(said(), "results 7\nclaim 1\n");
}

TEST_F(DispatcherAlone, LinkIsNotUsedAfterAnAckWithoutAUsableShardCount) {
  start(one_at_a_time());
  grant(7);
  dispatcher_->take_link_down(link, {errc::disconnected, "lost"}, false);
  said();

  dispatcher_->take_link_up(link, protocol::hello_ack::build([](auto) {}), now);
  EXPECT_EQ(said(), "break hello ack without a usable shard count\n");
  EXPECT_EQ(dispatcher_->counts().links_up, 0u);
  complete(1);

  EXPECT_EQ(said(), "");
}

TEST_F(DispatcherAlone, QueueThatHoldsItsQuotaIsClosedUntilItHasLess) {
  dispatcher_options options;
  options.queues = {{"a", 1}, {"b"}};
  options.slots = 2;
  options.prefetch = 0;
  start(options);

  grant(1);
  EXPECT_EQ(said(), "run 1 by 1\nqueues a b without a\n");
  grant(2);
  EXPECT_EQ(said(), "results 2 unstarted\nclaim 1\n") << "what comes meanwhile goes back";
  complete(1);
  EXPECT_EQ(said(), "queues a b\nresults 1\nclaim 1\n");
}

TEST_F(DispatcherAlone, FailedAttemptIsNotedWithItsReasonAndDuration) {
  start(one_at_a_time());
  grant(1);
  said();

  now += duration{250};
  end(1, outcome::failed("no paper"));

  EXPECT_EQ(
    said(), "attempt 1 of a fails after 250 ms: no paper\nresults 1\nclaim 1\n");
}

TEST_F(DispatcherAlone, LastAttemptOfATaskIsNotedAsSuch) {
  start(one_at_a_time());
  grant(1, "a", false, 5);
  end(1, outcome::nack("later"));
  EXPECT_TRUE(said().find("last attempt 5 of a fails after 0 ms: later\n") != std::string::npos);

  grant(2);
  end(1, outcome::failed_permanently("never"));
  EXPECT_TRUE(said().find("last attempt 1 of a fails after 0 ms: never\n") != std::string::npos);

  grant(3);
  dispatcher_->take_handler_end(1, outcome::failed("crashed"), now + duration{7});
  EXPECT_TRUE(said().find("attempt 1 of a fails after 7 ms: crashed\n") != std::string::npos);
}

TEST_F(DispatcherAlone, CompletionThatIsRefusedIsNotedAsAFailedAttempt) {
  start(one_at_a_time());
  grant(1, "a", false, 5);
  now += duration{30};
  end(1, outcome::completed().then({.queue = "b"}));
  said();

  answer(1, schema::ErrorCode::INVALID_ARGUMENT, "no such tenant");

  EXPECT_EQ(
    said(),
    "last attempt 5 of a fails after 30 ms: completed, but its follow-ups were refused: no such "
    "tenant\nresults 1\n");
}

TEST_F(DispatcherAlone, FollowUpBelongsToTheTenantOfItsTaskUnlessItNamesOne) {
  tenant = "shop";
  auto options = one_at_a_time();
  options.tenant = tenant;
  start(options);
  grant(1);
  said();

  end(
    1,
    outcome::completed().then({.queue = "mail"}).then({.tenant = "default", .queue = "mail"}));

  EXPECT_EQ(said(), "results 1 then shop/mail then default/mail\nclaim 1\n");
}

TEST_F(DispatcherAlone, CountsHowAttemptsEnd) {
  start(one_at_a_time());
  for (std::uint64_t token = 1; token <= 3; ++token) {
    grant(token);
    now += duration{20};
    end(1, token == 1 ? outcome::completed() : outcome::failed("x"));
  }
  grant(4);
  lose(4);

  auto counts = dispatcher_->counts();
  EXPECT_EQ(counts.slots, 1u);
  EXPECT_EQ(counts.running, 1u) << "the handler of the lost lease runs on";
  EXPECT_EQ(counts.links_up, 1u);
  EXPECT_EQ(counts.unanswered, 3u);
  const auto& of_queue = counts.queues.at("a");
  EXPECT_EQ(of_queue.ended[static_cast<std::size_t>(disposition::completed)], 1u);
  EXPECT_EQ(of_queue.ended[static_cast<std::size_t>(disposition::failed)], 2u);
  EXPECT_EQ(of_queue.lost, 1u);
  EXPECT_EQ(of_queue.run.sum_ms, 60);
}

TEST_F(DispatcherAlone, QueueOfAPatternIsServedByItsHandlerWithItsOptions) {
  dispatcher_options options;
  options.queues = {{"mail"}, {"print-*", 1}, {"*"}};
  options.slots = 3;
  options.prefetch = 0;
  start(options);

  grant(1, "print-a4");
  EXPECT_EQ(said(), "run 1 by 1\nqueues mail print-* * without print-a4\n");
  grant(2, "mail");
  grant(3, "other");
  EXPECT_EQ(port.handlers, "print-*\nmail\n*\n");
  said();

  complete(1);
  EXPECT_EQ(said(), "queues mail print-* *\nresults 1\nclaim 1\n");
  grant(4, "print-a3");
  EXPECT_EQ(said(), "run 4 by 1\nqueues mail print-* * without print-a3\n")
    << "the handlers of a pattern serve all of its queues";
}

TEST_F(DispatcherAlone, ClosedQueueIsLeftOutOfThePatternsThatMatchItsName) {
  dispatcher_options options;
  options.queues = {{"mail", 1}, {"m*"}};
  options.slots = 2;
  options.prefetch = 0;
  start(options);

  grant(1, "mail");

  EXPECT_EQ(said(), "run 1 by 1\nqueues mail m* without mail\n");
}

TEST_F(DispatcherAlone, TaskOfAQueueThatNoPatternMatchesIsGivenBack) {
  dispatcher_options options;
  options.queues = {{"print-*"}};
  options.slots = 1;
  options.prefetch = 0;
  start(options);

  grant(1, "mail");

  EXPECT_EQ(said(), "results 1 unstarted\nclaim 1\n");
}

TEST_F(DispatcherAlone, QueuesOfPatternsAreForgottenBeyondTheirLimit) {
  dispatcher_options options;
  options.queues = {{"*"}};
  options.slots = 1;
  options.prefetch = 0;
  start(options);
  for (std::uint64_t token = 1; token <= limits::queues_per_tenant_max + 5; ++token) {
    grant(token, "q" + std::to_string(token));
    complete(1);
    answer(token);
  }

  EXPECT_LE(dispatcher_->adopted_queues(), limits::queues_per_tenant_max);
  EXPECT_EQ(port.handlers, "*\n");
}

TEST_F(DispatcherAlone, DrainEndsOnceAllReportsAreAnsweredAndTheLinkIsClosed) {
  auto options = one_at_a_time();
  options.prefetch = 1;
  start(options);
  grant(1);
  grant(2);
  said();

  dispatcher_->drain(duration{5'000});
  settle();
  EXPECT_EQ(said(), "claim 0\nresults 2 unstarted\n");
  complete(1);
  EXPECT_EQ(said(), "results 1\n");
  answer(2);
  answer(1);
  EXPECT_EQ(said(), "close\n");
  dispatcher_->take_link_end(link);
  EXPECT_EQ(said(), "stop 1\nended\n");
}

TEST_F(DispatcherAlone, DrainGivesBackWhatItsHandlersDoNotStop) {
  start(one_at_a_time());
  grant(1);
  said();

  dispatcher_->drain(duration{5'000});
  auto draining = port.last_wake;
  dispatcher_->wake(draining, now);
  dispatcher_->wake(draining, now);
  EXPECT_EQ(said(), "claim 0\n") << "a step that is over ends nothing";
  dispatcher_->wake(port.last_wake, now);
  settle();

  EXPECT_EQ(said(), "abandoned\nresults 1\n");
}

TEST_F(DispatcherAlone, LeaseIsBeatenWhenItsLookIsDueAndNotBefore) {
  start(one_at_a_time());
  grant(1);
  said();

  dispatcher_->wake(port.last_wake, now + duration{2'499});
  EXPECT_EQ(said(), "");
  dispatcher_->wake(port.last_wake, now + duration{5'000});
  EXPECT_EQ(said(), "beat\n");
}

TEST_F(DispatcherAlone, TaskThatWaitedWhenItsLeaseEndedStartsOnceWhenItComesAgain) {
  auto options = one_at_a_time();
  options.slots = 2;
  options.prefetch = 2;
  start(options);
  grant(1);
  grant(2);
  grant(7);
  go_down();
  // Without a connection the leases run out: the tasks that run are stopped, the one that waits is
  // lost.
  now += duration{10'000};
  dispatcher_->wake(port.last_wake, now);
  go_up();

  // The restarted coordinator still has the lease.
  grant(7, "a", true);
  complete(1);
  complete(2);

  EXPECT_EQ(port.starts[7], 1);
}

TEST_F(DispatcherAlone, TaskWhoseReportWasSentAgainIsNotRunWhenItComesAfterTheAnswer) {
  start(one_at_a_time());
  report_over_two_connections(7);

  // The shard decided the resume before the report, and its reader was slow.
  grant(7, "a", true);

  EXPECT_EQ(port.starts[7], 1);
}

TEST_F(DispatcherAlone, TaskIsRunAgainWhenAPowerCutUndidItsAnsweredReport) {
  start(one_at_a_time());
  report_over_two_connections(7);
  go_down();
  go_up();

  grant(7, "a", true);

  EXPECT_EQ(port.starts[7], 2);
}

} // namespace
} // namespace codeq::worker
