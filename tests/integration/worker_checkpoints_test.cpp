// SPDX-License-Identifier: Apache-2.0
#include "integration/worker_fixture.hpp"
#include "protocol/shared_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using schema::Disposition;

/// A checkpoint from a heartbeat.
struct seen_checkpoint {
  std::uint64_t token = 0;
  std::uint32_t number = 0;
  std::string data;
  /// The heartbeat reports progress.
  bool progressed = true;

  friend bool operator==(const seen_checkpoint&, const seen_checkpoint&) = default;
};

/// Queue `q`: the handler saves each value that the test pushes to the gate, and fails on "end".
class WorkerCheckpoints : public worker_fixture {
protected:
  WorkerCheckpoints() {
    handlers.handle("q", [gate = gate, heard = heard](const task& attempt) {
      heard->push("begins after " + std::string(attempt.checkpoint.view()));
      for (auto next = gate->pop(60s); next && *next != "end"; next = gate->pop(60s))
        attempt.save_checkpoint(*next, [heard, state = *next](bool saved) {
          heard->push(state + (saved ? " is saved" : " is lost"));
        });
      return outcome::failed("as told");
    });
    start();
    connect();
  }

  ~WorkerCheckpoints() override { gate->push("end"); }

  /// The next checkpoint in a heartbeat.
  seen_checkpoint await_checkpoint() {
    for (;;) {
      auto beat = await<schema::HeartbeatRequest>();
      std::optional<seen_checkpoint> seen;
      static_cast<void>(beat.read([&](schema::HeartbeatRequest::Reader root) -> result<void> {
        if (root.getCheckpoints().size() == 0)
          return {};
        auto line = root.getCheckpoints()[0];
        seen = {
          line.getToken(),
          line.getNumber(),
          protocol::string_of(line.getData()),
          root.getLeases()[0].getProgressed()};
        return {};
      }));
      if (seen || HasFailure())
        return seen.value_or(seen_checkpoint{});
    }
  }

  const grant first{.seq = 5, .token = 50};
  std::shared_ptr<channel<std::string>> gate = std::make_shared<channel<std::string>>();
  std::shared_ptr<channel<std::string>> heard = std::make_shared<channel<std::string>>();
};

TEST_F(WorkerCheckpoints, HandlerIsToldOnceItIsDurable) {
  send_grant(first);
  EXPECT_EQ(heard->pop(), "begins after ");

  gate->push("a");
  EXPECT_EQ(await_checkpoint(), (seen_checkpoint{50, 1, "a"}));
  EXPECT_FALSE(heard->pop(50ms)) << "told before the coordinator was";
  send_saved(first, 1);

  EXPECT_EQ(heard->pop(), "a is saved");
}

TEST_F(WorkerCheckpoints, NextAttemptGetsIt) {
  send_grant({.seq = 5, .token = 51, .checkpoint = "half of it"});

  EXPECT_EQ(heard->pop(), "begins after half of it");
}

TEST_F(WorkerCheckpoints, NewConnectionIsSentWhatWasNotAnswered) {
  send_grant(first);
  gate->push("a");
  static_cast<void>(await_checkpoint());

  disconnect();
  connect();

  EXPECT_EQ(await_checkpoint(), (seen_checkpoint{50, 1, "a"}));
}

TEST_F(WorkerCheckpoints, PostponedOneIsSentAgainUntilItIsDurable) {
  send_grant(first);
  EXPECT_EQ(heard->pop(), "begins after ");
  gate->push("a");
  static_cast<void>(await_checkpoint());

  send_postponed(first, 1);
  EXPECT_EQ(await_checkpoint(), (seen_checkpoint{50, 1, "a", false}));
  send_saved(first, 1);

  EXPECT_EQ(heard->pop(), "a is saved");
}

TEST_F(WorkerCheckpoints, FailureCarriesWhatWasNotAnswered) {
  send_grant(first);
  gate->push("a");
  static_cast<void>(await_checkpoint());
  gate->push("end");

  auto report = await_report();

  EXPECT_EQ(report.what, Disposition::FAILED);
  EXPECT_EQ(report.checkpoint_number, 1u);
  EXPECT_EQ(report.checkpoint, "a");
}

TEST_F(WorkerCheckpoints, FailureCarriesNothingThatIsDurable) {
  send_grant(first);
  gate->push("a");
  static_cast<void>(await_checkpoint());
  send_saved(first, 1);
  EXPECT_EQ(heard->pop(), "begins after ");
  EXPECT_EQ(heard->pop(), "a is saved");
  gate->push("end");

  EXPECT_EQ(await_report().checkpoint_number, 0u);
}

TEST_F(WorkerCheckpoints, LostLeaseLosesWhatWasNotAnswered) {
  send_grant(first);
  EXPECT_EQ(heard->pop(), "begins after ");
  gate->push("a");
  static_cast<void>(await_checkpoint());

  send_lost(first);

  EXPECT_EQ(heard->pop(), "a is lost");
}

} // namespace
} // namespace codeq::test
