// SPDX-License-Identifier: Apache-2.0
#include "http/desk/claim_driver.hpp"
#include "support/deterministic_system.hpp"
#include "unit/http/claim_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::test {
namespace {

using namespace coordinator;
using lines = std::vector<std::string>;
using shared_lines = std::shared_ptr<lines>;

/// Stands for a shard that is here, or for its host.
shard_actor::behavior_type
pretended_shard(shard_actor::pointer, std::string name, shared_lines log) {
  auto note = [name, log](const std::string& text) { log->push_back(name + " " + text); };
  return {
    [note](const peer_request&) { note("ask"); },
    [note](const shard_command& m) {
      if (const auto* claim = std::get_if<core::claim>(&m.what))
        note(text_of(*claim));
      if (const auto* revoke = std::get_if<core::revoke_credits>(&m.what))
        note(text_of(*revoke));
    },
    [note](const attach_peer& m) {
      note("attach");
      if (m.first_claim)
        note(text_of(*m.first_claim));
    },
    [note](const detach_peer&) { note("detach"); },
    [](ask_shard_stats) { return base::coordinator_counts{}; },
    [](stop_shard) { return true; },
  };
}

/// Stands for a connection to another coordinator.
caf::behavior pretended_connection(caf::event_based_actor*, std::string name, shared_lines log) {
  return {[name, log](const protocol::wire_frame& frame) {
    auto read = read_claim_at(*protocol::claim_at::parse(frame.body), 2);
    auto step = std::visit([](const auto& one) { return text_of(one); }, read->second);
    log->push_back(name + " " + std::to_string(read->first.attachment) + " " + step);
  }};
}

/// Stands for the gateway.
caf::behavior pretended_gateway(caf::event_based_actor*, shared_lines log) {
  return {
    [log](const http::claim_ended& m) {
      log->push_back(
        "ended with " + std::to_string(m.how.tasks.size()) + (m.how.refusal ? " refused" : ""));
    },
    [log](const http::claim_waits&) { log->push_back("waits"); },
    [log](const http::leases_unread& m) {
      log->push_back("gives back " + std::to_string(m.leases.size()));
    },
  };
}

/// A claim of one task and two shards: 0 is here, 1 is another coordinator's and has the first
/// credit.
class ClaimDriver : public testing::Test {
protected:
  void start(bool only_now = false) {
    http::claim_driver_options options;
    options.gateway = caf::actor_cast<http::gateway_actor>(gateway_);
    options.shards = {shard("here"), shard("host")};
    options.far = {{}, connection_};
    options.run.claim = number;
    options.run.peer = 5;
    options.run.first_shard = 1;
    options.run.away = {shard_id{1}};
    options.run.worker = std::make_shared<const worker_identity>(worker_identity{"http:t/w", 1});
    options.run.queues = {{"t", "q"}};
    options.run.only_now = only_now;
    claim_ = system_.own(system_.get().spawn(http::drive_claim, options));
    system_.run();
    EXPECT_EQ(take(), (lines{"far 1 attach", "far 1 claim 1"}));
  }

  template <class Message>
  void send(Message m) {
    caf::anon_send(claim_, std::move(m));
    system_.run();
  }

  void send_far(std::uint32_t attachment, const claim_event& event) {
    send(http::claim_news_arrived{make_claim_news({number, attachment, shard_id{1}}, event)});
  }

  void grant_far(std::uint32_t attachment, std::uint32_t count) {
    write_claim_tasks(
      {number, attachment, shard_id{1}}, granted_tasks(shard_id{1}, count),
      [&](std::uint32_t, const protocol::wire_frame& frame) {
        send(http::claim_news_arrived{*protocol::claim_news::parse(frame.body)});
      });
  }

  void answer_here(std::uint64_t question, bool awaits_slots) {
    core::queue_answered answered;
    answered.number = question;
    answered.awaits_slots = awaits_slots;
    send(shard_reply{shard_id{0}, answered});
  }

  /// Another connection to the coordinator of shard 1.
  actors::connection_actor connection(const std::string& name) {
    return caf::actor_cast<actors::connection_actor>(
      system_.own(system_.get().spawn(pretended_connection, name, log_)));
  }

  lines take() { return std::exchange(*log_, {}); }

  static constexpr std::uint64_t number = 77;

