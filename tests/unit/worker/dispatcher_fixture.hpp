// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/node/dispatcher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::worker::test {

inline constexpr std::size_t link = 0;

/// The owners of a report's follow-ups.
inline std::string follow_ups_of(schema::ResultRequest::Report::Reader line) {
  std::string text;
  if (line.hasFollowUps())
    for (auto run : line.getFollowUps().getRuns())
      text += " then " + std::string(run.getQueue().getTenant().cStr()) + "/"
              + run.getQueue().getQueue().cStr();
  return text;
}

/// Describes a frame that the worker sends; `number` becomes that of a heartbeat.
inline std::string describe(const protocol::wire_frame& frame, std::uint64_t& number) {
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
        number = root.getNumber();
      } else if constexpr (std::is_same_v<S, schema::ResumeRequest>) {
        text = "resume";
        if (root.getEpoch() != 0)
          text += " in epoch " + std::to_string(root.getEpoch());
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
  /// @pre `clock` outlives the port
  explicit recorded_port(const monotonic_time& clock) : clock_(clock) {}

  void to_link(std::size_t, const protocol::wire_frame& frame) override {
    say(describe(frame, heartbeat));
  }

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

  void wake_after(duration wait, std::uint64_t number) override {
    last_wake = number;
    wakes.emplace(clock_ + wait, number);
  }

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

  void note_over(const task_id&, fencing_token) override { say("over"); }

  void note_drain(std::size_t, duration) override {}

  void note_abandoned(const task_id&, fencing_token) override { say("abandoned"); }

  void note_awaits_answers(std::size_t reports, duration longest) override {
    say(
      "awaits " + std::to_string(reports) + " answers for " + std::to_string(longest.count())
      + " ms");
  }

  void note_unanswered(std::size_t) override {}

  void say(const std::string& line) { said += line + "\n"; }

  std::string said;
  /// How often a handler got a task, by token.
  std::map<std::uint64_t, int> starts;
  /// The started handlers, by the names that they are registered for.
  std::string handlers;
  bool wants_flush = false;
  std::uint64_t last_wake = 0;
  /// The requested wake-ups that `DispatcherAlone::pass` has not called.
  std::multimap<monotonic_time, std::uint64_t> wakes;
  /// The number of the latest heartbeat.
  std::uint64_t heartbeat = 0;

private:
  const monotonic_time& clock_;
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

  /// The latest heartbeat, which was for this lease, is answered.
  void answer_heartbeat(std::uint64_t token) {
    dispatcher_->take(
      link,
      protocol::heartbeat_reply::build([&](schema::HeartbeatReply::Builder root) {
        root.setNumber(port.heartbeat);
        auto line = root.initLeases(1)[0];
        line.setSeq(token);
        line.setToken(token);
      }),
      now);
  }

  /// Lets time pass, and calls the wake-ups that are due.
  void pass(duration by) {
    const auto end = now + by;
    while (!port.wakes.empty() && port.wakes.begin()->first <= end) {
      const auto [due, number] = *port.wakes.begin();
      port.wakes.erase(port.wakes.begin());
      now = std::max(now, due);
      dispatcher_->wake(number, now);
      settle();
    }
    now = end;
  }

  /// The next look at the leases is due.
  void look_after(duration wait) {
    now += wait;
    dispatcher_->wake(port.last_wake, now);
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

  monotonic_time now{duration{1'000'000}};
  recorded_port port{now};
  std::string tenant = "default";
  std::optional<dispatcher> dispatcher_;
};

inline dispatcher_options one_at_a_time() {
  dispatcher_options options;
  options.queues = {{"a"}};
  options.slots = 1;
  options.prefetch = 0;
  return options;
}

} // namespace codeq::worker::test