  deterministic_system system_;
  shared_lines log_ = std::make_shared<lines>();
  caf::actor gateway_ = system_.own(system_.get().spawn(pretended_gateway, log_));
  actors::connection_actor connection_ = connection("far");
  http::claim_actor claim_;

private:
  shard_actor shard(const std::string& name) {
    return system_.own(system_.get().spawn(pretended_shard, name, log_));
  }
};

TEST_F(ClaimDriver, ConfirmsTheTasksThatItTakes) {
  start();

  grant_far(1, 1);

  EXPECT_EQ(take(), (lines{"far 1 received 1", "far 1 detach", "ended with 1"}));
}

TEST_F(ClaimDriver, GivesBackTasksBeyondThoseThatItWants) {
  start();

  grant_far(1, 2);

  EXPECT_EQ(
    take(), (lines{"far 1 received 1", "far 1 detach", "gives back 1", "ended with 1"}));
}

TEST_F(ClaimDriver, LeavesOnlyTheShardsOfTheConnectionThatIsLost) {
  start();

  send(http::far_shards_lost{connection("other")});
  EXPECT_EQ(take(), lines{});
  send(http::far_shards_lost{connection_});

  EXPECT_EQ(take(), (lines{"far 1 detach", "here attach", "here claim 1"}));
}

TEST_F(ClaimDriver, SaysItsLastStepOnTheConnectionThatIsReplaced) {
  start();
  send(http::shard_found{shard_id{0}, false});

  send(http::far_shards_found{{{shard_id{1}, connection("new")}}});

  EXPECT_EQ(take(), (lines{"far 1 claim 0", "far 1 detach", "new 2 attach", "new 2 claim 1"}));
}

TEST_F(ClaimDriver, LeavesAnotherCoordinatorThatDoesNotAnswer) {
  start();
  send(http::end_claim{});
  EXPECT_EQ(take(), lines{"far 1 revoke 1"});

  send(http::end_claim{.at_once = true});

  EXPECT_EQ(take(), (lines{"far 1 detach", "ended with 0"}));
}

TEST_F(ClaimDriver, AsksTheShardsAndThenTellsThatItWaits) {
  start();
  send_far(1, credit_news{shard_id{1}, credit_news::kind::drained});
  EXPECT_EQ(take(), (lines{"here attach", "here ask", "far 1 ask 1"}));

  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer_here(round, false);
    send_far(1, claim_answer{round});
  }

  EXPECT_EQ(take(), (lines{"here ask", "far 1 ask 2", "waits"}));
}

TEST_F(ClaimDriver, EndsALittleLaterWhenAShardAsksForLeases) {
  start(true);
  send_far(1, credit_news{shard_id{1}, credit_news::kind::drained});
  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer_here(round, true);
    send_far(1, claim_answer{round});
  }
  EXPECT_EQ(take().back(), "far 1 ask 2");

  system_.advance(std::chrono::milliseconds(100));

  EXPECT_EQ(take(), lines{"far 1 revoke 1"});
}

TEST_F(ClaimDriver, LooksAgainWhenAShardComesHere) {
  start();
  send_far(1, credit_news{shard_id{1}, credit_news::kind::drained});
  take();

  send(http::shard_found{shard_id{1}, true});

  const auto told = take();
  EXPECT_EQ(std::count(told.begin(), told.end(), "far 1 detach"), 1);
  EXPECT_EQ(std::count(told.begin(), told.end(), "host attach"), 1);
  EXPECT_EQ(std::count(told.begin(), told.end(), "host ask"), 1);
}

TEST_F(ClaimDriver, TellsWhyItIsRefused) {
  start();

  send_far(1, claim_left{{errc::overloaded, "too many"}});

  EXPECT_EQ(take(), (lines{"far 1 revoke 1", "far 1 detach", "ended with 0 refused"}));
}

TEST_F(ClaimDriver, EndsWhenAShardHereRefusesIt) {
  start();

  send(peer_misbehaved{{errc::protocol_error, "no such claim"}});

  EXPECT_EQ(take(), lines{"far 1 revoke 1"});
}

TEST_F(ClaimDriver, GivesLateTasksBackForAWhile) {
  start();
  send_far(1, claim_left{{errc::not_owner, "moved"}});
  send(http::end_claim{});
  send(credit_news{shard_id{0}, credit_news::kind::returned, 1});
  EXPECT_EQ(take().back(), "ended with 0");

  grant_far(1, 1);
  send(granted_tasks(shard_id{0}, 1));
  EXPECT_EQ(take(), (lines{"gives back 1", "gives back 1"}));
  system_.advance(std::chrono::milliseconds(300));
  grant_far(1, 1);

  EXPECT_EQ(take(), lines{});
}

} // namespace
} // namespace codeq::test
